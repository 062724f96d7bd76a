package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/test/audittest"
	"quittance/test/kit"
)

var ann = store.Actor{Kind: store.ActorUser, Name: "ann@example.com", Means: store.MeansAPI, Source: "192.0.2.7",
	RequestID: "r-1"}

// actsSince returns the acts of the audit log after the first n entries of the fixture's account.
func (f *fixture) actsSince(t *testing.T, n int) (acts []string, all []store.AuditEntry) {
	t.Helper()
	all, err := f.Audit(t.Context(), store.AuditFilter{Account: &f.account.ID, Limit: 1000})
	kit.Must(t, err)
	for _, e := range all[n:] {
		acts = append(acts, e.Act)
	}
	return acts, all
}

// TestUserActs checks that every act of a user leaves one entry, with the actor and without contents, and that one that
// changes nothing, fails or is replayed leaves none.
func TestUserActs(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), ann)
		_, all := f.actsSince(t, 0)
		seen := len(all)
		var last store.AuditEntry
		acts := func(want ...string) {
			t.Helper()
			got, all := f.actsSince(t, seen)
			wantEqual(t, "acts", got, want)
			for _, e := range all[seen:] {
				if e.Kind != store.ActorSystem && (e.Name != ann.Name && e.Name != f.user.Email || e.RequestID != "r-1" ||
					e.Source != ann.Source || e.Means != ann.Means) {
					t.Errorf("%s: actor %+v", e.Act, e.Actor)
				}
				for _, content := range []string{"Consulting", "Buyer", signingSecret, hookURL, "$hash", "Sharjah"} {
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
				d := *draft("INV-1")
				d.BuyerCity = &name
				return d, nil
			}
		}
		_, err := f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(40), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		acts("session.begin")
		kit.Must(t, f.RevokeToken(ctx, digest(40)))
		acts("session.end")
		kit.Must(t, f.RevokeToken(ctx, digest(40)))
		acts()

		first, err := f.tenant.CreateInvoice(ctx, draft("INV-1"))
		kit.Must(t, err)
		acts("draft.create")
		wantEqual(t, "details", last.Details, `{"invoice_number":"INV-1"}`)
		wantEqual(t, "subject", last.SubjectType+" "+last.Subject, "invoice "+first.ID.String())
		for range 2 { // the second one changes nothing
			_, err = f.tenant.UpdateInvoice(ctx, first.ID, any, city("Sharjah"))
			kit.Must(t, err)
		}
		acts("draft.update")
		wantEqual(t, "details", last.Details, `{"fields":"buyer_city","invoice_number":"INV-1"}`)
		_, err = f.tenant.UpdateInvoice(ctx, first.ID, func(int64) bool { return false }, city("B"))
		wantErr(t, err, store.ErrVersion)
		second, err := f.tenant.CreateInvoice(ctx, draft("INV-2"))
		kit.Must(t, err)
		kit.Must(t, f.tenant.DeleteInvoice(ctx, second.ID, any))
		acts("draft.create", "draft.delete")
		for range 2 { // the second one is replayed
			_, _, err = f.tenant.Idempotent(ctx, "key", [32]byte{1}, time.Hour,
				func(_ context.Context, joined *store.Tenant) (store.IdempotentResponse, error) {
					_, err := joined.CreateInvoice(context.Background(), draft("INV-3")) // of another call that is committed with it
					return store.IdempotentResponse{Status: 201, Body: []byte("x")}, err
				})
			kit.Must(t, err)
		}
		acts("draft.create")
		failed := errors.New("failed")
		_, _, err = f.tenant.Idempotent(ctx, "other", [32]byte{2}, time.Hour,
			func(ctx context.Context, joined *store.Tenant) (store.IdempotentResponse, error) {
				_, err := joined.CreateInvoice(ctx, draft("INV-4"))
				return store.IdempotentResponse{}, errors.Join(err, failed)
			})
		wantErr(t, err, failed)
		acts()

		call, _, err := f.tenant.BeginSubmission(ctx, first.ID, intent())
		kit.Must(t, err)
		acts("invoice.submit")
		_, _, err = f.tenant.BeginSubmission(ctx, first.ID, intent())
		wantErr(t, err, store.ErrSubmissionInProgress)
		record(t, call, allFour("accepted", true))
		_, _, err = f.tenant.BeginSubmission(ctx, first.ID, intent())
		kit.Must(t, err)
		acts()
		note, err := f.tenant.CreateCreditNote(ctx, first.ID,
			func(*api.Draft, []invoice.Credit) (store.NewCreditNote, error) {
				return store.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-02", Reason: "Returned",
					Credit: invoice.Credit{Kind: "full", Total: "1050.00"}}, nil
			})
		kit.Must(t, err)
		for range 2 { // the second one changes nothing
			_, err = f.tenant.UpdateCreditNote(ctx, note.ID, any, func(c api.CreditNoteChange) (api.CreditNoteChange, error) {
				c.IssueDate = new("2026-03-03")
				return c, nil
			})
			kit.Must(t, err)
		}
		acts("credit_note.create", "credit_note.update")
		wantEqual(t, "details", last.Details,
			fmt.Sprintf(`{"credit_note_number":"CN-1","fields":"issue_date","invoice":"%v"}`, first.ID))
		for range 2 {
			_, err = f.tenant.VoidCreditNote(ctx, note.ID)
			kit.Must(t, err)
		}
		acts("credit_note.void")

		s, err := f.tenant.CreateSubscription(ctx, store.NewSubscription{URL: hookURL,
			Events: []api.EventKind{api.EventStatusChanged}})
		kit.Must(t, err)
		acts("subscription.create")
		for range 2 {
			_, err = f.tenant.DeactivateSubscription(ctx, s.ID)
			kit.Must(t, err)
		}
		acts("subscription.deactivate")
	})
}

// TestAuditTogether checks that entries of many accounts that are committed together, and beside each other on several
// replicas, make whole chains: none is lost or there twice.
func TestAuditTogether(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		const companies, drafts = 6, 25
		want := map[string]int{}
		var mutex sync.Mutex
		var running sync.WaitGroup
		stores := []*store.DB{f.DB}
		if !f.SingleServer() {
			stores = append(stores, f.Again(t))
		}
		for c := range companies {
			email := fmt.Sprintf("together-%d@example.com", c)
			made, err := f.CreateAccount(t.Context(), "Together", store.NewUser{Email: email, PasswordHash: "$hash"})
			kit.Must(t, err)
			for n := range drafts {
				db := stores[n%len(stores)]
				tenant, err := db.Tenant(t.Context(), made.ID)
				kit.Must(t, err)
				running.Go(func() {
					ctx := store.WithActor(context.Background(),
						store.Actor{Kind: store.ActorUser, Name: email, Means: store.MeansAPI})
					created, err := tenant.CreateInvoice(ctx, draft(fmt.Sprintf("INV-%d", n)))
					if err != nil {
						t.Error(err)
					}
					if n%5 == 0 {
						err = db.RecordAudit(ctx, store.Act{Name: "database.migrate"}) // in the chain of no account
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
		entries, err := f.Audit(t.Context(), store.AuditFilter{Act: "draft.create", Limit: 1000})
		kit.Must(t, err)
		got := map[string]int{}
		for _, e := range entries {
			got[e.Name+" "+e.Subject]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d entries, want one for each of %d drafts", len(got), len(want))
		}
		found, err := f.VerifyEvidence(t.Context(), replay())
		kit.Must(t, err)
		if len(found.Faults) > 0 {
			t.Errorf("faults: %v", found.Faults)
		}
	})
}

// TestActNames checks that the names of acts follow their convention and occur once.
func TestActNames(t *testing.T) {
	t.Parallel()
	names := store.Acts()
	for _, name := range names {
		noun, verb, ok := strings.Cut(name, ".")
		if !ok || strings.Trim(noun, "abcdefghijklmnopqrstuvwxyz_") != "" ||
			strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("act %q", name)
		}
	}
	wantEqual(t, "the acts in docs/audit.md", slices.Sorted(slices.Values(audittest.Read(t).Names)),
		slices.Sorted(slices.Values(names)))
	if slices.Sort(names); len(slices.Compact(names)) != len(store.Acts()) {
		t.Error("an act occurs twice")
	}
}
