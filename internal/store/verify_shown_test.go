package store_test

import (
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestShownInvoiceIsProven checks that what an invoice and its row of the lists show is what was sent, while the
// invoice has a current submission that may have been sent, whatever its outcome, and that a fault names the field.
func TestShownInvoiceIsProven(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		responded := func(number string, outcome api.Outcome) store.ID {
			call := f.submit(t, number)
			decide(t, call, func(s store.Submission, now time.Time) store.Decision {
				d := reported(s, now, allFour("one", false))
				d.Outcome = outcome
				return d
			})
			return call.Submission.ID
		}
		resolved := f.unknown(t, "INV-4").Submission.ID
		_, err := f.ResolveSubmission(t.Context(), resolved, store.DecisionReject, because)
		kit.Must(t, err)
		for outcome, id := range map[api.Outcome]store.ID{
			api.OutcomeInProgress:   f.submit(t, "INV-1").Submission.ID,
			api.OutcomeAcknowledged: responded("INV-2", api.OutcomeAcknowledged),
			api.OutcomeRejected:     responded("INV-3", api.OutcomeRejected), api.OutcomeResolvedRejected: resolved,
			api.OutcomeUnknown: f.unknown(t, "INV-5").Submission.ID,
		} {
			kept, err := f.tenant.Submission(t.Context(), id)
			kit.Must(t, err)
			if kept.Outcome != outcome {
				t.Fatalf("outcome %s, want %s", kept.Outcome, outcome)
			}
			for _, altered := range []struct{ field, statement string }{
				{"document",
					`update invoices set document = replace(document, 'Dubai', 'Sharjah') where tenant_id = $1 and id = $2`},
				{"document",
					`update invoices set document = replace(document, '"INV-', '"FORGED-'), number = 'FORGED' where tenant_id = $1 and id = $2`},
				{"document", `update invoices set document = 'x' where tenant_id = $1 and id = $2`},
				{"number", `update invoices set number = 'FORGED' where tenant_id = $1 and id = $2`},
				{"summary",
					`update invoice_summaries set summary = replace(summary, 'Dubai', 'Sharjah') where tenant_id = $1 and invoice_id = $2`},
				{"summary", `update invoice_summaries set recipient = 'mallory' where tenant_id = $1 and invoice_id = $2`},
				{"summary", `delete from invoice_summaries where tenant_id = $1 and invoice_id = $2`},
			} {
				f.wantShownFault(t, kept, altered.field, altered.statement)
			}
			for _, altered := range []struct{ field, statement string }{
				{"next_check_at", `update submissions set next_check_at = null where tenant_id = $1 and invoice_id = $2`},
				{"next_check_at",
					`update submissions set due_at = null, next_check_at = null where tenant_id = $1 and invoice_id = $2`},
				{"due_at", `update submissions set due_at = null where tenant_id = $1 and invoice_id = $2`},
				{"due_at", `update submissions set due_at = due_at + 172800000000 where tenant_id = $1 and invoice_id = $2`},
				{"next_check_at",
					`update submissions set next_check_at = next_check_at + 172800000000 where tenant_id = $1 and invoice_id = $2`},
				{"", `update submissions set resend = 1000 where tenant_id = $1 and invoice_id = $2`},
				{"created_at", `update invoices set created_at = created_at - 31536000000000 where tenant_id = $1 and id = $2`},
				{"created_at", `update invoice_summaries set created_at = created_at + 1 where tenant_id = $1 and invoice_id = $2`},
				{"updated_at", `update invoices set updated_at = updated_at - 31536000000000 where tenant_id = $1 and id = $2`},
				{"updated_at", `update invoices set updated_at = updated_at + 31536000000000 where tenant_id = $1 and id = $2`},
			} {
				if found := f.faultsAfter(t, kept, altered.statement); len(found) != 1 || found[0].Of != kept.ID ||
					found[0].Field != altered.field {
					t.Errorf("%s: %s: found %v, want a fault in %q", outcome, altered.statement, found, altered.field)
				}
			}
			f.wantShownFault(t, kept, "", `update invoices set summarized = 0 where tenant_id = $1 and id = $2`)
		}
		f.clean(t, 5, 2)
	})
}

// wantShownFault changes what is shown of an invoice, checks that there is one fault in a field, or none if field is
// empty, and undoes the change.
func (f *fixture) wantShownFault(t *testing.T, s store.Submission, field, statement string) {
	t.Helper()
	found := f.faultsAfter(t, s, statement)
	switch {
	case field == "" && len(found) == 0:
	case field == "" || len(found) != 1 || found[0].Of != s.ID || found[0].Field != field ||
		!strings.Contains(found[0].What, s.Invoice.String()):
		t.Errorf("%s: %s: found %v, want a fault in %q", s.Outcome, statement, found, field)
	}
}

// faultsAfter returns the faults that a verification finds after a change of one row. It undoes the change.
func (f *fixture) faultsAfter(t *testing.T, s store.Submission, statement string) []store.EvidenceError {
	t.Helper()
	tx, err := f.raw.BeginTx(t.Context(), nil)
	kit.Must(t, err)
	defer func() { kit.Must(t, tx.Rollback()) }()
	result, err := tx.ExecContext(t.Context(), statement, f.tenant.Key(), s.Invoice)
	kit.Must(t, err)
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", statement, n, err)
	}
	found, err := f.VerifyThrough(t.Context(), tx, replay())
	kit.Must(t, err)
	return found.Faults
}

// TestDraftsAreNotProven checks that a draft, a draft that was not sent, and a rejected invoice that was corrected may
// differ from what was sent before.
func TestDraftsAreNotProven(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		change := func(id store.ID) {
			_, err := f.tenant.UpdateInvoice(t.Context(), id, func(int64) bool { return true },
				func([]byte) (api.Draft, error) { return *draft("INV-CHANGED"), nil })
			kit.Must(t, err)
		}
		rejected := f.submit(t, "INV-1")
		decide(t, rejected, func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, allFour("one", false))
			d.Outcome = api.OutcomeRejected
			return d
		})
		change(rejected.Submission.Invoice)
		unsent := f.submit(t, "INV-2")
		decide(t, unsent, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, store.OutcomeNotSent) })
		f.exec(t, `update invoices set number = 'INV-X' where tenant_id = $1 and id = $2`, f.tenant.Key(),
			unsent.Submission.Invoice)
		change(f.create(t, "INV-3").ID)
		f.clean(t, 2, 1)
		// An invoice that is submitted again is verified again.
		again := f.begin(t, rejected.Submission.Invoice)
		f.wantShownFault(t, again.Submission, "number",
			`update invoices set number = 'FORGED' where tenant_id = $1 and id = $2`)
	})
}

// TestUnmadeSummaryIsNotShown checks that lists read the document of an invoice whose summary must be made again, and
// not the old summary, which is not verified.
func TestUnmadeSummaryIsNotShown(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		f.submit(t, "INV-1")
		f.exec(t, `update invoice_summaries set summary = replace(summary, 'Dubai', 'Sharjah') where tenant_id = $1`,
			f.tenant.Key())
		f.exec(t, `update invoices set summarized = 0 where tenant_id = $1`, f.tenant.Key())
		page, err := view.Of(f.tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 10)
		kit.Must(t, err)
		if len(page.Entries) != 1 || *page.Entries[0].Draft.BuyerCity != "Dubai" {
			t.Errorf("listed as %+v", page.Entries)
		}
	})
}
