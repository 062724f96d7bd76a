package ledger

import (
	"context"
	"errors"

	"quittance/internal/ledger/base"
)

// Open opens the database at address, sqlite:PATH or postgres://…, brings its schema up to date as far as
// [base.Options.Schema] allows, and checks that the keys are those that it is sealed with: a [*base.KeyError] names a
// key that is missing or different. It returns [base.ErrLaterRelease] if a later release has migrated the database to a
// schema that this program cannot use, [ErrOldRelease] if it was last served by a release that this program does not
// take over from, [ErrOlderSchema] if the options do not allow to update it, and [ErrRestoring] while a restore is not
// complete. Whatever refuses the database does so before anything in it is changed.
func Open(ctx context.Context, address string, options base.Options) (*base.DB, error) {
	db, err := base.OpenUnmigrated(ctx, address, options)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, db, options); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if options.Schema != base.KeepSchema {
		if err := sealAccess(ctx, db, false); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}
