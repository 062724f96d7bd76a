package view

import (
	"encoding/hex"
	"maps"

	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/sdk/go/api"
)

// Invoice returns an invoice as it is shown by itself. profile is the seller's, for the advice that depends on it.
func Invoice(i store.Invoice, profile *api.Profile) api.Invoice {
	missing := invoice.Missing(&i.Draft)
	out := api.Invoice{ID: i.ID.String(), Draft: i.Draft, Complete: len(missing) == 0, Missing: missing,
		Warnings: invoice.Warnings(&i.Draft, profile), States: i.States().Wire(), CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}
	warnNumber(i, out.Warnings)
	if i.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &i.Submission.AttemptedAt
		out.Submission, out.Details = new(Submission(*i.Submission)), details(i.Submission)
	}
	return out
}

// warnNumber adds advice on a draft whose number was submitted already.
func warnNumber(i store.Invoice, warnings api.Faults) {
	if i.Submission == nil && !i.NumberHolder.IsZero() {
		invoice.WarnNumber(warnings, i.NumberHolder.String())
	}
}

// InvoiceSummary returns an invoice as lists of the API show it. profile is the seller's, for the advice that depends on it.
func InvoiceSummary(r store.InvoiceRow, profile *api.Profile) api.InvoiceSummary {
	d, warnings := &r.Draft, invoice.SellerWarnings(&r.Draft, profile)
	count := r.WarningCount + len(warnings)
	maps.Copy(warnings, r.Warnings)
	if warnNumber(r.Invoice, warnings); warnings.Has("invoice_number") { // no other advice concerns this field
		count++
	}
	missing := r.Missing
	if missing == nil {
		missing = []string{}
	}
	out := api.InvoiceSummary{ID: r.ID.String(), InvoiceNumber: d.InvoiceNumber, RecipientName: d.RecipientName, RecipientNetworkID: d.RecipientNetworkID,
		BuyerEndpointScheme: d.BuyerEndpointScheme, BuyerStreet: d.BuyerStreet, BuyerCity: d.BuyerCity, BuyerSubdivision: d.BuyerSubdivision,
		BuyerCountry: d.BuyerCountry, TotalAmount: d.TotalAmount, Currency: d.Currency, IssueDate: d.IssueDate, IssueTime: d.IssueTime, DueDate: d.DueDate,
		PaymentMeansCode: d.PaymentMeansCode, ExternalID: d.ExternalID, Note: d.Note, BuyerTaxID: d.BuyerTaxID, BuyerLegalID: d.BuyerLegalID,
		BuyerLegalIDScheme: d.BuyerLegalIDScheme, BuyerReference: d.BuyerReference, OrderReference: d.OrderReference, ContractReference: d.ContractReference,
		TaxExchangeRate: d.TaxExchangeRate, TransactionFlags: d.TransactionFlags, ItemCount: r.Items, Complete: r.MissingCount == 0, Missing: missing,
		MissingCount: r.MissingCount, Warnings: warnings, WarningCount: count, States: r.States().Wire(), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	if r.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &r.Submission.AttemptedAt
		out.Submission, out.Details = new(Submission(*r.Submission)), details(r.Submission)
	}
	return out
}

// Submission returns a submission. Its next check is not before the next probe of its connection while the circuit breaker
// is open.
func Submission(s store.Submission) api.Submission {
	next := s.NextCheckAt
	if next != nil && s.HeldUntil != nil && s.HeldUntil.After(*next) {
		next = s.HeldUntil
	}
	return api.Submission{ID: s.ID.String(), Outcome: s.Outcome, AttemptedAt: s.AttemptedAt, ProviderReference: s.ProviderReference,
		LastCheckedAt: s.LastCheckedAt, NextCheckAt: next, Resolved: s.Resolved}
}

// SubmissionRecord returns a submission as the history of its invoice shows it.
func SubmissionRecord(s store.Submission) api.SubmissionRecord {
	return api.SubmissionRecord{Submission: Submission(s), Current: s.Current, InvoiceNumber: s.Number, States: s.States.Wire(), Details: details(&s)}
}

// details returns each state value of a submission with its meaning, its time and its evidence.
func details(s *store.Submission) api.StateDetails {
	detail := func(dimension invoice.Dimension) *api.StateDetail {
		state := s.States.Stored(dimension)
		if state.Value == "" {
			return nil
		}
		origin := s.Origins[dimension]
		out := &api.StateDetail{Value: state.Value, Final: state.Terminal, ReportedAt: origin.ReportedAt, EvidenceID: origin.Evidence.String()}
		if state.Meaning != "" {
			out.Meaning = &state.Meaning
		}
		return out
	}
	return api.StateDetails{SubmissionState: detail(invoice.DimensionSubmission), ProviderInvoiceState: detail(invoice.DimensionProviderInvoice),
		TaxAuthorityState: detail(invoice.DimensionTaxAuthority), ReceiverState: detail(invoice.DimensionReceiver)}
}

// Evidence returns a retained response of the provider without its body.
func Evidence(e store.Evidence) api.Evidence {
	return api.Evidence{ID: e.ID.String(), SubmissionID: e.Submission.String(), Ordinal: e.Ordinal, ReceivedAt: e.ReceivedAt, Call: e.Call,
		HTTPStatus: e.HTTPStatus, MediaType: e.MediaType, SHA256: hex.EncodeToString(e.SHA256[:]), Truncated: e.Truncated,
		Withheld: e.Withheld, Words: e.StateValues, Previous: hex.EncodeToString(e.Previous[:]), Digest: hex.EncodeToString(e.Digest[:])}
}

// Connection returns a provider connection as its company may see it.
func Connection(c store.Connection) api.Connection {
	return api.Connection{Kind: c.Kind, Environment: c.Environment, State: c.State, FailingSince: c.FailingSince}
}
