package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/test/kit"
)

// limited opens the store again as a server with quotas, for the fixture's company.
func (f *fixture) limited(t *testing.T, quotas store.Quotas) {
	t.Helper()
	f.Options.Quotas = quotas
	f.Store.DB = f.Again(t)
	var err error
	f.tenant, err = f.Tenant(t.Context(), f.account.ID)
	kit.Must(t, err)
}

// used returns the company's use of a quota.
func (f *fixture) used(t *testing.T, quota string) int64 {
	t.Helper()
	quotas, err := f.tenant.Quotas(t.Context(), f.user.ID)
	kit.Must(t, err)
	return quotas[quota].Used
}

// wantQuota checks that an error names a quota.
func wantQuota(t *testing.T, err error, quota string, limit int64) {
	t.Helper()
	var used *store.QuotaError
	if !errors.As(err, &used) || !errors.Is(err, store.ErrLimit) ||
		*used != (store.QuotaError{Quota: quota, Limit: limit}) {
		t.Errorf("error %v, want the quota %s of %d", err, quota, limit)
	}
}

// stored computes the stored bytes from the rows.
func (f *fixture) stored(t *testing.T) (sum int64) {
	t.Helper()
	for table, columns := range map[string]string{"invoices": "octet_length(document)",
		"credit_notes": "octet_length(items)", "evidence": "octet_length(body)",
		"revisions": "octet_length(body) + octet_length(metadata)", "events": "octet_length(body)",
		"book_entries": "octet_length(fields)", "idempotency": "octet_length(body)", "uploads": "octet_length(body)"} {
		sum += f.number(t, `select coalesce(sum(`+columns+`), 0) from `+table+` where tenant_id = $1`, f.tenant.Key())
	}
	return sum + f.number(t,
		`select coalesce(sum(octet_length(actor_kind || actor || means || source || request_id || act || subject_type || subject || reason || details)), 0)
		from audit where chain = $1 and subject_type in ('invoice', 'import', 'credit_note', 'subscription', 'delivery', 'customer', 'item')`, f.account.ID)
}

// drafts counts the drafts from the rows.
func (f *fixture) drafts(t *testing.T) int64 {
	t.Helper()
	return f.number(t, `select count(*) from invoices i where i.tenant_id = $1 and not exists (select 1 from submissions s
		where s.tenant_id = i.tenant_id and s.invoice_id = i.id and s.current = 1 and s.outcome not in ('in_progress', 'not_sent'))`, f.tenant.Key())
}

// TestUsageIsCounted checks that the counters agree with the rows after every operation that adds or removes stored
// data.
func TestUsageIsCounted(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		check := func(after string) {
			t.Helper()
			if bytes, drafts := f.used(t, store.QuotaStoredBytes), f.used(t, store.QuotaDrafts); bytes != f.stored(t) ||
				drafts != f.drafts(t) {
				t.Errorf("after %s: %d bytes and %d drafts are counted, and there are %d and %d", after, bytes, drafts, f.stored(t),
					f.drafts(t))
			}
		}
		f.subscribe(t, api.EventKinds[:]...)
		changed := func(text string) func([]byte) (api.Draft, error) {
			return func([]byte) (api.Draft, error) {
				d := *draft("INV-1")
				d.BuyerCity = &text
				return d, nil
			}
		}
		any := func(int64) bool { return true }
		first, second := f.create(t, "INV-1"), f.create(t, "INV-2")
		check("two drafts")
		_, err := f.tenant.UpdateInvoice(ctx, first.ID, any, changed("A city with a longer name"))
		kit.Must(t, err)
		check("a longer draft")
		_, err = f.tenant.UpdateInvoice(ctx, first.ID, any, changed("B"))
		kit.Must(t, err)
		check("a shorter draft")
		kit.Must(t, f.tenant.DeleteInvoice(ctx, second.ID, any))
		check("a deletion")
		call := f.begin(t, first.ID)
		check("an intent")
		decide(t, call, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, store.OutcomeNotSent) })
		check("nothing sent")
		call = f.begin(t, first.ID)
		record(t, call, allFour("accepted", false), api.EventSubmissionUpdated, api.EventStatusChanged)
		check("an answer")
		rejected := f.submit(t, "INV-3")
		decide(t, rejected, func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, allFour("rejected", true), api.EventSubmissionUpdated)
			d.Outcome = api.OutcomeRejected
			return d
		})
		_, err = f.tenant.UpdateInvoice(ctx, rejected.Submission.Invoice, any, changed("Corrected"))
		kit.Must(t, err)
		check("a correction")
		_, err = f.tenant.CreateCreditNote(ctx, first.ID,
			func(d *api.Draft, _ []invoice.Credit) (store.NewCreditNote, error) {
				return store.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-02", Reason: "Returned",
					Credit: invoice.Credit{Kind: "full", Total: "1050.00"}}, nil
			})
		kit.Must(t, err)
		check("a credit note")
		for range 2 {
			_, _, err = once(f, "key", 1, "INV-4")
			kit.Must(t, err)
			check("an idempotent call")
		}
		f.Clock.Advance(25 * time.Hour)
		_, _, err = once(f, "key", 2, "INV-5")
		kit.Must(t, err)
		check("a key that is taken over")
		f.Clock.Advance(25 * time.Hour)
		kit.Must(t, f.DeleteExpired(ctx))
		check("a sweep")
		if f.number(t, `select count(*) from idempotency where tenant_id = $1`, f.tenant.Key()) != 0 {
			t.Error("an expired response was not removed")
		}
	})
}

// TestRetentionFreesBytes checks that history that retention has removed no longer counts.
func TestRetentionFreesBytes(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		f.tell(t, 3)
		before := f.used(t, store.QuotaStoredBytes)
		f.Clock.Advance(48 * time.Hour)
		_, err := f.ApplyRetention(t.Context(), store.Retention{Events: time.Hour})
		kit.Must(t, err)
		if after := f.used(t, store.QuotaStoredBytes); after >= before || after != f.stored(t) {
			t.Errorf("%d bytes are counted, before it was %d, and there are %d", after, before, f.stored(t))
		}
	})
}

// TestQuotas checks that an operation beyond a quota is refused with the name of the quota, alone and beside others of
// the company, that stored data stays, and that the provider's responses are still recorded.
func TestQuotas(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		open := f.submit(t, "INV-OPEN")
		f.limited(t, store.Quotas{Drafts: 3, StoredBytes: 20_000, SubscriptionsCreated: 2})
		open.Tenant = f.tenant
		refused := make(chan error, 10)
		race(10, func(n int) {
			if _, err := f.tenant.CreateInvoice(ctx, draft(fmt.Sprintf("INV-%d", n))); err != nil {
				refused <- err
			}
		})
		if len(refused) != 8 || f.used(t, store.QuotaDrafts) != 3 { // one draft was there
			t.Errorf("%d of 10 drafts were refused, and %d are counted", len(refused), f.used(t, store.QuotaDrafts))
		}
		for range len(refused) {
			wantQuota(t, <-refused, store.QuotaDrafts, 3)
		}
		record(t, open, allFour("accepted", false), api.EventSubmissionUpdated)
		large := draft("INV-LARGE")
		large.Items[0].Description = new(strings.Repeat("x", 20_000))
		created, err := f.tenant.CreateInvoice(ctx, large) // a submitted invoice is no draft
		kit.Must(t, err)
		_, err = f.tenant.UpdateInvoice(ctx, created.ID, func(int64) bool { return true }, func([]byte) (api.Draft, error) {
			longer := *large
			longer.BuyerCity = new("A city with a longer name")
			return longer, nil
		})
		wantQuota(t, err, store.QuotaStoredBytes, 20_000)
		_, err = f.tenant.CreateInvoice(ctx, draft("INV-MORE"))
		wantQuota(t, err, store.QuotaStoredBytes, 20_000)
		_, err = f.tenant.CreateCreditNote(ctx, created.ID, func(*api.Draft, []invoice.Credit) (store.NewCreditNote, error) {
			return store.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-02", Reason: "Returned",
				Credit: invoice.Credit{Kind: "full", Total: "1050.00"}}, nil
		})
		wantQuota(t, err, store.QuotaStoredBytes, 20_000)
		record(t, open, allFour("cleared", true), api.EventStatusChanged, api.EventTerminal)
		call := f.begin(t, created.ID) // what is stored can be submitted
		record(t, call, allFour("accepted", true), api.EventSubmissionUpdated)

		first := f.subscribe(t, api.EventTerminal)
		_, err = f.tenant.DeactivateSubscription(ctx, first.ID)
		kit.Must(t, err)
		f.subscribe(t, api.EventTerminal)
		_, err = f.tenant.CreateSubscription(ctx, store.NewSubscription{URL: hookURL, Events: api.EventKinds[:]})
		wantQuota(t, err, store.QuotaSubscriptionsCreated, 2)
	})
}

// TestTokenQuota checks that a login beyond the quota of its user revokes the oldest of the user's tokens, and no other
// user's.
func TestTokenQuota(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		other, err := f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: "second@example.com",
			PasswordHash: "$2"})
		kit.Must(t, err)
		_, err = f.CreateToken(ctx, store.User{Account: f.account.ID, ID: other, PasswordHash: "$2"},
			store.NewToken{Digest: [32]byte{99}, ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		f.limited(t, store.Quotas{Tokens: 3})
		for n := range byte(6) {
			f.Clock.Advance(time.Second)
			_, err := f.CreateToken(ctx, f.user, store.NewToken{Digest: [32]byte{n + 101},
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		var live []byte
		for _, n := range []byte{101, 102, 103, 104, 105, 106, 99} {
			switch _, err := f.Authenticate(ctx, [32]byte{n}); {
			case err == nil:
				live = append(live, n)
			case !errors.Is(err, store.ErrNotFound):
				t.Error(err)
			}
		}
		if !bytes.Equal(live, []byte{104, 105, 106, 99}) {
			t.Errorf("the tokens %v are live, want the three newest of the user and the other user's", live)
		}
		if used := f.used(t, store.QuotaTokens); used != 3 {
			t.Errorf("%d tokens are counted, want 3", used)
		}
	})
}
