package store_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
)

// workOperations are the operations that the workers of a server run in a loop, and those of a single row.
func (f *fixture) workOperations(db *store.DB, rows *planRows) []operation {
	var deliveries []store.DeliveryLease
	var submissions []store.SubmissionLease
	var syncs []store.PurchaseLease
	var deliveryQueue, submissionQueue, purchaseQueue store.Queue
	return []operation{
		{name: "DueDeliveryQueues", uses: "deliveries_due", depth: scannedCompanies,
			run: findDue(&deliveryQueue, db.DueDeliveryQueues, rows.subscription)},
		{name: "ClaimDeliveries", uses: "deliveries_due", run: func(ctx context.Context) (err error) {
			deliveries, err = deliveryQueue.ClaimDeliveries(ctx, 20, leaseDuration)
			return err
		}},
		{name: "RecordAttempt", run: func(ctx context.Context) error {
			return deliveries[0].RecordAttempt(ctx, attempt(f, 500),
				store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now()})
		}},
		{name: "DueSubmissionQueues", uses: "submissions_due", depth: scannedCompanies,
			run: findDue(&submissionQueue, db.DueSubmissionQueues, f.connection.ID)},
		{name: "ClaimSubmissions", uses: "submissions_due", run: func(ctx context.Context) (err error) {
			submissions, err = submissionQueue.ClaimSubmissions(ctx, 20, leaseDuration)
			return err
		}},
		{name: "Record", run: func(ctx context.Context) error {
			call := submissions[slices.IndexFunc(submissions,
				func(l store.SubmissionLease) bool { return l.Submission.Outcome == api.OutcomeAcknowledged })]
			_, err := call.Record(ctx, func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
				return readAs(reported(s, now, allFour("refused", true), api.EventStatusChanged)), nil
			})
			return err
		}},
		{name: "BeginResend", run: func(ctx context.Context) error {
			unknown := slices.IndexFunc(submissions,
				func(l store.SubmissionLease) bool { return l.Submission.Outcome == api.OutcomeUnknown })
			_, err := submissions[unknown].BeginResend(ctx, leaseDuration)
			return err
		}},
		{name: "LostReferences", run: func(ctx context.Context) error {
			_, err := submissions[0].LostReferences(ctx)
			return err
		}},
		{name: "DuePurchaseQueues", uses: "purchase_syncs_due",
			run: findDue(&purchaseQueue, db.DuePurchaseQueues, f.connection.ID)},
		{name: "ClaimPurchases", uses: "tenants_current", run: func(ctx context.Context) (err error) {
			syncs, err = purchaseQueue.ClaimPurchases(ctx, leaseDuration)
			return err
		}},
		{name: "RecordEvent", uses: "provider_events_event submissions_provider_reference",
			run: func(ctx context.Context) error {
				if _, err := syncs[0].EventReleased(ctx, "e-1"); err != nil {
					return err
				}
				step := store.SyncStep{After: time.Minute, Hold: true}
				for _, event := range []store.ProviderEvent{{ID: "e-1", Reference: rows.submission},
					{ID: "e-2", ProviderReference: "P-1"}} {
					if _, _, err := syncs[0].RecordEvent(ctx, event, step,
						func(s store.Submission, _ bool, _ time.Time) (store.Decision, error) {
							return s.Unchanged(), nil
						}); err != nil && !errors.Is(err, store.ErrNoSubmission) {
						return err
					}
				}
				_, _, err := syncs[0].RetainUnrouted(ctx, store.ProviderEvent{ID: "e-2", Body: []byte("{}")}, time.Hour, step, step)
				return err
			}},
		{name: "RetainPurchases", run: func(ctx context.Context) error {
			if _, err := syncs[0].Known(ctx, []string{"a"}); err != nil {
				return err
			}
			_, _, err := syncs[0].RetainPurchases(ctx, []store.NewIncoming{incoming("a", "A2"), incoming("c", "C")},
				store.SyncStep{Cursor: "c-2", After: time.Minute})
			return err
		}},
		{name: "UnroutedEvents", uses: "provider_events_unrouted", depth: 100, unsorted: true,
			run: func(ctx context.Context) error {
				_, err := db.UnroutedEvents(ctx, f.account.ID, 100)
				return err
			}},
		{name: "ApplyRetention", run: func(ctx context.Context) error {
			_, err := db.ApplyRetention(ctx, store.Retention{Events: 10 * 24 * time.Hour, Attempts: 10 * 24 * time.Hour})
			return err
		}},
		{name: "DeleteExpired", whole: []string{"operator_sessions", "sign_on_choices", "address_proofs"},
			uses: "limits_end tokens_expiry uploads_expiry pending_logins_expiry passkey_challenges_expiry password_resets_expiry password_reset_requests_age idempotency_expiry mails_expiry mails_ended", run: db.DeleteExpired},
		{name: "Summarize", uses: "invoices_unsummarized", whole: []string{"invoices_unsummarized"},
			run: func(ctx context.Context) error {
				_, err := db.Summarize(ctx)
				return err
			}},
		{name: "CountInvoices", uses: "invoices_uncounted", whole: []string{"invoices_uncounted"},
			run: func(ctx context.Context) error {
				_, err := db.CountInvoices(ctx)
				return err
			}},
		// Numbers for the operator, which are counted.
		{name: "PollLag", uses: "submissions_due", whole: []string{"connections", "submissions_due"},
			run: func(ctx context.Context) error {
				_, err := db.PollLag(ctx)
				return err
			}},
		{name: "UnknownAges", uses: "submissions_unknown_oldest", whole: []string{"submissions_unknown_oldest", "tenants"},
			run: func(ctx context.Context) error {
				_, err := db.UnknownAges(ctx)
				return err
			}},
		{name: "Contradicted", uses: "submissions_contradicted", whole: []string{"submissions_contradicted"},
			run: func(ctx context.Context) error {
				_, err := db.Contradicted(ctx)
				return err
			}},
		{name: "LastBackup", run: func(ctx context.Context) error {
			if _, err := db.LastBackup(ctx); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "LastVerification", run: func(ctx context.Context) error {
			if _, err := db.LastVerification(ctx); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "OldestPurchaseSync", uses: "purchase_syncs_synced", run: func(ctx context.Context) error {
			_, err := db.OldestPurchaseSync(ctx)
			return err
		}},
		{name: "Backlogs", uses: "deliveries_due submissions_due", whole: []string{"deliveries_due", "submissions_due"},
			run: func(ctx context.Context) error {
				_, _, err := db.Backlogs(ctx)
				return err
			}},
	}
}

// requestOperations are those of requests that are not lists.
func (f *fixture) requestOperations(db *store.DB, tenant *store.Tenant, rows *planRows) []operation {
	of := view.Of(tenant)
	ids := []store.ID{rows.submission, rows.invoice}
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
			_, err := tenant.APIKeys(ctx)
			return err
		}},
		{name: "CreateAPIKey", run: func(ctx context.Context) error {
			_, err := tenant.CreateAPIKey(ctx, rows.newKey)
			return err
		}},
		{name: "RevokeAPIKey", run: func(ctx context.Context) error {
			_, err := tenant.RevokeAPIKey(ctx, rows.key)
			return err
		}},
		{name: "UserByEmail", uses: "users_email", run: func(ctx context.Context) error {
			_, err := db.UserByEmail(ctx, f.user.Email)
			return err
		}},
		{name: "UsersToLogIn", uses: "users_email", run: func(ctx context.Context) error {
			_, err := db.UsersToLogIn(ctx, f.user.Email, store.ID{})
			return err
		}},
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
		{name: "ImportDrafts", uses: "uploads_user", run: func(ctx context.Context) error {
			upload, err := tenant.StoreUpload(ctx, store.Upload{Name: "a.csv", Body: []byte("a")}, f.user.ID, time.Hour)
			if err != nil {
				return err
			}
			if _, err := tenant.Upload(ctx, upload); err != nil {
				return err
			}
			_, err = tenant.ImportDrafts(ctx, []*api.Draft{draft("INV-IMPORT")}, store.ImportSource{Upload: upload})
			return err
		}},
		{name: "UsedNumbers", uses: "invoices_number", run: func(ctx context.Context) error {
			_, err := tenant.UsedNumbers(ctx, []string{"INV-acknowledged"})
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
		{name: "BeginSubmission", uses: "connections_active submissions_number", whole: []string{"submissions_contradicted"},
			run: func(ctx context.Context) error {
				_, _, err := tenant.BeginSubmission(ctx, rows.created, intent())
				return err
			}},
		{name: "CreditNote", uses: "submissions_credit_note", run: func(ctx context.Context) error {
			_, err := tenant.CreditNote(ctx, rows.note)
			return err
		}},
		{name: "BeginCreditNoteSubmission", uses: "connections_active submissions_number submissions_credit_note",
			whole: []string{"submissions_contradicted"}, run: func(ctx context.Context) error {
				note, err := tenant.CreateCreditNote(ctx, rows.credited, creditBy("CN-PLAN", byQuantity(0, "1")))
				if err != nil {
					return err
				}
				_, _, err = tenant.BeginCreditNoteSubmission(ctx, note.ID, intent())
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
		{name: "EventEnd", run: func(ctx context.Context) error {
			_, err := tenant.EventEnd(ctx)
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
			_, err := of.Activity(ctx, []store.ID{rows.invoice, rows.submission}, 100)
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
	}, f.loginOperations(db, tenant)...)
}
