package ledger_test

import (
	"context"
	"fmt"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/ledgertest/fixture"
)

// listOperations are the lists and searches of the API and the console.
func listOperations(f *fixture.Fixture, tenant *base.Tenant, rows *planRows) []operation {
	of := view.Of(tenant)
	now := f.Clock.Now()
	var out []operation
	add := func(name, uses string, depth int, run func(ctx context.Context) error) {
		out = append(out, operation{name: name, uses: uses, run: run, depth: depth, list: true})
	}
	invoices := func(name, uses string, filter view.InvoiceFilter) {
		add("invoices by "+name, uses, view.SearchDepth, func(ctx context.Context) error {
			_, err := of.Invoices(ctx, filter, 1, 25)
			return err
		})
	}
	add("invoices", "invoices_position", 0, func(ctx context.Context) error {
		_, err := of.Invoices(ctx, view.InvoiceFilter{}, 3, 25)
		return err
	})
	invoices("issue date, sorted", "invoice_summaries_issue_date", view.InvoiceFilter{Order: view.OrderIssueDate})
	invoices("total, sorted", "", view.InvoiceFilter{Order: view.OrderTotal, Ascending: true})
	invoices("recipient, sorted", "", view.InvoiceFilter{Order: view.OrderRecipient})
	invoices("number, sorted", "", view.InvoiceFilter{Order: view.OrderNumber})
	invoices("change, sorted", "invoices_updated", view.InvoiceFilter{Order: view.OrderUpdated})
	invoices("change, sorted the other way", "invoices_updated", view.InvoiceFilter{Order: view.OrderUpdated,
		Ascending: true})
	invoices("amounts", "", view.InvoiceFilter{AmountFrom: new(api.MustDecimal("1")), AmountTo: new(api.MustDecimal("2"))})
	invoices("currency", "", view.InvoiceFilter{Currency: "AED"})
	invoices("number", "invoices_number", view.InvoiceFilter{Number: new("INV-acknowledged")})
	invoices("external identifier", "invoice_summaries_external_id", view.InvoiceFilter{ExternalID: new("x")})
	invoices("submission", "submissions_current", view.InvoiceFilter{Submitted: new(true)})
	invoices("state", "states_word_newest",
		view.InvoiceFilter{States: map[invoice.Dimension]string{invoice.DimensionReceiver: "accepted"}})
	invoices("unreported state", "", view.InvoiceFilter{Unreported: []invoice.Dimension{invoice.DimensionReceiver}})
	invoices("outcome", "", view.InvoiceFilter{Outcome: new(api.OutcomeRejected)})
	invoices("attention", "submissions_attention states_negative", view.InvoiceFilter{Attention: new(true)})
	invoices("no attention", "", view.InvoiceFilter{Attention: new(false)})
	for _, tab := range view.Tabs[1:] {
		invoices("tab "+string(tab), "submissions_calling", view.InvoiceFilter{Tab: tab})
		invoices("tab and recipient "+string(tab), "invoices_category", view.InvoiceFilter{Tab: tab, Recipient: "x"})
	}
	add("counts of the tabs", "submissions_calling", 10_000, func(ctx context.Context) error {
		_, err := of.TabCounts(ctx)
		return err
	})
	add("overview", "submissions_calling", 10_000, func(ctx context.Context) error {
		_, err := of.Overview(ctx)
		return err
	})
	add("credit notes that need attention", "submissions_credit_attention states_negative",
		1_000, func(ctx context.Context) error {
			_, err := of.AttentionCreditNotes(ctx, 5)
			return err
		})
	add("latest responses", "", 0, func(ctx context.Context) error {
		_, err := of.LatestResponses(ctx, []base.ID{rows.submission})
		return err
	})
	add("subscriptions that need attention", "", 0, func(ctx context.Context) error {
		_, err := of.TroubledSubscriptions(ctx)
		return err
	})
	invoices("first issue date", "invoice_summaries_issue_date",
		view.InvoiceFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-01-01"}})
	invoices("last issue date", "invoice_summaries_issue_date",
		view.InvoiceFilter{IssueDates: view.IssueDates{IssuedTo: "2026-12-31"}, Order: view.OrderIssueDate, Ascending: true})
	invoices("change", "invoices_updated", view.InvoiceFilter{UpdatedSince: &now, Submitted: new(false)})
	invoices("recipient", "", view.InvoiceFilter{Recipient: "x"})
	invoices("text", "", view.InvoiceFilter{Search: "x"})

	add("notification summaries", "events_resource", 0, func(ctx context.Context) error {
		_, err := of.NotificationSummaries(ctx, []base.ID{rows.submission, rows.incoming})
		return err
	})
	deliveries := func(name, uses string, filter view.DeliveryFilter) {
		add("deliveries by "+name, uses, view.SearchDepth, func(ctx context.Context) error {
			_, err := of.Deliveries(ctx, filter, 1, 25)
			return err
		})
		out[len(out)-1].unsorted = filter.Event.IsZero() // an event has few
	}
	deliveries("nothing", "", view.DeliveryFilter{})
	deliveries("pending", "", view.DeliveryFilter{State: events.DeliveryPending})
	deliveries("failed", "deliveries_lost", view.DeliveryFilter{State: events.DeliveryFailed})
	deliveries("kind", "", view.DeliveryFilter{Kind: api.EventStatusChanged})
	deliveries("subscription", "deliveries_subscription", view.DeliveryFilter{Subscription: rows.subscription})
	deliveries("subscription, state and kind", "deliveries_subscription",
		view.DeliveryFilter{Subscription: rows.subscription, State: events.DeliveryFailed, Kind: api.EventTerminal})
	deliveries("event", "", view.DeliveryFilter{Event: rows.event})
	deliveries("event and subscription", "", view.DeliveryFilter{Event: rows.event, Subscription: rows.subscription})
	add("newest deliveries of a subscription", "deliveries_subscription", view.DeliveryDepth,
		func(ctx context.Context) error {
			_, err := of.SubscriptionDeliveries(ctx, rows.subscription, events.DeliveryFailed, 1, 25)
			return err
		})
	add("newest undelivered", "deliveries_lost", view.DeliveryDepth, func(ctx context.Context) error {
		_, err := of.Undelivered(ctx, events.DeliveryFailed, 1, 25)
		return err
	})
	add("recent states", "deliveries_subscription", 0, func(ctx context.Context) error {
		_, err := of.RecentStates(ctx, []base.ID{rows.subscription}, 20)
		return err
	})
	add("recent attempts", "deliveries_subscription", 1_000, func(ctx context.Context) error {
		_, err := of.RecentAttempts(ctx, rows.subscription, now.Add(-time.Hour))
		return err
	})
	add("subscriptions", "", 0, func(ctx context.Context) error {
		_, err := of.Subscriptions(ctx, 1, 25)
		return err
	})
	credits := func(name, uses string, depth int, filter view.CreditNoteFilter) {
		add("credit notes by "+name, uses, depth, func(ctx context.Context) error {
			_, err := of.CreditNotes(ctx, filter, 1, 25)
			return err
		})
	}
	credits("nothing", "credit_notes_position", 0, view.CreditNoteFilter{})
	credits("invoice", "credit_notes_invoice", 0, view.CreditNoteFilter{Invoice: &rows.invoice})
	credits("void", "credit_notes_position", view.SearchDepth, view.CreditNoteFilter{Void: new(true)})
	credits("issue date", "credit_notes_issue_date", view.SearchDepth, view.CreditNoteFilter{IssueDates: fixture.Year()})
	credits("last issue date, live and text", "credit_notes_issue_date", view.SearchDepth,
		view.CreditNoteFilter{IssueDates: view.IssueDates{IssuedTo: "2026-12-31"}, Void: new(false), Text: "x"})
	credits("invoice and issue date", "credit_notes_invoice", 0,
		view.CreditNoteFilter{Invoice: &rows.invoice, IssueDates: fixture.Year()})
	credits("text", "", view.SearchDepth, view.CreditNoteFilter{Text: "x"})
	add("history of a credit note", "submissions_credit_note", 0, func(ctx context.Context) error {
		_, _, err := of.History(ctx, view.OfCreditNote(rows.note), 1, 25)
		return err
	})
	addBookLists(of, add)
	arrived := func(name, uses string, depth int, filter view.IncomingFilter) {
		add("incoming e-invoices by "+name, uses, depth, func(ctx context.Context) error {
			_, err := of.IncomingInvoices(ctx, filter, 1, 25)
			return err
		})
	}
	arrived("nothing", "incoming_position", 0, view.IncomingFilter{})
	arrived("text", "incoming_position", view.SearchDepth, view.IncomingFilter{Text: "x"})
	arrived("issue date", "revisions_issue_date", view.SearchDepth, view.IncomingFilter{IssueDates: fixture.Year()})
	arrived("first issue date and text", "revisions_issue_date", view.SearchDepth,
		view.IncomingFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-01-01"}, Text: "x"})
	arrived("change", "incoming_updated", view.SearchDepth, view.IncomingFilter{UpdatedSince: now,
		IssueDates: fixture.Year()})
	audit := func(name, uses string, filter view.AuditFilter) {
		add("audit log by "+name, uses, view.SearchDepth, func(ctx context.Context) error {
			_, err := of.AuditLog(ctx, filter, 1, 25)
			return err
		})
		out[len(out)-1].unsorted = true
	}
	audit("nothing", "", view.AuditFilter{})
	audit("actor", "audit_chain_at", view.AuditFilter{Actor: "ann@example.com"})
	audit("act", "audit_chain_at", view.AuditFilter{Act: "draft"})
	audit("time", "audit_chain_at", view.AuditFilter{From: now.Add(-time.Hour), To: now})
	audit("subject", "audit_subject", view.AuditFilter{Subject: rows.invoice.String()})
	audit("subject and time", "audit_subject", view.AuditFilter{Subject: rows.invoice.String(), From: now.Add(-time.Hour)})
	out = append(out, wholeListOperations(f, of, rows)...)
	add("revisions", "", 0, func(ctx context.Context) error {
		_, err := of.Revisions(ctx, rows.incoming, 1, 25)
		return err
	})
	add("history of an invoice", "", 0, func(ctx context.Context) error {
		if _, err := of.SubmissionHistory(ctx, view.OfInvoice(rows.invoice), 1, 25); err != nil {
			return err
		}
		if _, err := of.EvidenceHistory(ctx, view.OfInvoice(rows.invoice), 1, 25); err != nil {
			return err
		}
		_, _, err := of.History(ctx, view.OfInvoice(rows.invoice), 1, 25)
		return err
	})
	return out
}

// wholeListOperations read the identifiers of whole lists, and the rows with some of them.
func wholeListOperations(f *fixture.Fixture, of view.Tenant, rows *planRows) []operation {
	now := f.Clock.Now()
	var out []operation
	add := func(name, uses string, run func(ctx context.Context) ([]base.ID, error)) {
		out = append(out, operation{name: "all " + name, uses: uses, depth: view.MaxListed, list: true,
			run: func(ctx context.Context) error {
				_, err := run(ctx)
				return err
			}})
	}
	for name, filter := range map[string]view.InvoiceFilter{
		"invoices": {}, "invoices, oldest first": {Ascending: true}, "drafts": {Tab: view.TabDrafts},
		"invoices by text": {Search: "x"}, "invoices by total": {Order: view.OrderTotal},
		"invoices by issue date": {IssueDates: view.IssueDates{IssuedFrom: "2026-01-01"}},
		"submitted invoices":     {Submitted: new(true)},
		"invoices by state":      {States: map[invoice.Dimension]string{invoice.DimensionReceiver: "accepted"}},
	} {
		add(name, "", func(ctx context.Context) ([]base.ID, error) { return of.InvoiceIDs(ctx, filter) })
	}
	for name, filter := range map[string]view.CreditNoteFilter{"credit notes": {}, "void credit notes": {Void: new(true)},
		"credit notes by text": {Text: "x"}, "credit notes of an invoice": {Invoice: &rows.invoice},
		"credit notes of a year": {IssueDates: fixture.Year()}} {
		add(name, "", func(ctx context.Context) ([]base.ID, error) { return of.CreditNoteIDs(ctx, filter) })
	}
	for uses, filters := range map[string][]view.IncomingFilter{
		"incoming_position": {{}, {Text: "x"}}, "revisions_issue_date": {{IssueDates: fixture.Year()},
			{IssueDates: fixture.Year(), Text: "x"}},
		"incoming_updated": {{UpdatedSince: now}},
	} {
		for _, filter := range filters {
			add(fmt.Sprintf("incoming e-invoices %+v", filter), uses,
				func(ctx context.Context) ([]base.ID, error) { return of.IncomingIDs(ctx, filter) })
		}
	}
	for name, filter := range map[string]view.DeliveryFilter{"deliveries": {}, "undelivered": {Undelivered: true},
		"failed deliveries of a subscription": {Subscription: rows.subscription, State: events.DeliveryFailed}} {
		add(name, "", func(ctx context.Context) ([]base.ID, error) { return of.DeliveryIDs(ctx, filter) })
	}
	for name, filter := range map[string]view.AuditFilter{"audit entries": {},
		"audit entries of a time": {From: now.Add(-time.Hour), To: now},
		"audit entries by actor":  {Actor: "ann@example.com"}} {
		add(name, "", func(ctx context.Context) ([]base.ID, error) { return of.AuditIDs(ctx, filter) })
	}
	add("subscriptions", "", of.SubscriptionIDs)
	ids := []base.ID{rows.invoice, rows.note, rows.incoming, rows.delivery, rows.subscription}
	for name, read := range map[string]func(ctx context.Context) (int, error){
		"credit notes": func(ctx context.Context) (int, error) {
			found, err := of.CreditNotesByID(ctx, ids)
			return len(found), err
		},
		"incoming e-invoices": func(ctx context.Context) (int, error) {
			found, err := of.IncomingByID(ctx, ids)
			return len(found), err
		},
		"deliveries": func(ctx context.Context) (int, error) {
			found, err := of.DeliveriesByID(ctx, ids)
			return len(found), err
		},
		"subscriptions": func(ctx context.Context) (int, error) {
			found, err := of.SubscriptionsByID(ctx, ids)
			return len(found), err
		},
		"audit entries": func(ctx context.Context) (int, error) {
			found, err := of.AuditByID(ctx, ids)
			return len(found),
				err
		},
		"invoices": func(ctx context.Context) (int, error) {
			found, err := of.InvoicesByID(ctx, ids)
			return len(found), err
		},
		"the items of invoices": func(ctx context.Context) (int, error) { return of.ItemCount(ctx, ids) },
	} {
		out = append(out, operation{name: name + " by identifier", list: true, run: func(ctx context.Context) error {
			_, err := read(ctx)
			return err
		}})
	}
	return out
}
