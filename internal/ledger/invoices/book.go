package invoices

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// MaxBookEntries is how many customers a company may have, and how many items.
const MaxBookEntries = 20_000

// BookFields are the fields of an entry: of a customer, or of an item.
type BookFields interface {
	api.CustomerFields | api.CatalogueItemFields
}

// BookEntry is a customer or an item that drafts are filled with. Drafts copy its fields, so nothing refers to an
// entry.
type BookEntry[F BookFields] struct {
	ID        base.ID
	Fields    F
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Customer is an entry of the customer book.
type Customer = BookEntry[api.CustomerFields]

// CatalogueItem is an entry of the item catalogue.
type CatalogueItem = BookEntry[api.CatalogueItemFields]

// Book is the customer book or the item catalogue of a company.
type Book[F BookFields] struct {
	tenant *base.Tenant
	kind   bookKind[F]
}

// bookKind describes one kind of entries.
type bookKind[F BookFields] struct {
	// name is the value of the column kind, and the noun in the names of acts.
	name string
	// quota is the name of the quota, and of the column of the tenants that counts the entries.
	quota string
	// names returns the name by which people choose an entry, and the other texts by which they find it.
	names func(F) (name, terms string)
}

// Customers returns the customer book.
func Customers(t *base.Tenant) Book[api.CustomerFields] {
	return Book[api.CustomerFields]{tenant: t, kind: bookKind[api.CustomerFields]{name: "customer",
		quota: base.QuotaCustomers, names: func(c api.CustomerFields) (string, string) {
			return c.Name(), textOf(c.RecipientName) + "\n" + textOf(c.RecipientNetworkID)
		}}}
}

// Items returns the item catalogue.
func Items(t *base.Tenant) Book[api.CatalogueItemFields] {
	return Book[api.CatalogueItemFields]{tenant: t, kind: bookKind[api.CatalogueItemFields]{name: "item",
		quota: base.QuotaItems, names: func(i api.CatalogueItemFields) (string, string) {
			return textOf(i.Name), textOf(i.ItemCode)
		}}}
}

// textOf returns an optional text, "" if it is absent.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// BookKey returns the form of a name in which the names of entries are compared and sorted.
func BookKey(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// marshalEntry returns the stored form of an entry: JSON without absent fields and with decimals as they were sent.
func marshalEntry[F BookFields](fields F) ([]byte, error) {
	text, err := jsonv2.Marshal(&fields, jsonv2.OmitZeroStructFields(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, fmt.Errorf("book entry: %w", err)
	}
	return text, nil
}

const bookColumns = `id, fields, version, created_at, updated_at`

func scanBookEntry[F BookFields](row base.Row) (BookEntry[F], error) {
	var e BookEntry[F]
	var text string
	var created, updated int64
	if err := row.Scan(&e.ID, &text, &e.Version, &created, &updated); err != nil {
		return e, err
	}
	e.CreatedAt, e.UpdatedAt = base.Instant(created), base.Instant(updated)
	if err := jsonv2.Unmarshal([]byte(text), &e.Fields); err != nil {
		return e, fmt.Errorf("stored book entry: %w", err)
	}
	return e, nil
}

// entry reads an entry in a transaction; lock is appended to the statement.
func (b Book[F]) entry(ctx context.Context, q base.Querier, id base.ID, lock string) (BookEntry[F], error) {
	return scanBookEntry[F](q.QueryRowContext(ctx, `select `+bookColumns+
		` from book_entries where tenant_id = $1 and id = $2 and kind = $3`+lock, b.tenant.ID(), id, b.kind.name))
}

// Entry returns one entry.
func (b Book[F]) Entry(ctx context.Context, id base.ID) (BookEntry[F], error) {
	return base.ReadValue(b.tenant, func(q base.Querier) (BookEntry[F], error) { return b.entry(ctx, q, id, "") })
}

// Create adds an entry, which the caller has validated. It returns a [*base.QuotaError] if the company has
// [MaxBookEntries] of the kind, or has used up its bytes.
func (b Book[F]) Create(ctx context.Context, fields F) (BookEntry[F], error) {
	var created BookEntry[F]
	err := b.tenant.Write(ctx, "create book entry", func(ctx context.Context, tx *base.Tx) error {
		text, err := marshalEntry(fields)
		if err != nil {
			return err
		}
		if err := b.tenant.WithinQuotas(ctx, tx, 0); err != nil {
			return err
		}
		id, err := base.NewID(tx.Now(), b.tenant.DB().Random())
		if err != nil {
			return err
		}
		created = BookEntry[F]{ID: id, Fields: fields, Version: 1, CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
		name, terms := b.kind.names(fields)
		if _, err := tx.Exec(ctx,
			`insert into book_entries (tenant_id, id, kind, name, terms, fields, version, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, 1, $7, $7)`,
			b.tenant.ID(), id, b.kind.name, BookKey(name), BookKey(terms), string(text), base.Micros(tx.Now())); err != nil {
			return err
		}
		if err := b.audit(tx, "create", id, name, ""); err != nil {
			return err
		}
		return b.count(ctx, tx, 1, int64(len(text)))
	})
	return created, err
}

// Update changes the fields of an entry. unchanged reports whether version is the one that the caller expects; if not,
// Update returns [ErrVersion]. change returns the new fields for the stored form of the current ones; its error is
// returned as it is.
func (b Book[F]) Update(ctx context.Context, id base.ID, unchanged func(version int64) bool,
	change func(current []byte) (F, error)) (BookEntry[F], error) {
	var updated BookEntry[F]
	err := b.tenant.Write(ctx, "update book entry", func(ctx context.Context, tx *base.Tx) error {
		found, err := b.entry(ctx, tx, id, b.tenant.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if !unchanged(found.Version) {
			return ErrVersion
		}
		current, err := marshalEntry(found.Fields)
		if err != nil {
			return err
		}
		fields, err := change(current)
		if err != nil {
			return err
		}
		text, err := marshalEntry(fields)
		if err != nil {
			return err
		}
		if updated = found; bytes.Equal(text, current) {
			return nil // nothing changes
		}
		updated.Fields, updated.Version, updated.UpdatedAt = fields, found.Version+1, tx.Now()
		changed, err := base.ChangedFields(current, text)
		if err != nil {
			return err
		}
		more := int64(len(text) - len(current))
		if more > 0 {
			if err := b.tenant.WithinQuotas(ctx, tx, 0); err != nil {
				return err
			}
		}
		name, terms := b.kind.names(fields)
		if _, err := tx.Exec(ctx,
			`update book_entries set name = $3, terms = $4, fields = $5, version = $6, updated_at = $7 where tenant_id = $1 and id = $2`,
			b.tenant.ID(), id, BookKey(name), BookKey(terms), string(text), updated.Version,
			base.Micros(updated.UpdatedAt)); err != nil {
			return err
		}
		tx.Use(b.tenant.ID(), base.Usage{Bytes: more})
		return b.audit(tx, "update", id, name, changed)
	})
	return updated, err
}

// Delete deletes an entry permanently. It returns [ErrVersion] unless unchanged returns true for its version.
func (b Book[F]) Delete(ctx context.Context, id base.ID, unchanged func(version int64) bool) error {
	return b.tenant.Write(ctx, "delete book entry", func(ctx context.Context, tx *base.Tx) error {
		found, err := b.entry(ctx, tx, id, b.tenant.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if !unchanged(found.Version) {
			return ErrVersion
		}
		text, err := marshalEntry(found.Fields)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from book_entries where tenant_id = $1 and id = $2`, b.tenant.ID(), id); err != nil {
			return err
		}
		name, _ := b.kind.names(found.Fields)
		if err := b.audit(tx, "delete", id, name, ""); err != nil {
			return err
		}
		return b.count(ctx, tx, -1, -int64(len(text)))
	})
}

// audit records an act about an entry. changed are the names of the changed fields, if there are any.
func (b Book[F]) audit(tx *base.Tx, verb string, id base.ID, name, changed string) error {
	details := map[string]string{"name": name}
	if changed != "" {
		details["fields"] = changed
	}
	return b.tenant.Audit(tx, base.Act{Name: b.kind.name + "." + verb, SubjectType: b.kind.name, Subject: id.String(),
		Details: details})
}

// count counts added entries, or removed ones if more is negative, and their bytes. The row of the tenant is locked
// last.
func (b Book[F]) count(ctx context.Context, tx *base.Tx, more, size int64) error {
	tx.Use(b.tenant.ID(), base.Usage{Bytes: size})
	customers, items := more, int64(0)
	if b.kind.quota == base.QuotaItems {
		customers, items = 0, more
	}
	counted, err := tx.Exec(ctx, `update tenants set customers = customers + $2, items = items + $3
		where id = $1 and frozen_at is null and ($2 <= 0 or customers < $4) and ($3 <= 0 or items < $4)`, b.tenant.ID(), customers, items, MaxBookEntries)
	if err != nil || counted > 0 {
		return err
	}
	if more < 0 {
		return sql.ErrNoRows // the company was reset
	}
	if err := b.tenant.WithinQuotas(ctx, tx, 0); err != nil {
		return err
	}
	return &base.QuotaError{Quota: b.kind.quota, Limit: MaxBookEntries}
}
