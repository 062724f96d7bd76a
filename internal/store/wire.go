package store

import (
	"encoding/hex"
	"maps"
	"strings"
	"time"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// Wire is the invoice as the API and the pages show it. profile is the seller's, for the advice that depends on it.
func (i Invoice) Wire(profile *api.Profile) api.Invoice {
	missing := invoice.Missing(&i.Draft)
	out := api.Invoice{ID: i.ID.String(), Draft: i.Draft, Complete: len(missing) == 0, Missing: missing,
		Warnings: invoice.Warnings(&i.Draft, profile), States: i.States().Wire(), CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}
	i.warnNumber(out.Warnings)
	if i.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &i.Submission.AttemptedAt
		out.Submission, out.Details = new(i.Submission.Wire()), i.Submission.details()
	}
	return out
}

// warnNumber advises on a draft whose number was submitted already.
func (i Invoice) warnNumber(warnings api.Faults) {
	if i.Submission == nil && !i.NumberHolder.IsZero() {
		invoice.WarnNumber(warnings, i.NumberHolder.String())
	}
}

// WireSummary is the invoice as lists of the API show it. profile is the seller's, for the advice that depends on it.
func (r *InvoiceRow) WireSummary(profile *api.Profile) api.InvoiceSummary {
	d, warnings := &r.Draft, invoice.SellerWarnings(&r.Draft, profile)
	count := r.WarningCount + len(warnings)
	maps.Copy(warnings, r.Warnings)
	if r.warnNumber(warnings); warnings.Has("invoice_number") { // which nothing else advises on
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
		out.Submitted, out.SubmittedAt, out.Submission, out.Details = true, &r.Submission.AttemptedAt, new(r.Submission.Wire()), r.Submission.details()
	}
	return out
}

// Wire is the submission as the API shows it. While its connection is in trouble, it is asked about when that is over at
// the earliest.
func (s Submission) Wire() api.Submission {
	next := s.NextCheckAt
	if next != nil && s.heldUntil != nil && s.heldUntil.After(*next) {
		next = s.heldUntil
	}
	return api.Submission{ID: s.ID.String(), Outcome: s.Outcome, AttemptedAt: s.AttemptedAt, ProviderReference: s.ProviderReference,
		LastCheckedAt: s.LastCheckedAt, NextCheckAt: next, Resolved: s.Resolved.wire()}
}

func (r *Resolution) wire() *api.Resolution {
	if r == nil {
		return nil
	}
	return &api.Resolution{By: r.By, At: r.At, Decision: r.Decision, Reason: r.Reason, ContradictedAt: r.ContradictedAt}
}

// Wire is the subscription as the API shows it, without its secret.
func (s Subscription) Wire() api.Subscription {
	kinds := make([]string, len(s.Events))
	for n, kind := range s.Events {
		kinds[n] = string(kind)
	}
	return api.Subscription{ID: s.ID.String(), URL: s.URL, Events: kinds, Description: s.Description, Active: s.Active,
		CreatedAt: s.CreatedAt, DeactivatedAt: s.DeactivatedAt, DeactivationReason: s.DeactivationReason}
}

// WireRecord is the submission as the history of its invoice shows it.
func (s Submission) WireRecord() api.SubmissionRecord {
	return api.SubmissionRecord{Submission: s.Wire(), Current: s.Current, InvoiceNumber: s.Number, States: s.States.Wire(), Details: s.details()}
}

// details say more of each state than its word.
func (s Submission) details() api.StateDetails {
	detail := func(dimension invoice.Dimension) *api.StateDetail {
		word := s.States.Stored(dimension)
		if word.Value == "" {
			return nil
		}
		from := s.origins[dimension]
		out := &api.StateDetail{Value: word.Value, Final: word.Terminal, ReportedAt: from.reportedAt, EvidenceID: from.evidence.String()}
		if word.Meaning != "" {
			out.Meaning = &word.Meaning
		}
		return out
	}
	return api.StateDetails{SubmissionState: detail(invoice.DimensionSubmission), ProviderInvoiceState: detail(invoice.DimensionProviderInvoice),
		TaxAuthorityState: detail(invoice.DimensionTaxAuthority), ReceiverState: detail(invoice.DimensionReceiver)}
}

// Wire is the entry as the API shows it.
func (e Evidence) Wire() api.Evidence {
	return api.Evidence{ID: e.ID.String(), SubmissionID: e.Submission.String(), Ordinal: e.Ordinal, ReceivedAt: e.ReceivedAt, Call: e.Call,
		HTTPStatus: e.HTTPStatus, MediaType: e.MediaType, SHA256: hex.EncodeToString(e.SHA256[:]), Truncated: e.Truncated,
		Withheld: e.Withheld, Words: e.StateValues, Previous: hex.EncodeToString(e.Previous[:]), Digest: hex.EncodeToString(e.Digest[:])}
}

// Wire is the delivery as a list shows it.
func (d DeliveryRecord) Wire() api.Delivery {
	return api.Delivery{ID: d.ID.String(), EventID: d.Event.String(), Event: d.Kind, SubscriptionID: d.Subscription.String(),
		State: d.State, Reason: d.Reason, AttemptCount: d.Attempts, NextAttemptAt: d.NextAt, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt}
}

// WireDetail is the delivery with its attempts.
func (d DeliveryRecord) WireDetail() api.DeliveryDetail {
	out := api.DeliveryDetail{Delivery: d.Wire(), Attempts: make([]api.Attempt, len(d.History))}
	for n, a := range d.History {
		out.Attempts[n] = a.wire()
	}
	return out
}

func (a Attempt) wire() api.Attempt {
	out := api.Attempt{StartedAt: a.StartedAt, DurationMS: float64(a.Duration) / float64(time.Millisecond), Answer: strings.ToValidUTF8(string(a.Answer), "\uFFFD")}
	if a.HTTPStatus != 0 {
		out.HTTPStatus = &a.HTTPStatus
	}
	if a.ErrorClass != "" {
		out.ErrorClass = &a.ErrorClass
	}
	return out
}

// Wire is the connection as its company may see it.
func (c Connection) Wire() api.Connection {
	return api.Connection{Kind: c.Kind, Environment: c.Environment, State: c.State, FailingSince: c.FailingSince}
}
