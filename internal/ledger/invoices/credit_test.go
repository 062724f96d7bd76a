package invoices_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

func byAmount(position int, amount string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, NetAmount: fixture.Dec(amount)}
}

// voidCredit voids a credit note a minute later.
func voidCredit(t *testing.T, f *fixture.Fixture, id base.ID) invoices.CreditNote {
	t.Helper()
	f.Clock.Advance(time.Minute)
	n, err := invoices.VoidCreditNote(t.Context(), f.Tenant, id)
	kit.Must(t, err)
	return n
}

// wantExceeded checks that a credit note is refused because it credits too much.
func wantExceeded(t *testing.T, c fixture.Company, id base.ID, path string, items ...api.CreditItemRequest) {
	t.Helper()
	_, err := invoices.CreateCreditNote(t.Context(), c.Tenant, id, fixture.CreditBy("CN-1", items...))
	var refused *fixture.RefusedError
	if !errors.As(err, &refused) || !refused.Faults.Has(path) {
		t.Fatalf("error %v, want a refusal at %s", err, path)
	}
}

// live returns the sum of the live credit notes of an invoice, in minor units.
func live(t *testing.T, c fixture.Company, id base.ID) (total int) {
	t.Helper()
	page, err := view.Of(c.Tenant).CreditNotes(t.Context(), view.CreditNoteFilter{Invoice: &id}, 1, 1000)
	kit.Must(t, err)
	for _, n := range page.Entries {
		if n.VoidedAt == nil {
			var whole, cents int
			_, err := fmt.Sscanf(string(n.Credit.Total), "%d.%02d", &whole, &cents)
			kit.Must(t, err)
			total += 100*whole + cents
		}
	}
	return total
}

// TestConcurrentCreditNotes checks that concurrent credit notes never exceed the invoice together, and that as many are
// accepted as fit: 1050.00 holds ten of 105.00.
func TestConcurrentCreditNotes(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		id := f.Create(t, "INV-1").ID
		made := make([]bool, 40)
		fixture.Race(len(made), func(i int) {
			_, err := invoices.CreateCreditNote(t.Context(), f.Tenant, id, fixture.CreditBy("CN-1", fixture.ByQuantity(0, "1")))
			var refused *fixture.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Error(err)
			}
			made[i] = err == nil
		})
		count := 0
		for _, ok := range made {
			if ok {
				count++
			}
		}
		if total := live(t, f.Company, id); count != 10 || total != 105000 {
			t.Errorf("%d credit notes were made, together %d", count, total)
		}
		all, err := view.Of(f.Tenant).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 100)
		kit.Must(t, err)
		highest := f.Number(t, `select max(position) from credit_notes where tenant_id = $1`, f.Tenant.ID())
		if all.Total != 10 || len(all.Entries) != 10 || highest != 10 {
			t.Errorf("%d credit notes listed of %d, the last at %d", len(all.Entries), all.Total, highest)
		}
	})
}

// TestConcurrentVoids checks that voids beside new credit notes release their amounts exactly once, and that the limit
// holds.
func TestConcurrentVoids(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		id := f.Create(t, "INV-1").ID
		var notes []invoices.CreditNote
		for range 10 {
			notes = append(notes, f.Credit(t, id, fixture.ByQuantity(0, "1")))
		}
		fixture.Race(40, func(i int) {
			if i%2 == 0 { // each of the ten is voided twice
				_, err := invoices.VoidCreditNote(t.Context(), f.Tenant, notes[i/2%10].ID)
				fixture.Must2(t, err)
				return
			}
			_, err := invoices.CreateCreditNote(t.Context(), f.Tenant, id, fixture.CreditBy("CN-2", byAmount(0, "150.00")))
			var refused *fixture.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Error(err)
			}
		})
		total := live(t, f.Company, id)
		if total > 105000 || total%15750 != 0 {
			t.Errorf("the live credit notes credit %d", total)
		}
		for left := 105000 - total; left >= 15750; left -= 15750 {
			f.Credit(t, id, byAmount(0, "150.00"))
		}
		wantExceeded(t, f.Company, id, "items[0].net_amount", byAmount(0, "150.00"))
	})
}

// TestCreditNote checks that a credit note is returned as it was created, and does not change its invoice.
func TestCreditNote(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		credited := f.Create(t, "INV-1")
		f.Clock.Advance(time.Hour)
		made := f.Credit(t, credited.ID, fixture.ByQuantity(0, "2.50"))
		kept, err := invoices.FindCreditNote(ctx, f.Tenant, made.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the stored credit note", kept, made)
		want := invoices.CreditNote{ID: made.ID, Invoice: credited.ID, Currency: "AED", Version: 1, CreatedAt: f.Clock.Now(),
			UpdatedAt: f.Clock.Now(), NewCreditNote: invoices.NewCreditNote{Number: "CN-1",
				IssueDate: "2026-03-15", Reason: "Two hours\nwere not worked.",
				Credit: invoice.Credit{Kind: api.CreditPartial, Total: "262.50",
					Items: []api.CreditNoteItem{{Name: "Consulting", UnitCode: new("HUR"), Quantity: fixture.Dec("2.50"),
						NetAmount: new(api.Amount("250.00")), VATCategory: new("S"), VATRate: fixture.Dec("5")}}}}}
		fixture.WantEqual(t, "the stored credit note", kept, want)
		wire := view.CreditNote(kept)
		if wire.ID != made.ID.String() || wire.InvoiceID != credited.ID.String() || wire.Submitted || wire.VoidedAt != nil ||
			!wire.UpdatedAt.Equal(kept.CreatedAt) {
			t.Errorf("shown as %+v", wire)
		}
		after, err := invoices.Find(ctx, f.Tenant, credited.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the credited invoice", after, credited)
	})
}

// TestUpdateCreditNote checks that the date and the reasons of a credit note can be changed in the version that the
// caller has read, that its amounts stay, and that a change to the present values does nothing. Rows of the previous
// version have no time of update.
func TestUpdateCreditNote(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		made := f.Credit(t, f.Create(t, "INV-1").ID, fixture.ByQuantity(0, "1"))
		_, err := f.Raw.ExecContext(ctx, `update credit_notes set updated_at = null where tenant_id = $1`, f.Tenant.ID())
		kit.Must(t, err)
		f.Clock.Advance(time.Hour)
		give := func(code *string) func(api.CreditNoteChange) (api.CreditNoteChange, error) {
			return func(present api.CreditNoteChange) (api.CreditNoteChange, error) {
				return api.CreditNoteChange{IssueDate: present.IssueDate, Reason: present.Reason, ReasonCode: code}, nil
			}
		}
		same, err := invoices.UpdateCreditNote(ctx, f.Tenant, made.ID, fixture.AnyVersion, give(nil))
		kit.Must(t, err)
		fixture.WantEqual(t, "the unchanged credit note", same, made)
		_, err = invoices.UpdateCreditNote(ctx, f.Tenant, made.ID, func(version int64) bool { return version != 1 },
			give(new("VD")))
		fixture.WantErr(t, err, invoices.ErrVersion)
		_, err = invoices.UpdateCreditNote(ctx, f.Decoy.Tenant, made.ID, fixture.AnyVersion, give(new("VD")))
		fixture.WantErr(t, err, base.ErrNotFound)
		want := made
		want.ReasonCode, want.Version, want.UpdatedAt = new("VD"), 2, f.Clock.Now()
		changed, err := invoices.UpdateCreditNote(ctx, f.Tenant, made.ID, func(version int64) bool { return version == 1 },
			give(new("VD")))
		kit.Must(t, err)
		kept, err := invoices.FindCreditNote(ctx, f.Tenant, made.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the returned credit note", changed, want)
		fixture.WantEqual(t, "the stored credit note", kept, want)
		if voided := voidCredit(t, f, made.ID); voided.Version != 3 || !voided.UpdatedAt.Equal(*voided.VoidedAt) ||
			*voided.ReasonCode != "VD" {
			t.Errorf("voided as %+v", voided)
		}
	})
}

// TestVoidCreditNote checks that a void is permanent, counts once, and releases the credited amounts.
func TestVoidCreditNote(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id := f.Create(t, "INV-1").ID
		first := f.Credit(t, id)
		wantExceeded(t, f.Company, id, "kind", fixture.ByQuantity(0, "1"))
		wantExceeded(t, f.Company, id, "kind")
		voided := voidCredit(t, f, first.ID)
		if want := f.Clock.Now(); voided.VoidedAt == nil || !voided.VoidedAt.Equal(want) ||
			!view.CreditNote(voided).UpdatedAt.Equal(want) || !voided.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("voided as %+v", voided)
		}
		again := voidCredit(t, f, first.ID)
		kept, err := invoices.FindCreditNote(ctx, f.Tenant, first.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the credit note that was voided again", again, voided)
		fixture.WantEqual(t, "the stored credit note", kept, voided)
		part := f.Credit(t, id, fixture.ByQuantity(0, "10"))
		wantExceeded(t, f.Company, id, "items[0].net_amount", byAmount(0, "0.01"))
		voidCredit(t, f, part.ID)
		f.Credit(t, id)
	})
}

// TestCreditNoteRefused checks that a refused credit note leaves no trace, and that build is not called for an unknown
// invoice.
func TestCreditNoteRefused(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id := f.Create(t, "INV-1").ID
		before := f.Dump(t, f.Company)
		refused := errors.New("refused")
		_, err := invoices.CreateCreditNote(ctx, f.Tenant, id, func(*api.Draft, []invoice.Credit) (invoices.NewCreditNote,
			error) {
			return invoices.NewCreditNote{}, refused
		})
		fixture.WantErr(t, err, refused)
		unknown, err := f.NewID()
		kit.Must(t, err)
		_, err = invoices.CreateCreditNote(ctx, f.Tenant, unknown,
			func(*api.Draft, []invoice.Credit) (invoices.NewCreditNote, error) {
				t.Error("build was called for an unknown invoice")
				return invoices.NewCreditNote{}, nil
			})
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = invoices.FindCreditNote(ctx, f.Tenant, unknown)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = invoices.VoidCreditNote(ctx, f.Tenant, unknown)
		fixture.WantErr(t, err, base.ErrNotFound)
		if after := f.Dump(t, f.Company); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

// TestCreditNotePages checks that the pages together are the list, newest first, and that the filter selects the credit
// notes of one invoice.
func TestCreditNotePages(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		drafts := []base.ID{f.Create(t, "INV-1").ID, f.Create(t, "INV-2").ID, f.Create(t, "INV-3").ID}
		all, byInvoice := []base.ID{}, map[base.ID][]base.ID{} // newest first
		for n := range 13 {
			of := drafts[n%2]
			made := f.Credit(t, of, byAmount(0, "0.01"))
			all, byInvoice[of] = slices.Insert(all, 0, made.ID), slices.Insert(byInvoice[of], 0, made.ID)
		}
		voidCredit(t, f, all[3])
		foreign := f.Ids(t, f.Decoy)
		filters := map[*base.ID][]base.ID{nil: all, &drafts[0]: byInvoice[drafts[0]],
			&drafts[1]: byInvoice[drafts[1]], &drafts[2]: nil, &foreign[0]: nil}
		for filter, want := range filters {
			for _, size := range []int{1, 5, 13, 100} {
				var got []base.ID
				for page := 1; page <= 1+len(want)/size; page++ {
					found, err := view.Of(f.Tenant).CreditNotes(ctx, view.CreditNoteFilter{Invoice: filter}, page, size)
					kit.Must(t, err)
					if found.Total != len(want) || len(found.Entries) > size {
						t.Fatalf("filter %v, page %d of %d: %d credit notes of %d, want %d", filter, page, size, len(found.Entries),
							found.Total, len(want))
					}
					for _, n := range found.Entries {
						alone, err := invoices.FindCreditNote(ctx, f.Tenant, n.ID)
						kit.Must(t, err)
						if n.Items != len(alone.Credit.Items) {
							t.Errorf("listed with %d items, alone with %d", n.Items, len(alone.Credit.Items))
						}
						alone.Credit.Items = nil
						fixture.WantEqual(t, "the listed credit note", n.CreditNote, alone)
						got = append(got, n.ID)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("filter %v in pages of %d: %v, want %v", filter, size, got, want)
				}
				for _, page := range []int{2 + len(want)/size, math.MaxInt32, math.MaxInt} {
					found, err := view.Of(f.Tenant).CreditNotes(ctx, view.CreditNoteFilter{Invoice: filter}, page, size)
					kit.Must(t, err)
					if len(found.Entries) != 0 || found.Total != len(want) {
						t.Errorf("filter %v, page %d: %d credit notes of %d", filter, page, len(found.Entries), found.Total)
					}
				}
			}
		}
	})
}

// TestCreditedInvoiceIsFixed checks that an invoice with live credit notes cannot be changed, not even by a change that
// runs beside the creation of a credit note.
func TestCreditedInvoiceIsFixed(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		change := func(id base.ID, total string) error {
			_, err := invoices.Update(ctx, f.Tenant, id, func(int64) bool { return true }, func([]byte) (api.Draft, error) {
				changed := fixture.Draft("INV-1")
				changed.TotalAmount = fixture.Dec(total)
				return *changed, nil
			})
			return err
		}
		id := f.Create(t, "INV-1").ID
		live := f.Credit(t, id, byAmount(0, "1"))
		voidCredit(t, f, f.Credit(t, id, byAmount(0, "1")).ID)
		fixture.WantErr(t, change(id, "500.00"), invoices.ErrNotEditable)
		voidCredit(t, f, live.ID)
		kit.Must(t, change(id, "500.00"))
		for range 10 {
			id := f.Create(t, "INV-1").ID
			var credited invoices.CreditNote
			var changed error
			fixture.Race(2, func(i int) {
				if i == 0 {
					var err error
					credited, err = invoices.CreateCreditNote(ctx, f.Tenant, id, fixture.CreditBy("CN-1"))
					fixture.Must2(t, err)
					return
				}
				if changed = change(id, "500.00"); changed != nil && !errors.Is(changed, invoices.ErrNotEditable) {
					t.Error(changed)
				}
			})
			kept, err := invoices.Find(ctx, f.Tenant, id)
			kit.Must(t, err)
			if string(credited.Credit.Total) != kept.Draft.TotalAmount.String() {
				t.Errorf("%s was credited of an invoice of %s; the change: %v", credited.Credit.Total, kept.Draft.TotalAmount,
					changed)
			}
		}
	})
}

// TestFrozenTenantCreditsNothing checks that a request in progress creates no credit note after its tenant was frozen.
func TestFrozenTenantCreditsNothing(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		id := f.Create(t, "INV-1").ID
		old := f.Tenant
		fresh, err := invoices.ResetTenant(t.Context(), f.DB, f.Account.ID)
		kit.Must(t, err)
		f.Tenant = fresh
		_, err = invoices.CreateCreditNote(t.Context(), old, id, fixture.CreditBy("CN-1"))
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = invoices.CreateCreditNote(t.Context(), fresh, id, fixture.CreditBy("CN-1"))
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

// TestCreditedInvoice checks that an invoice is returned with its live credits only, and that numbers are returned only
// for the company's own invoices.
func TestCreditedInvoice(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		id := f.Create(t, "INV-1").ID
		theirs, err := view.Of(f.Decoy.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 1)
		kit.Must(t, err)
		other := theirs.Entries[0].ID
		f.Credit(t, id, fixture.ByQuantity(0, "3"))
		voidCredit(t, f, f.Credit(t, id, fixture.ByQuantity(0, "2")).ID)
		found, live, err := invoices.CreditedInvoice(t.Context(), f.Tenant, id)
		kit.Must(t, err)
		if *found.Draft.InvoiceNumber != "INV-1" || len(live) != 1 || live[0].Items[0].Quantity.String() != "3" {
			t.Errorf("%+v, live %+v", found, live)
		}
		if _, _, err := invoices.CreditedInvoice(t.Context(), f.Tenant, other); !errors.Is(err, base.ErrNotFound) {
			t.Errorf("the decoy's: %v", err)
		}
		numbers, err := view.Of(f.Tenant).InvoiceNumbers(t.Context(), []base.ID{id, other})
		kit.Must(t, err)
		if len(numbers) != 1 || numbers[id] != "INV-1" {
			t.Errorf("numbers %v", numbers)
		}
		if none, err := view.Of(f.Tenant).InvoiceNumbers(t.Context(), nil); err != nil || len(none) != 0 {
			t.Errorf("of none: %v %v", none, err)
		}
	})
}

// TestListedBefore checks that a credit note of the previous version, which did not store the number of its items, is
// listed with that number.
func TestListedBefore(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		note := f.Credit(t, f.Create(t, "INV-1").ID, fixture.ByQuantity(0, "1"))
		f.Exec(t, `update credit_notes set item_count = null where tenant_id = $1 and id = $2`, f.Tenant.ID(), note.ID)
		found, err := view.Of(f.Tenant).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 10)
		kit.Must(t, err)
		if row := found.Entries[0]; row.Items != 1 || row.Credit.Items != nil || row.Number != note.Number {
			t.Errorf("listed as %+v", row)
		}
	})
}
