package view

import (
	"context"

	"quittance/client/api"
	"quittance/internal/store"
)

// Customer returns an entry of the customer book as the API shows it.
func Customer(c store.Customer) api.Customer {
	return api.Customer{ID: c.ID.String(), CustomerFields: c.Fields, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
}

// CatalogueItem returns an entry of the item catalogue as the API shows it.
func CatalogueItem(i store.CatalogueItem) api.CatalogueItem {
	return api.CatalogueItem{ID: i.ID.String(), CatalogueItemFields: i.Fields, CreatedAt: i.CreatedAt,
		UpdatedAt: i.UpdatedAt}
}

// Customers returns a page of the customer book in the order of the names. search is text in the names or the network
// identifier, ignoring case, or "" for all. A company has at most [store.MaxBookEntries], and an index holds what is
// searched.
func (t Tenant) Customers(ctx context.Context, search string, number,
	perPage int) (out Page[store.Customer], err error) {
	return bookPage(ctx, t, search, number, perPage, `kind = 'customer'`, store.Reader.Customers)
}

// CatalogueItems returns a page of the item catalogue in the order of the names. search is text in the name or the item
// code; see [Tenant.Customers].
func (t Tenant) CatalogueItems(ctx context.Context, search string, number,
	perPage int) (out Page[store.CatalogueItem], err error) {
	return bookPage(ctx, t, search, number, perPage, `kind = 'item'`, store.Reader.CatalogueItems)
}

// bookPage reads a page of the entries of one kind.
func bookPage[E any](ctx context.Context, t Tenant, search string, number, perPage int, condition string,
	read func(r store.Reader, ctx context.Context, condition, order string, args ...any) ([]E, error)) (out Page[E],
	err error) {
	err = t.tenant.ReadSnapshot(ctx, func(ctx context.Context, r store.Reader) error {
		var s statement
		if key := store.BookKey(search); key != "" {
			pattern := s.value(containing(key))
			condition += ` and (name like ` + pattern + ` escape '\' or terms like ` + pattern + ` escape '\')`
		}
		out, err = readPage(ctx, r, &s, number, perPage, `select count(*) from book_entries where tenant_id = $1 and `+
			condition,
			func(ctx context.Context, condition, order string, args ...any) ([]E, error) {
				return read(r, ctx, condition, order, args...)
			}, condition, ` order by name, terms, id`)
		return err
	})
	return out, err
}

// CustomerNamed returns the entry of the customer book with a name, which is given in any case; nil if there is none.
// The first one of several in the order of the list has precedence.
func (t Tenant) CustomerNamed(ctx context.Context, name string) (*store.Customer, error) {
	return entryNamed(ctx, t, name, `kind = 'customer'`, store.Reader.Customers)
}

// CatalogueItemNamed returns the entry of the item catalogue with a name; see [Tenant.CustomerNamed].
func (t Tenant) CatalogueItemNamed(ctx context.Context, name string) (*store.CatalogueItem, error) {
	return entryNamed(ctx, t, name, `kind = 'item'`, store.Reader.CatalogueItems)
}

func entryNamed[E any](ctx context.Context, t Tenant, name, condition string,
	read func(r store.Reader, ctx context.Context, condition, order string, args ...any) ([]E, error)) (found *E,
	err error) {
	err = t.tenant.ReadRows(func(r store.Reader) error {
		entries, err := read(r, ctx, condition+` and name = $2 and name <> ''`,
			`order by terms, id limit 1`, store.BookKey(name))
		if len(entries) > 0 {
			found = &entries[0]
		}
		return err
	})
	return found, err
}
