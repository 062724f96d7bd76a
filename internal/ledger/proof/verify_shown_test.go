package proof_test

import (
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestShownInvoiceIsProven checks that what an invoice and its row of the lists show is what was sent, while the
// invoice has a current submission that may have been sent, whatever its outcome, and that a fault names the field.
func TestShownInvoiceIsProven(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		responded := func(number string, outcome api.Outcome) base.ID {
			call := f.Submit(t, number)
			fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
				d := fixture.Reported(s, now, fixture.AllFour("one", false))
				d.Outcome = outcome
				return d
			})
			return call.Submission.ID
		}
		resolved := f.Unknown(t, "INV-4").Submission.ID
		_, err := invoices.ResolveAnySubmission(t.Context(), f.DB, resolved, invoices.DecisionReject, fixture.Because)
		kit.Must(t, err)
		for outcome, id := range map[api.Outcome]base.ID{
			api.OutcomeInProgress:   f.Submit(t, "INV-1").Submission.ID,
			api.OutcomeAcknowledged: responded("INV-2", api.OutcomeAcknowledged),
			api.OutcomeRejected:     responded("INV-3", api.OutcomeRejected), api.OutcomeResolvedRejected: resolved,
			api.OutcomeUnknown: f.Unknown(t, "INV-5").Submission.ID,
		} {
			kept, err := invoices.FindSubmission(t.Context(), f.Tenant, id)
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
				wantShownFault(t, f, kept, altered.field, altered.statement)
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
				if found := faultsAfter(t, f, kept, altered.statement); len(found) != 1 || found[0].Of != kept.ID ||
					found[0].Field != altered.field {
					t.Errorf("%s: %s: found %v, want a fault in %q", outcome, altered.statement, found, altered.field)
				}
			}
			wantShownFault(t, f, kept, "", `update invoices set summarized = 0 where tenant_id = $1 and id = $2`)
		}
		clean(t, f, 5, 2)
	})
}

// wantShownFault changes what is shown of an invoice, checks that there is one fault in a field, or none if field is
// empty, and undoes the change.
func wantShownFault(t *testing.T, f *fixture.Fixture, s invoices.Submission, field, statement string) {
	t.Helper()
	found := faultsAfter(t, f, s, statement)
	switch {
	case field == "" && len(found) == 0:
	case field == "" || len(found) != 1 || found[0].Of != s.ID || found[0].Field != field ||
		!strings.Contains(found[0].What, s.Invoice.String()):
		t.Errorf("%s: %s: found %v, want a fault in %q", s.Outcome, statement, found, field)
	}
}

// faultsAfter returns the faults that a verification finds after a change of one row. It undoes the change.
func faultsAfter(t *testing.T, f *fixture.Fixture, s invoices.Submission, statement string) []proof.EvidenceError {
	t.Helper()
	tx, err := f.Raw.BeginTx(t.Context(), nil)
	kit.Must(t, err)
	defer func() { kit.Must(t, tx.Rollback()) }()
	result, err := tx.ExecContext(t.Context(), statement, f.Tenant.ID(), s.Invoice)
	kit.Must(t, err)
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", statement, n, err)
	}
	found, err := proof.VerifyThrough(t.Context(), f.DB, tx, fixture.Replay())
	kit.Must(t, err)
	return found.Faults
}

// TestDraftsAreNotProven checks that a draft, a draft that was not sent, and a rejected invoice that was corrected may
// differ from what was sent before.
func TestDraftsAreNotProven(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		change := func(id base.ID) {
			_, err := invoices.Update(t.Context(), f.Tenant, id, func(int64) bool { return true },
				func([]byte) (api.Draft, error) { return *fixture.Draft("INV-CHANGED"), nil })
			kit.Must(t, err)
		}
		rejected := f.Submit(t, "INV-1")
		fixture.Decide(t, rejected, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("one", false))
			d.Outcome = api.OutcomeRejected
			return d
		})
		change(rejected.Submission.Invoice)
		unsent := f.Submit(t, "INV-2")
		fixture.Decide(t, unsent, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, invoices.OutcomeNotSent)
		})
		f.Exec(t, `update invoices set number = 'INV-X' where tenant_id = $1 and id = $2`, f.Tenant.ID(),
			unsent.Submission.Invoice)
		change(f.Create(t, "INV-3").ID)
		clean(t, f, 2, 1)
		// An invoice that is submitted again is verified again.
		again := f.Begin(t, rejected.Submission.Invoice)
		wantShownFault(t, f, again.Submission, "number",
			`update invoices set number = 'FORGED' where tenant_id = $1 and id = $2`)
	})
}

// TestUnmadeSummaryIsNotShown checks that lists read the document of an invoice whose summary must be made again, and
// not the old summary, which is not verified.
func TestUnmadeSummaryIsNotShown(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		f.Submit(t, "INV-1")
		f.Exec(t, `update invoice_summaries set summary = replace(summary, 'Dubai', 'Sharjah') where tenant_id = $1`,
			f.Tenant.ID())
		f.Exec(t, `update invoices set summarized = 0 where tenant_id = $1`, f.Tenant.ID())
		page, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 10)
		kit.Must(t, err)
		if len(page.Entries) != 1 || *page.Entries[0].Draft.BuyerCity != "Dubai" {
			t.Errorf("listed as %+v", page.Entries)
		}
	})
}
