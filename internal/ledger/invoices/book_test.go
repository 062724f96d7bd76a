package invoices_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestBook checks that customers and items are kept digit by digit, that they change by version, and that a customer is
// no item.
func TestBook(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		book := invoices.Items(f.Tenant)
		created, err := book.Create(ctx, fixture.ItemFields("Consulting"))
		kit.Must(t, err)
		read, err := book.Entry(ctx, created.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "read", read, created)
		fixture.WantEqual(t, "price", read.Fields.NetUnitPrice.String(), "100.00")
		if _, err := invoices.Customers(f.Tenant).Entry(ctx, created.ID); !errors.Is(err, base.ErrNotFound) {
			t.Errorf("an item is a customer: %v", err)
		}
		rename := func(name string) func([]byte) (api.CatalogueItemFields, error) {
			return func(current []byte) (api.CatalogueItemFields, error) {
				if !strings.Contains(string(current), `"net_unit_price":100.00`) {
					t.Errorf("the current fields are %s", current)
				}
				return fixture.ItemFields(name), nil
			}
		}
		f.Clock.Advance(time.Second)
		updated, err := book.Update(ctx, created.ID, func(version int64) bool { return version == 1 }, rename("Training"))
		kit.Must(t, err)
		if updated.Version != 2 || *updated.Fields.Name != "Training" || !updated.UpdatedAt.After(created.UpdatedAt) ||
			!updated.CreatedAt.Equal(created.CreatedAt) {
			t.Errorf("updated %+v", updated)
		}
		same, err := book.Update(ctx, created.ID, fixture.AnyVersion, rename("Training"))
		kit.Must(t, err)
		fixture.WantEqual(t, "a change of nothing", same, updated)
		first := func(version int64) bool { return version == 1 }
		_, err = book.Update(ctx, created.ID, first, rename("Late"))
		fixture.WantErr(t, err, invoices.ErrVersion)
		_, err = book.Update(ctx, created.ID, fixture.AnyVersion,
			func([]byte) (api.CatalogueItemFields, error) { return api.CatalogueItemFields{}, context.Canceled })
		fixture.WantErr(t, err, context.Canceled)
		fixture.WantErr(t, book.Delete(ctx, created.ID, first), invoices.ErrVersion)
		kit.Must(t, book.Delete(ctx, created.ID, fixture.AnyVersion))
		_, err = book.Entry(ctx, created.ID)
		fixture.WantErr(t, err, base.ErrNotFound)
		fixture.WantErr(t, book.Delete(ctx, created.ID, fixture.AnyVersion), base.ErrNotFound)
		var acts []string
		entries, err := view.Of(f.Tenant).AuditLog(ctx, view.AuditFilter{Act: "item"}, 1, 10)
		kit.Must(t, err)
		for _, e := range entries.Entries {
			acts = append(acts, e.Act+" "+e.Details)
		}
		fixture.WantEqual(t, "acts", acts, []string{`item.delete {"name":"Training"}`,
			`item.update {"fields":"name","name":"Training"}`, `item.create {"name":"Consulting"}`})
	})
}

// TestBookLists checks the order of the lists, and that they find texts in names and codes in any case, and nothing of
// another company.
func TestBookLists(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		of := view.Of(f.Tenant)
		for _, name := range []string{"zephyr", "Ärzte 100% & Co_", `back\slash`, "Abra"} {
			fields := fixture.CustomerFields(name)
			if name == "Abra" {
				fields.DisplayName, fields.RecipientNetworkID = new("Branch 7"), new("NET-77")
			}
			_, err := invoices.Customers(f.Tenant).Create(ctx, fields)
			kit.Must(t, err)
		}
		_, err := invoices.Items(f.Tenant).Create(ctx, fixture.ItemFields("Zephyr"))
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		long := fixture.ItemFields(strings.Repeat("\U0001F984", 256))
		long.ItemCode = new(strings.Repeat("\U0001F984", 64))
		made, err := invoices.Items(f.Tenant).Create(ctx, long)
		kit.Must(t, err)
		wide := fixture.CustomerFields(strings.Repeat("\U0001F984", 256))
		wide.DisplayName, wide.RecipientNetworkID = new(strings.Repeat("\U0001F98A", 256)), long.ItemCode
		_, err = invoices.Customers(f.Tenant).Create(ctx, wide)
		kit.Must(t, err)
		_, err = f.Raw.ExecContext(ctx, `update tenants set items = $2 where id = $1`, f.Tenant.ID(), invoices.MaxBookEntries-3)
		kit.Must(t, err)
		var group errgroup.Group
		results := make(chan error, 8)
		for range 8 {
			group.Go(func() error {
				_, err := invoices.Items(f.Tenant).Create(ctx, fixture.ItemFields("Consulting"))
				results <- err
				return nil
			})
		}
		kit.Must(t, group.Wait())
		var limited int
		for range 8 {
			if err := <-results; err != nil {
				limited++
				var quota *base.QuotaError
				if !errors.As(err, &quota) || *quota != (base.QuotaError{Quota: base.QuotaItems, Limit: invoices.MaxBookEntries}) {
					t.Errorf("error %v", err)
				}
			}
		}
		if limited != 5 {
			t.Errorf("%d of 8 were refused, want 5", limited)
		}
		if _, err := invoices.Customers(f.Tenant).Create(ctx, fixture.CustomerFields("Another book")); err != nil {
			t.Error(err)
		}
		kit.Must(t, invoices.Items(f.Tenant).Delete(ctx, made.ID, fixture.AnyVersion))
		quotas, err := invoices.Quotas(ctx, f.Tenant, f.User.ID)
		kit.Must(t, err)
		if got := quotas[base.QuotaItems]; got.Used != invoices.MaxBookEntries-1 || *got.Limit != invoices.MaxBookEntries ||
			quotas[base.QuotaCustomers].Used != 2 {
			t.Errorf("quotas %+v", quotas)
		}
	})
}

// TestBookCountsBytes checks that the bytes of entries are counted, and that a full company can still delete.
func TestBookCountsBytes(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		long := func(length int) func([]byte) (api.CustomerFields, error) {
			return func([]byte) (api.CustomerFields, error) {
				return fixture.CustomerFields(strings.Repeat("x", length)), nil
			}
		}
		customer, item := f.FillBook(t)
		book := invoices.Customers(f.Tenant)
		_, err := book.Update(ctx, customer, fixture.AnyVersion, long(200))
		kit.Must(t, err)
		kit.Must(t, invoices.Items(f.Tenant).Delete(ctx, item, fixture.AnyVersion))
		if got, want := f.Used(t, base.QuotaStoredBytes), f.Stored(t); got != want {
			t.Errorf("%d bytes are counted, want %d", got, want)
		}
		limit := f.Used(t, base.QuotaStoredBytes)
		f.Limited(t, base.Quotas{StoredBytes: limit})
		book = invoices.Customers(f.Tenant)
		_, err = book.Create(ctx, fixture.CustomerFields("Full"))
		fixture.WantQuota(t, err, base.QuotaStoredBytes, limit)
		_, err = book.Update(ctx, customer, fixture.AnyVersion, long(201))
		fixture.WantQuota(t, err, base.QuotaStoredBytes, limit)
		_, err = book.Update(ctx, customer, fixture.AnyVersion, long(20))
		kit.Must(t, err)
		kit.Must(t, book.Delete(ctx, customer, fixture.AnyVersion))
	})
}
