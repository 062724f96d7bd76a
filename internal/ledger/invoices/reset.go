package invoices

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// ErrProduction says that an operation for the environments local and sandbox was tried on a production database.
var ErrProduction = errors.New("this database is served in production")

// ErrProductionConnection says that such an operation was tried on an account with a production connection.
var ErrProductionConnection = errors.New("the account has a production connection")

// ErrOtherEnvironment says that a database was served in production and cannot be served elsewhere, or the other way
// round.
var ErrOtherEnvironment = problem.Setting("the environment needs its own database")

// RecordEnvironment records the environment that this database is served in. It returns [ErrOtherEnvironment] instead
// of changing production to another environment, or another environment to production.
func RecordEnvironment(ctx context.Context, db *base.DB, environment string) error {
	return db.Write(ctx, "set environment", func(ctx context.Context, t *base.Tx) error {
		var recorded string
		if err := t.QueryRowContext(ctx, `insert into settings (key, value) values ('environment', $1)
			on conflict (key) do update set value = settings.value returning value`, environment).Scan(&recorded); err != nil {
			return err
		}
		if recorded == environment {
			return nil
		}
		if err := refuseEnvironment(recorded, environment); err != nil {
			return err
		}
		_, err := t.Exec(ctx, `update settings set value = $1 where key = 'environment'`, environment)
		return err
	})
}

// refuseEnvironment returns [ErrOtherEnvironment] for a database that was served in another environment, if one of the
// two is production.
func refuseEnvironment(served, environment string) error {
	if served != environment && (served == "production" || environment == "production") {
		return fmt.Errorf("this database was served in the environment %s, not %s: %w", served, environment,
			ErrOtherEnvironment)
	}
	return nil
}

// CheckEnvironment returns the error that [RecordEnvironment] would return, and changes nothing. The database may
// have an older schema or none.
func CheckEnvironment(ctx context.Context, db *base.DB, environment string) error {
	served, err := ServedEnvironment(ctx, db)
	if err != nil || served == "" {
		return err
	}
	return refuseEnvironment(served, environment)
}

// ServedEnvironment returns the environment that the database is served in, or "" if it was never served or has no
// schema.
func ServedEnvironment(ctx context.Context, db *base.DB) (string, error) {
	if found, err := db.SQL().HasTable(ctx, "settings"); err != nil || !found {
		return "", err
	}
	var recorded string
	err := db.Querier().QueryRowContext(ctx, `select value from settings where key = 'environment'`).Scan(&recorded)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", db.Classify(err)
	}
	return recorded, nil
}

// ResetTenant gives an account a new tenant and freezes the old one: it revokes the tokens of the old tenant and ends
// its leases, so that nothing of it is sent any more. Users, passwords, profile and connections stay. It returns
// [ErrProduction] for a production database and [ErrProductionConnection] for an account with a production connection.
func ResetTenant(ctx context.Context, db *base.DB, account base.ID) (*base.Tenant, error) {
	var fresh *base.Tenant
	err := db.Write(ctx, "reset tenant", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, account); err != nil {
			return err
		}
		var production, connections int
		if err := t.QueryRowContext(ctx,
			`select (select count(*) from settings where key = 'environment' and value = 'production'),
			(select count(*) from connections where account_id = $1 and environment = 'production')`, account).Scan(&production, &connections); err != nil {
			return err
		}
		switch {
		case production > 0:
			return ErrProduction
		case connections > 0:
			return ErrProductionConnection
		}
		old, err := db.CurrentTenant(ctx, t, account)
		if err != nil {
			return err
		}
		now := base.Micros(t.Now())
		if _, err := t.ChangeSealed(ctx, base.SealedTenants.Row(old.ID()), `update tenants set frozen_at = $2 where id = $1`, old.ID(),
			now); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update tokens set revoked_at = $2, seal = null where tenant_id = $1 and revoked_at is null`,
			old.ID(), now); err != nil {
			return err
		}
		if _, err := t.Exec(ctx,
			`update submissions set due_at = null, lease = lease + 1 where tenant_id = $1 and due_at is not null`,
			old.ID()); err != nil {
			return err
		}
		if _, err := t.Exec(ctx,
			`update deliveries set due_at = null, lease = lease + 1 where tenant_id = $1 and due_at is not null`,
			old.ID()); err != nil {
			return err
		}
		if err := t.InsertTenant(ctx, account); err != nil {
			return err
		}
		if fresh, err = db.CurrentTenant(ctx, t, account); err != nil {
			return err
		}
		return t.Audit(base.AccountAct("sandbox.reset", account,
			map[string]string{"before": old.ID().String(), "after": fresh.ID().String()}))
	})
	return fresh, err
}

// PendingDeliveries returns how many deliveries of the tenant are pending.
func PendingDeliveries(ctx context.Context, t *base.Tenant) (int, error) {
	var pending int
	err := t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx, `select count(*) from deliveries where tenant_id = $1 and state = $2`, t.ID(),
			api.DeliveryPending).Scan(&pending)
	})
	return pending, err
}
