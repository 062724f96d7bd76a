package invoices_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestCreateInvoice: a draft is given back as it came: every decimal with its scale, and absent what was absent.
func TestCreateInvoice(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		rapid.Check(t, func(r *rapid.T) {
			given := randomDraft(r)
			created, err := invoices.Create(t.Context(), f.Tenant, given)
			if err != nil {
				r.Fatal(err)
			}
			kept, err := invoices.Find(t.Context(), f.Tenant, created.ID)
			if err != nil {
				r.Fatal(err)
			}
			fixture.WantEqual(r, "the stored invoice", kept, created)
			fixture.WantEqual(r, "the stored draft", &kept.Draft, given)
			if kept.Version != 1 || kept.Submission != nil || !kept.CreatedAt.Equal(f.Clock.Now()) ||
				!kept.UpdatedAt.Equal(kept.CreatedAt) {
				r.Errorf("a new invoice is %+v", kept)
			}
		})
	})
}

// randomDraft makes a draft with the required fields and any of the others.
func randomDraft(r *rapid.T) *api.Draft {
	text := func(label string) *string {
		s := rapid.StringMatching(`[ -~é€\x{202e}😀]{1,12}`).Draw(r, label)
		return &s
	}
	decimal := func(label string) *api.Decimal {
		return fixture.Dec(rapid.StringMatching(`-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?`).Draw(r, label))
	}
	d := &api.Draft{InvoiceNumber: text("number"), RecipientName: text("name"), Currency: new("AED"),
		IssueDate: new("2026-03-01"), TotalAmount: decimal("total")}
	for _, field := range []**string{&d.RecipientNetworkID, &d.BuyerEndpointScheme, &d.BuyerStreet, &d.BuyerCity,
		&d.BuyerSubdivision, &d.BuyerCountry, &d.IssueTime, &d.DueDate, &d.PaymentMeansCode} {
		if rapid.Bool().Draw(r, "given") {
			*field = text("optional")
		}
	}
	for range rapid.IntRange(1, 3).Draw(r, "items") {
		item := api.Item{Name: text("item"), Quantity: decimal("quantity"), NetUnitPrice: decimal("price")}
		for _, field := range []**api.Decimal{&item.BaseQuantity, &item.GrossUnitPrice, &item.DiscountAmount, &item.VATRate} {
			if rapid.Bool().Draw(r, "given") {
				*field = decimal("optional")
			}
		}
		for _, field := range []**string{&item.ItemCode, &item.Description, &item.UnitCode, &item.VATCategory} {
			if rapid.Bool().Draw(r, "given") {
				*field = text("optional")
			}
		}
		d.Items = append(d.Items, item)
	}
	return d
}

// TestInvoicePages: the pages of a list, put together, are the list, newest first, whatever their size. Past the end a
// page is empty, at any number.
func TestInvoicePages(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		var all []base.ID // oldest first
		for _, total := range []int{0, 1, 25, 26, 101} {
			for len(all) < total {
				all = append(all, f.Create(t, fmt.Sprintf("INV-%d", len(all)%3)).ID)
			}
			for _, size := range []int{1, 25, 100} {
				var seen int
				last := max(1, (total+size-1)/size)
				for page := 1; page <= last; page++ {
					got, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, page, size)
					kit.Must(t, err)
					if want := min(size, total-seen); got.Total != total || len(got.Entries) != want {
						t.Fatalf("page %d of %d: %d invoices of %d, want %d of %d", page, size, len(got.Entries), got.Total, want, total)
					}
					for _, i := range got.Entries {
						if i.ID != all[total-1-seen] {
							t.Fatalf("page %d of %d: invoice %s at %d", page, size, i.ID, seen)
						}
						seen++
					}
				}
				for _, page := range []int{last + 1, last + 2, 1_000_000, math.MaxInt32, math.MaxInt - 1, math.MaxInt} {
					got, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, page, size)
					kit.Must(t, err)
					if len(got.Entries) != 0 || got.Total != total {
						t.Errorf("page %d of %d: %d invoices of %d", page, size, len(got.Entries), got.Total)
					}
				}
			}
		}
	})
}

// TestListedSubmissions: a list shows the same of every invoice as the invoice itself.
func TestListedSubmissions(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Create(t, "INV-1")
		fixture.Record(t, f.Submit(t, "INV-2"), fixture.AllFour("accepted", false))
		notSent := f.Submit(t, "INV-3")
		fixture.Decide(t, notSent, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, invoices.OutcomeNotSent)
		})
		f.Submit(t, "INV-4")
		listed, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 25)
		kit.Must(t, err)
		var submitted []bool
		for _, i := range listed.Entries {
			single, err := invoices.Find(ctx, f.Tenant, i.ID)
			kit.Must(t, err)
			if i.Items != len(single.Draft.Items) || i.Draft.Items != nil {
				t.Errorf("listed with %d items, alone with %d", i.Items, len(single.Draft.Items))
			}
			single.Draft.Items = nil
			fixture.WantEqual(t, "the listed invoice", i.Invoice, single)
			submitted = append(submitted, i.Submission != nil)
		}
		if want := []bool{true, false, true, false}; !slices.Equal(submitted, want) {
			t.Errorf("submitted %v, want %v", submitted, want)
		}
		if word, _, _ := listed.Entries[2].States().Get("receiver_state"); word != "accepted" {
			t.Errorf("the list shows the receiver's state as %q", word)
		}
	})
}

// TestConcurrentCreation: positions have no gaps, so that no page shows an invoice twice or leaves one out.
func TestConcurrentCreation(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Race(30, func(int) {
			_, err := invoices.Create(t.Context(), f.Tenant, fixture.Draft("INV-1"))
			fixture.Must2(t, err)
		})
		all, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 100)
		kit.Must(t, err)
		if highest := f.Number(t, `select max(position) from invoices where tenant_id = $1`,
			f.Tenant.ID()); len(all.Entries) != 30 || all.Total != 30 || highest != 30 {
			t.Errorf("%d invoices listed of %d, the last at %d", len(all.Entries), all.Total, highest)
		}
	})
}

// TestInvoiceSnapshot: an invoice is read and listed with the submission of the same moment, while it is corrected and
// submitted again and again.
func TestInvoiceSnapshot(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		created := f.Create(t, "INV-0")
		rounds, reads := 40, 0
		if testing.Short() {
			rounds = 10
		}
		ended := make(chan struct{})
		fixture.Race(3, func(n int) {
			if n == 0 {
				defer close(ended)
				for round := range rounds {
					fixture.Decide(t, f.Begin(t, created.ID), func(s invoices.Submission,
						_ time.Time) invoices.Decision {
						return fixture.Outcome(s, api.OutcomeRejected)
					})
					_, err := invoices.Update(t.Context(), f.Tenant, created.ID, func(int64) bool { return true },
						func([]byte) (api.Draft, error) {
							return *fixture.Draft(fmt.Sprintf("INV-%d", round+1)), nil
						})
					fixture.Must2(t, err)
				}
				return
			}
			for {
				select {
				case <-ended:
					return
				default:
				}
				read, err := invoices.Find(t.Context(), f.Tenant, created.ID)
				fixture.Must2(t, err)
				listed, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 1)
				fixture.Must2(t, err)
				if err != nil {
					return
				}
				for _, i := range []invoices.Invoice{read, listed.Entries[0].Invoice} {
					if i.Submission != nil && i.Submission.Number != *i.Draft.InvoiceNumber {
						t.Errorf("%s is shown with the submission of %s", *i.Draft.InvoiceNumber, i.Submission.Number)
					}
				}
				if n == 1 {
					reads++
				}
			}
		})
		if reads == 0 {
			t.Error("nothing was read meanwhile")
		}
	})
}
