package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// anyVersion accepts every version of an invoice.
func anyVersion(int64) bool { return true }

// TestDeleteInvoice checks that a draft is deleted permanently and its number becomes free, and that an invoice with a
// submission, an attempt that sent nothing, or a credit note, even a void one, is kept.
func TestDeleteInvoice(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		created := f.create(t, "INV-1")
		wantErr(t, f.tenant.DeleteInvoice(ctx, created.ID, func(version int64) bool { return version != created.Version }),
			store.ErrVersion)
		wantErr(t, f.decoy.tenant.DeleteInvoice(ctx, created.ID, anyVersion), store.ErrNotFound)
		kit.Must(t, f.tenant.DeleteInvoice(ctx, created.ID, func(version int64) bool { return version == created.Version }))
		_, err := f.tenant.Invoice(ctx, created.ID)
		wantErr(t, err, store.ErrNotFound)
		wantErr(t, f.tenant.DeleteInvoice(ctx, created.ID, anyVersion), store.ErrNotFound)

		submitted := f.submit(t, "INV-1")
		notSent := f.submit(t, "INV-2")
		decide(t, notSent, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, store.OutcomeNotSent) })
		rejected := f.submit(t, "INV-3")
		decide(t, rejected, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, api.OutcomeRejected) })
		credited, voided := f.create(t, "INV-4").ID, f.create(t, "INV-5").ID
		f.credit(t, credited, byQuantity(0, "1"))
		_, err = f.tenant.VoidCreditNote(ctx, f.credit(t, voided, byQuantity(0, "1")).ID)
		kit.Must(t, err)
		for _, id := range []store.ID{submitted.Submission.Invoice, notSent.Submission.Invoice, rejected.Submission.Invoice,
			credited, voided} {
			wantErr(t, f.tenant.DeleteInvoice(ctx, id, anyVersion), store.ErrNotEditable)
			_, err := f.tenant.Invoice(ctx, id)
			kit.Must(t, err)
		}
		if all, err := view.Of(f.tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 100); err != nil || all.Total != 5 ||
			len(all.Entries) != 5 {
			t.Errorf("%d of %d listed, %v; want 5", len(all.Entries), all.Total, err)
		}
	})
}

// TestDeletedInvoicesLeaveThePages checks that after creations and deletions in any order, the pages of every size
// together are the remaining invoices, newest first, and the total is their number.
func TestDeletedInvoicesLeaveThePages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, companies := t.Context(), 0
		rapid.Check(t, func(r *rapid.T) {
			companies++
			c := f.newCompany(t, fmt.Sprintf("owner-%d@example.com", companies))
			var left []store.ID // oldest first
			for range rapid.IntRange(1, 3).Draw(r, "rounds") {
				if count := rapid.IntRange(0, 200).Draw(r, "created"); count > 0 {
					f.fillDrafts(t, c.tenant, count)
					left = append(left, f.newest(t, c, count)...)
				}
				low := 0
				if len(left) > 0 {
					low = rapid.IntRange(0, len(left)-1).Draw(r, "from")
				}
				for n := range rapid.IntRange(0, min(len(left)-low, 40)).Draw(r, "deleted") {
					at := low // adjacent ones, or any
					if rapid.Bool().Draw(r, "anywhere") {
						at = (low + 7*n) % len(left)
					}
					if at >= len(left) {
						break
					}
					kit.Must(t, c.tenant.DeleteInvoice(ctx, left[at], anyVersion))
					left = slices.Delete(left, at, at+1)
				}
				wantPages(t, c, left, rapid.SampledFrom([]int{7, 25, 100}).Draw(r, "per page"))
			}
		})
	})
}

// TestPagesAcrossBlocks checks the same for a list that is longer than a block of every level except the highest.
func TestPagesAcrossBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const count = 40_000
		f.fillDrafts(t, f.tenant, count)
		left := f.newest(t, f.company, count)
		for _, at := range []int{39_999, 39_000, 32_768, 32_767, 32_766, 16_385, 16_384, 16_383, 16_382, 200, 129, 128,
			127, 126, 1, 0} {
			kit.Must(t, f.tenant.DeleteInvoice(ctx, left[at], anyVersion))
			left = slices.Delete(left, at, at+1)
		}
		for range 300 { // more than two whole blocks of the lowest level
			kit.Must(t, f.tenant.DeleteInvoice(ctx, left[20_000], anyVersion))
			left = slices.Delete(left, 20_000, 20_001)
		}
		wantPages(t, f.company, left, 100)
	})
}

// wantPages compares the pages of a list, in both orders, with the remaining invoices, oldest first.
func wantPages(t *testing.T, c company, left []store.ID, size int) {
	t.Helper()
	listed := listAll(t, c, view.InvoiceFilter{}, len(left), size)
	slices.Reverse(listed)
	if !slices.Equal(listed, left) {
		t.Fatalf("%d entries on pages of %d are not what is left", len(listed), size)
	}
	if listed = listAll(t, c, view.InvoiceFilter{Ascending: true}, len(left), size); !slices.Equal(listed, left) {
		t.Fatalf("%d entries on pages of %d, oldest first, are not what is left", len(listed), size)
	}
}

// listAll returns all pages of a list together.
func listAll(t *testing.T, c company, filter view.InvoiceFilter, total, size int) []store.ID {
	t.Helper()
	var listed []store.ID
	for page := 1; ; page++ {
		got, err := view.Of(c.tenant).Invoices(t.Context(), filter, page, size)
		kit.Must(t, err)
		if want := min(size, total-len(listed)); got.Total != total || len(got.Entries) != want {
			t.Fatalf("page %d of %d: %d of %d, want %d of %d", page, size, len(got.Entries), got.Total, want, total)
		}
		for _, i := range got.Entries {
			listed = append(listed, i.ID)
		}
		if len(got.Entries) < size {
			return listed
		}
	}
}

// newest returns the newest invoices of a company from the table, oldest first.
func (f *fixture) newest(t *testing.T, c company, count int) []store.ID {
	t.Helper()
	rows, err := f.raw.QueryContext(t.Context(),
		`select id from invoices where tenant_id = $1 order by position desc limit $2`, c.tenant.Key(), count)
	kit.Must(t, err)
	defer func() { kit.Must(t, rows.Close()) }()
	var out []store.ID
	for rows.Next() {
		var id store.ID
		kit.Must(t, rows.Scan(&id))
		out = append(out, id)
	}
	kit.Must(t, rows.Err())
	slices.Reverse(out)
	return out
}

// TestDeletionBesideOthers checks that a draft that is deleted while it is submitted, changed and credited is either
// gone with nothing that refers to it, or kept with everything that does.
func TestDeletionBesideOthers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var gone atomic.Int64
		for n := range 20 {
			id := f.create(t, fmt.Sprintf("INV-%d", n)).ID
			var deleted, submitted, credited error
			race(3, func(who int) {
				switch who {
				case 0:
					deleted = f.tenant.DeleteInvoice(ctx, id, anyVersion)
				case 1:
					_, _, submitted = f.tenant.BeginSubmission(ctx, id, intent())
				case 2:
					_, credited = f.tenant.CreateCreditNote(ctx, id, creditBy("CN-1", byQuantity(0, "1")))
				}
			})
			_, err := f.tenant.Invoice(ctx, id)
			switch {
			case deleted == nil:
				gone.Add(1)
				if !errors.Is(err, store.ErrNotFound) || !errors.Is(submitted, store.ErrNotFound) ||
					!errors.Is(credited, store.ErrNotFound) {
					t.Errorf("deleted, and read %v, submitted %v, credited %v", err, submitted, credited)
				}
			case !errors.Is(deleted, store.ErrNotEditable) || err != nil || submitted != nil && credited != nil:
				t.Errorf("not deleted: %v, read %v, submitted %v, credited %v", deleted, err, submitted, credited)
			}
		}
		all, err := view.Of(f.tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 100)
		kit.Must(t, err)
		if want := 20 - int(gone.Load()); all.Total != want || len(all.Entries) != want {
			t.Errorf("%d of %d listed, want %d", len(all.Entries), all.Total, want)
		}
	})
}
