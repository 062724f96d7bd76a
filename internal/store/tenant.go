package store

import (
	"context"
	"errors"
)

// Tenant is one company's rows, and the only way to them. It is made by this package alone: from a live token, from
// a claimed piece of work, or for an administrator who names the account. The zero value refuses every operation.
type Tenant struct {
	db      *DB
	id      ID
	account ID
	// tx is the transaction that the operations join; nil for one of their own each.
	tx *tx
}

// ErrNoTenant says that an operation was tried on a tenant that this package did not make.
var ErrNoTenant = errors.New("no tenant")

// Key names the tenant in logs and as a lane of work. It opens nothing.
func (t *Tenant) Key() ID {
	if t == nil {
		return ID{}
	}
	return t.id
}

// Account names the tenant's account. It opens nothing.
func (t *Tenant) Account() ID {
	if t == nil {
		return ID{}
	}
	return t.account
}

// write runs fn in a write transaction of this tenant, or in the one that the tenant has joined.
func (t *Tenant) write(ctx context.Context, fact string, fn func(ctx context.Context, tx *tx) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return fn(ctx, t.tx)
	}
	return t.db.write(ctx, fact, fn)
}

// read runs fn with the reader.
func (t *Tenant) read(fn func(q querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return t.db.fail(fn(t.tx))
	}
	return t.db.fail(fn(t.db.reader))
}

// Tenant returns the current tenant of an account, for an administrator's command and the sandbox's own seed.
func (db *DB) Tenant(ctx context.Context, account ID) (*Tenant, error) {
	return db.currentTenant(ctx, db.reader, account)
}

func (db *DB) currentTenant(ctx context.Context, q querier, account ID) (*Tenant, error) {
	tenant := &Tenant{db: db, account: account}
	err := q.QueryRowContext(ctx, `select id from tenants where account_id = $1 and frozen_at is null`, account).Scan(&tenant.id)
	if err != nil {
		return nil, db.fail(err)
	}
	return tenant, nil
}

// tenants returns every tenant, the frozen ones included.
func (db *DB) tenants(ctx context.Context) ([]*Tenant, error) {
	all, err := collect(ctx, db.reader, db.scanTenant, `select id, account_id from tenants order by id`)
	return all, db.fail(err)
}

func (db *DB) scanTenant(row scanner) (*Tenant, error) {
	t := &Tenant{db: db}
	return t, row.Scan(&t.id, &t.account)
}

// holder returns the tenant that has what find looks for, for an administrator who names a row alone.
func (db *DB) holder(ctx context.Context, find func(*Tenant) error) (*Tenant, error) {
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
