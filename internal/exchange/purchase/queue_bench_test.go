package purchase_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// queueBench is a company that sends and receives over a provider with a queue of events.
type queueBench struct {
	*bench
	*providertest.Storecove
	submissions *submission.Service
}

// The time limits of calls to a provider: ample for one that always responds, brief where a call shall reach it.
const (
	ample = 5 * time.Minute
	brief = time.Second
)

// newQueueBench returns a company of its own at a provider.
func newQueueBench(t *testing.T, engine string) *queueBench {
	t.Helper()
	b := &queueBench{bench: &bench{Store: ledgertest.Open(t, engine)},
		Storecove: providertest.StartStorecove(t, credential)}
	b.addCompany(t, b.LegalEntity)
	return b
}

// addCompany makes the bench that of another company, which has another legal entity in the same account of the
// provider.
func (b *queueBench) addCompany(t *testing.T, legalEntity int) {
	t.Helper()
	ctx := t.Context()
	account, err := identity.CreateAccount(ctx, b.bench.Store.DB, "Gulf Works LLC",
		identity.NewUser{Email: fmt.Sprintf("owner-%d@example.com", legalEntity), Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	kit.Must(t, identity.SetProfile(ctx, b.bench.Store.DB, account.ID, *providertest.Seller(document.BIS3)))
	options := b.Options()
	options["webhook-queue"], options["legal-entity-id"] = "consume", fmt.Sprint(legalEntity)
	added, err := invoices.AddConnection(ctx, b.bench.Store.DB, account.ID, invoices.NewConnection{Kind: "storecove",
		Environment: "sandbox",
		BaseURL:     b.BaseURL(), Format: string(document.BIS3), Options: options, Credential: secret.New(credential)})
	kit.Must(t, err)
	b.connection, err = invoices.ActivateConnection(ctx, b.bench.Store.DB, added.ID)
	kit.Must(t, err)
	b.tenant, err = b.Tenant(ctx, account.ID)
	kit.Must(t, err)
	b.serve(t, ample)
}

// serve makes the services of the company, whose calls to the provider have the limit.
func (b *queueBench) serve(t *testing.T, limit time.Duration) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	adapters := submission.NewAdapters(b.DB,
		func(c invoices.Connection, credential secret.Text) (provider.Adapter, error) {
			kind, _ := adapters.Describe(c.Kind)
			return kind.Open(provider.Config{BaseURL: c.BaseURL, Credential: credential, Options: c.Options, Timeout: limit,
				Clock: time.Now})
		})
	b.submissions = submission.New(b.DB, submission.Config{Environment: "sandbox", Adapters: adapters, CallTimeout: limit,
		Log: log, Polling: submission.Polling{First: time.Second, Max: time.Hour},
		Observe: func(string, string, time.Duration) {}})
	b.service = purchase.New(b.DB, purchase.Config{Environment: "sandbox", CallTimeout: limit, Interval: interval,
		Adapter: adapters.For, DecideEvent: b.submissions.DecideEvent, Log: log,
		Observe: func(string, string, time.Duration) {}})
}

// sync makes one run of this company, whether or not it is due, and returns the time until the next.
func (b *queueBench) sync(t *testing.T) time.Duration {
	t.Helper()
	source := b.service.Work()
	for range 100 {
		scan, err := source.Scan(t.Context(), base.ScanCursor{})
		kit.Must(t, err)
		for _, queue := range scan.Queues {
			if queue.Key() != b.connection.ID {
				continue
			}
			claims, err := source.Claim(t.Context(), queue, 1)
			kit.Must(t, err)
			kit.Must(t, b.service.Sync(t.Context(), claims[0]))
			return b.untilNext(t)
		}
		b.Clock.Advance(time.Minute)
	}
	t.Fatal("the sync is never due")
	return 0
}

// untilNext returns the time until the next run of this company.
func (b *queueBench) untilNext(t *testing.T) time.Duration {
	t.Helper()
	for wait := time.Duration(0); wait < 24*time.Hour; wait += time.Minute {
		scan, err := b.service.Work().Scan(t.Context(), base.ScanCursor{})
		kit.Must(t, err)
		if slices.ContainsFunc(scan.Queues, func(q base.Queue) bool { return q.Key() == b.connection.ID }) {
			return wait
		}
		b.Clock.Advance(time.Minute)
	}
	t.Fatal("the sync is never due again")
	return 0
}

// submit submits an invoice and returns it.
func (b *queueBench) submit(t *testing.T, number string, want api.Outcome) invoices.Submission {
	t.Helper()
	draft := providertest.Draft(number)
	providertest.Norwegian(draft)
	created, err := invoices.Create(t.Context(), b.tenant, draft)
	kit.Must(t, err)
	if _, err = b.submissions.Submit(t.Context(), b.tenant, created.ID); want != invoices.OutcomeNotSent {
		kit.Must(t, err)
	}
	found, err := invoices.Find(t.Context(), b.tenant, created.ID)
	kit.Must(t, err)
	if found.Submission.Outcome != want {
		t.Fatalf("outcome %s, want %s", found.Submission.Outcome, want)
	}
	return *found.Submission
}

// now returns a submission as it is now.
func (b *queueBench) now(t *testing.T, s invoices.Submission) invoices.Submission {
	t.Helper()
	found, err := invoices.FindSubmission(t.Context(), b.tenant, s.ID)
	kit.Must(t, err)
	return found
}

// words returns the state values of a submission in the order of the dimensions, with a mark at those that are final.
func words(s invoices.Submission) string {
	var out []string
	for _, dimension := range invoice.Dimensions {
		switch value, final, reported := s.States.Get(dimension); {
		case !reported:
			out = append(out, "-")
		case final:
			out = append(out, value+"!")
		default:
			out = append(out, value)
		}
	}
	return strings.Join(out, " ")
}

// wantProven checks that everything that is recorded follows from the evidence.
func (b *queueBench) wantProven(t *testing.T) {
	t.Helper()
	verified, err := proof.Verify(t.Context(), b.bench.Store.DB, proof.Replay{Response: submission.Replay,
		Purchase: purchase.Reread, Sent: submission.ReadSubmitted})
	kit.Must(t, err)
	if len(verified.Faults) > 0 {
		t.Errorf("evidence %+v", verified)
	}
}
