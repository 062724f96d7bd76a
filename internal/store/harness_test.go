package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/benchdb"
	"quittance/test/kit"
	"quittance/test/storetest"
)

const (
	hookURL       = "https://hooks.example.com/quittance"
	credential    = "provider-credential-canary-7f3a"
	signingSecret = "whsec_signing-canary-91bc"
	providerURL   = "https://provider.example.com"
	leaseDuration = 30 * time.Second
)

// fixture is a store with two companies: the one a test works with, and its decoy twin.
type fixture struct {
	*storetest.Store
	company
	decoy company
	raw   *sql.DB // the same database past the store
}

// company is an account with everything that is needed to access its rows.
type company struct {
	account    store.Account
	user       store.User
	tenant     *store.Tenant
	connection store.Connection
}

// forEachEngine runs a test on every engine beside a decoy twin: a second company with the same numbers, addresses and
// documents. Afterwards no row of the decoy may have changed, and none may be reachable for the first company.
func forEachEngine(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	storetest.EachEngine(t, func(t *testing.T, engine string) {
		f, before := openTwins(t, engine)
		test(t, f)
		if after := f.dump(t, f.decoy); after != before {
			t.Errorf("the decoy has changed.\nBefore:\n%s\nAfter:\n%s", before, after)
		}
		checkCounters(t, f.DB)
	})
}

// fillDrafts gives a tenant count drafts, which differ only in their numbers: S-1, S-2 and so on.
func (f *fixture) fillDrafts(t testing.TB, tenant *store.Tenant, count int) {
	t.Helper()
	fillDrafts(t, f.Store, tenant, *draft("unused"), count)
}

func fillDrafts(t testing.TB, s *storetest.Store, tenant *store.Tenant, draft api.Draft, count int) {
	t.Helper()
	data, err := benchdb.Open(s.Address)
	kit.Must(t, err)
	kit.Must(t, data.FillDrafts(t.Context(), tenant, draft, "S-", count, nil))
	kit.Must(t, data.Close())
}

// forEachStore runs a test on every engine whose subject is not one company, and which would therefore change a decoy
// too.
func forEachStore(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	storetest.EachEngine(t, func(t *testing.T, engine string) {
		f := &fixture{Store: storetest.Open(t, engine)}
		f.raw = openRaw(t, f.Store)
		f.company = f.newCompany(t, "owner@example.com")
		test(t, f)
	})
}

// waitsForLock waits until a statement with a text waits for a lock of PostgreSQL.
func (f *fixture) waitsForLock(ctx context.Context, text string) error {
	return kit.Poll(func() error {
		var waits int
		err := f.raw.QueryRowContext(ctx, `select count(*) from pg_stat_activity where datname = current_database()
			and wait_event_type = 'Lock' and query like '%' || $1 || '%'`, text).Scan(&waits)
		if err == nil && waits == 0 {
			err = fmt.Errorf("%q does not wait for a lock", text)
		}
		return err
	})
}

func openRaw(t testing.TB, s *storetest.Store) *sql.DB {
	t.Helper()
	driver, address := "pgx", s.Address
	if s.Path != "" {
		driver, address = "sqlite", "file:"+s.Path+"?_pragma=busy_timeout(15000)"
	}
	raw, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	raw.SetMaxOpenConns(4)
	t.Cleanup(func() { kit.Must(t, raw.Close()) })
	return raw
}

// wantErr fails the test unless err is want.
func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// wantEqual fails the test unless two values are equal, and shows their differences. It compares only the exported
// fields of a submission: the others depend on how it was read.
func wantEqual(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want any) {
	t.Helper()
	submission := reflect.TypeFor[store.Submission]()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(store.Submission{}),
		cmp.Exporter(func(of reflect.Type) bool { return of != submission })); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func (f *fixture) newCompany(t *testing.T, email string) company {
	t.Helper()
	ctx := t.Context()
	var c company
	var err error
	c.account, err = f.CreateAccount(ctx, "Palm Trading LLC", store.NewUser{Email: email, Name: "Owner",
		PasswordHash: "$hash", Proved: true})
	kit.Must(t, err)
	c.user, err = f.UserByEmail(ctx, email)
	kit.Must(t, err)
	c.tenant, err = f.Tenant(ctx, c.account.ID)
	kit.Must(t, err)
	added, err := f.AddConnection(ctx, c.account.ID, sandboxConnection())
	kit.Must(t, err)
	c.connection, err = f.ActivateConnection(ctx, added.ID)
	kit.Must(t, err)
	return c
}

func sandboxConnection() store.NewConnection {
	return store.NewConnection{Kind: "http", Environment: "sandbox", BaseURL: providerURL,
		Credential: secret.New(credential)}
}

// exec runs a statement outside of the store and checks that it changes exactly one row.
func (f *fixture) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	result, err := f.raw.ExecContext(t.Context(), query, args...)
	kit.Must(t, err)
	rows, err := result.RowsAffected()
	kit.Must(t, err)
	if rows != 1 {
		t.Fatalf("%d rows changed by %s, want 1", rows, query)
	}
}

// number reads one number outside of the store.
func (f *fixture) number(t *testing.T, query string, args ...any) int64 {
	t.Helper()
	var n int64
	kit.Must(t, f.raw.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

func dec(text string) *api.Decimal {
	d, err := api.ParseDecimal(text)
	if err != nil {
		panic(err) // a literal of a test
	}
	return &d
}

// draft is a complete draft with the given number.
func draft(number string) *api.Draft {
	return &api.Draft{
		InvoiceNumber: &number, RecipientName: new("Buyer & Söhne <Ltd>"), RecipientNetworkID: new("1234567890"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerCountry: new("AE"), TotalAmount: dec("1050.00"), Currency: new("AED"), IssueDate: new("2026-03-01"),
		DueDate: new("2026-03-31"), PaymentMeansCode: new("30"),
		Items: []api.Item{{Name: new("Consulting"), UnitCode: new("HUR"), Quantity: dec("10"), NetUnitPrice: dec("100.00"),
			GrossUnitPrice: dec("100.00"), DiscountAmount: dec("0"), VATCategory: new("S"), VATRate: dec("5"),
			ItemCode: new("SKU-7"), Description: new("Workshop")}},
	}
}

func (c company) create(t *testing.T, number string) store.Invoice {
	t.Helper()
	created, err := c.tenant.CreateInvoice(t.Context(), draft(number))
	kit.Must(t, err)
	return created
}

// intent renders a document with its reference and the invoice, which are all that these tests read.
func intent() store.Intent {
	return store.Intent{Environment: "sandbox", LeaseDuration: leaseDuration,
		Render: func(source store.Source) ([]byte, api.Faults, error) {
			text, err := jsonv2.Marshal(source.Draft, jsonv2.OmitZeroStructFields(true))
			return fmt.Appendf(nil, `{"reference":%q,"invoice":%s}`, source.Reference, text), nil, err
		}}
}

// begin begins the submission of an invoice.
func (c company) begin(t *testing.T, id store.ID) store.SubmissionLease {
	t.Helper()
	call, begun, err := c.tenant.BeginSubmission(t.Context(), id, intent())
	kit.Must(t, err)
	if !begun {
		t.Fatal("the submission has not begun")
	}
	return call
}

// submit creates an invoice and begins its submission.
func (c company) submit(t *testing.T, number string) store.SubmissionLease {
	t.Helper()
	return c.begin(t, c.create(t, number).ID)
}

func (c company) subscribe(t *testing.T, kinds ...api.EventKind) store.Subscription {
	t.Helper()
	s, err := c.tenant.CreateSubscription(t.Context(),
		store.NewSubscription{URL: hookURL, Events: kinds, Secret: secret.New(signingSecret)})
	kit.Must(t, err)
	return s
}

// words are states in the form of a provider's report: a value of each dimension, final or not.
type words = map[invoice.Dimension]invoice.StoredState

// allFour reports a value in every dimension.
func allFour(word string, terminal bool) words {
	out := words{}
	for _, d := range invoice.Dimensions {
		out[d] = invoice.StoredState{Value: word, Terminal: terminal}
	}
	return out
}

// reported is the decision about a response with a report: evidence with the state values, their states, an
// acknowledgement, the next poll in a second, and the given events.
func reported(s store.Submission, now time.Time, report words, kinds ...api.EventKind) store.Decision {
	merged := words{}
	for _, d := range invoice.Dimensions {
		if word := s.States.Stored(d); word.Value != "" {
			merged[d] = word
		}
	}
	carried := map[string]string{}
	var write []invoice.Dimension
	for d, word := range report {
		merged[d], carried[string(d)] = word, word.Value
		write = append(write, d)
	}
	body, err := json.Marshal(carried)
	if err != nil {
		panic(err) // a map of strings
	}
	sequence := int64(1)
	if s.Sequence != nil {
		sequence = *s.Sequence + 1
	}
	return store.Decision{
		Evidence: &store.NewEvidence{Call: "status", HTTPStatus: 200, MediaType: "application/json", Body: body,
			StateValues: carried},
		Responded: true, LastStatus: 200, Outcome: api.OutcomeAcknowledged, ProviderReference: new("P-1"),
		Sequence: &sequence, States: invoice.RestoreStates(merged), WriteStates: write, PollWait: time.Second,
		DueAt:  new(now.Add(time.Second)),
		Events: kinds,
	}
}

// record records the decision of reported and returns the submission after it.
func record(t *testing.T, call store.SubmissionLease, report words, kinds ...api.EventKind) store.Submission {
	t.Helper()
	return decide(t, call, func(s store.Submission, now time.Time) store.Decision {
		return reported(s, now, report,
			kinds...)
	})
}

func decide(t *testing.T, call store.SubmissionLease,
	decision func(s store.Submission, now time.Time) store.Decision) store.Submission {
	t.Helper()
	after, err := call.Record(t.Context(), func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
		return readAs(decision(s, now)), nil
	})
	kit.Must(t, err)
	return after
}

// outcome is a decision that only changes the outcome, without a response. Unless nothing was sent, the provider is
// polled after the lease.
func outcome(s store.Submission, outcome api.Outcome) store.Decision {
	d := store.Decision{Outcome: outcome, ProviderReference: s.ProviderReference, Sequence: s.Sequence, States: s.States}
	if outcome != store.OutcomeNotSent {
		d.DueAt = s.NextCheckAt
	}
	return d
}

func (f *fixture) deliveryQueue(t *testing.T, subscription store.ID) (store.Queue, bool) {
	t.Helper()
	scan, err := f.DueDeliveryQueues(t.Context(), store.ScanCursor{})
	kit.Must(t, err)
	return findQueue(scan.Queues, subscription)
}

func (f *fixture) submissionQueue(t *testing.T, connection store.ID) (store.Queue, bool) {
	t.Helper()
	scan, err := f.DueSubmissionQueues(t.Context(), store.ScanCursor{})
	kit.Must(t, err)
	return findQueue(scan.Queues, connection)
}

func findQueue(queues []store.Queue, key store.ID) (store.Queue, bool) {
	for _, queue := range queues {
		if queue.Key() == key {
			return queue, true
		}
	}
	return store.Queue{}, false
}

// claimDeliveries claims the due deliveries of a subscription; none if it has no queue.
func (f *fixture) claimDeliveries(t *testing.T, subscription store.ID, limit int) []store.DeliveryLease {
	t.Helper()
	queue, due := f.deliveryQueue(t, subscription)
	if !due {
		return nil
	}
	claimed, err := queue.ClaimDeliveries(t.Context(), limit, leaseDuration)
	kit.Must(t, err)
	return claimed
}

// claimSubmissions claims the due submissions of the fixture's connection; none if it has no queue.
func (f *fixture) claimSubmissions(t *testing.T, limit int) []store.SubmissionLease {
	t.Helper()
	queue, due := f.submissionQueue(t, f.connection.ID)
	if !due {
		return nil
	}
	claimed, err := queue.ClaimSubmissions(t.Context(), limit, leaseDuration)
	kit.Must(t, err)
	return claimed
}

// race runs n goroutines that start together and waits for them.
func race(n int, run func(i int)) {
	start, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			<-start
			run(i)
		}()
	}
	close(start)
	for range n {
		<-done
	}
}
