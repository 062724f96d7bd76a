package webhook_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/queue"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// company is a company with subscriptions.
type company struct {
	*ledgertest.Store
	tenant *base.Tenant
}

func newCompany(t testing.TB, s *ledgertest.Store, email string) *company {
	t.Helper()
	account, err := identity.CreateAccount(t.Context(), s.DB, "Palm", identity.NewUser{Email: email})
	kit.Must(t, err)
	c := &company{Store: s}
	c.tenant, err = s.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	added, err := invoices.AddConnection(t.Context(), s.DB, account.ID, invoices.NewConnection{Kind: "http",
		Environment: "sandbox", BaseURL: "https://p.example.com", Credential: secret.New("credential")})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), s.DB, added.ID)
	kit.Must(t, err)
	return c
}

func (c *company) subscribe(t testing.TB, url string) base.ID {
	t.Helper()
	s, err := events.CreateSubscription(t.Context(), c.tenant,
		events.NewSubscription{URL: url, Events: api.EventKinds[:], Secret: secret.New("whsec_x")})
	kit.Must(t, err)
	return s.ID
}

// addEvents makes n events, each with a due delivery for every subscription.
func (c *company) addEvents(t testing.TB, n int) {
	t.Helper()
	id, err := c.NewID()
	kit.Must(t, err)
	created, err := invoices.Create(t.Context(), c.tenant, &api.Draft{InvoiceNumber: new(id.String())})
	kit.Must(t, err)
	call, _, err := invoices.BeginSubmission(t.Context(), c.tenant, created.ID,
		invoices.Intent{Environment: "sandbox", LeaseDuration: time.Hour,
			Render: func(invoices.Source) ([]byte, api.Faults, error) { return []byte("{}"), nil, nil }})
	kit.Must(t, err)
	kinds := make([]api.EventKind, n)
	for i := range kinds {
		kinds[i] = api.EventStatusChanged
	}
	_, err = call.Record(t.Context(), func(invoices.Submission, bool, time.Time) (invoices.Decision, error) {
		return invoices.Decision{Evidence: &invoices.NewEvidence{Call: "status", HTTPStatus: 200,
			MediaType: "application/json", Body: []byte("{}")}, Outcome: api.OutcomeUnknown, Events: kinds}, nil
	})
	kit.Must(t, err)
}

// deliver runs due deliveries until stop is called, which waits for the end.
func deliver(t testing.TB, s *ledgertest.Store, sender *webhook.Sender, timeout time.Duration, options queue.Options,
	observe func(webhook.Verdict)) (stop func()) {
	t.Helper()
	d := &webhook.Deliverer{DB: s.DB, Sender: sender, Backoff: webhook.DefaultBackoff(), Timeout: timeout,
		Jitter: func() float64 { return 0 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Observe: func(v webhook.Verdict, _, _ time.Duration) { observe(v) }}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { queue.Run(ctx, s.DB, d.Work(), options) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}
