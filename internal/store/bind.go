package store

import (
	"context"
	"errors"
	"fmt"

	"quittance/internal/secret"
)

// boundColumns are the columns whose values are bound to what they are for.
func boundColumns() []sealedColumn { return []sealedColumn{sealedConnections(), sealedSubscriptions()} }

// BindSecrets seals the credentials and signing secrets of a database of a version before 0015_sealing_keys anew, bound to what
// they are for, and records that this has happened: from then on one that is not bound does not open. It does so once no
// server of such a version runs any more, because that could not open them; until then it does nothing.
func (db *DB) BindSecrets(ctx context.Context) error {
	if db.keys.bound.Load() {
		return nil
	}
	older, err := db.servedByOlderVersion(ctx)
	if err != nil {
		return db.classify(err)
	}
	if older {
		db.log.DebugContext(ctx, "servers of the version before are running: secrets are bound to their rows once they have ended")
		return nil
	}
	ctx = withoutQueryDeadline(ctx) // it reads everything there is
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
	if err := db.write(ctx, "bind secrets", func(ctx context.Context, t *tx) error { return t.finishBinding(ctx) }); err != nil {
		return err
	}
	return db.CheckKeys(ctx)
}

// bindRow seals a value that is not bound yet anew, bound.
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

// finishBinding binds what others have sealed meanwhile, and records that everything is bound.
func (t *tx) finishBinding(ctx context.Context) error {
	// Locked, so that nobody seals in the old form behind this.
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
		var last sealedRow
		for more := true; more; {
			var stale []sealedRow
			if stale, _, more, err = t.db.stalePage(ctx, t, column, &last, t.db.bindRow(column)); err != nil {
				return err
			}
			if _, err := t.replaceSealed(ctx, column, stale); err != nil {
				return err
			}
		}
	}
	return t.raiseKeyRecords(ctx, keys, records, formBound)
}

// refuseBound refuses a database whose keys are not recorded although secrets in it are bound: somebody has removed the
// records, so that secrets that are not bound would open again.
func (t *tx) refuseBound(ctx context.Context, keys *secret.Keyring) error {
	for _, column := range boundColumns() {
		var first sealedRow
		query, args := column.page(first)
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
