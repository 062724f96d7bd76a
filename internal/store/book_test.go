package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// customerFields returns a customer with every kind of field.
func customerFields(name string) api.CustomerFields {
	return api.CustomerFields{RecipientName: &name, RecipientNetworkID: new("1234567890"), BuyerCountry: new("AE"),
		PaymentTermsDays: new(30), Note: new("two\r\nlines")}
}

// itemFields returns an item with every kind of field.
func itemFields(name string) api.CatalogueItemFields {
	return api.CatalogueItemFields{Name: &name, ItemCode: new("SKU-7"), NetUnitPrice: new(api.MustDecimal("100.00")),
		Currency: new("AED")}
}

// fillBook gives a company a customer and an item.
func (c company) fillBook(t testing.TB) (customer, item store.ID) {
	t.Helper()
	one, err := c.tenant.Customers().Create(t.Context(), customerFields("Palm Trading LLC"))
	kit.Must(t, err)
	other, err := c.tenant.Items().Create(t.Context(), itemFields("Consulting"))
	kit.Must(t, err)
	return one.ID, other.ID
}

// TestBook checks that customers and items are kept digit by digit, that they change by version, and that a customer is
// no item.
func TestBook(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		book := f.tenant.Items()
		created, err := book.Create(ctx, itemFields("Consulting"))
		kit.Must(t, err)
		read, err := book.Entry(ctx, created.ID)
		kit.Must(t, err)
		wantEqual(t, "read", read, created)
		wantEqual(t, "price", read.Fields.NetUnitPrice.String(), "100.00")
		if _, err := f.tenant.Customers().Entry(ctx, created.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an item is a customer: %v", err)
		}
		rename := func(name string) func([]byte) (api.CatalogueItemFields, error) {
			return func(current []byte) (api.CatalogueItemFields, error) {
				if !strings.Contains(string(current), `"net_unit_price":100.00`) {
					t.Errorf("the current fields are %s", current)
				}
				return itemFields(name), nil
			}
		}
		f.Clock.Advance(time.Second)
		updated, err := book.Update(ctx, created.ID, func(version int64) bool { return version == 1 }, rename("Training"))
		kit.Must(t, err)
		if updated.Version != 2 || *updated.Fields.Name != "Training" || !updated.UpdatedAt.After(created.UpdatedAt) ||
			!updated.CreatedAt.Equal(created.CreatedAt) {
			t.Errorf("updated %+v", updated)
		}
		same, err := book.Update(ctx, created.ID, anyVersion, rename("Training"))
		kit.Must(t, err)
		wantEqual(t, "a change of nothing", same, updated)
		first := func(version int64) bool { return version == 1 }
		_, err = book.Update(ctx, created.ID, first, rename("Late"))
		wantErr(t, err, store.ErrVersion)
		_, err = book.Update(ctx, created.ID, anyVersion,
			func([]byte) (api.CatalogueItemFields, error) { return api.CatalogueItemFields{}, context.Canceled })
		wantErr(t, err, context.Canceled)
		wantErr(t, book.Delete(ctx, created.ID, first), store.ErrVersion)
		kit.Must(t, book.Delete(ctx, created.ID, anyVersion))
		_, err = book.Entry(ctx, created.ID)
		wantErr(t, err, store.ErrNotFound)
		wantErr(t, book.Delete(ctx, created.ID, anyVersion), store.ErrNotFound)
		var acts []string
		entries, err := view.Of(f.tenant).AuditLog(ctx, view.AuditFilter{Act: "item"}, 1, 10)
		kit.Must(t, err)
		for _, e := range entries.Entries {
			acts = append(acts, e.Act+" "+e.Details)
		}
		wantEqual(t, "acts", acts, []string{`item.delete {"name":"Training"}`,
			`item.update {"fields":"name","name":"Training"}`, `item.create {"name":"Consulting"}`})
	})
}

// TestBookLists checks the order of the lists, and that they find texts in names and codes in any case, and nothing of
// another company.
func TestBookLists(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		of := view.Of(f.tenant)
		for _, name := range []string{"zephyr", "Ärzte 100% & Co_", `back\slash`, "Abra"} {
			fields := customerFields(name)
			if name == "Abra" {
				fields.DisplayName, fields.RecipientNetworkID = new("Branch 7"), new("NET-77")
			}
			_, err := f.tenant.Customers().Create(ctx, fields)
			kit.Must(t, err)
		}
		_, err := f.tenant.Items().Create(ctx, itemFields("Zephyr"))
		kit.Must(t, err)
		list := func(search string, page, perPage int) string {
			t.Helper()
			found, err := of.Customers(ctx, search, page, perPage)
			kit.Must(t, err)
			names := fmt.Sprint(found.Total)
			for n := range found.Entries {
				names += "," + found.Entries[n].Fields.Name()
			}
			return names
		}
		for search, want := range map[string]string{"ÄRZTE": "1,Ärzte 100% & Co_", "100%": "1,Ärzte 100% & Co_",
			"o_": "1,Ärzte 100% & Co_", `K\S`: `1,back\slash`, "abra": "1,Branch 7", "branch": "1,Branch 7",
			"net-7": "1,Branch 7", "%": "1,Ärzte 100% & Co_", "Palm": "0", "consult": "0", " ZEPHYR ": "1,zephyr"} {
			if got := list(search, 1, 10); got != want {
				t.Errorf("%q finds %s, want %s", search, got, want)
			}
		}
		if got := list("", 1, 2) + ";" + list("", 2, 2) + ";" + list("", 3, 2) + ";" + list("", 1<<40,
			100); !strings.HasPrefix(got, `4,back\slash,Branch 7;4,`) || !strings.HasSuffix(got, ";4;4") {
			t.Errorf("the pages are %s", got)
		}
		named, err := of.CustomerNamed(ctx, " BRANCH 7 ")
		kit.Must(t, err)
		if named == nil || *named.Fields.RecipientName != "Abra" {
			t.Errorf("named %+v", named)
		}
		for _, name := range []string{"", "Abra", "Branch", "Palm Trading LLC"} {
			if named, err := of.CustomerNamed(ctx, name); named != nil || err != nil {
				t.Errorf("%q names %+v, %v", name, named, err)
			}
		}
		items, err := of.CatalogueItems(ctx, "sku", 1, 10)
		kit.Must(t, err)
		if item, err := of.CatalogueItemNamed(ctx, "zephyr"); err != nil || items.Total != 1 || item == nil ||
			item.ID != items.Entries[0].ID {
			t.Errorf("items %+v, %v", items, err)
		}
	})
}

// TestBookIsBounded checks that a company has at most MaxBookEntries of each kind, even if they are created
// concurrently, that a deletion makes room, and that an entry of the longest texts can be stored.
func TestBookIsBounded(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		long := itemFields(strings.Repeat("\U0001F984", 256))
		long.ItemCode = new(strings.Repeat("\U0001F984", 64))
		made, err := f.tenant.Items().Create(ctx, long)
		kit.Must(t, err)
		wide := customerFields(strings.Repeat("\U0001F984", 256))
		wide.DisplayName, wide.RecipientNetworkID = new(strings.Repeat("\U0001F98A", 256)), long.ItemCode
		_, err = f.tenant.Customers().Create(ctx, wide)
		kit.Must(t, err)
		_, err = f.raw.ExecContext(ctx, `update tenants set items = $2 where id = $1`, f.tenant.Key(), store.MaxBookEntries-3)
		kit.Must(t, err)
		var group errgroup.Group
		results := make(chan error, 8)
		for range 8 {
			group.Go(func() error {
				_, err := f.tenant.Items().Create(ctx, itemFields("Consulting"))
				results <- err
				return nil
			})
		}
		kit.Must(t, group.Wait())
		var limited int
		for range 8 {
			if err := <-results; err != nil {
				limited++
				var quota *store.QuotaError
				if !errors.As(err, &quota) || *quota != (store.QuotaError{Quota: store.QuotaItems, Limit: store.MaxBookEntries}) {
					t.Errorf("error %v", err)
				}
			}
		}
		if limited != 5 {
			t.Errorf("%d of 8 were refused, want 5", limited)
		}
		if _, err := f.tenant.Customers().Create(ctx, customerFields("Another book")); err != nil {
			t.Error(err)
		}
		kit.Must(t, f.tenant.Items().Delete(ctx, made.ID, anyVersion))
		quotas, err := f.tenant.Quotas(ctx, f.user.ID)
		kit.Must(t, err)
		if got := quotas[store.QuotaItems]; got.Used != store.MaxBookEntries-1 || *got.Limit != store.MaxBookEntries ||
			quotas[store.QuotaCustomers].Used != 2 {
			t.Errorf("quotas %+v", quotas)
		}
	})
}

// TestBookCountsBytes checks that the bytes of entries are counted, and that a full company can still delete.
func TestBookCountsBytes(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		long := func(length int) func([]byte) (api.CustomerFields, error) {
			return func([]byte) (api.CustomerFields, error) { return customerFields(strings.Repeat("x", length)), nil }
		}
		customer, item := f.fillBook(t)
		book := f.tenant.Customers()
		_, err := book.Update(ctx, customer, anyVersion, long(200))
		kit.Must(t, err)
		kit.Must(t, f.tenant.Items().Delete(ctx, item, anyVersion))
		if got, want := f.used(t, store.QuotaStoredBytes), f.stored(t); got != want {
			t.Errorf("%d bytes are counted, want %d", got, want)
		}
		limit := f.used(t, store.QuotaStoredBytes)
		f.limited(t, store.Quotas{StoredBytes: limit})
		book = f.tenant.Customers()
		_, err = book.Create(ctx, customerFields("Full"))
		wantQuota(t, err, store.QuotaStoredBytes, limit)
		_, err = book.Update(ctx, customer, anyVersion, long(201))
		wantQuota(t, err, store.QuotaStoredBytes, limit)
		_, err = book.Update(ctx, customer, anyVersion, long(20))
		kit.Must(t, err)
		kit.Must(t, book.Delete(ctx, customer, anyVersion))
	})
}

// bookRequests are the operations of requests about entries of the book.
func bookRequests(tenant *store.Tenant, rows *planRows) []operation {
	of := view.Of(tenant)
	return []operation{
		{name: "CreateCustomer", run: func(ctx context.Context) error {
			_, err := tenant.Customers().Create(ctx, customerFields("Plan"))
			return err
		}},
		{name: "ChangeCustomer", run: func(ctx context.Context) error {
			_, err := tenant.Customers().Update(ctx, rows.customer, anyVersion,
				func([]byte) (api.CustomerFields, error) { return customerFields("Changed"), nil })
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
			return tenant.Items().Delete(ctx, rows.item,
				anyVersion)
		}},
	}
}

// addBookLists adds the lists and searches of the book.
func addBookLists(of view.Tenant, add func(name, uses string, depth int, run func(ctx context.Context) error)) {
	for _, search := range []string{"", "customer 9"} {
		add("customers by "+search, "book_entries_name", store.MaxBookEntries, func(ctx context.Context) error {
			_, err := of.Customers(ctx, search, 3, 25)
			return err
		})
		add("items by "+search, "book_entries_name", store.MaxBookEntries, func(ctx context.Context) error {
			_, err := of.CatalogueItems(ctx, search, 1, 25)
			return err
		})
	}
}
