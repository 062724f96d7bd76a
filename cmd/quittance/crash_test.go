package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/api"
	"quittance/internal/allinone"
	"quittance/internal/sandbox"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// The size of the crash test. A document of which the provider never heard is sent again only a minute after the
// provider has first denied it (contract, section 5); the long test waits that out, the short one does not.
const (
	crashesShort, crashes        = 3, 10
	patienceShort, crashPatience = time.Minute, 3 * time.Minute
	loadWorkers                  = 3
	longestLife                  = 2 * time.Second
	leastSubmissions             = 20 // acknowledged ones, without which too little would have been tested
	mostInvoices                 = 400
)

// crashFlags shorten the waits, so that much happens between two crashes.
var crashFlags = []string{"--poll-first", "100ms", "--poll-max", "2s", "--provider-timeout", "1s", "--attempt-timeout", "1s", "--retry-first", "50ms",
	"--rate-limit", "0", "--login-rate", "0", "--webhook-allow-cidr", "127.0.0.1/32"}

// recipients are what the load sends to: mostly the ordinary course, sometimes a provider that goes wrong.
var recipients = []string{"1234567890", "1234567890", "1234567890", "sandbox-drop-after-accept", "sandbox-garbage", "sandbox-503-after-accept",
	"sandbox-rejected-validation", "sandbox-reversed", "sandbox-processing"}

// promises are what the service has acknowledged with a 2xx answer.
type promises struct {
	mu        sync.Mutex
	created   map[string]string // identifier to invoice number
	submitted map[string]bool
}

func (p *promises) drafts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.created)
}

// The process is killed with SIGKILL at random instants while invoices are created and submitted and callbacks are
// taken. What it has acknowledged must be there afterwards, every acknowledged submission must come to its end, and
// nothing may have been sent twice or told with gaps.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("the instants of the crashes come from seed %d", seed)
	c := startCrashing(t)
	c.live(t, rand.New(rand.NewPCG(seed, 0)))
	c.settle(t)
	c.checkPromises(t)
	c.checkLedger(t)
	c.checkEvents(t)
}

// crashing is a sandbox that is killed again and again, and the customer's side of it, which lives on.
type crashing struct {
	dir      string
	flags    []string
	world    *world
	info     allinone.Info
	token    string
	secret   string
	caller   caller
	receiver *recorder
	promises promises
	numbers  atomic.Int64
	events   []store.Event // once settled
	invoices []api.Invoice // once settled
}

func startCrashing(t *testing.T) *crashing {
	c := &crashing{dir: t.TempDir(), world: &world{running: map[string]*process{}},
		promises: promises{created: map[string]string{}, submitted: map[string]bool{}}}
	var turn atomic.Int64
	receiver, server, authority, err := startReceiver(c.dir, func() int {
		if turn.Add(1)%5 == 0 {
			return http.StatusServiceUnavailable // the receiver is not always well either
		}
		return http.StatusOK
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c.receiver, c.flags = receiver, append(slices.Clone(crashFlags), "--webhook-ca", authority)
	if c.caller, err = newCaller(""); err != nil {
		t.Fatal(err)
	}
	c.start(t)
	t.Cleanup(func() {
		if err := c.world.close(); err != nil {
			t.Error(err)
		}
	})
	var login api.Data[api.Login]
	c.must(t, http.MethodPost, "/api/v1/client/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, c.info.Email, c.info.Password), &login)
	c.token = login.Data.Token
	var subscription api.Data[api.NewSubscription]
	c.must(t, http.MethodPost, "/api/v1/webhooks/subscriptions", fmt.Sprintf(`{"url":%q}`, server.URL), &subscription)
	c.secret = subscription.Data.Secret
	return c
}

func (c *crashing) start(t *testing.T) {
	info, err := c.world.runSandbox(c.dir, c.flags)
	if err != nil {
		t.Fatal(err)
	}
	c.info = info
}

// must makes a call that has to succeed.
func (c *crashing) must(t *testing.T, method, path, body string, into any) {
	t.Helper()
	got, err := c.caller.call(method, c.info.BaseURL+path, c.token, body)
	if err == nil && got.status >= 300 {
		err = fmt.Errorf("status %d: %s", got.status, got.body)
	}
	if err == nil {
		err = json.Unmarshal(got.body, into)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// live lets the load run while the sandbox is killed and started again.
func (c *crashing) live(t *testing.T, random *rand.Rand) {
	rounds := crashes
	if testing.Short() {
		rounds = crashesShort
	}
	stop := make(chan struct{})
	var load sync.WaitGroup
	base, token := c.info.BaseURL, c.token // they stay the same
	for worker := range loadWorkers {
		load.Go(func() { c.load(base, token, worker, stop) })
	}
	defer load.Wait()
	defer close(stop)
	for round := range rounds {
		life := time.Duration(random.Int64N(int64(longestLife)))
		t.Logf("crash %d after %v", round+1, life.Round(time.Millisecond))
		time.Sleep(life) // the random instant itself
		if err := c.world.kill9([]string{sandboxName}); err != nil {
			t.Error(err)
			return
		}
		before := c.info
		c.start(t)
		if c.info.BaseURL != before.BaseURL || c.info.ProviderURL != before.ProviderURL || c.info.Password != "" {
			t.Errorf("after the crash it is another sandbox: %+v, was %+v", c.info, before)
			return
		}
	}
	if err := eventually(patience, c.enough); err != nil {
		t.Error(err)
	}
}

// enough tells whether the load has come to something.
func (c *crashing) enough() error {
	c.promises.mu.Lock()
	defer c.promises.mu.Unlock()
	if n := len(c.promises.submitted); n < leastSubmissions {
		return fmt.Errorf("%d submissions were acknowledged, want %d", n, leastSubmissions)
	}
	return nil
}

// load creates and submits, one invoice after another, and notes what was acknowledged. An answer that does not come is
// no promise.
func (c *crashing) load(base, token string, worker int, stop <-chan struct{}) {
	for turn := worker; ; turn++ {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond): // leaves the processor to the sandbox
		}
		if c.promises.drafts() >= mostInvoices {
			return
		}
		n := c.numbers.Add(1)
		number := fmt.Sprintf("INV-%04d", n)
		got, err := c.caller.call(http.MethodPost, base+"/api/v1/client/invoices", token, draftBody(number, recipients[turn%len(recipients)]))
		if err != nil || got.status != http.StatusCreated {
			continue
		}
		id, err := pointed(got.body, "/data/id")
		if err != nil {
			continue
		}
		c.promises.mu.Lock()
		c.promises.created[id] = number
		c.promises.mu.Unlock()
		if n%7 == 0 {
			continue // it stays a draft
		}
		got, err = c.caller.call(http.MethodPost, base+"/api/v1/client/invoices/"+id+"/submit", token, "")
		if err == nil && (got.status == http.StatusOK || got.status == http.StatusAccepted) {
			c.promises.mu.Lock()
			c.promises.submitted[id] = true
			c.promises.mu.Unlock()
		}
	}
}

// settle waits until every submission has come to its end and every event has arrived.
func (c *crashing) settle(t *testing.T) {
	limit := crashPatience
	if testing.Short() {
		limit = patienceShort
	}
	started := time.Now()
	tenant := c.openStore(t)
	if err := eventually(limit, func() error {
		if err := errors.Join(c.readInvoices(), c.open()); err != nil {
			return err
		}
		events, err := tenant.Events(t.Context(), 0, 100*mostInvoices)
		if err != nil {
			return err
		}
		c.events = events
		return c.untold()
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d drafts and %d submissions were acknowledged; %d events; settled after %v", len(c.promises.created), len(c.promises.submitted),
		len(c.events), time.Since(started).Round(time.Second))
}

func (c *crashing) readInvoices() error {
	c.invoices = nil
	for page := 1; ; page++ {
		got, err := c.caller.call(http.MethodGet, fmt.Sprintf("%s/api/v1/client/invoices?per_page=100&page=%d", c.info.BaseURL, page), c.token, "")
		if err != nil {
			return err
		}
		var list api.List[api.Invoice]
		if err := json.Unmarshal(got.body, &list); err != nil {
			return err
		}
		c.invoices = append(c.invoices, list.Data...)
		if !list.Pagination.HasMore {
			return nil
		}
	}
}

// open names a submission that is not at its end. The short test does not wait for those that will be sent again.
func (c *crashing) open() error {
	for _, invoice := range c.invoices {
		s := invoice.Submission
		if s == nil || s.Outcome == api.OutcomeRejected || testing.Short() && s.Outcome == api.OutcomeUnknown && s.LastCheckedAt != nil {
			continue
		}
		if s.Outcome != api.OutcomeAcknowledged || invoice.SubmissionState == nil || invoice.ProviderInvoiceState == nil || invoice.TaxAuthorityState == nil ||
			invoice.ReceiverState == nil || s.NextCheckAt != nil {
			return fmt.Errorf("%s is not at its end: %+v", *invoice.InvoiceNumber, *s)
		}
	}
	return nil
}

// openStore opens the database beside the running sandbox, as an administration command does.
func (c *crashing) openStore(t *testing.T) *store.Tenant {
	layout := allinone.Layout(filepath.Join(c.dir, "data"))
	keys, err := secret.ReadKeyFile(layout.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), layout.DefaultDatabase(), store.Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	account, err := store.ParseID(c.info.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := db.Tenant(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

// callbacks returns what the receiver has taken, by event, with only the attempts that it has answered 200.
func (c *crashing) callbacks() (map[string]sandbox.Callback, error) {
	taken := map[string]sandbox.Callback{}
	for _, callback := range c.receiver.callbacks() {
		if err := checkCallback(callback, c.secret); err != nil {
			return nil, err
		}
		if callback.Answered == http.StatusOK {
			taken[callback.Delivery] = callback
		}
	}
	return taken, nil
}

// aboutSubmission tells the events of the load from those of the synthetic data that a fresh sandbox holds.
func aboutSubmission(event store.Event) bool {
	return event.Kind != api.EventIncomingReceived && event.Kind != api.EventIncomingRevised
}

// untold names an event that has not arrived.
func (c *crashing) untold() error {
	taken, err := c.callbacks()
	if err != nil {
		return err
	}
	for _, event := range c.events {
		if _, ok := taken[event.ID.String()]; !ok && aboutSubmission(event) {
			return fmt.Errorf("event %d of %d has not arrived", event.Position, len(c.events))
		}
	}
	return nil
}

// checkPromises: no acknowledged draft is lost or changed, and no acknowledged submission is forgotten.
func (c *crashing) checkPromises(t *testing.T) {
	found := map[string]api.Invoice{}
	for _, invoice := range c.invoices {
		found[invoice.ID] = invoice
	}
	for id, number := range c.promises.created {
		if invoice, ok := found[id]; !ok || *invoice.InvoiceNumber != number {
			t.Errorf("the draft %s (%s) was acknowledged and is lost", number, id)
		}
	}
	for id := range c.promises.submitted {
		if invoice := found[id]; !invoice.Submitted || invoice.Submission == nil {
			t.Errorf("the submission of %s was acknowledged and is forgotten", id)
		}
	}
}

// checkLedger: the provider has at most one document for an invoice, and exactly the ones that are acknowledged.
func (c *crashing) checkLedger(t *testing.T) {
	got, err := c.caller.call(http.MethodGet, c.info.ProviderURL+"/control/ledger", c.info.ProviderCredential, "")
	if err != nil {
		t.Fatal(err)
	}
	var ledger struct{ Documents []sandbox.LedgerDocument }
	if err := json.Unmarshal(got.body, &ledger); err != nil {
		t.Fatal(err)
	}
	numbers, references := map[string]int{}, map[string]bool{}
	for _, document := range ledger.Documents {
		numbers[document.InvoiceNumber]++
		references[document.Reference] = true
		if document.Accepted != 1 || document.Conflicts != 0 || numbers[document.InvoiceNumber] > 1 {
			t.Errorf("the provider has accepted more than one document of %s: %+v", document.InvoiceNumber, document)
		}
	}
	for _, invoice := range c.invoices {
		known := invoice.Submission != nil && invoice.Submission.Outcome != api.OutcomeUnknown
		if known && !references[invoice.Submission.ID] {
			t.Errorf("%s is %s, and the provider does not have it", *invoice.InvoiceNumber, invoice.Submission.Outcome)
		}
		if !known && numbers[*invoice.InvoiceNumber] > 0 {
			t.Errorf("the provider has %s, and the service does not know it", *invoice.InvoiceNumber)
		}
	}
}

// checkEvents: positions without gaps, the delivered bytes those of the event, and one end for every submission that
// has one.
func (c *crashing) checkEvents(t *testing.T) {
	taken, err := c.callbacks()
	if err != nil {
		t.Fatal(err)
	}
	ends, want := map[string]int{}, 0
	for n, event := range c.events {
		if event.Position != int64(n+1) {
			t.Fatalf("event %d stands at position %d", n+1, event.Position)
		}
		if !aboutSubmission(event) {
			continue
		}
		want++
		callback := taken[event.ID.String()]
		if callback.Body != string(event.Body) || callback.Event != string(event.Kind) {
			t.Errorf("event %s arrived as %s, and is %s", event.ID, callback.Body, event.Body)
		}
		var e envelope
		if err := json.Unmarshal(event.Body, &e); err != nil {
			t.Fatal(err)
		}
		if event.Kind == api.EventTerminal {
			ends[e.ResourceID]++
		}
	}
	for _, invoice := range c.invoices {
		end := 0
		if invoice.Submission != nil && invoice.Submission.Outcome == api.OutcomeAcknowledged {
			end = 1
		}
		if invoice.Submission != nil && ends[invoice.Submission.ID] != end {
			t.Errorf("%s has %d terminal events, want %d", *invoice.InvoiceNumber, ends[invoice.Submission.ID], end)
		}
	}
	if len(taken) != want {
		t.Errorf("%d events arrived, %d are recorded: %v", len(taken), want, slices.Sorted(maps.Keys(taken)))
	}
}
