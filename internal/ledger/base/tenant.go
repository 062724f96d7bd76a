package base

import (
	"context"
	"errors"
)

// Tenant is the data of one company, and the only access to it. Only this package creates one: for a valid token, for
// claimed work, or for an administrator who names the account. Everything that accesses data returns [ErrNoTenant] for
// the zero value and for nil.
type Tenant struct {
	db      *DB
	id      ID
	account ID
	// tx is the transaction that writes join, and reads is what reads use: the same transaction. Both are nil if each
	// operation has a transaction of its own.
	tx    *Tx
	reads Querier
	// caller is the user whose role allows what the tenant does; nil for an API key, an administrator and the service. See
	// [Session.For].
	caller *caller
}

// ErrNoTenant says that an operation was called on a tenant that this package did not create.
var ErrNoTenant = errors.New("no tenant")

// ID returns the identifier of the tenant, for logs and queues. It grants no access.
func (t *Tenant) ID() ID {
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

// DB returns the database of the tenant; nil for a tenant that this package did not create.
func (t *Tenant) DB() *DB {
	if t == nil {
		return nil
	}
	return t.db
}

// TenantOf returns the tenant of a row of work that was claimed, or that an administrator works on.
func (db *DB) TenantOf(id, account ID) *Tenant {
	return &Tenant{db: db, id: id, account: account}
}

// In returns the tenant with reads and writes in a transaction.
func (t *Tenant) In(tx *Tx) *Tenant {
	joined := *t
	joined.tx, joined.reads = tx, tx
	return &joined
}

// Actor returns the author of the tenant's next act.
func (t *Tenant) Actor(ctx context.Context) Actor {
	if t.tx != nil {
		return t.tx.Actor // a transaction may run with the context of another one that is committed with it
	}
	return ActorOf(ctx)
}

// Write runs fn in a write transaction, or in the transaction that the tenant has joined; see [DB.Write].
func (t *Tenant) Write(ctx context.Context, operation string, fn func(ctx context.Context, tx *Tx) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return fn(ctx, t.tx)
	}
	return t.db.Write(ctx, operation, func(ctx context.Context, tx *Tx) error {
		if err := t.Authorize(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// Read runs fn with the reader, or with the transaction that the tenant has joined.
func (t *Tenant) Read(fn func(q Querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.reads != nil {
		return t.db.Classify(fn(t.reads))
	}
	return t.db.Classify(fn(t.db.reader))
}

// List runs fn, which reads a list, in one snapshot of the database, within the bounds of [sqldb.DB.List]. If the
// tenant has joined a transaction, fn runs in it.
func (t *Tenant) List(ctx context.Context, fn func(ctx context.Context, q Querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.reads != nil {
		return t.db.Classify(fn(ctx, t.reads))
	}
	return t.db.database.List(ctx, t.id, fn)
}

// ReadValue is [Tenant.Read] for a function that returns a value.
func ReadValue[T any](t *Tenant, fn func(q Querier) (T, error)) (value T, err error) {
	err = t.Read(func(q Querier) (err error) {
		value, err = fn(q)
		return err
	})
	return value, err
}

// Tenant returns the current tenant of an account, for administration commands and the data of the sandbox.
func (db *DB) Tenant(ctx context.Context, account ID) (*Tenant, error) {
	return db.CurrentTenant(ctx, db.reader, account)
}

// CurrentTenant is [DB.Tenant] with a querier, such as a transaction.
func (db *DB) CurrentTenant(ctx context.Context, q Querier, account ID) (*Tenant, error) {
	tenant := &Tenant{db: db, account: account}
	record := SealedTenants.Record()
	err := q.QueryRowContext(ctx, `select id, `+SealedTenants.Columns("tenants")+
		` from tenants where account_id = $1 and frozen_at is null`, account).
		Scan(append([]any{&tenant.id}, record.Into()...)...)
	if err := db.Acting(ctx, err, record); err != nil {
		return nil, db.Classify(err)
	}
	return tenant, nil
}

// Tenants returns every tenant, including frozen ones.
func (db *DB) Tenants(ctx context.Context) ([]*Tenant, error) {
	all, err := Collect(ctx, db.reader, db.ScanTenant, `select id, account_id from tenants order by id`)
	return all, db.Classify(err)
}

// ScanTenant reads the identifier and the account of a tenant.
func (db *DB) ScanTenant(row Row) (*Tenant, error) {
	t := &Tenant{db: db}
	return t, row.Scan(&t.id, &t.account)
}

// FindTenant returns the first tenant for which find does not return [ErrNotFound], for administrators who name only a
// row.
func (db *DB) FindTenant(ctx context.Context, find func(*Tenant) error) (*Tenant, error) {
	all, err := db.Tenants(ctx)
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
