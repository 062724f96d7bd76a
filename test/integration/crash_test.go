package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/sandbox"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// envKills is the environment variable for the number of random kills on each engine.
const envKills = "QUITTANCE_TEST_KILLS"

// These set the size of the crash test. A document that the provider never received is sent again only a minute after
// the provider has first denied it; the long test waits for this, the short one does not.
const (
	killsShort, killsUsual = 3, 4
	loadWorkers            = 3
	longestLife            = 2 * time.Second
	invoicesPerLife        = 16
	leastSubmissions       = 20 // acknowledged ones, without which too little would have been tested
)

// crashFlags shorten the delays, so that much happens between two crashes.
var crashFlags = []string{"--poll-first", "100ms", "--poll-max", "2s", "--provider-timeout", "1s", "--attempt-timeout",
	"1s", "--retry-first", "50ms", "--rate-limit", "0", "--login-rate", "0", "--webhook-allow-cidr", "127.0.0.1/32"}

// recipients are the recipients of the load: mostly ordinary ones, and some for which the provider misbehaves.
var recipients = []string{ordinary, ordinary, ordinary, "sandbox-drop-after-accept", "sandbox-garbage",
	"sandbox-503-after-accept", "sandbox-rejected-validation", "sandbox-reversed", "sandbox-processing"}

// promises holds what the service acknowledged with a 2xx response.
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

// TestKilledAtAnyMoment kills a process with SIGKILL at random times while clients create and submit invoices and
// receivers get callbacks: the whole sandbox including its provider on SQLite, and one of two replicas on PostgreSQL.
// Afterwards everything acknowledged must exist, every acknowledged submission must be complete, nothing may have been
// sent twice, and events must have no gaps.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	kills := numberOfKills(t)
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("the times of the crashes come from seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			c := map[string]func(*testing.T, *rand.Rand) *crashing{ledgertest.SQLite: crashSandbox,
				ledgertest.Postgres: crashReplicas}[engine](t, random)
			c.begin(t)
			c.live(t, random, kills)
			c.settle(t, kills)
			c.check(t)
		})
	}
}

func numberOfKills(t *testing.T) int {
	t.Helper()
	if text := os.Getenv(envKills); text != "" {
		kills, err := strconv.Atoi(text)
		if err != nil || kills < 1 {
			t.Fatalf("%s: %q is not a number of kills", envKills, text)
		}
		return kills
	}
	if testing.Short() {
		return killsShort
	}
	return killsUsual
}

// crashing is a service that is killed repeatedly, with the customer's side, which survives.
type crashing struct {
	address, keyFile        string
	account                 string
	email, password         string
	providerURL, credential string
	hooks                   string
	base                    func() string      // of a server that may be alive
	kill                    func(t *testing.T) // kills a process and starts it again
	token, secret           string
	caller                  caller
	receiver                *recorder
	promises                promises
	numbers, allowed        atomic.Int64 // invoices begun, and how many may be
	books                   books        // once settled
}

func newCrashing(t *testing.T) *crashing {
	c := &crashing{promises: promises{created: map[string]string{}, submitted: map[string]bool{}}}
	var err error
	if c.caller, err = newCaller(""); err != nil {
		t.Fatal(err)
	}
	return c
}

// crashSandbox is a sandbox: one process with everything in it, on SQLite.
func crashSandbox(t *testing.T, _ *rand.Rand) *crashing {
	c := newCrashing(t)
	dir := t.TempDir()
	receiver, server, authority := unwellReceiver(t, dir)
	w := newWorld(t)
	flags := append(slices.Clone(crashFlags), "--webhook-ca", authority)
	info, err := w.runSandbox(dir, flags)
	if err != nil {
		t.Fatal(err)
	}
	layout := sandbox.Layout(filepath.Join(dir, "data"))
	c.address, c.keyFile, c.account = layout.DefaultDatabase(), layout.KeyFile(), info.AccountID
	c.email, c.password, c.providerURL, c.credential = info.Email, info.Password, info.ProviderURL, info.ProviderCredential
	c.receiver, c.hooks = receiver, server
	c.base = func() string { return info.BaseURL }
	c.kill = func(t *testing.T) {
		if err := w.kill9([]string{sandboxName}); err != nil {
			t.Fatal(err)
		}
		again, err := w.runSandbox(dir, flags)
		if err != nil {
			t.Fatal(err)
		}
		if again.BaseURL != info.BaseURL || again.ProviderURL != info.ProviderURL || again.Password != "" {
			t.Fatalf("the sandbox has changed after the crash: %+v, was %+v", again, info)
		}
	}
	return c
}

// replica is one of the servers that share a database.
type replica struct {
	process *process
	base    atomic.Value // string
	lives   int
}

// crashReplicas is two servers on PostgreSQL, of which one is killed at a time.
func crashReplicas(t *testing.T, random *rand.Rand) *crashing {
	c := newCrashing(t)
	s := newSite(t, newOriginal(t, product, ledgertest.Postgres), nil, victim{})
	c.address, c.keyFile, c.account = s.address, s.keyFile, s.original.account
	c.email, c.password, c.providerURL, c.credential = s.original.email, s.original.password, s.providerURL, siteCredential
	c.receiver, c.hooks = s.receiver, s.hooks
	replicas := [2]*replica{{}, {}}
	start := func(t *testing.T, n int) {
		r := replicas[n]
		r.lives++
		var err error
		if r.process, err = startCommand(s.dir, fmt.Sprintf("replica-%d-%d", n, r.lives),
			exec.Command(s.program, append([]string{"serve", "--database", s.address}, s.flags...)...)); err != nil {
			t.Fatal(err)
		}
		address, err := r.process.says(listenPattern)
		if err != nil {
			t.Fatal(err)
		}
		r.base.Store("http://" + address)
	}
	for n := range replicas {
		start(t, n)
		t.Cleanup(func() {
			if err := replicas[n].process.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	c.base = func() string { return replicas[rand.IntN(len(replicas))].base.Load().(string) }
	c.kill = func(t *testing.T) {
		n := random.IntN(len(replicas))
		if err := replicas[n].process.kill(); err != nil {
			t.Fatal(err)
		}
		start(t, n)
	}
	return c
}

// begin logs in and subscribes.
func (c *crashing) begin(t *testing.T) {
	var login api.Data[api.Login]
	c.must(t, http.MethodPost, atAuth+"login", fmt.Sprintf(`{"email":%q,"password":%q}`, c.email, c.password), &login)
	c.token = login.Data.Token
	var subscription api.Data[api.NewSubscription]
	c.must(t, http.MethodPost, atSubscriptions, fmt.Sprintf(`{"url":%q}`, c.hooks+"/crash"), &subscription)
	c.secret = subscription.Data.Secret
}

// must makes a call that must succeed.
func (c *crashing) must(t *testing.T, method, path, body string, into any) {
	t.Helper()
	got, err := c.caller.call(method, c.base()+path, c.token, body)
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

// live runs the load while processes are killed and restarted.
func (c *crashing) live(t *testing.T, random *rand.Rand, kills int) {
	stop := make(chan struct{})
	var load sync.WaitGroup
	defer load.Wait()
	defer close(stop)
	for worker := range loadWorkers {
		load.Go(func() { c.load(worker, stop) })
	}
	for range kills {
		c.allowed.Add(invoicesPerLife)
		time.Sleep(time.Duration(random.Int64N(int64(longestLife)))) // the random instant itself
		c.kill(t)
	}
	c.allowed.Add(invoicesPerLife * killsUsual)
	if err := kit.Poll(c.enough); err != nil {
		t.Error(err)
	}
}

// enough reports whether the load has made enough progress.
func (c *crashing) enough() error {
	c.promises.mu.Lock()
	defer c.promises.mu.Unlock()
	if n := len(c.promises.submitted); n < leastSubmissions {
		return fmt.Errorf("%d submissions were acknowledged, want %d", n, leastSubmissions)
	}
	return nil
}

// load creates and submits invoices one after another and notes what was acknowledged. A missing response promises
// nothing.
func (c *crashing) load(worker int, stop <-chan struct{}) {
	for turn := worker; ; turn++ {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond): // leaves the processor to the service
		}
		if int64(c.promises.drafts()) >= c.allowed.Load() {
			continue
		}
		n := c.numbers.Add(1)
		number := fmt.Sprintf("INV-%04d", n)
		got, err := c.caller.call(http.MethodPost, c.base()+atInvoices, c.token,
			draftBody(number, recipients[turn%len(recipients)]))
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
		got, err = c.caller.call(http.MethodPost, c.base()+atInvoices+"/"+id+"/submit", c.token, "")
		if err == nil && (got.status == http.StatusOK || got.status == http.StatusAccepted) {
			c.promises.mu.Lock()
			c.promises.submitted[id] = true
			c.promises.mu.Unlock()
		}
	}
}

// resent reports whether the provider does not know a submission yet: the short test does not wait until it is sent
// again.
func resent(invoice api.Invoice) bool {
	return testing.Short() && invoice.Submission.Outcome == api.OutcomeUnknown && invoice.Submission.LastCheckedAt != nil
}

// aboutSubmission distinguishes the events of the load from those of the synthetic data in a new sandbox.
func aboutSubmission(event events.Event) bool {
	return event.Kind != api.EventIncomingReceived && event.Kind != api.EventIncomingRevised
}

// settle waits until every submission is complete and every event has arrived.
func (c *crashing) settle(t *testing.T, kills int) {
	started := time.Now()
	tenant := openTenant(t, c.address, c.keyFile, c.account)
	err := kit.Poll(func() error {
		if err := c.read(t, tenant); err != nil {
			return err
		}
		return errors.Join(c.books.allComplete(resent), c.books.allDelivered(aboutSubmission))
	})
	most, open := map[string]int{}, 0
	for _, document := range c.books.ledger {
		if document.Scenario != "sandbox-rejected-validation" {
			most[document.InvoiceNumber] += document.Accepted
		}
	}
	accepted := 0
	for _, n := range most {
		accepted = max(accepted, n)
	}
	for _, invoice := range c.books.invoices {
		if (books{invoices: []api.Invoice{invoice}}).allComplete(resent) != nil {
			open++
		}
	}
	t.Logf(
		"%d kills; %d drafts and %d submissions were acknowledged; %d documents at the provider, at most %d accepted of an invoice; "+
			"%d submissions are not at their end; %d events, %d callbacks; settled after %v", kills, len(c.promises.created),
		len(c.promises.submitted), len(c.books.ledger), accepted, open, len(c.books.events), len(c.books.callbacks),
		time.Since(started).Round(time.Second))
	if err != nil {
		t.Fatal(err)
	}
}

// read collects what all parties know.
func (c *crashing) read(t *testing.T, tenant *base.Tenant) (err error) {
	get := func(path string) ([]byte, error) {
		got, err := c.caller.call(http.MethodGet, c.base()+path, c.token, "")
		return got.body, err
	}
	if c.books.invoices, err = readAll[api.Invoice](get, atInvoices); err != nil {
		return err
	}
	if c.books.events, err = ledgertest.Events(t.Context(), tenant, 0, 1_000_000); err != nil {
		return err
	}
	if c.books.ledger, err = readLedger(c.caller, c.providerURL, c.credential); err != nil {
		return err
	}
	c.books.callbacks = onPath(c.receiver.callbacks(), "/crash")
	return nil
}

// check compares what was acknowledged with the final state: no draft is lost or changed, no submission is forgotten,
// the provider has no document twice, and events have no gaps.
func (c *crashing) check(t *testing.T) {
	found := map[string]api.Invoice{}
	for _, invoice := range c.books.invoices {
		found[invoice.ID] = invoice
	}
	for id, number := range c.promises.created {
		if invoice, ok := found[id]; !ok || *invoice.InvoiceNumber != number {
			t.Errorf("the draft %s (%s) was acknowledged but is lost", number, id)
		}
	}
	for id := range c.promises.submitted {
		if invoice := found[id]; !invoice.Submitted || invoice.Submission == nil {
			t.Errorf("the submission of %s was acknowledged but is lost", id)
		}
	}
	for _, err := range []error{c.books.checkLedger(), c.books.checkCallbacks(c.secret), c.books.checkEvents()} {
		if err != nil {
			t.Error(err)
		}
	}
}
