package base_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestUsageIsCounted checks that the counters agree with the rows after every operation that adds or removes stored
// data.
func TestUsageIsCounted(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		check := func(after string) {
			t.Helper()
			if bytes, drafts := f.Used(t, base.QuotaStoredBytes), f.Used(t, base.QuotaDrafts); bytes != f.Stored(t) ||
				drafts != f.Drafts(t) {
				t.Errorf("after %s: %d bytes and %d drafts are counted, and there are %d and %d", after, bytes, drafts, f.Stored(t),
					f.Drafts(t))
			}
		}
		f.Subscribe(t, api.EventKinds[:]...)
		changed := func(text string) func([]byte) (api.Draft, error) {
			return func([]byte) (api.Draft, error) {
				d := *fixture.Draft("INV-1")
				d.BuyerCity = &text
				return d, nil
			}
		}
		any := func(int64) bool { return true }
		first, second := f.Create(t, "INV-1"), f.Create(t, "INV-2")
		check("two drafts")
		_, err := invoices.Update(ctx, f.Tenant, first.ID, any, changed("A city with a longer name"))
		kit.Must(t, err)
		check("a longer draft")
		_, err = invoices.Update(ctx, f.Tenant, first.ID, any, changed("B"))
		kit.Must(t, err)
		check("a shorter draft")
		kit.Must(t, invoices.Delete(ctx, f.Tenant, second.ID, any))
		check("a deletion")
		call := f.Begin(t, first.ID)
		check("an intent")
		fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, invoices.OutcomeNotSent)
		})
		check("nothing sent")
		call = f.Begin(t, first.ID)
		fixture.Record(t, call, fixture.AllFour("accepted", false), api.EventSubmissionUpdated, api.EventStatusChanged)
		check("an answer")
		rejected := f.Submit(t, "INV-3")
		fixture.Decide(t, rejected, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("rejected", true), api.EventSubmissionUpdated)
			d.Outcome = api.OutcomeRejected
			return d
		})
		_, err = invoices.Update(ctx, f.Tenant, rejected.Submission.Invoice, any, changed("Corrected"))
		kit.Must(t, err)
		check("a correction")
		_, err = invoices.CreateCreditNote(ctx, f.Tenant, first.ID,
			func(d *api.Draft, _ []invoice.Credit) (invoices.NewCreditNote, error) {
				return invoices.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-02", Reason: "Returned",
					Credit: invoice.Credit{Kind: "full", Total: "1050.00"}}, nil
			})
		kit.Must(t, err)
		check("a credit note")
		for range 2 {
			_, _, err = fixture.Once(f, "key", 1, "INV-4")
			kit.Must(t, err)
			check("an idempotent call")
		}
		f.Clock.Advance(25 * time.Hour)
		_, _, err = fixture.Once(f, "key", 2, "INV-5")
		kit.Must(t, err)
		check("a key that is taken over")
		f.Clock.Advance(25 * time.Hour)
		kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
		check("a sweep")
		if f.Number(t, `select count(*) from idempotency where tenant_id = $1`, f.Tenant.ID()) != 0 {
			t.Error("an expired response was not removed")
		}
	})
}

// TestRetentionFreesBytes checks that history that retention has removed no longer counts.
func TestRetentionFreesBytes(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		f.Tell(t, 3)
		before := f.Used(t, base.QuotaStoredBytes)
		f.Clock.Advance(48 * time.Hour)
		_, err := invoices.ApplyRetention(t.Context(), f.DB, invoices.Retention{Events: time.Hour})
		kit.Must(t, err)
		if after := f.Used(t, base.QuotaStoredBytes); after >= before || after != f.Stored(t) {
			t.Errorf("%d bytes are counted, before it was %d, and there are %d", after, before, f.Stored(t))
		}
	})
}

// TestQuotas checks that an operation beyond a quota is refused with the name of the quota, alone and beside others of
// the company, that stored data stays, and that the provider's responses are still recorded.
func TestQuotas(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		open := f.Submit(t, "INV-OPEN")
		f.Limited(t, base.Quotas{Drafts: 3, StoredBytes: 20_000, SubscriptionsCreated: 2})
		open.Tenant = f.Tenant
		refused := make(chan error, 10)
		fixture.Race(10, func(n int) {
			if _, err := invoices.Create(ctx, f.Tenant, fixture.Draft(fmt.Sprintf("INV-%d", n))); err != nil {
				refused <- err
			}
		})
		if len(refused) != 8 || f.Used(t, base.QuotaDrafts) != 3 { // one draft was there
			t.Errorf("%d of 10 drafts were refused, and %d are counted", len(refused), f.Used(t, base.QuotaDrafts))
		}
		for range len(refused) {
			fixture.WantQuota(t, <-refused, base.QuotaDrafts, 3)
		}
		fixture.Record(t, open, fixture.AllFour("accepted", false), api.EventSubmissionUpdated)
		large := fixture.Draft("INV-LARGE")
		large.Items[0].Description = new(strings.Repeat("x", 20_000))
		created, err := invoices.Create(ctx, f.Tenant, large) // a submitted invoice is no draft
		kit.Must(t, err)
		_, err = invoices.Update(ctx, f.Tenant, created.ID, func(int64) bool { return true },
			func([]byte) (api.Draft, error) {
				longer := *large
				longer.BuyerCity = new("A city with a longer name")
				return longer, nil
			})
		fixture.WantQuota(t, err, base.QuotaStoredBytes, 20_000)
		_, err = invoices.Create(ctx, f.Tenant, fixture.Draft("INV-MORE"))
		fixture.WantQuota(t, err, base.QuotaStoredBytes, 20_000)
		_, err = invoices.CreateCreditNote(ctx, f.Tenant, created.ID,
			func(*api.Draft, []invoice.Credit) (invoices.NewCreditNote, error) {
				return invoices.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-02", Reason: "Returned",
					Credit: invoice.Credit{Kind: "full", Total: "1050.00"}}, nil
			})
		fixture.WantQuota(t, err, base.QuotaStoredBytes, 20_000)
		fixture.Record(t, open, fixture.AllFour("cleared", true), api.EventStatusChanged, api.EventTerminal)
		call := f.Begin(t, created.ID) // what is stored can be submitted
		fixture.Record(t, call, fixture.AllFour("accepted", true), api.EventSubmissionUpdated)

		first := f.Subscribe(t, api.EventTerminal)
		_, err = events.DeactivateSubscription(ctx, f.Tenant, first.ID)
		kit.Must(t, err)
		f.Subscribe(t, api.EventTerminal)
		_, err = events.CreateSubscription(ctx, f.Tenant, events.NewSubscription{URL: fixture.HookURL,
			Events: api.EventKinds[:]})
		fixture.WantQuota(t, err, base.QuotaSubscriptionsCreated, 2)
	})
}

// TestTokenQuota checks that a login beyond the quota of its user revokes the oldest of the user's tokens, and no other
// user's.
func TestTokenQuota(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		other, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner,
			Email: "second@example.com", PasswordHash: "$2"})
		kit.Must(t, err)
		_, err = identity.CreateToken(ctx, f.DB, base.User{Account: f.Account.ID, ID: other, PasswordHash: "$2"},
			identity.NewToken{Digest: [32]byte{99}, ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		f.Limited(t, base.Quotas{Tokens: 3})
		for n := range byte(6) {
			f.Clock.Advance(time.Second)
			_, err := identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: [32]byte{n + 101},
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		var live []byte
		for _, n := range []byte{101, 102, 103, 104, 105, 106, 99} {
			switch _, err := f.Authenticate(ctx, [32]byte{n}); {
			case err == nil:
				live = append(live, n)
			case !errors.Is(err, base.ErrNotFound):
				t.Error(err)
			}
		}
		if !bytes.Equal(live, []byte{104, 105, 106, 99}) {
			t.Errorf("the tokens %v are live, want the three newest of the user and the other user's", live)
		}
		if used := f.Used(t, base.QuotaTokens); used != 3 {
			t.Errorf("%d tokens are counted, want 3", used)
		}
	})
}
