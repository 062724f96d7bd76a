package store

import (
	"context"
	"errors"
)

// Tenant is the data of one company, and the only access to it. Only this package creates one: for a valid token, for
// claimed work, or for an administrator who names the account. All operations of the zero value return [ErrNoTenant].
type Tenant struct {
	db      *DB
	id      ID
	account ID
	// tx is the transaction that writes join, and reads is what reads use: the same transaction. Both are nil if each
	// operation has a transaction of its own.
	tx    *tx
	reads querier
	// caller is the user whose role allows what the tenant does; nil for an API key, an administrator and the service. See
	// [Session.For].
	caller *caller
}

// ErrNoTenant says that an operation was called on a tenant that this package did not create.
var ErrNoTenant = errors.New("no tenant")

// Key returns the identifier of the tenant, for logs and queues. It grants no access.
func (t *Tenant) Key() ID {
	if t == nil {
		return ID{}
	}
	return t.id
}

// Account returns the identifier of the tenant's account. It grants no access.
func (t *Tenant) Account() ID {
	if t == nil {
		return ID{}
	}
	return t.account
}

// actor returns the author of the tenant's next act.
func (t *Tenant) actor(ctx context.Context) Actor {
	if t.tx != nil {
		return t.tx.actor // a transaction may run with the context of another one that is committed with it
	}
	return ActorOf(ctx)
}

// write runs fn in a write transaction, or in the transaction that the tenant has joined; see [DB.write].
func (t *Tenant) write(ctx context.Context, operation string, fn func(ctx context.Context, tx *tx) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return fn(ctx, t.tx)
	}
	return t.db.write(ctx, operation, func(ctx context.Context, tx *tx) error {
		if err := t.authorize(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// read runs fn with the reader, or with the transaction that the tenant has joined.
func (t *Tenant) read(fn func(q querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.reads != nil {
		return t.db.classify(fn(t.reads))
	}
	return t.db.classify(fn(t.db.reader))
}

// list runs fn, which reads a list, in one snapshot of the database, within the bounds of [base.DB.List]. If the tenant
// has joined a transaction, fn runs in it.
func (t *Tenant) list(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.reads != nil {
		return t.db.classify(fn(ctx, t.reads))
	}
	return t.db.database.List(ctx, t.id, fn)
}

// readValue is [Tenant.read] for a function that returns a value.
func readValue[T any](t *Tenant, fn func(q querier) (T, error)) (value T, err error) {
	err = t.read(func(q querier) (err error) {
		value, err = fn(q)
		return err
	})
	return value, err
}

// Tenant returns the current tenant of an account, for administration commands and the data of the sandbox.
func (db *DB) Tenant(ctx context.Context, account ID) (*Tenant, error) {
	return db.currentTenant(ctx, db.reader, account)
}

func (db *DB) currentTenant(ctx context.Context, q querier, account ID) (*Tenant, error) {
	tenant := &Tenant{db: db, account: account}
	record := sealedTenants.record()
	err := q.QueryRowContext(ctx, `select id, `+sealedTenants.columns("tenants")+
		` from tenants where account_id = $1 and frozen_at is null`, account).
		Scan(append([]any{&tenant.id}, record.into()...)...)
	if err := db.acting(ctx, err, record); err != nil {
		return nil, db.classify(err)
	}
	return tenant, nil
}

// tenants returns every tenant, including frozen ones.
func (db *DB) tenants(ctx context.Context) ([]*Tenant, error) {
	all, err := collect(ctx, db.reader, db.scanTenant, `select id, account_id from tenants order by id`)
	return all, db.classify(err)
}

func (db *DB) scanTenant(row scanner) (*Tenant, error) {
	t := &Tenant{db: db}
	return t, row.Scan(&t.id, &t.account)
}

// findTenant returns the first tenant for which find does not return [ErrNotFound], for administrators who name only a
// row.
func (db *DB) findTenant(ctx context.Context, find func(*Tenant) error) (*Tenant, error) {
	all, err := db.tenants(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if err := find(t); !errors.Is(err, ErrNotFound) {
			return t, err
		}
	}
	return nil, ErrNotFound
}
