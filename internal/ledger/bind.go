package ledger

import (
	"context"
	"errors"
	"fmt"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/secret"
)

// BindSecrets reseals the credentials and signing secrets of a database of a version before 0015_sealing_keys, so that
// they are bound to their destinations, and records this: from then on a secret that is not bound does not open. It
// does nothing while a server of such a version runs, because that could not open them.
func BindSecrets(ctx context.Context, db *base.DB) error {
	if db.Sealer().Bound.Load() {
		return nil
	}
	older, err := db.SQL().ServedBy(ctx, base.OlderApplicationName)
	if err != nil {
		return err
	}
	if older {
		db.Log().DebugContext(ctx,
			"servers of the previous version are running: secrets are bound to their rows after these have stopped")
		return nil
	}
	ctx = sqldb.WithoutQueryDeadline(ctx) // it reads whole tables
	var failed []error
	for _, column := range boundColumns() {
		_, err := resealColumn(ctx, db, column, bindRow(db, column))
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); errors.Is(err, base.ErrUnavailable) {
		return err
	} else if err != nil {
		db.Log().ErrorContext(ctx, "some secrets do not open and cannot be bound", "error", err)
	}
	if err := db.Write(ctx, "bind secrets", func(ctx context.Context,
		t *base.Tx) error {
		return finishBinding(ctx, t)
	}); err != nil {
		return err
	}
	return db.CheckKeys(ctx)
}

// bindRow reseals a value that is not bound yet.
func bindRow(db *base.DB, column sealedColumn) func(r *sealedRow) (bool, error) {
	return func(r *sealedRow) (bool, error) {
		at := column.binding(*r)
		at.Bound = r.bound
		if _, err := db.Sealer().Open(r.sealed, at); !errors.Is(err, secret.ErrSealed) {
			return false, err
		}
		plain, err := db.Sealer().Open(r.sealed, column.binding(*r))
		if err != nil {
			return false, err
		}
		r.fresh, err = db.Sealer().Seal(plain, at)
		return true, err
	}
}

// finishBinding binds the secrets that other processes have sealed meanwhile, and records that all secrets are bound.
func finishBinding(ctx context.Context, t *base.Tx) error {
	// The lock prevents other transactions from sealing in the old form meanwhile.
	records, err := t.LockedKeyRecords(ctx)
	if err != nil {
		return err
	}
	keys, err := t.DB.Sealer().Current()
	if err != nil {
		return err
	}
	if _, form, err := records.Fit(keys); err != nil || form >= base.FormBound {
		return err
	}
	for _, column := range boundColumns() {
		for after := (*sealedRow)(nil); ; {
			stale, _, last, err := stalePage(ctx, t, column, after, bindRow(t.DB, column))
			if err != nil {
				return err
			}
			if _, err := replaceSealed(ctx, t, column, stale); err != nil {
				return err
			}
			if after = last; last == nil {
				break
			}
		}
	}
	return t.RaiseKeyRecords(ctx, keys, records, base.FormBound)
}

// refuseBound returns an error if a secret is bound. A database without records of its keys has bound secrets only if
// somebody has removed the records, to make secrets that are not bound open again.
func refuseBound(ctx context.Context, t *base.Tx, keys *secret.Keyring) error {
	for _, column := range boundColumns() {
		query, args := column.page(nil)
		rows, err := base.Collect(ctx, t, column.scan, query, args...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			at := column.binding(r)
			at.Bound = r.bound
			if _, err := keys.Open(r.sealed, at); err == nil {
				return fmt.Errorf("%w (%s %s)", base.ErrNoRecords, column.name, r.id)
			}
		}
	}
	return nil
}
