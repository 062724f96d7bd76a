package proof

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// shownNote is what the API shows of a credit note, from its row.
type shownNote struct {
	invoices.CreditNote
	items sql.Null[int64] // the number of items in lists; null in a row of a version that kept none
}

// shownCreditNote compares what the API shows of a credit note with what was sent.
func (v *verification) shownCreditNote(ctx context.Context, s *provenSubmission, sent *Sent) (*EvidenceError, error) {
	note, malformed, err := readOne(ctx, v.q, func(row base.Row) (shownNote, error) {
		var n shownNote
		var err error
		n.CreditNote, err = invoices.ScanCreditNote(row, &n.items)
		return n, err
	}, `select `+invoices.CreditNoteColumns(`items`)+`, item_count from credit_notes where tenant_id = $1 and id = $2`, v.t.ID(),
		s.CreditNote)
	var f base.Flaw
	switch {
	case errors.Is(err, sql.ErrNoRows):
		f, err = base.Flaw{Field: "credit_note_id", What: "it is gone"}, nil
	case err != nil:
		return nil, err
	case malformed != nil:
		f = base.Flaw{Field: "items", What: whatUnreadable}
	default:
		f, err = note.differs(s, sent, v.t.DB().Now())
	}
	if err != nil || !f.Found() {
		return nil, err
	}
	return v.at(KindSubmission, s.ID, 0, base.Flaw{Field: f.Field, What: fmt.Sprintf("credit note %s: %s",
		s.CreditNote, f.What)}), nil
}

// differs compares a credit note with what was sent.
func (n *shownNote) differs(s *provenSubmission, sent *Sent, now time.Time) (base.Flaw, error) {
	want := sent.Credit
	items, err := jsonv2.Marshal(n.Credit.Items, jsonv2.OmitZeroStructFields(true))
	if err != nil {
		return base.Flaw{}, err
	}
	sentItems, err := jsonv2.Marshal(want.Credit.Items, jsonv2.OmitZeroStructFields(true))
	if err != nil {
		return base.Flaw{}, err
	}
	for _, compared := range []struct {
		field string
		same  bool
	}{
		{"invoice_id", n.Invoice == s.Invoice}, {"number", n.Number == want.Number && n.Number == s.Number},
		{"issue_date", n.IssueDate == want.IssueDate}, {"reason", n.Reason == want.Reason},
		{"reason_code", equal(n.ReasonCode, want.ReasonCode)}, {"kind", n.Credit.Kind == want.Credit.Kind},
		{"total", n.Credit.Total == want.Credit.Total},
		{"currency", equal(&n.Currency, sent.Invoice.Currency)},
		{"items", bytes.Equal(items, sentItems)},
		{"item_count", !n.items.Valid || n.items.V == int64(len(want.Credit.Items))},
	} {
		if !compared.same {
			return base.Flaw{Field: compared.field, What: "it is not what was sent"}, nil
		}
	}
	return n.timesDiffer(s, now), nil
}

// timesDiffer compares the times of a credit note with those that are proven, as [shownInvoice.timesDiffer] does.
func (n *shownNote) timesDiffer(s *provenSubmission, now time.Time) base.Flaw {
	later := n.CreatedAt.UnixMilli() - n.ID.Time().UnixMilli()
	switch {
	case later < 0 || later > 1000:
		return base.Flaw{Field: "created_at", What: "it is not the time in the identifier"}
	case n.UpdatedAt.Before(s.AttemptedAt) || n.UpdatedAt.After(now.Add(clockTolerance)):
		return base.Flaw{Field: "updated_at", What: "it is not between the submission and now"}
	case n.VoidedAt != nil && !s.Outcome.Rejected():
		return base.Flaw{Field: "voided_at", What: "a credit note that the provider may have is void"}
	}
	return base.Flaw{}
}
