package documents

import (
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/invoices"
)

// situation is the card of an invoice or a credit note that needs a person or patience: what happened, in the
// provider's words, and what to do next.
type situation struct {
	// Kind is the key of its texts: rejected, resolved, negative, unknown or unknown_long. Of is "" for an invoice and
	// "credit." for a credit note; it precedes Kind in the key below "situation." in the messages.
	Kind, Of string
	// Meaning is negative for what the provider publishes as negative, else neutral or waiting.
	Meaning string
	// State is the first value with a negative meaning; zero for the other kinds.
	State StateView
	// Correct is the address of the form that corrects the invoice, or "". Credit is that of a new credit note, or "".
	Correct, Credit string
}

// Quotes reports that the provider's message belongs to the card.
func (s situation) Quotes() bool { return s.Kind == "rejected" || s.Kind == "negative" }

// situationOf returns the situation of a document with its current submission, which is nil for a draft; nil if it
// needs nobody.
func situationOf(of string, s *invoices.Submission, states []StateView, now time.Time) *situation {
	switch {
	case s == nil:
		return nil
	case s.Outcome == api.OutcomeUnknown && now.Sub(s.AttemptedAt) > view.AttentionAfter:
		return &situation{Of: of, Kind: "unknown_long", Meaning: "waiting"}
	case s.Outcome == api.OutcomeUnknown:
		return &situation{Of: of, Kind: "unknown", Meaning: "waiting"}
	case s.Outcome == api.OutcomeResolvedRejected:
		return &situation{Of: of, Kind: "resolved", Meaning: "neutral"}
	case s.Outcome.Rejected():
		return &situation{Of: of, Kind: "rejected", Meaning: string(api.MeaningNegative)}
	}
	for _, state := range states {
		if state.Meaning == api.MeaningNegative {
			return &situation{Of: of, Kind: "negative", Meaning: string(api.MeaningNegative), State: state}
		}
	}
	return nil
}

// offer adds what the user can do about an invoice. A rejected document may be corrected under its number. One that the
// provider has taken keeps it: a correction is a new invoice.
func (s *situation) offer(p *invoicePage) {
	path := "/invoices/" + p.ID
	switch {
	case s == nil:
	case s.Kind == "negative":
		s.Correct, s.Credit = path+"/replace", path+"/credit"
	case (s.Kind == "rejected" || s.Kind == "resolved") && p.Editable():
		s.Correct = path + "/edit"
	}
}
