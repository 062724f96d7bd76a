package view

import (
	"context"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Customer returns an entry of the customer book as the API shows it.
func Customer(c invoices.Customer) api.Customer {
	return api.Customer{ID: c.ID.String(), CustomerFields: c.Fields, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
}

// CatalogueItem returns an entry of the item catalogue as the API shows it.
func CatalogueItem(i invoices.CatalogueItem) api.CatalogueItem {
	return api.CatalogueItem{ID: i.ID.String(), CatalogueItemFields: i.Fields, CreatedAt: i.CreatedAt,
		UpdatedAt: i.UpdatedAt}
}

// Customers returns a page of the customer book in the order of the names. search is text in the names or the network
// identifier, ignoring case, or "" for all. A company has at most [invoices.MaxBookEntries], and an index holds what is
// searched.
func (t Tenant) Customers(ctx context.Context, search string, number,
	perPage int) (out Page[invoices.Customer], err error) {
	return bookPage(ctx, t, search, number, perPage, `kind = 'customer'`, invoices.SelectCustomers)
}

// CatalogueItems returns a page of the item catalogue in the order of the names. search is text in the name or the item
// code; see [Tenant.Customers].
func (t Tenant) CatalogueItems(ctx context.Context, search string, number,
	perPage int) (out Page[invoices.CatalogueItem], err error) {
	return bookPage(ctx, t, search, number, perPage, `kind = 'item'`, invoices.SelectCatalogueItems)
}

// bookPage reads a page of the entries of one kind.
func bookPage[E any](ctx context.Context, t Tenant, search string, number, perPage int, condition string,
	read selection[E]) (out Page[E], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		var s statement
		if key := invoices.BookKey(search); key != "" {
			pattern := s.value(containing(key))
			condition += ` and (name like ` + pattern + ` escape '\' or terms like ` + pattern + ` escape '\')`
		}
		out, err = readPage(ctx, r, &s, number, perPage, `select count(*) from book_entries where tenant_id = $1 and `+
			condition, read, condition, ` order by name, terms, id`)
		return err
	})
	return out, err
}

// CustomerNamed returns the entry of the customer book with a name, which is given in any case; nil if there is none.
// The first one of several in the order of the list has precedence.
func (t Tenant) CustomerNamed(ctx context.Context, name string) (*invoices.Customer, error) {
	return entryNamed(ctx, t, name, `kind = 'customer'`, invoices.SelectCustomers)
}

// CatalogueItemNamed returns the entry of the item catalogue with a name; see [Tenant.CustomerNamed].
func (t Tenant) CatalogueItemNamed(ctx context.Context, name string) (*invoices.CatalogueItem, error) {
	return entryNamed(ctx, t, name, `kind = 'item'`, invoices.SelectCatalogueItems)
}

func entryNamed[E any](ctx context.Context, t Tenant, name, condition string,
	read selection[E]) (found *E, err error) {
	err = base.ReadRows(t.tenant, func(r base.Reader) error {
		entries, err := read(ctx, r, condition+` and name = $2 and name <> ''`,
			`order by terms, id limit 1`, invoices.BookKey(name))
		if len(entries) > 0 {
			found = &entries[0]
		}
		return err
	})
	return found, err
}
