package view

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Seller is what the company that shows its drafts is and needs.
type Seller struct {
	// Profile is the company profile.
	Profile *api.Profile
	// Format is the document format of its active connection; "" if it has none.
	Format document.Profile
	// Unsupported returns what about a draft the adapter of that connection cannot send; nil if it sends every draft.
	Unsupported func(*api.Draft) api.Faults
}

// SellerOf returns what an account needs. The account is that of a [base.Session], and unsupported is
// [Seller].Unsupported.
func SellerOf(account *base.Account, unsupported func(*api.Draft) api.Faults) Seller {
	return Seller{Profile: &account.Profile, Format: document.Profile(account.Format), Unsupported: unsupported}
}

// needs adds what a draft still needs for submission to the advice on it, and returns its paths. An invoice that was
// submitted needs nothing: it was complete when it was sent.
func (s Seller) needs(i *invoices.Invoice, warnings api.Faults) []string {
	if i.Submission != nil {
		return []string{}
	}
	return s.Needs(&i.Draft, warnings)
}

// Needs returns the paths of what a draft needs for submission. What its format needs replaces advice of the same rule
// in warnings, which names the rules of several formats.
func (s Seller) Needs(draft *api.Draft, warnings api.Faults) []string {
	findings := document.Needs(s.Format, document.Document{Draft: draft, Seller: s.Profile})
	if len(findings) == 0 && s.Unsupported != nil {
		faults := s.Unsupported(draft)
		for _, path := range slices.Sorted(maps.Keys(faults)) {
			findings = append(findings, document.Finding{Path: path, Fault: faults[path][0]})
		}
	} else if s.Format == "" {
		return findings.Paths()
	}
	for _, finding := range findings {
		others := slices.DeleteFunc(warnings[finding.Path], func(known api.Fault) bool { return known.Rule == finding.Rule })
		warnings[finding.Path] = append(others, finding.Fault)
	}
	return findings.Paths()
}

// AddNeeds adds to rows what their drafts need for submission in the format of the company's connection. Without a
// format, the rows have that already. charge is that of [invoices.EachDraft].
func (t Tenant) AddNeeds(ctx context.Context, rows []invoices.InvoiceRow, seller Seller,
	charge func(bytes int) error) error {
	var drafts []base.ID
	at := map[base.ID]*invoices.InvoiceRow{}
	for n := range rows {
		if row := &rows[n]; row.Submission == nil && seller.Format != "" {
			drafts, at[row.ID] = append(drafts, row.ID), row
		}
	}
	return invoices.EachDraft(ctx, t.tenant, drafts, charge, func(id base.ID, draft *api.Draft) {
		warnings := invoice.Warnings(draft, seller.Profile, seller.Format.Arithmetic())
		missing := seller.Needs(draft, warnings)
		at[id].SetNeeds(missing, warnings)
	})
}

// Invoice returns an invoice as it is shown by itself.
func Invoice(i invoices.Invoice, seller Seller) api.Invoice {
	warnings := invoice.Warnings(&i.Draft, seller.Profile, seller.Format.Arithmetic())
	missing := seller.needs(&i, warnings)
	if i.Submission != nil && seller.Format != "" {
		delete(warnings, totalPath)
	}
	out := api.Invoice{ID: i.ID.String(), Draft: i.Draft, Complete: len(missing) == 0, Missing: missing,
		Warnings: warnings, States: i.States().Wire(), CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}
	out.AmountDue = amountDue(&i.Draft)
	warnNumber(i, out.Warnings)
	if i.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &i.Submission.AttemptedAt
		out.Submission, out.Details = new(Submission(*i.Submission)), details(i.Submission)
	}
	return out
}

// amountDue is what an invoice asks for of its total.
func amountDue(d *api.Draft) *api.Amount {
	if d.TotalAmount == nil {
		return nil
	}
	due := invoice.AmountDue(d.TotalAmount.String(), d)
	return new(api.Amount(due.String()))
}

// warnNumber adds advice on a draft whose number was submitted already.
func warnNumber(i invoices.Invoice, warnings api.Faults) {
	if i.Submission == nil && !i.NumberHolder.IsZero() {
		invoice.WarnNumber(warnings, i.NumberHolder.String())
	}
}

// totalPath is the field of advice that depends on the arithmetic of a document format. Over a connection with one,
// submitted invoices have no such advice: their documents have stated a total, and summaries know no format.
const totalPath = "total_amount"

// InvoiceSummary returns an invoice as lists of the API show it.
func InvoiceSummary(r invoices.InvoiceRow, seller Seller) api.InvoiceSummary {
	warnings := api.Faults{}
	if !r.SellerIncluded {
		warnings = invoice.SellerWarnings(&r.Draft, seller.Profile)
	}
	count := r.WarningCount + len(warnings)
	maps.Copy(warnings, r.Warnings)
	if warnNumber(r.Invoice, warnings); warnings.Has("invoice_number") { // no other advice concerns this field
		count++
	}
	if r.Submission != nil { // it was complete when it was sent
		r.Missing, r.MissingCount = nil, 0
		if seller.Format != "" && warnings.Has(totalPath) {
			delete(warnings, totalPath)
			count--
		}
	}
	missing := r.Missing
	if missing == nil {
		missing = []string{}
	}
	out := api.InvoiceSummary{ID: r.ID.String(), ItemCount: r.Items, Complete: r.MissingCount == 0, Missing: missing,
		MissingCount: r.MissingCount, Warnings: warnings, WarningCount: count, States: r.States().Wire(),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	copyDraft(&out, &r.Draft)
	out.AmountDue = amountDue(&r.Draft)
	if r.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &r.Submission.AttemptedAt
		out.Submission, out.Details = new(Submission(*r.Submission)), details(r.Submission)
	}
	return out
}

// Submission returns a submission. Its next check is not before the next probe of its connection while the circuit
// breaker is open.
func Submission(s invoices.Submission) api.Submission {
	next := s.NextCheckAt
	if next != nil && s.HeldUntil != nil && s.HeldUntil.After(*next) {
		next = s.HeldUntil
	}
	return api.Submission{ID: s.ID.String(), Outcome: s.Outcome, AttemptedAt: s.AttemptedAt,
		ProviderReference: s.ProviderReference, LastCheckedAt: s.LastCheckedAt, NextCheckAt: next, Resolved: s.Resolved}
}

// SubmissionRecord returns a submission as the history of its invoice or credit note shows it.
func SubmissionRecord(s invoices.Submission) api.SubmissionRecord {
	out := api.SubmissionRecord{Submission: Submission(s), Current: s.Current, InvoiceNumber: s.InvoiceNumber,
		States: s.States.Wire(), Details: details(&s)}
	if !s.CreditNote.IsZero() {
		out.CreditNoteNumber = s.Number
	}
	return out
}

// details returns each state value of a submission with its meaning, its time and its evidence.
func details(s *invoices.Submission) api.StateDetails {
	detail := func(dimension invoice.Dimension) *api.StateDetail {
		state := s.States.Stored(dimension)
		if state.Value == "" {
			return nil
		}
		origin := s.Origins[dimension]
		out := &api.StateDetail{Value: state.Value, Final: state.Terminal, ReportedAt: origin.ReportedAt,
			EvidenceID: origin.Evidence.String()}
		if state.Meaning != "" {
			out.Meaning = &state.Meaning
		}
		return out
	}
	return api.StateDetails{SubmissionState: detail(invoice.DimensionSubmission),
		ProviderInvoiceState: detail(invoice.DimensionProviderInvoice),
		TaxAuthorityState:    detail(invoice.DimensionTaxAuthority), ReceiverState: detail(invoice.DimensionReceiver)}
}

// Evidence returns a retained response of the provider without its body.
func Evidence(e invoices.Evidence) api.Evidence {
	return api.Evidence{ID: e.ID.String(), SubmissionID: e.Submission.String(), Ordinal: e.Ordinal,
		ReceivedAt: e.ReceivedAt, Call: e.Call, HTTPStatus: e.HTTPStatus, MediaType: e.MediaType,
		SHA256: hex.EncodeToString(e.SHA256[:]), Truncated: e.Truncated, Withheld: e.Withheld, Words: e.StateValues,
		Previous: hex.EncodeToString(e.Previous[:]), Digest: hex.EncodeToString(e.Digest[:])}
}

// Connection returns a provider connection as its company may see it.
func Connection(c invoices.Connection) api.Connection {
	out := api.Connection{Kind: c.Kind, Environment: c.Environment, State: c.State, FailingSince: c.FailingSince}
	if c.Format != "" {
		out.Profile = &c.Format
	}
	return out
}
