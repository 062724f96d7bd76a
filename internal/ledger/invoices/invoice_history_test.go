package invoices_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestInvoiceHistory: pages of the evidence go from the newest to the oldest and together are all of it, each oldest
// first; another company's are not found.
func TestInvoiceHistory(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		id := call.Submission.Invoice
		for n := range 5 {
			fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
				d := fixture.Outcome(s, api.OutcomeUnknown)
				d.Evidence = &invoices.NewEvidence{Call: "status", HTTPStatus: 200 + n}
				return d
			})
		}
		for number, want := range map[int]string{1: "[4 5]", 2: "[2 3]", 3: "[1]", 4: "[]"} {
			submissions, evidence, err := view.Of(f.Tenant).History(t.Context(), view.OfInvoice(id), number, 2)
			kit.Must(t, err)
			ordinals := []int64{}
			for _, e := range evidence.Entries {
				ordinals = append(ordinals, e.Ordinal)
			}
			if got := fmt.Sprint(ordinals); got != want || evidence.Total != 5 || submissions.Total != 1 ||
				(len(submissions.Entries) == 1) != (number == 1) {
				t.Errorf("page %d is %s of %d, with %d submissions of %d", number, got, evidence.Total, len(submissions.Entries),
					submissions.Total)
			}
		}
		if _, _, err := view.Of(f.Decoy.Tenant).History(t.Context(), view.OfInvoice(id), 1, 2); !errors.Is(err,
			base.ErrNotFound) {
			t.Errorf("another company: %v", err)
		}
	})
}

// TestInvoiceExtent: an invoice's size is known without its document, and never less than it is.
func TestInvoiceExtent(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		created := f.Create(t, "INV-é")
		var length int
		charge := func(bytes int) error { length = bytes; return nil }
		_, err := invoices.FindWithin(t.Context(), f.Tenant, created.ID, charge)
		kit.Must(t, err)
		extent, err := invoices.ReadExtent(t.Context(), f.Tenant, created.ID)
		if want := (invoices.InvoiceExtent{Bytes: length, Lines: len(created.Draft.Items)}); err != nil || extent != want {
			t.Errorf("%+v, %v, want %+v", extent, err, want)
		}
		f.Exec(t, `update invoices set summarized = 0 where tenant_id = $1`, f.Tenant.ID())
		if extent, err = invoices.ReadExtent(t.Context(), f.Tenant, created.ID); err != nil ||
			extent.Lines < len(created.Draft.Items) {
			t.Errorf("without a summary: %+v, %v", extent, err)
		}
		if _, err := invoices.ReadExtent(t.Context(), f.Decoy.Tenant, created.ID); !errors.Is(err, base.ErrNotFound) {
			t.Errorf("another company: %v", err)
		}
	})
}
