package view_test

import (
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestSuggest checks that suggestions come from the company's own newest invoices: a number that no invoice has, the
// terms, the tax, and each recipient once.
func TestSuggest(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		ctx := t.Context()
		account, err := identity.CreateAccount(ctx, s.DB, "Palm", identity.NewUser{Email: "a@example.com",
			PasswordHash: "$hash"})
		kit.Must(t, err)
		other := newCompany(t, s, "b@example.com")
		tenant, err := s.Tenant(ctx, account.ID)
		kit.Must(t, err)
		of := view.Of(tenant)
		if got, err := of.Suggest(ctx); err != nil || got.Number != "" || got.Terms >= 0 {
			t.Errorf("without invoices: %+v %v", got, err)
		}
		add := func(tenant *base.Tenant, number, recipient, due string) base.ID {
			t.Helper()
			draft := &api.Draft{InvoiceNumber: &number, RecipientName: &recipient, Currency: new("AED"),
				IssueDate: new("2026-03-01"), DueDate: &due, PaymentMeansCode: new("30"), TotalAmount: new(api.MustDecimal("1")),
				BuyerCity: new("City of " + number),
				Items: []api.Item{{Name: new("a"), Quantity: new(api.MustDecimal("1")), NetUnitPrice: new(api.MustDecimal("1")),
					VATCategory: new("S"), VATRate: new(api.MustDecimal("5"))}}}
			made, err := invoices.Create(ctx, tenant, draft)
			kit.Must(t, err)
			s.Clock.Advance(time.Second)
			return made.ID
		}
		add(tenant, "INV-0100", "Oasis", "2026-03-08")
		eleven := add(tenant, "INV-0011", "Palm", "2026-03-11")
		add(tenant, "INV-0010", "palm ", "2026-03-31")
		add(tenant, "INV-0009", "Dune", "2026-03-31")
		add(other.tenant, "INV-0012", "Stranger", "2026-03-31")
		got, err := of.Suggest(ctx)
		kit.Must(t, err)
		if got.Number != "INV-0012" || got.Currency != "AED" || got.PaymentMeans != "30" || got.VATCategory != "S" ||
			got.VATRate != "5" || got.Terms != 30*24*time.Hour {
			t.Errorf("suggestions %+v", got)
		}
		names := func(choices []view.Choice, err error) (out string) {
			t.Helper()
			kit.Must(t, err)
			for _, choice := range choices {
				out += choice.Name + ","
			}
			return out
		}
		if got := names(of.Recipients(ctx, "")); got != "Dune,palm ,Oasis," {
			t.Errorf("recipients %s", got)
		}
		if got := names(of.Items(ctx, "")); got != "a," {
			t.Errorf("items %s", got)
		}
		if used, err := of.NumberUse(ctx, "INV-0011", base.ID{}); err != nil || used != eleven {
			t.Errorf("INV-0011 is used by %v, %v", used, err)
		}
		for number, besides := range map[string]base.ID{"INV-0011": eleven, "INV-0012": {}} {
			if used, err := of.NumberUse(ctx, number, besides); err != nil || !used.IsZero() {
				t.Errorf("%s is used by %v, %v", number, used, err)
			}
		}
		if got := names(of.Recipients(ctx, "AL")); got != "palm ," {
			t.Errorf("recipients %s contain al", got)
		}
		known, err := of.RecipientDefaults(ctx, " OASIS")
		kit.Must(t, err)
		if known == nil || *known.Draft.BuyerCity != "City of INV-0100" || known.Terms != 7*24*time.Hour ||
			!known.Customer.IsZero() {
			t.Errorf("what is known of Oasis: %+v", known)
		}
		for _, name := range []string{"", "Stranger", "Oas"} {
			if known, err := of.RecipientDefaults(ctx, name); known != nil || err != nil {
				t.Errorf("%q: %+v %v", name, known, err)
			}
		}
		suggestBook(t, tenant, other.tenant, names)
		for n, number := range []string{"no digits", "99", "2026/009", "9999999999999999999999", fmt.Sprintf("%063d9", 0)} {
			add(tenant, number, "Dune", "2026-03-31")
			want := []string{"", "100", "2026/010", "10000000000000000000000", fmt.Sprintf("%062d10", 0)}[n]
			if got, err := of.Suggest(ctx); err != nil || got.Number != want {
				t.Errorf("after %q comes %q, want %q: %v", number, got.Number, want, err)
			}
		}
	})
}

// suggestBook checks that the customer book and the item catalogue come before earlier invoices.
func suggestBook(t *testing.T, tenant, other *base.Tenant, names func([]view.Choice, error) string) {
	t.Helper()
	ctx, of := t.Context(), view.Of(tenant)
	for n, owner := range []*base.Tenant{tenant, other} {
		_, err := invoices.Customers(owner).Create(ctx, api.CustomerFields{DisplayName: new("Zephyr"),
			RecipientName: new(fmt.Sprintf("Company %d", n)), PaymentTermsDays: new(5), Note: new("note")})
		kit.Must(t, err)
		_, err = invoices.Customers(owner).Create(ctx, api.CustomerFields{RecipientName: new("OASIS"),
			BuyerCity: new(fmt.Sprintf("City %d", n))})
		kit.Must(t, err)
		_, err = invoices.Items(owner).Create(ctx, api.CatalogueItemFields{Name: new("Z"),
			ItemCode: new(fmt.Sprintf("SKU-%d", n)), NetUnitPrice: new(api.MustDecimal("2.50"))})
		kit.Must(t, err)
	}
	if got := names(of.Recipients(ctx, "")); got != "OASIS,Zephyr,Dune,palm ," {
		t.Errorf("recipients %s", got)
	}
	if got := names(of.Items(ctx, "")) + ";" + names(of.Items(ctx, "SKU-0")) + ";" +
		names(of.Items(ctx, "SKU-1")); got != "Z,a,;Z,;" {
		t.Errorf("items %s", got)
	}
	known, err := of.RecipientDefaults(ctx, "zephyr")
	kit.Must(t, err)
	if known == nil || *known.Draft.RecipientName != "Company 0" || known.Terms != 5*24*time.Hour ||
		known.Customer.IsZero() || *known.Draft.Note != "note" {
		t.Errorf("what is known of a customer: %+v", known)
	}
	if known, err := of.RecipientDefaults(ctx, "Oasis"); err != nil || *known.Draft.BuyerCity != "City 0" ||
		known.Terms >= 0 {
		t.Errorf("what is known of a customer of the name of a recipient: %+v %v", known, err)
	}
	item, err := of.ItemDefaults(ctx, " z ")
	kit.Must(t, err)
	if item == nil || item.NetUnitPrice.String() != "2.50" {
		t.Errorf("what is known of an item: %+v", item)
	}
	line, err := of.ItemDefaults(ctx, "A")
	kit.Must(t, err)
	if line == nil || *line.VATCategory != "S" || *line.Currency != "AED" {
		t.Errorf("what is known of an earlier line: %+v", line)
	}
	for _, name := range []string{"", "SKU-0", "Stranger"} {
		if item, err := of.ItemDefaults(ctx, name); item != nil || err != nil {
			t.Errorf("%q: %+v %v", name, item, err)
		}
	}
}
