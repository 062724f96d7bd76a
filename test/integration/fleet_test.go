package integration_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// fleetCredential is the credential that the servers present to the provider.
const fleetCredential = "synthetic-credential"

// fleetFlags shorten the delays of a server and let it reach the receiver.
var fleetFlags = []string{"--environment", "sandbox", "--key-file", "key.json", "--listen", "127.0.0.1:0",
	"--webhook-allow-cidr", "127.0.0.1/32", "--rate-limit", "0", "--login-rate", "0", "--provider-timeout",
	"1s", "--attempt-timeout", "2s", "--retry-first", "100ms", "--poll-first", "50ms", "--poll-max",
	"1s", "--purchase-interval", "1h"}

// fleet is several servers on one database, with the other parties, which run in this process and outlive the servers.
type fleet struct {
	program  string
	dir      string
	database string // its own address, not that of a pool
	flags    []string
	world    *world
	provider *door
	receiver *recorder
	caller   caller
	token    string
	password string
	account  string
	tenant   *base.Tenant // see openTenant
	// transport is how the clients of [startLoad] reach the servers.
	transport *http.Transport
}

// newFleet is [startFleet] with the tenant open.
func newFleet(t *testing.T, program, database string, flags ...string) *fleet {
	t.Helper()
	return newPooledFleet(t, program, database, "", flags...)
}

// newPooledFleet is newFleet on a database behind a connection pool, whose own address is direct; "" without a pool.
func newPooledFleet(t *testing.T, program, database, direct string, flags ...string) *fleet {
	t.Helper()
	f := startFleet(t, program, database, direct, flags...)
	f.openTenant(t)
	return f
}

// startFleet creates the account, its connection, and a first server, all with the given program. Nothing else opens
// the database, whose own address is direct if it is behind a connection pool.
func startFleet(t *testing.T, program, database, direct string, flags ...string) *fleet {
	t.Helper()
	at := []string{"--database", database, "--key-file", "key.json"}
	if direct != "" {
		at = append(at, "--database-direct", direct)
		flags = append(slices.Clone(flags), "--database-direct", direct)
	}
	f := &fleet{program: program, dir: t.TempDir(), database: cmp.Or(direct, database), transport: &http.Transport{},
		world: &world{running: map[string]*process{}}}
	receiver, server, authority, err := startReceiver(f.dir, func() int { return http.StatusOK })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	f.receiver = receiver
	f.flags = slices.Concat([]string{"--database", database, "--webhook-ca", authority}, fleetFlags, flags)
	f.provider = newDoor(t, filepath.Join(f.dir, "provider"))
	if f.caller, err = newCaller(""); err != nil {
		t.Fatal(err)
	}
	f.command(t, "", "key", "generate", "--out", "key.json")
	f.command(t, "", append([]string{"migrate", "--create"}, at...)...)
	made := f.command(t, "", append([]string{"account", "create", "--company", "Palm Trading LLC", "--email",
		"owner@palm.example", "--json"}, at...)...)
	connection := f.command(t, fleetCredential,
		append([]string{"connection", "add", "--account", at0(t, made, "/account_id"), "--base-url", f.provider.url,
			"--environment", "sandbox", "--credential-file", "-", "--json"}, at...)...)
	f.command(t, "", append([]string{"connection", "activate", at0(t, connection, "/connection_id")}, at...)...)
	t.Cleanup(func() {
		if err := f.world.close(); err != nil {
			t.Error(err)
		}
		f.complain(t)
	})
	f.password = at0(t, made, "/password")
	f.account = at0(t, made, "/account_id")
	first := f.start(t, "first")
	var login api.Data[api.Login]
	f.must(t, http.MethodPost, first+"/api/v1/client/auth/login",
		fmt.Sprintf(`{"email":"owner@palm.example","password":%q}`, at0(t, made, "/password")), &login)
	f.token = login.Data.Token
	f.must(t, http.MethodPost, first+"/api/v1/webhooks/subscriptions", fmt.Sprintf(`{"url":%q}`, server.URL), &struct{}{})
	return f
}

// openTenant opens the tenant with the code of this version, which migrates the schema.
func (f *fleet) openTenant(t *testing.T) {
	t.Helper()
	f.tenant = openTenant(t, f.database, filepath.Join(f.dir, "key.json"), f.account)
}

// at0 returns a value of a record, which must exist.
func at0(t *testing.T, record []byte, pointer string) string {
	t.Helper()
	value, err := pointed(record, pointer)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// command runs a command to completion and returns its output.
func (f *fleet) command(t *testing.T, stdin string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), beside(t, f.program), args...)
	command.Dir, command.Stdin, command.Env = f.dir, strings.NewReader(stdin), bareEnvironment(f.dir)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		t.Fatalf("quittance %s: %v\n%s", strings.Join(args, " "), err, &problem)
	}
	return out
}

var listening = regexp.MustCompile(`listen=(\S+)`)

// launch starts a server with a new name, without waiting for it.
func (f *fleet) launch(name string, flags ...string) (*process, error) {
	p, err := startCommand(f.dir, name, exec.Command(f.program, slices.Concat([]string{"serve"}, f.flags, flags)...))
	if err == nil {
		f.world.running[name] = p
	}
	return p, err
}

// start starts a server and returns its address once it listens.
func (f *fleet) start(t *testing.T, name string, flags ...string) string {
	t.Helper()
	p, err := f.launch(name, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return f.address(t, p)
}

// listens returns the address of a server that runs.
func (f *fleet) listens(t *testing.T, name string) string {
	t.Helper()
	return f.address(t, f.world.running[name])
}

func (f *fleet) address(t *testing.T, p *process) string {
	t.Helper()
	address, err := p.says(listening)
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// must makes a call that must succeed.
func (f *fleet) must(t *testing.T, method, url, body string, into any) {
	t.Helper()
	got, err := f.caller.call(method, url, f.token, body)
	if err == nil && got.status >= 300 {
		err = fmt.Errorf("status %d: %s", got.status, got.body)
	}
	if err == nil {
		err = json.Unmarshal(got.body, into)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
}

// draft creates a draft at a server and returns its identifier.
func (f *fleet) draft(t *testing.T, base, number, recipient string) string {
	t.Helper()
	var made api.Data[api.Invoice]
	f.must(t, http.MethodPost, base+"/api/v1/client/invoices", draftBody(number, recipient), &made)
	return made.Data.ID
}

// settled waits until every submission is complete and every event has arrived, always with its own body. It skips a
// document that the provider has denied, because it is sent again only after a minute. It returns the number of events
// and of additional callbacks.
func (f *fleet) settled(t *testing.T, base string) (events, repeats int) {
	t.Helper()
	kit.Eventually(t, func() error { return f.unsettled(base, &events, &repeats) })
	return events, repeats
}

func (f *fleet) unsettled(base string, events, repeats *int) error {
	for page := 1; ; page++ {
		got, err := f.caller.call(http.MethodGet, fmt.Sprintf("%s/api/v1/client/invoices?submitted=true&per_page=100&page=%d",
			base, page), f.token, "")
		if err != nil {
			return err
		}
		var list api.List[api.Invoice]
		if err := json.Unmarshal(got.body, &list); err != nil {
			return err
		}
		for _, invoice := range list.Data {
			s := invoice.Submission
			if _, there := f.provider.server.Ledger().Document(s.ID); s.Outcome == api.OutcomeUnknown &&
				s.LastCheckedAt != nil && !there {
				continue
			}
			if s.Outcome != api.OutcomeAcknowledged || s.NextCheckAt != nil || invoice.ReceiverState == nil {
				return fmt.Errorf("%s is not complete: %+v", *invoice.InvoiceNumber, *s)
			}
		}
		if !list.Pagination.HasMore {
			break
		}
	}
	recorded, err := ledgertest.Events(context.Background(), f.tenant, 0, 1_000_000)
	if err != nil {
		return err
	}
	taken := map[string]fakeprovider.Callback{}
	callbacks := f.receiver.callbacks()
	for _, callback := range callbacks {
		if before, again := taken[callback.Delivery]; again &&
			(before.Body != callback.Body || before.Signature != callback.Signature) {
			return fmt.Errorf("event %s arrived with two bodies", callback.Delivery)
		}
		taken[callback.Delivery] = callback
	}
	for n, event := range recorded {
		if event.Position != int64(n+1) {
			return fmt.Errorf("event %d has position %d", n+1, event.Position)
		}
		if callback, ok := taken[event.ID.String()]; !ok || callback.Body != string(event.Body) {
			return fmt.Errorf("event %d of %d has not arrived", event.Position, len(recorded))
		}
	}
	if len(taken) != len(recorded) {
		return fmt.Errorf("%d events arrived, %d are recorded", len(taken), len(recorded))
	}
	*events, *repeats = len(recorded), len(callbacks)-len(taken)
	return nil
}

// checkDocuments checks that the provider has exactly one document for each submitted invoice, received the given
// number of times.
func (f *fleet) checkDocuments(t *testing.T, submitted, most int) {
	t.Helper()
	documents := f.provider.server.Ledger().Documents()
	numbers := map[string]int{}
	for _, document := range documents {
		numbers[document.InvoiceNumber]++
		if document.Accepted != 1 || document.Conflicts != 0 || document.Received > most ||
			numbers[document.InvoiceNumber] > 1 {
			t.Errorf("more than one document of an invoice: %+v", document)
		}
	}
	if len(documents) != submitted {
		t.Errorf("the provider has %d documents of %d submitted invoices", len(documents), submitted)
	}
}

// door is a proxy in front of the provider sandbox that counts, slows down and blocks calls about documents.
type door struct {
	server *fakeprovider.Server
	url    string

	mu      sync.Mutex
	delay   time.Duration
	inside  map[string]int // calls under way, by reference
	asked   map[string]int // status queries so far
	sent    map[string]int // documents so far
	overlap []string       // what came while another call about the same document was under way
	arrest  string         // the method whose next call is blocked after it was executed
	held    chan struct{}  // receives when a call is held up
	release chan struct{}  // closed to let it go
}

func newDoor(t *testing.T, dir string) *door {
	t.Helper()
	server, err := fakeprovider.New(fakeprovider.Options{Dir: dir, Credential: secret.New(fleetCredential),
		Clock: time.Now, Pace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{server: server, inside: map[string]int{}, asked: map[string]int{}, sent: map[string]int{},
		held: make(chan struct{}, 1), release: make(chan struct{})}
	listener := httptest.NewServer(d)
	d.url = listener.URL
	t.Cleanup(func() {
		listener.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// ServeHTTP implements [http.Handler].
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reference, about := strings.CutPrefix(r.URL.Path, "/v1/documents/")
	if r.Method == http.MethodPost && r.URL.Path == "/v1/documents" {
		reference, about = r.Header.Get("Idempotency-Key"), true
	}
	if !about {
		d.server.ServeHTTP(w, r)
		return
	}
	delay, release := d.enter(r.Method, reference)
	defer d.leave(reference)
	time.Sleep(delay) // a slow provider, not a wait
	response := httptest.NewRecorder()
	d.server.ServeHTTP(response, r)
	if release != nil {
		d.held <- struct{}{}
		<-release
	}
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()) // the caller may have disconnected
}

// enter records a call and waits for its release, if there is one.
func (d *door) enter(method, reference string) (delay time.Duration, release <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside[reference]++; d.inside[reference] > 1 {
		d.overlap = append(d.overlap, method+" "+reference)
	}
	if method == http.MethodPost {
		d.sent[reference]++
	} else {
		d.asked[reference]++
	}
	if d.arrest == method {
		d.arrest, release = "", d.release
	}
	return d.delay, release
}

func (d *door) leave(reference string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside[reference]--
}

// arrestNext blocks the next call of a method, after it has been executed, until the returned function is called.
func (d *door) arrestNext(method string) (held <-chan struct{}, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	let := make(chan struct{})
	d.release, d.arrest = let, method
	return d.held, sync.OnceFunc(func() { close(let) })
}

// slow makes every call about a document take longer.
func (d *door) slow(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = by
}

// lines counts the lines of a server's log that contain a text.
func (f *fleet) lines(t *testing.T, name, text string) int {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(f.dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), text)
}

// complain prints the warnings and errors of a failed test's servers.
func (f *fleet) complain(t *testing.T) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(f.dir, "*.log"))
	if err != nil || !t.Failed() {
		return
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Log(err)
		}
		shown := 0
		for line := range strings.Lines(string(text)) {
			if (strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN")) &&
				!strings.Contains(line, "route=/readyz") && shown < 8 {
				t.Logf("%s: %.600s", filepath.Base(path), line)
				shown++
			}
		}
	}
}

// workers runs do on n goroutines with the numbers from 0 to count-1, in order, and joins the errors.
func workers(n, count int, do func(i int) error) error {
	queue, problems := make(chan int), make(chan error, count)
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			for i := range queue {
				if err := do(i); err != nil {
					problems <- err
				}
			}
		})
	}
	for i := range count {
		queue <- i
	}
	close(queue)
	running.Wait()
	close(problems)
	var all []error
	for problem := range problems {
		if all = append(all, problem); len(all) == 10 {
			break
		}
	}
	return errors.Join(all...)
}
