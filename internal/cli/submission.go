package cli

import (
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
)

type submissionCmd struct {
	List    submissionListCmd    `cmd:"" help:"List submissions, for example those with an unknown outcome."`
	Resolve submissionResolveCmd `cmd:"" help:"Resolve a submission with an unknown outcome."`
}

// Help is shown by --help.
func (submissionCmd) Help() string { return submissionListCmd{}.Help() }

type submissionListCmd struct {
	listing
	Outcome choice `choices:"in_progress,acknowledged,rejected,resolved_rejected,unknown" placeholder:"OUTCOME" help:"Show only this outcome: in_progress, acknowledged, rejected, resolved_rejected or unknown."`
}

// Help is shown by --help.
func (submissionListCmd) Help() string {
	return `Example:
  quittance submission list --outcome unknown --data ./sandbox`
}

// Run lists submissions.
func (c submissionListCmd) Run(env environment) error {
	return listRows(env, c.listing, func(db *base.DB, account *base.ID, limit int) ([]invoices.Submission, error) {
		return lists.AllSubmissions(env.ctx, db, account, api.Outcome(c.Outcome), limit)
	}, submissionRecord)
}

func submissionRecord(s invoices.Submission) []field {
	record := []field{{"submission_id", s.ID}, {"account_id", s.Account}, {"invoice_number", s.InvoiceNumber},
		{"outcome", s.Outcome}, {"attempted_at", s.AttemptedAt.Format(time.RFC3339)},
		{"last_checked_at", timeOrNil(s.LastCheckedAt)}, {"next_check_at", timeOrNil(s.NextCheckAt)},
		{"connection_id", s.Connection}, {"invoice_id", s.Invoice}, {"provider_reference", textOrNil(s.ProviderReference)},
		{"current", s.Current}}
	if !s.CreditNote.IsZero() {
		record = append(record, field{"credit_note_id", s.CreditNote}, field{"credit_note_number", s.Number})
	}
	if r := s.Resolved; r != nil {
		record = append(record, field{"resolved_by", r.By}, field{"resolved_at", r.At.Format(time.RFC3339)},
			field{"decision", r.Decision}, field{"reason", r.Reason}, field{"contradicted_at", timeOrNil(r.ContradictedAt)})
	}
	return record
}

func timeOrNil(at *time.Time) any {
	if at == nil {
		return nil
	}
	return at.Format(time.RFC3339)
}

func textOrNil(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}

// optionalID parses an identifier; it returns nil for "".
func optionalID(text string) (*base.ID, error) {
	if text == "" {
		return nil, nil
	}
	id, err := parseID(text)
	return &id, err
}

type submissionResolveCmd struct {
	admin
	ID     string `arg:"" help:"Identifier of the submission."`
	Resend bool   `xor:"decision" required:"" env:"-" help:"Send the document again under its reference. Use this only if the provider certainly does not have it, or recognizes the reference."`
	Reject bool   `xor:"decision" required:"" env:"-" help:"Treat the submission as rejected: the customer can correct the invoice and submit it again."`
	Reason string `required:"" env:"-" help:"Reason, shown to the customer and recorded in the audit log."`
}

// Help is shown by --help.
func (submissionResolveCmd) Help() string {
	return `Example:
  quittance submission resolve 01890a5d-ac96-774b-bcce-b302099a8057 --resend --reason "the provider has no such document" --data ./sandbox
  quittance submission resolve 01890a5d-ac96-774b-bcce-b302099a8057 --reject --reason "the provider confirmed by telephone" --data ./sandbox

The submission and the audit log keep the decision. With --reject the outcome becomes resolved_rejected, which is never shown
as the provider's own rejection. The service continues to ask the provider about the submission.`
}

// Run records the decision.
func (c submissionResolveCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	if err := checkText("--reason", c.Reason); err != nil {
		return err
	}
	decision, next := invoices.DecisionReject, "treated as rejected; the service still asks the provider"
	if c.Resend {
		decision, next = invoices.DecisionResend, "the service sends it again after one more status query"
	}
	return c.with(env, func(db *base.DB) error {
		resolved, err := invoices.ResolveAnySubmission(env.ctx, db, id, decision, c.Reason)
		switch {
		case errors.Is(err, base.ErrNotFound):
			return errors.New("no submission has this identifier")
		case errors.Is(err, invoices.ErrOutcomeKnown):
			return invoices.ErrOutcomeKnown
		case err != nil:
			return err
		}
		return c.print(env, []field{{"submission_id", resolved.ID}, {"outcome", resolved.Outcome}, {"decision", decision},
			{"by", resolved.Resolved.By}, {"reason", c.Reason}, {"next", next}})
	})
}
