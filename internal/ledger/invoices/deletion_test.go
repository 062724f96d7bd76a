package invoices_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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

// TestDeleteInvoice checks that a draft is deleted permanently and its number becomes free, and that an invoice with a
// submission, an attempt that sent nothing, or a credit note, even a void one, is kept.
func TestDeleteInvoice(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		created := f.Create(t, "INV-1")
		fixture.WantErr(t, invoices.Delete(ctx, f.Tenant, created.ID,
			func(version int64) bool { return version != created.Version }), invoices.ErrVersion)
		fixture.WantErr(t, invoices.Delete(ctx, f.Decoy.Tenant, created.ID, fixture.AnyVersion), base.ErrNotFound)
		kit.Must(t, invoices.Delete(ctx, f.Tenant, created.ID,
			func(version int64) bool { return version == created.Version }))
		_, err := invoices.Find(ctx, f.Tenant, created.ID)
		fixture.WantErr(t, err, base.ErrNotFound)
		fixture.WantErr(t, invoices.Delete(ctx, f.Tenant, created.ID, fixture.AnyVersion), base.ErrNotFound)

		submitted := f.Submit(t, "INV-1")
		notSent := f.Submit(t, "INV-2")
		fixture.Decide(t, notSent, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, invoices.OutcomeNotSent)
		})
		rejected := f.Submit(t, "INV-3")
		fixture.Decide(t, rejected, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeRejected)
		})
		credited, voided := f.Create(t, "INV-4").ID, f.Create(t, "INV-5").ID
		f.Credit(t, credited, fixture.ByQuantity(0, "1"))
		_, err = invoices.VoidCreditNote(ctx, f.Tenant, f.Credit(t, voided, fixture.ByQuantity(0, "1")).ID)
		kit.Must(t, err)
		for _, id := range []base.ID{submitted.Submission.Invoice, notSent.Submission.Invoice, rejected.Submission.Invoice,
			credited, voided} {
			fixture.WantErr(t, invoices.Delete(ctx, f.Tenant, id, fixture.AnyVersion), invoices.ErrNotEditable)
			_, err := invoices.Find(ctx, f.Tenant, id)
			kit.Must(t, err)
		}
		if all, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 100); err != nil || all.Total != 5 ||
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, companies := t.Context(), 0
		rapid.Check(t, func(r *rapid.T) {
			companies++
			c := f.NewCompany(t, fmt.Sprintf("owner-%d@example.com", companies))
			var left []base.ID // oldest first
			for range rapid.IntRange(1, 3).Draw(r, "rounds") {
				if count := rapid.IntRange(0, 200).Draw(r, "created"); count > 0 {
					f.FillDrafts(t, c.Tenant, count)
					left = append(left, newest(t, f, c, count)...)
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
					kit.Must(t, invoices.Delete(ctx, c.Tenant, left[at], fixture.AnyVersion))
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		const count = 40_000
		f.FillDrafts(t, f.Tenant, count)
		left := newest(t, f, f.Company, count)
		for _, at := range []int{39_999, 39_000, 32_768, 32_767, 32_766, 16_385, 16_384, 16_383, 16_382, 200, 129, 128,
			127, 126, 1, 0} {
			kit.Must(t, invoices.Delete(ctx, f.Tenant, left[at], fixture.AnyVersion))
			left = slices.Delete(left, at, at+1)
		}
		for range 300 { // more than two whole blocks of the lowest level
			kit.Must(t, invoices.Delete(ctx, f.Tenant, left[20_000], fixture.AnyVersion))
			left = slices.Delete(left, 20_000, 20_001)
		}
		wantPages(t, f.Company, left, 100)
	})
}

// wantPages compares the pages of a list, in both orders, with the remaining invoices, oldest first.
func wantPages(t *testing.T, c fixture.Company, left []base.ID, size int) {
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
func listAll(t *testing.T, c fixture.Company, filter view.InvoiceFilter, total, size int) []base.ID {
	t.Helper()
	var listed []base.ID
	for page := 1; ; page++ {
		got, err := view.Of(c.Tenant).Invoices(t.Context(), filter, page, size)
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
func newest(t *testing.T, f *fixture.Fixture, c fixture.Company, count int) []base.ID {
	t.Helper()
	rows, err := f.Raw.QueryContext(t.Context(),
		`select id from invoices where tenant_id = $1 order by position desc limit $2`, c.Tenant.ID(), count)
	kit.Must(t, err)
	defer func() { kit.Must(t, rows.Close()) }()
	var out []base.ID
	for rows.Next() {
		var id base.ID
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		var gone atomic.Int64
		for n := range 20 {
			id := f.Create(t, fmt.Sprintf("INV-%d", n)).ID
			var deleted, submitted, credited error
			fixture.Race(3, func(who int) {
				switch who {
				case 0:
					deleted = invoices.Delete(ctx, f.Tenant, id, fixture.AnyVersion)
				case 1:
					_, _, submitted = invoices.BeginSubmission(ctx, f.Tenant, id, fixture.Intent())
				case 2:
					_, credited = invoices.CreateCreditNote(ctx, f.Tenant, id, fixture.CreditBy("CN-1", fixture.ByQuantity(0, "1")))
				}
			})
			_, err := invoices.Find(ctx, f.Tenant, id)
			switch {
			case deleted == nil:
				gone.Add(1)
				if !errors.Is(err, base.ErrNotFound) || !errors.Is(submitted, base.ErrNotFound) ||
					!errors.Is(credited, base.ErrNotFound) {
					t.Errorf("deleted, and read %v, submitted %v, credited %v", err, submitted, credited)
				}
			case !errors.Is(deleted, invoices.ErrNotEditable) || err != nil || submitted != nil && credited != nil:
				t.Errorf("not deleted: %v, read %v, submitted %v, credited %v", deleted, err, submitted, credited)
			}
		}
		all, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 100)
		kit.Must(t, err)
		if want := 20 - int(gone.Load()); all.Total != want || len(all.Entries) != want {
			t.Errorf("%d of %d listed, want %d", len(all.Entries), all.Total, want)
		}
	})
}
