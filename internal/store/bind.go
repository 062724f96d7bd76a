package store

import (
	"context"
	"errors"
	"fmt"

	base "quittance/internal/db"
	"quittance/internal/secret"
)

// BindSecrets reseals the credentials and signing secrets of a database of a version before 0015_sealing_keys, so that
// they are bound to their destinations, and records this: from then on a secret that is not bound does not open. It
// does nothing while a server of such a version runs, because that could not open them.
func (db *DB) BindSecrets(ctx context.Context) error {
	if db.keys.bound.Load() {
		return nil
	}
	older, err := db.database.ServedBy(ctx, olderApplicationName)
	if err != nil {
		return err
	}
	if older {
		db.log.DebugContext(ctx,
			"servers of the previous version are running: secrets are bound to their rows after these have stopped")
		return nil
	}
	ctx = base.WithoutQueryDeadline(ctx) // it reads whole tables
	var failed []error
	for _, column := range boundColumns() {
		_, err := db.resealColumn(ctx, column, db.bindRow(column))
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); errors.Is(err, ErrUnavailable) {
		return err
	} else if err != nil {
		db.log.ErrorContext(ctx, "some secrets do not open and cannot be bound", "error", err)
	}
	if err := db.write(ctx, "bind secrets", func(ctx context.Context,
		t *tx) error {
		return t.finishBinding(ctx)
	}); err != nil {
		return err
	}
	return db.CheckKeys(ctx)
}

// bindRow reseals a value that is not bound yet.
func (db *DB) bindRow(column sealedColumn) func(r *sealedRow) (bool, error) {
	return func(r *sealedRow) (bool, error) {
		at := column.binding(*r)
		at.Bound = r.bound
		if _, err := db.keys.Open(r.sealed, at); !errors.Is(err, secret.ErrSealed) {
			return false, err
		}
		plain, err := db.keys.Open(r.sealed, column.binding(*r))
		if err != nil {
			return false, err
		}
		r.fresh, err = db.keys.Seal(plain, at)
		return true, err
	}
}

// finishBinding binds the secrets that other processes have sealed meanwhile, and records that all secrets are bound.
func (t *tx) finishBinding(ctx context.Context) error {
	// The lock prevents other transactions from sealing in the old form meanwhile.
	records, err := t.lockedKeyRecords(ctx)
	if err != nil {
		return err
	}
	keys, err := t.db.keys.current()
	if err != nil {
		return err
	}
	if _, form, err := records.fit(keys); err != nil || form >= formBound {
		return err
	}
	for _, column := range boundColumns() {
		for after := (*sealedRow)(nil); ; {
			stale, _, last, err := t.db.stalePage(ctx, t, column, after, t.db.bindRow(column))
			if err != nil {
				return err
			}
			if _, err := t.replaceSealed(ctx, column, stale); err != nil {
				return err
			}
			if after = last; last == nil {
				break
			}
		}
	}
	return t.raiseKeyRecords(ctx, keys, records, formBound)
}

// refuseBound returns an error if a secret is bound. A database without records of its keys has bound secrets only if
// somebody has removed the records, to make secrets that are not bound open again.
func (t *tx) refuseBound(ctx context.Context, keys *secret.Keyring) error {
	for _, column := range boundColumns() {
		query, args := column.page(nil)
		rows, err := collect(ctx, t, column.scan, query, args...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			at := column.binding(r)
			at.Bound = r.bound
			if _, err := keys.Open(r.sealed, at); err == nil {
				return fmt.Errorf("%w (%s %s)", errNoRecords, column.name, r.id)
			}
		}
	}
	return nil
}
