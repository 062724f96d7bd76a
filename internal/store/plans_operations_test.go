package store_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

// workOperations are the operations that the workers of a server run in a loop, and those of a single row.
func (f *fixture) workOperations(db *store.DB, rows *planRows) []operation {
	var deliveries []store.DeliveryLease
	var submissions []store.SubmissionLease
	var syncs []store.PurchaseLease
	var deliveryQueue, submissionQueue, purchaseQueue store.Queue
	const companies = 2 * 256 // of which a step of a scan reads an entry
	// find scans for the queue of the fixture's company; the others are copies, whose seals do not open.
	find := func(queue *store.Queue, scan func(context.Context, store.ScanCursor) (store.DueScan, error), key store.ID) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			for from := (store.ScanCursor{}); ; {
				step, err := scan(ctx, from)
				if err != nil {
					return err
				}
				var found bool
				if *queue, found = findQueue(step.Queues, key); found {
					return nil
				}
				if from = step.Next; from.IsZero() {
					return errors.New("nothing is due")
				}
			}
		}
	}
	return []operation{
		{name: "DueDeliveryQueues", uses: "deliveries_due", depth: companies, run: find(&deliveryQueue, db.DueDeliveryQueues, rows.subscription)},
		{name: "ClaimDeliveries", uses: "deliveries_due", run: func(ctx context.Context) (err error) {
			deliveries, err = deliveryQueue.ClaimDeliveries(ctx, 20, leaseDuration)
			return err
		}},
		{name: "RecordAttempt", run: func(ctx context.Context) error {
			return deliveries[0].RecordAttempt(ctx, attempt(f, 500), store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now()})
		}},
		{name: "DueSubmissionQueues", uses: "submissions_due", depth: companies, run: find(&submissionQueue, db.DueSubmissionQueues, f.connection.ID)},
		{name: "ClaimSubmissions", uses: "submissions_due", run: func(ctx context.Context) (err error) {
			submissions, err = submissionQueue.ClaimSubmissions(ctx, 20, leaseDuration)
			return err
		}},
		{name: "Record", run: func(ctx context.Context) error {
			call := submissions[slices.IndexFunc(submissions, func(l store.SubmissionLease) bool { return l.Submission.Outcome == api.OutcomeAcknowledged })]
			_, err := call.Record(ctx, func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
				return readAs(reported(s, now, allFour("refused", true), api.EventStatusChanged)), nil
			})
			return err
		}},
		{name: "BeginResend", run: func(ctx context.Context) error {
			unknown := slices.IndexFunc(submissions, func(l store.SubmissionLease) bool { return l.Submission.Outcome == api.OutcomeUnknown })
			_, err := submissions[unknown].BeginResend(ctx, leaseDuration)
			return err
		}},
		{name: "LaterReferences", run: func(ctx context.Context) error {
			_, err := submissions[0].LaterReferences(ctx)
			return err
		}},
		{name: "DuePurchaseQueues", uses: "purchase_syncs_due", run: find(&purchaseQueue, db.DuePurchaseQueues, f.connection.ID)},
		{name: "ClaimPurchases", uses: "tenants_current", run: func(ctx context.Context) (err error) {
			syncs, err = purchaseQueue.ClaimPurchases(ctx, leaseDuration)
			return err
		}},
		{name: "RetainPurchases", run: func(ctx context.Context) error {
			if _, err := syncs[0].Known(ctx, []string{"a"}); err != nil {
				return err
			}
			_, _, err := syncs[0].RetainPurchases(ctx, []store.NewIncoming{incoming("a", "A2"), incoming("c", "C")}, store.SyncStep{Cursor: "c-2", After: time.Minute})
			return err
		}},
		{name: "ApplyRetention", run: func(ctx context.Context) error {
			_, err := db.ApplyRetention(ctx, store.Retention{Events: 10 * 24 * time.Hour, Attempts: 10 * 24 * time.Hour})
			return err
		}},
		{name: "DeleteExpired", uses: "limits_end tokens_expiry idempotency_expiry", run: db.DeleteExpired},
		{name: "Summarize", uses: "invoices_unsummarized", whole: []string{"invoices_unsummarized"}, run: func(ctx context.Context) error {
			_, err := db.Summarize(ctx)
			return err
		}},
		// Numbers for the operator, which are counted.
		{name: "PollLag", uses: "submissions_due", whole: []string{"connections", "submissions_due"}, run: func(ctx context.Context) error {
			_, err := db.PollLag(ctx)
			return err
		}},
		{name: "Contradicted", uses: "submissions_contradicted", whole: []string{"submissions_contradicted"}, run: func(ctx context.Context) error {
			_, err := db.Contradicted(ctx)
			return err
		}},
		{name: "Backlogs", uses: "deliveries_due submissions_due", whole: []string{"deliveries_due", "submissions_due"}, run: func(ctx context.Context) error {
			_, _, err := db.Backlogs(ctx)
			return err
		}},
	}
}

// requestOperations are those of requests that are not lists.
func (f *fixture) requestOperations(db *store.DB, tenant *store.Tenant, rows *planRows) []operation {
	of := view.Of(tenant)
	ids := []store.ID{rows.submission, rows.invoice}
	return []operation{
		{name: "Authenticate", run: func(ctx context.Context) error {
			_, err := db.Authenticate(ctx, [32]byte{1})
			return err
		}},
		{name: "CreateToken", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			_, err := db.CreateToken(ctx, f.user, [32]byte{2}, f.Clock.Now().Add(time.Hour))
			return err
		}},
		{name: "UserByEmail", run: func(ctx context.Context) error {
			_, err := db.UserByEmail(ctx, f.user.Email)
			return err
		}},
		{name: "ResetPassword", uses: "tokens_unrevoked", run: func(ctx context.Context) error { return db.ResetPassword(ctx, f.account.ID, f.user.ID, "$2") }},
		{name: "AcquireLimits", run: func(ctx context.Context) error {
			_, err := db.AcquireLimits(ctx, store.LimitUse{Key: [32]byte{3}, Max: 5, Window: time.Minute})
			return err
		}},
		{name: "Quotas", run: func(ctx context.Context) error {
			_, err := tenant.Quotas(ctx, f.user.ID)
			return err
		}},
		{name: "CreateInvoice", run: func(ctx context.Context) (err error) {
			created, err := tenant.CreateInvoice(ctx, draft("INV-PLAN"))
			rows.created = created.ID
			return err
		}},
		{name: "Invoice", uses: "submissions_current", run: func(ctx context.Context) error {
			_, err := tenant.Invoice(ctx, rows.invoice)
			return err
		}},
		{name: "NumberHolder", uses: "submissions_number", run: func(ctx context.Context) error {
			_, err := tenant.NumberHolder(ctx, "INV-acknowledged")
			return err
		}},
		{name: "BeginSubmission", uses: "connections_active submissions_number", whole: []string{"submissions_contradicted"}, run: func(ctx context.Context) error {
			_, _, err := tenant.BeginSubmission(ctx, rows.created, intent())
			return err
		}},
		{name: "CreditedInvoice", uses: "credit_notes_invoice", run: func(ctx context.Context) error {
			_, _, err := tenant.CreditedInvoice(ctx, rows.invoice)
			return err
		}},
		{name: "Redeliver", run: func(ctx context.Context) error {
			_, err := tenant.Redeliver(ctx, rows.delivery)
			return err
		}},
		{name: "EventPage", uses: "events_position", run: func(ctx context.Context) error {
			_, _, err := tenant.EventPage(ctx, 0, 100, 1<<20)
			return err
		}},
		{name: "ResourceEvents", uses: "events_resource", run: func(ctx context.Context) error {
			_, err := of.ResourceEvents(ctx, ids, 100)
			return err
		}},
		{name: "EventsByID", run: func(ctx context.Context) error {
			_, err := of.EventsByID(ctx, ids)
			return err
		}},
		{name: "InvoiceNumbers", run: func(ctx context.Context) error {
			_, err := of.InvoiceNumbers(ctx, ids)
			return err
		}},
		{name: "EvidenceBodies", run: func(ctx context.Context) error {
			_, err := of.EvidenceBodies(ctx, ids)
			return err
		}},
		{name: "StateValues", uses: "states_word", run: func(ctx context.Context) error {
			_, err := of.StateValues(ctx)
			return err
		}},
	}
}

// listOperations are the lists and searches of the API and the console.
func (f *fixture) listOperations(tenant *store.Tenant, rows *planRows) []operation {
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
	invoices("number", "invoices_number", view.InvoiceFilter{Number: new("INV-acknowledged")})
	invoices("external identifier", "invoice_summaries_external_id", view.InvoiceFilter{ExternalID: new("x")})
	invoices("submission", "submissions_current", view.InvoiceFilter{Submitted: new(true)})
	invoices("state", "states_word_newest", view.InvoiceFilter{States: map[invoice.Dimension]string{invoice.DimensionReceiver: "accepted"}})
	invoices("unreported state", "", view.InvoiceFilter{Unreported: []invoice.Dimension{invoice.DimensionReceiver}})
	invoices("outcome", "", view.InvoiceFilter{Outcome: new(api.OutcomeRejected)})
	invoices("attention", "submissions_attention states_negative", view.InvoiceFilter{Attention: new(true)})
	invoices("no attention", "", view.InvoiceFilter{Attention: new(false)})
	invoices("first issue date", "invoice_summaries_issue_date", view.InvoiceFilter{IssuedFrom: "2026-01-01"})
	invoices("last issue date", "invoice_summaries_issue_date", view.InvoiceFilter{IssuedTo: "2026-12-31", Order: view.OrderIssueDate, Ascending: true})
	invoices("change", "invoices_updated", view.InvoiceFilter{UpdatedSince: &now, Submitted: new(false)})
	invoices("recipient", "", view.InvoiceFilter{Recipient: "x"})
	invoices("text", "", view.InvoiceFilter{Search: "x"})

	add("notification summaries", "events_resource", 0, func(ctx context.Context) error {
		_, err := of.NotificationSummaries(ctx, []store.ID{rows.submission, rows.incoming})
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
	deliveries("pending", "", view.DeliveryFilter{State: store.DeliveryPending})
	deliveries("failed", "deliveries_lost", view.DeliveryFilter{State: store.DeliveryFailed})
	deliveries("kind", "", view.DeliveryFilter{Kind: api.EventStatusChanged})
	deliveries("subscription", "deliveries_subscription", view.DeliveryFilter{Subscription: rows.subscription})
	deliveries("subscription, state and kind", "deliveries_subscription", view.DeliveryFilter{Subscription: rows.subscription, State: store.DeliveryFailed, Kind: api.EventTerminal})
	deliveries("event", "", view.DeliveryFilter{Event: rows.event})
	deliveries("event and subscription", "", view.DeliveryFilter{Event: rows.event, Subscription: rows.subscription})
	add("newest deliveries of a subscription", "deliveries_subscription", view.DeliveryDepth, func(ctx context.Context) error {
		_, err := of.SubscriptionDeliveries(ctx, rows.subscription, store.DeliveryFailed, 1, 25)
		return err
	})
	add("newest undelivered", "deliveries_lost", view.DeliveryDepth, func(ctx context.Context) error {
		_, err := of.Undelivered(ctx, store.DeliveryFailed, 1, 25)
		return err
	})
	add("recent states", "deliveries_subscription", 0, func(ctx context.Context) error {
		_, err := of.RecentStates(ctx, []store.ID{rows.subscription}, 20)
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
	credits("text", "", view.SearchDepth, view.CreditNoteFilter{Text: "x"})
	add("incoming e-invoices", "incoming_position", 0, func(ctx context.Context) error {
		_, err := of.IncomingInvoices(ctx, "", 1, 25)
		return err
	})
	add("incoming e-invoices by text", "incoming_position", view.SearchDepth, func(ctx context.Context) error {
		_, err := of.IncomingInvoices(ctx, "x", 1, 25)
		return err
	})
	add("revisions", "", 0, func(ctx context.Context) error {
		_, err := of.Revisions(ctx, rows.incoming, 1, 25)
		return err
	})
	add("history of an invoice", "", 0, func(ctx context.Context) error {
		if _, err := of.SubmissionHistory(ctx, rows.invoice, 1, 25); err != nil {
			return err
		}
		if _, err := of.EvidenceHistory(ctx, rows.invoice, 1, 25); err != nil {
			return err
		}
		_, _, err := of.InvoiceHistory(ctx, rows.invoice, 1, 25)
		return err
	})
	return out
}
