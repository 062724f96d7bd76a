package base_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestUserActs checks that every act of a user leaves one entry, with the actor and without contents, and that one that
// changes nothing, fails or is replayed leaves none.
func TestUserActs(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), fixture.Ann)
		_, all := f.ActsSince(t, 0)
		seen := len(all)
		var last base.AuditEntry
		acts := func(want ...string) {
			t.Helper()
			got, all := f.ActsSince(t, seen)
			fixture.WantEqual(t, "acts", got, want)
			for _, e := range all[seen:] {
				if e.Kind != base.ActorSystem && (e.Name != fixture.Ann.Name && e.Name != f.User.Email || e.RequestID != "r-1" ||
					e.Source != fixture.Ann.Source || e.Means != fixture.Ann.Means) {
					t.Errorf("%s: actor %+v", e.Act, e.Actor)
				}
				for _, content := range []string{"Consulting", "Buyer", fixture.SigningSecret, fixture.HookURL, "$hash",
					"Sharjah"} {
					if strings.Contains(e.Details, content) {
						t.Errorf("%s has a content: %s", e.Act, e.Details)
					}
				}
				last = e
			}
			seen = len(all)
		}
		any := func(int64) bool { return true }
		city := func(name string) func([]byte) (api.Draft, error) {
			return func([]byte) (api.Draft, error) {
				d := *fixture.Draft("INV-1")
				d.BuyerCity = &name
				return d, nil
			}
		}
		_, err := identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(40),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		acts("session.begin")
		kit.Must(t, identity.RevokeToken(ctx, f.DB, fixture.Digest(40)))
		acts("session.end")
		kit.Must(t, identity.RevokeToken(ctx, f.DB, fixture.Digest(40)))
		acts()

		first, err := invoices.Create(ctx, f.Tenant, fixture.Draft("INV-1"))
		kit.Must(t, err)
		acts("draft.create")
		fixture.WantEqual(t, "details", last.Details, `{"invoice_number":"INV-1"}`)
		fixture.WantEqual(t, "subject", last.SubjectType+" "+last.Subject, "invoice "+first.ID.String())
		for range 2 { // the second one changes nothing
			_, err = invoices.Update(ctx, f.Tenant, first.ID, any, city("Sharjah"))
			kit.Must(t, err)
		}
		acts("draft.update")
		fixture.WantEqual(t, "details", last.Details, `{"fields":"buyer_city","invoice_number":"INV-1"}`)
		_, err = invoices.Update(ctx, f.Tenant, first.ID, func(int64) bool { return false }, city("B"))
		fixture.WantErr(t, err, invoices.ErrVersion)
		second, err := invoices.Create(ctx, f.Tenant, fixture.Draft("INV-2"))
		kit.Must(t, err)
		kit.Must(t, invoices.Delete(ctx, f.Tenant, second.ID, any))
		acts("draft.create", "draft.delete")
		for range 2 { // the second one is replayed
			_, _, err = invoices.Idempotent(ctx, f.Tenant, "key", [32]byte{1}, time.Hour,
				func(_ context.Context, joined *base.Tenant) (invoices.IdempotentResponse, error) {
					_, err := invoices.Create(context.Background(), joined,
						fixture.Draft("INV-3")) // of another call that is committed with it
					return invoices.IdempotentResponse{Status: 201, Body: []byte("x")}, err
				})
			kit.Must(t, err)
		}
		acts("draft.create")
		failed := errors.New("failed")
		_, _, err = invoices.Idempotent(ctx, f.Tenant, "other", [32]byte{2}, time.Hour,
			func(ctx context.Context, joined *base.Tenant) (invoices.IdempotentResponse, error) {
				_, err := invoices.Create(ctx, joined, fixture.Draft("INV-4"))
				return invoices.IdempotentResponse{}, errors.Join(err, failed)
			})
		fixture.WantErr(t, err, failed)
		acts()

		call, _, err := invoices.BeginSubmission(ctx, f.Tenant, first.ID, fixture.Intent())
		kit.Must(t, err)
		acts("invoice.submit")
		_, _, err = invoices.BeginSubmission(ctx, f.Tenant, first.ID, fixture.Intent())
		fixture.WantErr(t, err, invoices.ErrSubmissionInProgress)
		fixture.Record(t, call, fixture.AllFour("accepted", true))
		_, _, err = invoices.BeginSubmission(ctx, f.Tenant, first.ID, fixture.Intent())
		kit.Must(t, err)
		acts()
		note, err := invoices.CreateCreditNote(ctx, f.Tenant, first.ID,
			func(*api.Draft, []invoice.Credit) (invoices.NewCreditNote, error) {
				return invoices.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-02", Reason: "Returned",
					Credit: invoice.Credit{Kind: "full", Total: "1050.00"}}, nil
			})
		kit.Must(t, err)
		for range 2 { // the second one changes nothing
			_, err = invoices.UpdateCreditNote(ctx, f.Tenant, note.ID, any,
				func(c api.CreditNoteChange) (api.CreditNoteChange, error) {
					c.IssueDate = new("2026-03-03")
					return c, nil
				})
			kit.Must(t, err)
		}
		acts("credit_note.create", "credit_note.update")
		fixture.WantEqual(t, "details", last.Details,
			fmt.Sprintf(`{"credit_note_number":"CN-1","fields":"issue_date","invoice":"%v"}`, first.ID))
		for range 2 {
			_, err = invoices.VoidCreditNote(ctx, f.Tenant, note.ID)
			kit.Must(t, err)
		}
		acts("credit_note.void")

		s, err := events.CreateSubscription(ctx, f.Tenant, events.NewSubscription{URL: fixture.HookURL,
			Events: []api.EventKind{api.EventStatusChanged}})
		kit.Must(t, err)
		acts("subscription.create")
		for range 2 {
			_, err = events.DeactivateSubscription(ctx, f.Tenant, s.ID)
			kit.Must(t, err)
		}
		acts("subscription.deactivate")
	})
}

// TestAuditTogether checks that entries of many accounts that are committed together, and beside each other on several
// replicas, make whole chains: none is lost or there twice.
func TestAuditTogether(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		const companies, drafts = 6, 25
		want := map[string]int{}
		var mutex sync.Mutex
		var running sync.WaitGroup
		stores := []*base.DB{f.DB}
		if !f.SingleServer() {
			stores = append(stores, f.Again(t))
		}
		for c := range companies {
			email := fmt.Sprintf("together-%d@example.com", c)
			made, err := identity.CreateAccount(t.Context(), f.DB, "Together", identity.NewUser{Email: email,
				PasswordHash: "$hash"})
			kit.Must(t, err)
			for n := range drafts {
				db := stores[n%len(stores)]
				tenant, err := db.Tenant(t.Context(), made.ID)
				kit.Must(t, err)
				running.Go(func() {
					ctx := base.WithActor(context.Background(),
						base.Actor{Kind: base.ActorUser, Name: email, Means: base.MeansAPI})
					created, err := invoices.Create(ctx, tenant, fixture.Draft(fmt.Sprintf("INV-%d", n)))
					if err != nil {
						t.Error(err)
					}
					if n%5 == 0 {
						err = db.RecordAudit(ctx, base.Act{Name: "database.migrate"}) // in the chain of no account
					}
					if err != nil {
						t.Error(err)
					}
					mutex.Lock()
					defer mutex.Unlock()
					want[email+" "+created.ID.String()]++
				})
			}
		}
		running.Wait()
		entries, err := f.Audit(t.Context(), base.AuditFilter{Act: "draft.create", Limit: 1000})
		kit.Must(t, err)
		got := map[string]int{}
		for _, e := range entries {
			got[e.Name+" "+e.Subject]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d entries, want one for each of %d drafts", len(got), len(want))
		}
		found, err := proof.Verify(t.Context(), f.DB, fixture.Replay())
		kit.Must(t, err)
		if len(found.Faults) > 0 {
			t.Errorf("faults: %v", found.Faults)
		}
	})
}
