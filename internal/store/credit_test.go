package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// creditBy builds a credit note as the server does. A refusal is an error that names the faults.
func creditBy(number string,
	items ...api.CreditItemRequest) func(*api.Draft, []invoice.Credit) (store.NewCreditNote, error) {
	request := &api.CreditNoteRequest{Kind: new(api.CreditPartial), Items: items}
	if len(items) == 0 {
		request.Kind = new(api.CreditFull)
	}
	return func(draft *api.Draft, live []invoice.Credit) (store.NewCreditNote, error) {
		credit, faults := invoice.NewCredit(draft, live, request)
		if len(faults) > 0 {
			return store.NewCreditNote{}, &refusedError{faults}
		}
		return store.NewCreditNote{Number: number, IssueDate: "2026-03-15", Reason: "Two hours\nwere not worked.",
			Credit: credit}, nil
	}
}

type refusedError struct{ faults api.Faults }

func (e *refusedError) Error() string { return fmt.Sprintf("refused: %v", e.faults) }

func byQuantity(position int, quantity string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, Quantity: dec(quantity)}
}

func byAmount(position int, amount string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, NetAmount: dec(amount)}
}

// credit credits items of an invoice, or all of it without items.
func (c company) credit(t *testing.T, id store.ID, items ...api.CreditItemRequest) store.CreditNote {
	t.Helper()
	made, err := c.tenant.CreateCreditNote(t.Context(), id, creditBy("CN-1", items...))
	kit.Must(t, err)
	return made
}

// voidCredit voids a credit note a minute later.
func (f *fixture) voidCredit(t *testing.T, id store.ID) store.CreditNote {
	t.Helper()
	f.Clock.Advance(time.Minute)
	n, err := f.tenant.VoidCreditNote(t.Context(), id)
	kit.Must(t, err)
	return n
}

// wantExceeded checks that a credit note is refused because it credits too much.
func (c company) wantExceeded(t *testing.T, id store.ID, path string, items ...api.CreditItemRequest) {
	t.Helper()
	_, err := c.tenant.CreateCreditNote(t.Context(), id, creditBy("CN-1", items...))
	var refused *refusedError
	if !errors.As(err, &refused) || !refused.faults.Has(path) {
		t.Fatalf("error %v, want a refusal at %s", err, path)
	}
}

// live returns the sum of the live credit notes of an invoice, in minor units.
func (c company) live(t *testing.T, id store.ID) (total int) {
	t.Helper()
	page, err := view.Of(c.tenant).CreditNotes(t.Context(), view.CreditNoteFilter{Invoice: &id}, 1, 1000)
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		id := f.create(t, "INV-1").ID
		made := make([]bool, 40)
		race(len(made), func(i int) {
			_, err := f.tenant.CreateCreditNote(t.Context(), id, creditBy("CN-1", byQuantity(0, "1")))
			var refused *refusedError
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
		if total := f.live(t, id); count != 10 || total != 105000 {
			t.Errorf("%d credit notes were made, together %d", count, total)
		}
		all, err := view.Of(f.tenant).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 100)
		kit.Must(t, err)
		highest := f.number(t, `select max(position) from credit_notes where tenant_id = $1`, f.tenant.Key())
		if all.Total != 10 || len(all.Entries) != 10 || highest != 10 {
			t.Errorf("%d credit notes listed of %d, the last at %d", len(all.Entries), all.Total, highest)
		}
	})
}

// TestConcurrentVoids checks that voids beside new credit notes release their amounts exactly once, and that the limit
// holds.
func TestConcurrentVoids(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		id := f.create(t, "INV-1").ID
		var notes []store.CreditNote
		for range 10 {
			notes = append(notes, f.credit(t, id, byQuantity(0, "1")))
		}
		race(40, func(i int) {
			if i%2 == 0 { // each of the ten is voided twice
				_, err := f.tenant.VoidCreditNote(t.Context(), notes[i/2%10].ID)
				must2(t, err)
				return
			}
			_, err := f.tenant.CreateCreditNote(t.Context(), id, creditBy("CN-2", byAmount(0, "150.00")))
			var refused *refusedError
			if err != nil && !errors.As(err, &refused) {
				t.Error(err)
			}
		})
		total := f.live(t, id)
		if total > 105000 || total%15750 != 0 {
			t.Errorf("the live credit notes credit %d", total)
		}
		for left := 105000 - total; left >= 15750; left -= 15750 {
			f.credit(t, id, byAmount(0, "150.00"))
		}
		f.wantExceeded(t, id, "items[0].net_amount", byAmount(0, "150.00"))
	})
}

// TestCreditNote checks that a credit note is returned as it was created, and does not change its invoice.
func TestCreditNote(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		credited := f.create(t, "INV-1")
		f.Clock.Advance(time.Hour)
		made := f.credit(t, credited.ID, byQuantity(0, "2.50"))
		kept, err := f.tenant.CreditNote(ctx, made.ID)
		kit.Must(t, err)
		wantEqual(t, "the stored credit note", kept, made)
		want := store.CreditNote{ID: made.ID, Invoice: credited.ID, Currency: "AED", Version: 1, CreatedAt: f.Clock.Now(),
			UpdatedAt: f.Clock.Now(), NewCreditNote: store.NewCreditNote{Number: "CN-1",
				IssueDate: "2026-03-15", Reason: "Two hours\nwere not worked.",
				Credit: invoice.Credit{Kind: api.CreditPartial, Total: "262.50",
					Items: []api.CreditNoteItem{{Name: "Consulting", UnitCode: new("HUR"), Quantity: dec("2.50"),
						NetAmount: new(api.Amount("250.00")), VATCategory: new("S"), VATRate: dec("5")}}}}}
		wantEqual(t, "the stored credit note", kept, want)
		wire := view.CreditNote(kept)
		if wire.ID != made.ID.String() || wire.InvoiceID != credited.ID.String() || wire.Submitted || wire.VoidedAt != nil ||
			!wire.UpdatedAt.Equal(kept.CreatedAt) {
			t.Errorf("shown as %+v", wire)
		}
		after, err := f.tenant.Invoice(ctx, credited.ID)
		kit.Must(t, err)
		wantEqual(t, "the credited invoice", after, credited)
	})
}

// TestUpdateCreditNote checks that the date and the reasons of a credit note can be changed in the version that the
// caller has read, that its amounts stay, and that a change to the present values does nothing. Rows of the previous
// version have no time of update.
func TestUpdateCreditNote(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		made := f.credit(t, f.create(t, "INV-1").ID, byQuantity(0, "1"))
		_, err := f.raw.ExecContext(ctx, `update credit_notes set updated_at = null where tenant_id = $1`, f.tenant.Key())
		kit.Must(t, err)
		f.Clock.Advance(time.Hour)
		give := func(code *string) func(api.CreditNoteChange) (api.CreditNoteChange, error) {
			return func(present api.CreditNoteChange) (api.CreditNoteChange, error) {
				return api.CreditNoteChange{IssueDate: present.IssueDate, Reason: present.Reason, ReasonCode: code}, nil
			}
		}
		same, err := f.tenant.UpdateCreditNote(ctx, made.ID, anyVersion, give(nil))
		kit.Must(t, err)
		wantEqual(t, "the unchanged credit note", same, made)
		_, err = f.tenant.UpdateCreditNote(ctx, made.ID, func(version int64) bool { return version != 1 }, give(new("VD")))
		wantErr(t, err, store.ErrVersion)
		_, err = f.decoy.tenant.UpdateCreditNote(ctx, made.ID, anyVersion, give(new("VD")))
		wantErr(t, err, store.ErrNotFound)
		want := made
		want.ReasonCode, want.Version, want.UpdatedAt = new("VD"), 2, f.Clock.Now()
		changed, err := f.tenant.UpdateCreditNote(ctx, made.ID, func(version int64) bool { return version == 1 },
			give(new("VD")))
		kit.Must(t, err)
		kept, err := f.tenant.CreditNote(ctx, made.ID)
		kit.Must(t, err)
		wantEqual(t, "the returned credit note", changed, want)
		wantEqual(t, "the stored credit note", kept, want)
		if voided := f.voidCredit(t, made.ID); voided.Version != 3 || !voided.UpdatedAt.Equal(*voided.VoidedAt) ||
			*voided.ReasonCode != "VD" {
			t.Errorf("voided as %+v", voided)
		}
	})
}

// TestVoidCreditNote checks that a void is permanent, counts once, and releases the credited amounts.
func TestVoidCreditNote(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id := f.create(t, "INV-1").ID
		first := f.credit(t, id)
		f.wantExceeded(t, id, "kind", byQuantity(0, "1"))
		f.wantExceeded(t, id, "kind")
		voided := f.voidCredit(t, first.ID)
		if want := f.Clock.Now(); voided.VoidedAt == nil || !voided.VoidedAt.Equal(want) ||
			!view.CreditNote(voided).UpdatedAt.Equal(want) || !voided.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("voided as %+v", voided)
		}
		again := f.voidCredit(t, first.ID)
		kept, err := f.tenant.CreditNote(ctx, first.ID)
		kit.Must(t, err)
		wantEqual(t, "the credit note that was voided again", again, voided)
		wantEqual(t, "the stored credit note", kept, voided)
		part := f.credit(t, id, byQuantity(0, "10"))
		f.wantExceeded(t, id, "items[0].net_amount", byAmount(0, "0.01"))
		f.voidCredit(t, part.ID)
		f.credit(t, id)
	})
}

// TestCreditNoteRefused checks that a refused credit note leaves no trace, and that build is not called for an unknown
// invoice.
func TestCreditNoteRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id := f.create(t, "INV-1").ID
		before := f.dump(t, f.company)
		refused := errors.New("refused")
		_, err := f.tenant.CreateCreditNote(ctx, id, func(*api.Draft, []invoice.Credit) (store.NewCreditNote,
			error) {
			return store.NewCreditNote{}, refused
		})
		wantErr(t, err, refused)
		unknown, err := f.NewID()
		kit.Must(t, err)
		_, err = f.tenant.CreateCreditNote(ctx, unknown, func(*api.Draft, []invoice.Credit) (store.NewCreditNote, error) {
			t.Error("build was called for an unknown invoice")
			return store.NewCreditNote{}, nil
		})
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.CreditNote(ctx, unknown)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.VoidCreditNote(ctx, unknown)
		wantErr(t, err, store.ErrNotFound)
		if after := f.dump(t, f.company); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

// TestCreditNotePages checks that the pages together are the list, newest first, and that the filter selects the credit
// notes of one invoice.
func TestCreditNotePages(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		invoices := []store.ID{f.create(t, "INV-1").ID, f.create(t, "INV-2").ID, f.create(t, "INV-3").ID}
		all, byInvoice := []store.ID{}, map[store.ID][]store.ID{} // newest first
		for n := range 13 {
			of := invoices[n%2]
			made := f.credit(t, of, byAmount(0, "0.01"))
			all, byInvoice[of] = slices.Insert(all, 0, made.ID), slices.Insert(byInvoice[of], 0, made.ID)
		}
		f.voidCredit(t, all[3])
		foreign := f.ids(t, f.decoy)
		filters := map[*store.ID][]store.ID{nil: all, &invoices[0]: byInvoice[invoices[0]],
			&invoices[1]: byInvoice[invoices[1]], &invoices[2]: nil, &foreign[0]: nil}
		for filter, want := range filters {
			for _, size := range []int{1, 5, 13, 100} {
				var got []store.ID
				for page := 1; page <= 1+len(want)/size; page++ {
					found, err := view.Of(f.tenant).CreditNotes(ctx, view.CreditNoteFilter{Invoice: filter}, page, size)
					kit.Must(t, err)
					if found.Total != len(want) || len(found.Entries) > size {
						t.Fatalf("filter %v, page %d of %d: %d credit notes of %d, want %d", filter, page, size, len(found.Entries),
							found.Total, len(want))
					}
					for _, n := range found.Entries {
						alone, err := f.tenant.CreditNote(ctx, n.ID)
						kit.Must(t, err)
						if n.Items != len(alone.Credit.Items) {
							t.Errorf("listed with %d items, alone with %d", n.Items, len(alone.Credit.Items))
						}
						alone.Credit.Items = nil
						wantEqual(t, "the listed credit note", n.CreditNote, alone)
						got = append(got, n.ID)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("filter %v in pages of %d: %v, want %v", filter, size, got, want)
				}
				for _, page := range []int{2 + len(want)/size, math.MaxInt32, math.MaxInt} {
					found, err := view.Of(f.tenant).CreditNotes(ctx, view.CreditNoteFilter{Invoice: filter}, page, size)
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		change := func(id store.ID, total string) error {
			_, err := f.tenant.UpdateInvoice(ctx, id, func(int64) bool { return true }, func([]byte) (api.Draft, error) {
				changed := draft("INV-1")
				changed.TotalAmount = dec(total)
				return *changed, nil
			})
			return err
		}
		id := f.create(t, "INV-1").ID
		live := f.credit(t, id, byAmount(0, "1"))
		f.voidCredit(t, f.credit(t, id, byAmount(0, "1")).ID)
		wantErr(t, change(id, "500.00"), store.ErrNotEditable)
		f.voidCredit(t, live.ID)
		kit.Must(t, change(id, "500.00"))
		for range 10 {
			id := f.create(t, "INV-1").ID
			var credited store.CreditNote
			var changed error
			race(2, func(i int) {
				if i == 0 {
					var err error
					credited, err = f.tenant.CreateCreditNote(ctx, id, creditBy("CN-1"))
					must2(t, err)
					return
				}
				if changed = change(id, "500.00"); changed != nil && !errors.Is(changed, store.ErrNotEditable) {
					t.Error(changed)
				}
			})
			kept, err := f.tenant.Invoice(ctx, id)
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		id := f.create(t, "INV-1").ID
		old := f.tenant
		fresh, err := f.ResetTenant(t.Context(), f.account.ID)
		kit.Must(t, err)
		f.tenant = fresh
		_, err = old.CreateCreditNote(t.Context(), id, creditBy("CN-1"))
		wantErr(t, err, store.ErrNotFound)
		_, err = fresh.CreateCreditNote(t.Context(), id, creditBy("CN-1"))
		wantErr(t, err, store.ErrNotFound)
	})
}

// TestCreditedInvoice checks that an invoice is returned with its live credits only, and that numbers are returned only
// for the company's own invoices.
func TestCreditedInvoice(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		id := f.create(t, "INV-1").ID
		theirs, err := view.Of(f.decoy.tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 1)
		kit.Must(t, err)
		other := theirs.Entries[0].ID
		f.credit(t, id, byQuantity(0, "3"))
		f.voidCredit(t, f.credit(t, id, byQuantity(0, "2")).ID)
		found, live, err := f.tenant.CreditedInvoice(t.Context(), id)
		kit.Must(t, err)
		if *found.Draft.InvoiceNumber != "INV-1" || len(live) != 1 || live[0].Items[0].Quantity.String() != "3" {
			t.Errorf("%+v, live %+v", found, live)
		}
		if _, _, err := f.tenant.CreditedInvoice(t.Context(), other); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the decoy's: %v", err)
		}
		numbers, err := view.Of(f.tenant).InvoiceNumbers(t.Context(), []store.ID{id, other})
		kit.Must(t, err)
		if len(numbers) != 1 || numbers[id] != "INV-1" {
			t.Errorf("numbers %v", numbers)
		}
		if none, err := view.Of(f.tenant).InvoiceNumbers(t.Context(), nil); err != nil || len(none) != 0 {
			t.Errorf("of none: %v %v", none, err)
		}
	})
}

// TestListedBefore checks that a credit note of the previous version, which did not store the number of its items, is
// listed with that number.
func TestListedBefore(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		note := f.credit(t, f.create(t, "INV-1").ID, byQuantity(0, "1"))
		f.exec(t, `update credit_notes set item_count = null where tenant_id = $1 and id = $2`, f.tenant.Key(), note.ID)
		found, err := view.Of(f.tenant).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 10)
		kit.Must(t, err)
		if row := found.Entries[0]; row.Items != 1 || row.Credit.Items != nil || row.Number != note.Number {
			t.Errorf("listed as %+v", row)
		}
	})
}
