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
	"quittance/internal/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/internal/purchase"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/test/kit"
	"quittance/test/providertest"
	"quittance/test/storetest"
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
	b := &queueBench{bench: &bench{Store: storetest.Open(t, engine)},
		Storecove: providertest.StartStorecove(t, credential)}
	b.addCompany(t, b.LegalEntity)
	return b
}

// addCompany makes the bench that of another company, which has another legal entity in the same account of the
// provider.
func (b *queueBench) addCompany(t *testing.T, legalEntity int) {
	t.Helper()
	ctx := t.Context()
	account, err := b.CreateAccount(ctx, "Gulf Works LLC",
		store.NewUser{Email: fmt.Sprintf("owner-%d@example.com", legalEntity), Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	kit.Must(t, b.SetProfile(ctx, account.ID, *providertest.Seller(document.BIS3)))
	options := b.Options()
	options["webhook-queue"], options["legal-entity-id"] = "consume", fmt.Sprint(legalEntity)
	added, err := b.AddConnection(ctx, account.ID, store.NewConnection{Kind: "storecove", Environment: "sandbox",
		BaseURL: b.BaseURL(), Format: string(document.BIS3), Options: options, Credential: secret.New(credential)})
	kit.Must(t, err)
	b.connection, err = b.ActivateConnection(ctx, added.ID)
	kit.Must(t, err)
	b.tenant, err = b.Tenant(ctx, account.ID)
	kit.Must(t, err)
	b.serve(t, ample)
}

// serve makes the services of the company, whose calls to the provider have the limit.
func (b *queueBench) serve(t *testing.T, limit time.Duration) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	adapters := submission.NewAdapters(b.DB, func(c store.Connection, credential secret.Text) (provider.Adapter, error) {
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
		scan, err := source.Scan(t.Context(), store.ScanCursor{})
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
		scan, err := b.service.Work().Scan(t.Context(), store.ScanCursor{})
		kit.Must(t, err)
		if slices.ContainsFunc(scan.Queues, func(q store.Queue) bool { return q.Key() == b.connection.ID }) {
			return wait
		}
		b.Clock.Advance(time.Minute)
	}
	t.Fatal("the sync is never due again")
	return 0
}

// submit submits an invoice and returns it.
func (b *queueBench) submit(t *testing.T, number string, want api.Outcome) store.Submission {
	t.Helper()
	draft := providertest.Draft(number)
	providertest.Norwegian(draft)
	created, err := b.tenant.CreateInvoice(t.Context(), draft)
	kit.Must(t, err)
	if _, err = b.submissions.Submit(t.Context(), b.tenant, created.ID); want != store.OutcomeNotSent {
		kit.Must(t, err)
	}
	found, err := b.tenant.Invoice(t.Context(), created.ID)
	kit.Must(t, err)
	if found.Submission.Outcome != want {
		t.Fatalf("outcome %s, want %s", found.Submission.Outcome, want)
	}
	return *found.Submission
}

// now returns a submission as it is now.
func (b *queueBench) now(t *testing.T, s store.Submission) store.Submission {
	t.Helper()
	found, err := b.tenant.Submission(t.Context(), s.ID)
	kit.Must(t, err)
	return found
}

// words returns the state values of a submission in the order of the dimensions, with a mark at those that are final.
func words(s store.Submission) string {
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
	verified, err := b.VerifyEvidence(t.Context(), store.Replay{Response: submission.Replay, Purchase: purchase.Reread,
		Sent: submission.ReadSubmitted})
	kit.Must(t, err)
	if len(verified.Faults) > 0 {
		t.Errorf("evidence %+v", verified)
	}
}
