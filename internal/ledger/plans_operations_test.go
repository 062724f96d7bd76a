package ledger_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
	"quittance/test/ledgertest/fixture"
)

// workOperations are the operations that the workers of a server run in a loop, and those of a single row.
func workOperations(f *fixture.Fixture, db *base.DB, rows *planRows) []operation {
	var deliveries []events.DeliveryLease
	var submissions []invoices.SubmissionLease
	var syncs []incoming.PurchaseLease
	var deliveryQueue, submissionQueue, purchaseQueue base.Queue
	return []operation{
		{name: "DueDeliveryQueues", uses: "deliveries_due", depth: scannedCompanies,
			run: findDue(&deliveryQueue, func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
				return events.DueDeliveryQueues(ctx, db, from)
			}, rows.subscription)},
		{name: "ClaimDeliveries", uses: "deliveries_due", run: func(ctx context.Context) (err error) {
			deliveries, err = events.ClaimDeliveries(ctx, deliveryQueue, 20, fixture.LeaseDuration)
			return err
		}},
		{name: "RecordAttempt", run: func(ctx context.Context) error {
			return deliveries[0].RecordAttempt(ctx, fixture.Attempt(f, 500),
				events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now()})
		}},
		{name: "DueSubmissionQueues", uses: "submissions_due", depth: scannedCompanies,
			run: findDue(&submissionQueue, func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
				return invoices.DueSubmissionQueues(ctx, db, from)
			}, f.Connection.ID)},
		{name: "ClaimSubmissions", uses: "submissions_due", run: func(ctx context.Context) (err error) {
			submissions, err = invoices.ClaimSubmissions(ctx, submissionQueue, 20, fixture.LeaseDuration)
			return err
		}},
		{name: "Record", run: func(ctx context.Context) error {
			call := submissions[slices.IndexFunc(submissions,
				func(l invoices.SubmissionLease) bool { return l.Submission.Outcome == api.OutcomeAcknowledged })]
			_, err := call.Record(ctx, func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
				return fixture.ReadAs(fixture.Reported(s, now, fixture.AllFour("refused", true), api.EventStatusChanged)), nil
			})
			return err
		}},
		{name: "BeginResend", run: func(ctx context.Context) error {
			unknown := slices.IndexFunc(submissions,
				func(l invoices.SubmissionLease) bool { return l.Submission.Outcome == api.OutcomeUnknown })
			_, err := submissions[unknown].BeginResend(ctx, fixture.LeaseDuration)
			return err
		}},
		{name: "LostReferences", run: func(ctx context.Context) error {
			_, err := submissions[0].LostReferences(ctx)
			return err
		}},
		{name: "DuePurchaseQueues", uses: "purchase_syncs_due",
			run: findDue(&purchaseQueue, func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
				return incoming.DuePurchaseQueues(ctx, db, from)
			}, f.Connection.ID)},
		{name: "ClaimPurchases", uses: "tenants_current", run: func(ctx context.Context) (err error) {
			syncs, err = incoming.ClaimPurchases(ctx, purchaseQueue, fixture.LeaseDuration)
			return err
		}},
		{name: "RecordEvent", uses: "provider_events_event submissions_provider_reference",
			run: func(ctx context.Context) error {
				if _, err := syncs[0].EventReleased(ctx, "e-1"); err != nil {
					return err
				}
				step := incoming.SyncStep{After: time.Minute, Hold: true}
				for _, event := range []incoming.ProviderEvent{{ID: "e-1", Reference: rows.submission},
					{ID: "e-2", ProviderReference: "P-1"}} {
					if _, _, err := syncs[0].RecordEvent(ctx, event, step,
						func(s invoices.Submission, _ bool, _ time.Time) (invoices.Decision, error) {
							return s.Unchanged(), nil
						}); err != nil && !errors.Is(err, incoming.ErrNoSubmission) {
						return err
					}
				}
				_, _, err := syncs[0].RetainUnrouted(ctx, incoming.ProviderEvent{ID: "e-2", Body: []byte("{}")}, time.Hour,
					step, step)
				return err
			}},
		{name: "RetainPurchases", run: func(ctx context.Context) error {
			if _, err := syncs[0].Known(ctx, []string{"a"}); err != nil {
				return err
			}
			_, _, err := syncs[0].RetainPurchases(ctx, []incoming.NewIncoming{fixture.Incoming("a", "A2"),
				fixture.Incoming("c", "C")}, incoming.SyncStep{Cursor: "c-2", After: time.Minute})
			return err
		}},
		{name: "UnroutedEvents", uses: "provider_events_unrouted", depth: 100, unsorted: true,
			run: func(ctx context.Context) error {
				_, err := incoming.UnroutedEvents(ctx, db, f.Account.ID, 100)
				return err
			}},
		{name: "ApplyRetention", run: func(ctx context.Context) error {
			_, err := invoices.ApplyRetention(ctx, db, invoices.Retention{Events: 10 * 24 * time.Hour,
				Attempts: 10 * 24 * time.Hour})
			return err
		}},
		{name: "DeleteExpired", whole: []string{"operator_sessions", "sign_on_choices", "address_proofs"},
			uses: "limits_end tokens_expiry uploads_expiry pending_logins_expiry passkey_challenges_expiry password_resets_expiry password_reset_requests_age idempotency_expiry mails_expiry mails_ended", run: func(ctx context.Context) error { return ledger.DeleteExpired(ctx, db) }},
		{name: "Summarize", uses: "invoices_unsummarized", whole: []string{"invoices_unsummarized"},
			run: func(ctx context.Context) error {
				_, err := invoices.SummarizeMissing(ctx, db)
				return err
			}},
		{name: "CountInvoices", uses: "invoices_uncounted", whole: []string{"invoices_uncounted"},
			run: func(ctx context.Context) error {
				_, err := invoices.CountMissing(ctx, db)
				return err
			}},
		// Numbers for the operator, which are counted.
		{name: "PollLag", uses: "submissions_due", whole: []string{"connections", "submissions_due"},
			run: func(ctx context.Context) error {
				_, err := invoices.ReadPollLag(ctx, db)
				return err
			}},
		{name: "UnknownAges", uses: "submissions_unknown_oldest", whole: []string{"submissions_unknown_oldest", "tenants"},
			run: func(ctx context.Context) error {
				_, err := lists.ReadUnknownAges(ctx, db)
				return err
			}},
		{name: "Contradicted", uses: "submissions_contradicted", whole: []string{"submissions_contradicted"},
			run: func(ctx context.Context) error {
				_, err := invoices.Contradicted(ctx, db)
				return err
			}},
		{name: "LastBackup", run: func(ctx context.Context) error {
			if _, err := ledger.LastBackup(ctx, db); !errors.Is(err, base.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "LastVerification", run: func(ctx context.Context) error {
			if _, err := identity.LastVerification(ctx, db); !errors.Is(err, base.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "OldestPurchaseSync", uses: "purchase_syncs_synced", run: func(ctx context.Context) error {
			_, err := incoming.OldestPurchaseSync(ctx, db)
			return err
		}},
		{name: "Backlogs", uses: "deliveries_due submissions_due", whole: []string{"deliveries_due", "submissions_due"},
			run: func(ctx context.Context) error {
				_, _, err := lists.Backlogs(ctx, db)
				return err
			}},
	}
}

// requestOperations are those of requests that are not lists.
func requestOperations(f *fixture.Fixture, db *base.DB, tenant *base.Tenant, rows *planRows) []operation {
	of := view.Of(tenant)
	ids := []base.ID{rows.submission, rows.invoice}
	return append([]operation{
		{name: "Authenticate", run: func(ctx context.Context) error {
			_, err := db.Authenticate(ctx, [32]byte{1})
			return err
		}},
		{name: "AuthenticateAPIKey", uses: "api_keys_digest tenants_current connections_active",
			run: func(ctx context.Context) error {
				_, err := db.AuthenticateAPIKey(ctx, rows.keyDigest, netip.Addr{})
				return err
			}},
		{name: "RecordUses", run: db.RecordUses},
		{name: "APIKeys", run: func(ctx context.Context) error {
			_, err := identity.APIKeys(ctx, tenant)
			return err
		}},
		{name: "CreateAPIKey", run: func(ctx context.Context) error {
			_, err := identity.CreateAPIKey(ctx, tenant, rows.newKey)
			return err
		}},
		{name: "RevokeAPIKey", run: func(ctx context.Context) error {
			_, err := identity.RevokeAPIKey(ctx, tenant, rows.key)
			return err
		}},
		{name: "UserByEmail", uses: "users_email", run: func(ctx context.Context) error {
			_, err := db.UserByEmail(ctx, f.User.Email)
			return err
		}},
		{name: "UsersToLogIn", uses: "users_email", run: func(ctx context.Context) error {
			_, err := db.UsersToLogIn(ctx, f.User.Email, base.ID{})
			return err
		}},
		{name: "AcquireLimits", run: func(ctx context.Context) error {
			_, err := db.AcquireLimits(ctx, base.LimitUse{Key: [32]byte{3}, Max: 5, Window: time.Minute})
			return err
		}},
		{name: "Quotas", run: func(ctx context.Context) error {
			_, err := invoices.Quotas(ctx, tenant, f.User.ID)
			return err
		}},
		{name: "CreateInvoice", run: func(ctx context.Context) (err error) {
			created, err := invoices.Create(ctx, tenant, fixture.Draft("INV-PLAN"))
			rows.created = created.ID
			return err
		}},
		{name: "ImportDrafts", uses: "uploads_user", run: func(ctx context.Context) error {
			upload, err := invoices.StoreUpload(ctx, tenant, invoices.Upload{Name: "a.csv", Body: []byte("a")}, f.User.ID,
				time.Hour)
			if err != nil {
				return err
			}
			if _, err := invoices.FindUpload(ctx, tenant, upload); err != nil {
				return err
			}
			_, err = invoices.Import(ctx, tenant, []*api.Draft{fixture.Draft("INV-IMPORT")},
				invoices.ImportSource{Upload: upload})
			return err
		}},
		{name: "UsedNumbers", uses: "invoices_number", run: func(ctx context.Context) error {
			_, err := invoices.UsedNumbers(ctx, tenant, []string{"INV-acknowledged"})
			return err
		}},
		{name: "Invoice", uses: "submissions_current", run: func(ctx context.Context) error {
			_, err := invoices.Find(ctx, tenant, rows.invoice)
			return err
		}},
		{name: "NumberHolder", uses: "submissions_number", run: func(ctx context.Context) error {
			_, err := invoices.NumberHolder(ctx, tenant, "INV-acknowledged")
			return err
		}},
		{name: "BeginSubmission", uses: "connections_active submissions_number", whole: []string{"submissions_contradicted"},
			run: func(ctx context.Context) error {
				_, _, err := invoices.BeginSubmission(ctx, tenant, rows.created, fixture.Intent())
				return err
			}},
		{name: "CreditNote", uses: "submissions_credit_note", run: func(ctx context.Context) error {
			_, err := invoices.FindCreditNote(ctx, tenant, rows.note)
			return err
		}},
		{name: "BeginCreditNoteSubmission", uses: "connections_active submissions_number submissions_credit_note",
			whole: []string{"submissions_contradicted"}, run: func(ctx context.Context) error {
				note, err := invoices.CreateCreditNote(ctx, tenant, rows.credited, fixture.CreditBy("CN-PLAN",
					fixture.ByQuantity(0, "1")))
				if err != nil {
					return err
				}
				_, _, err = invoices.BeginCreditNoteSubmission(ctx, tenant, note.ID, fixture.Intent())
				return err
			}},
		{name: "CreditedInvoice", uses: "credit_notes_invoice", run: func(ctx context.Context) error {
			_, _, err := invoices.CreditedInvoice(ctx, tenant, rows.invoice)
			return err
		}},
		{name: "Redeliver", run: func(ctx context.Context) error {
			_, err := events.Redeliver(ctx, tenant, rows.delivery)
			return err
		}},
		{name: "EventPage", uses: "events_position", run: func(ctx context.Context) error {
			_, _, err := events.EventPage(ctx, tenant, 0, 100, 1<<20)
			return err
		}},
		{name: "EventEnd", run: func(ctx context.Context) error {
			_, err := events.EventEnd(ctx, tenant)
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
		{name: "LastLogins", uses: "audit_subject", run: func(ctx context.Context) (err error) {
			_, err = of.LastLogins(ctx, ids)
			return err
		}},
		{name: "Activity", uses: "audit_subject", run: func(ctx context.Context) error {
			_, err := of.Activity(ctx, []base.ID{rows.invoice, rows.submission}, 100)
			return err
		}},
		{name: "NumberUse", uses: "invoices_number", run: func(ctx context.Context) error {
			_, err := of.NumberUse(ctx, "INV-acknowledged", rows.invoice)
			return err
		}},
		{name: "StateValues", uses: "states_word", run: func(ctx context.Context) error {
			_, err := of.StateValues(ctx)
			return err
		}},
	}, loginOperations(f, db, tenant)...)
}
