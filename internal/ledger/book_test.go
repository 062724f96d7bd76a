package ledger_test

import (
	"context"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/ledgertest/fixture"
)

// bookRequests are the operations of requests about entries of the book.
func bookRequests(tenant *base.Tenant, rows *planRows) []operation {
	of := view.Of(tenant)
	return []operation{
		{name: "CreateCustomer", run: func(ctx context.Context) error {
			_, err := invoices.Customers(tenant).Create(ctx, fixture.CustomerFields("Plan"))
			return err
		}},
		{name: "ChangeCustomer", run: func(ctx context.Context) error {
			_, err := invoices.Customers(tenant).Update(ctx, rows.customer, fixture.AnyVersion,
				func([]byte) (api.CustomerFields, error) { return fixture.CustomerFields("Changed"), nil })
			return err
		}},
		{name: "CustomerNamed", uses: "book_entries_name", run: func(ctx context.Context) error {
			_, err := of.CustomerNamed(ctx, "customer 77")
			return err
		}},
		{name: "CatalogueItemNamed", uses: "book_entries_name", run: func(ctx context.Context) error {
			_, err := of.CatalogueItemNamed(ctx, "Consulting")
			return err
		}},
		{name: "DeleteItem", run: func(ctx context.Context) error {
			return invoices.Items(tenant).Delete(ctx, rows.item,
				fixture.AnyVersion)
		}},
	}
}

// addBookLists adds the lists and searches of the book.
func addBookLists(of view.Tenant, add func(name, uses string, depth int, run func(ctx context.Context) error)) {
	for _, search := range []string{"", "customer 9"} {
		add("customers by "+search, "book_entries_name", invoices.MaxBookEntries, func(ctx context.Context) error {
			_, err := of.Customers(ctx, search, 3, 25)
			return err
		})
		add("items by "+search, "book_entries_name", invoices.MaxBookEntries, func(ctx context.Context) error {
			_, err := of.CatalogueItems(ctx, search, 1, 25)
			return err
		})
	}
}
