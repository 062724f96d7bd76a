package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"quittance/client/api"
	"quittance/test/kit"
	"quittance/test/pgtest"
)

// ownCluster starts a cluster of PostgreSQL that belongs to one test, which may kill it, and returns it and the address
// of a database in it.
func ownCluster(t *testing.T, settings ...string) (cluster *pgtest.Cluster, address string) {
	t.Helper()
	cluster, err := pgtest.Start("", append([]string{"fsync=off", "max_connections=100"}, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	address, _, err = cluster.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cluster, address
}

// TestPostgresInTrouble makes the PostgreSQL server lose its connections and the responses to its commits, stall, and
// die, while clients work. Quittance must answer 503 and nothing wrong, keep everything that it has acknowledged, and
// recover without help.
func TestPostgresInTrouble(t *testing.T) {
	if !pgtest.Enabled() {
		return // there is no such server
	}
	t.Parallel()
	cluster, address := ownCluster(t)
	proxy := pgtest.NewProxy(t, address)
	s := newStricken(t, proxy.URL())

	for range 3 {
		s.trouble(t, "connections ended", func() { terminate(t, cluster.URL()) })
	}
	s.trouble(t, "connections cut", proxy.Cut)
	var commits, lost atomic.Int64
	proxy.LoseCommits(func() bool {
		if commits.Add(1)%5 != 0 {
			return false
		}
		lost.Add(1)
		return true
	})
	if err := kit.Poll(func() error { return wantCount("20+", int(lost.Load())) }); err != nil {
		t.Error(err)
	}
	proxy.LoseCommits(nil)
	s.trouble(t, "answers to commits lost", func() {})

	s.trouble(t, "no answers", func() {
		proxy.Stall()
		s.down(t)
		proxy.Resume()
	})
	s.trouble(t, "killed and restarted", func() {
		if err := cluster.Kill(); err != nil {
			t.Error(err)
		}
		s.down(t)
		if err := cluster.Restart(); err != nil {
			t.Fatal(err)
		}
	})
	s.reckon(t)
}

// terminate ends every other connection.
func terminate(t *testing.T, admin string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(),
		"select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'quittance%'")
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestDiskFull fills the disk under the server's database file twice, so that not a byte can be written. Reading must
// still work, and with free space again everything else.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := newStricken(t, "sqlite:"+filepath.Join(t.TempDir(), "quittance.db"))
	for range 2 {
		s.trouble(t, "disk full", func() {
			s.fileSizes(t, "0")
			s.readOnly(t)
			s.fileSizes(t, "unlimited")
		})
	}
	s.reckon(t)
}

// fileSizes limits the size of the files that the server can write, which looks like a full disk.
func (s *stricken) fileSizes(t *testing.T, most string) {
	t.Helper()
	pid := strconv.Itoa(s.world.running["first"].command.Process.Pid)
	if out, err := exec.CommandContext(t.Context(), "prlimit", "--pid", pid,
		"--fsize="+most+":unlimited").CombinedOutput(); err != nil {
		t.Fatalf("prlimit: %v\n%s", err, out)
	}
}

// stricken is a server whose database fails, with clients that record the responses.
type stricken struct {
	*fleet
	base, metrics string
	before        int // goroutines of the server at rest
	stop          context.CancelFunc
	clients       sync.WaitGroup
	numbers       atomic.Int64

	mu        sync.Mutex
	created   map[string]string // acknowledged drafts: identifier to number
	sent      map[string]bool   // acknowledged submissions
	keyed     map[string]bool   // numbers that were created under a key
	responses map[int]int
	problems  []error
}

const troubledClients = 8

func newStricken(t *testing.T, database string) *stricken {
	t.Helper()
	return newPooledStricken(t, database, "")
}

// newPooledStricken is newStricken on a database behind a connection pool, whose own address is direct; "" without a
// pool.
func newPooledStricken(t *testing.T, database, direct string) *stricken {
	t.Helper()
	s := &stricken{fleet: newPooledFleet(t, product, database, direct, "--metrics-listen", "127.0.0.1:0"),
		created: map[string]string{}, sent: map[string]bool{}, keyed: map[string]bool{}, responses: map[int]int{}}
	first := s.world.running["first"]
	s.base = s.address(t, first)
	metrics, err := first.says(regexp.MustCompile(`metrics=(\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	s.metrics = "http://" + metrics + "/metrics"
	if s.before, err = s.goroutines(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	for range troubledClients {
		s.clients.Go(func() {
			for ctx.Err() == nil {
				s.story(ctx)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		s.clients.Wait()
	})
	return s
}

var goroutineCount = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

func (s *stricken) goroutines() (int, error) {
	got, err := s.caller.call(http.MethodGet, s.metrics, "", "")
	if err != nil {
		return 0, err
	}
	found := goroutineCount.FindSubmatch(got.body)
	if found == nil {
		return 0, fmt.Errorf("no number of goroutines in %.300s", got.body)
	}
	return strconv.Atoi(string(found[1]))
}

// story is what a client does with one invoice: create it, every second time with an idempotency key, and repeat the
// call until it is acknowledged; submit it; read it.
func (s *stricken) story(ctx context.Context) {
	n := s.numbers.Add(1)
	number, key := fmt.Sprintf("INV-%06d", n), ""
	if n%2 == 0 {
		key = "key-" + number
	}
	got, ok := s.call(ctx, http.MethodPost, "/api/v1/client/invoices", key, draftBody(number, "1234567890"),
		http.StatusCreated)
	for !ok && key != "" && ctx.Err() == nil {
		got, ok = s.call(ctx, http.MethodPost, "/api/v1/client/invoices", key, draftBody(number, "1234567890"),
			http.StatusCreated)
	}
	if !ok {
		return
	}
	id, err := pointed(got.body, "/data/id")
	if err != nil {
		s.wrong(err)
		return
	}
	s.mu.Lock()
	s.created[id] = number
	s.keyed[number] = key != ""
	s.mu.Unlock()
	path := "/api/v1/client/invoices/" + id
	// A submission whose intent is committed so late that its lease may have expired sends nothing and answers 502;
	// the invoice is a draft again.
	if got, ok = s.call(ctx, http.MethodPost, path+"/submit", "", "", http.StatusOK, http.StatusAccepted,
		http.StatusBadGateway); ok && got.status != http.StatusBadGateway {
		s.mu.Lock()
		s.sent[id] = true
		s.mu.Unlock()
	}
	if got, ok = s.call(ctx, http.MethodGet, path, "", "", http.StatusOK); ok {
		if read, err := pointed(got.body, "/data/invoice_number"); err != nil || read != number {
			s.wrong(fmt.Errorf("%s reads as %s, %w", number, read, err))
		}
	}
}

// call makes a call and reports whether it got one of the statuses. Any other response except a proper 503 is an error.
func (s *stricken) call(ctx context.Context, method, path, key, body string, want ...int) (response, bool) {
	got, err := s.caller.keyed(method, s.base+path, s.token, key, body)
	if err != nil {
		s.wrong(fmt.Errorf("%s %s: %w", method, path, err)) // the server is running
		return got, false
	}
	s.mu.Lock()
	s.responses[got.status]++
	s.mu.Unlock()
	if slices.Contains(want, got.status) {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
		return got, true
	}
	if err := unavailable(got); err != nil {
		s.wrong(fmt.Errorf("%s %s: %w", method, path, err))
	}
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond): // not the five seconds that it asks for
	}
	return got, false
}

// unavailable checks that a response is a proper 503.
func unavailable(got response) error {
	code, err := pointed(got.body, "/error/code")
	if err != nil || got.status != http.StatusServiceUnavailable || code != string(api.CodeUnavailable) ||
		got.header.Get("Retry-After") == "" {
		return fmt.Errorf("status %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	return nil
}

func (s *stricken) wrong(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}

// trouble causes a failure, and waits until the server is ready again without help and both the clients and the workers
// have made progress since.
func (s *stricken) trouble(t *testing.T, what string, cause func()) {
	t.Helper()
	cause()
	started := time.Now()
	s.mu.Lock()
	created, sent := len(s.created), len(s.sent)
	s.mu.Unlock()
	delivered := len(s.receiver.callbacks())
	if err := kit.Poll(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.created) < created+10 || len(s.sent) < sent+5 || len(s.receiver.callbacks()) < delivered+5 {
			return fmt.Errorf("only %d drafts, %d submissions and %d callbacks", len(s.created)-created, len(s.sent)-sent,
				len(s.receiver.callbacks())-delivered)
		}
		return nil
	}); err != nil {
		t.Errorf("after %q: %v", what, err)
	}
	if err := kit.Poll(func() error { return s.health("/readyz", http.StatusOK) }); err != nil {
		t.Errorf("after %q: %v", what, err)
	}
	t.Logf("%q: recovered after %v", what, time.Since(started).Round(10*time.Millisecond))
}

func (s *stricken) health(path string, want int) error {
	got, err := s.caller.call(http.MethodGet, s.base+path, "", "")
	if err == nil && got.status != want {
		err = fmt.Errorf("%s is %d, want %d: %s", path, got.status, want, got.body)
	}
	return err
}

// down checks that the server reports that it is not ready but alive.
func (s *stricken) down(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/api/v1/client/account", "/api/v1/client/invoices"} {
		got, err := s.caller.call(http.MethodGet, s.base+path, s.token, "")
		if err == nil {
			err = unavailable(got)
		}
		if err != nil {
			t.Errorf("without a database %s: %v", path, err)
		}
	}
	// The server may still return the result of a recent check.
	if err := kit.Poll(func() error { return s.health("/readyz", http.StatusServiceUnavailable) }); err != nil {
		t.Error(err)
	}
	if err := s.health("/healthz", http.StatusOK); err != nil {
		t.Error(err)
	}
}

// readOnly checks that the server refuses writes, reports this, and still reads.
func (s *stricken) readOnly(t *testing.T) {
	t.Helper()
	if err := kit.Poll(func() error { return s.health("/readyz", http.StatusServiceUnavailable) }); err != nil {
		t.Error(err)
	}
	for range 20 {
		got, err := s.caller.call(http.MethodPost, s.base+"/api/v1/client/invoices", s.token,
			draftBody("INV-FULL", "1234567890"))
		if err == nil {
			err = unavailable(got)
		}
		if err != nil {
			t.Errorf("creating a draft on a full disk: %v", err)
		}
	}
	if got, err := s.caller.call(http.MethodGet, s.base+"/api/v1/client/invoices", s.token, ""); err != nil ||
		got.status != http.StatusOK {
		t.Errorf("reading on a full disk: %v, status %d: %s", err, got.status, got.body)
	}
	if err := errors.Join(s.health("/readyz", http.StatusServiceUnavailable),
		s.health("/healthz", http.StatusOK)); err != nil {
		t.Error(err)
	}
}

// reckon compares what was acknowledged with what exists.
func (s *stricken) reckon(t *testing.T) {
	t.Helper()
	s.stop()
	s.clients.Wait()
	for _, problem := range s.problems[:min(len(s.problems), 10)] {
		t.Errorf("a client got a wrong response: %v", problem)
	}
	events, repeats := s.settled(t, s.base)
	found, numbers := map[string]api.Invoice{}, map[string]int{}
	for page, more := 1, true; more; page++ {
		var list api.List[api.Invoice]
		s.must(t, http.MethodGet, fmt.Sprintf("%s/api/v1/client/invoices?per_page=100&page=%d", s.base, page), "", &list)
		for _, invoice := range list.Data {
			found[invoice.ID] = invoice
			numbers[*invoice.InvoiceNumber]++
		}
		more = list.Pagination.HasMore
	}
	for id, number := range s.created {
		if invoice, ok := found[id]; !ok || *invoice.InvoiceNumber != number {
			t.Errorf("the draft %s was acknowledged but is lost", number)
		}
		if s.keyed[number] && numbers[number] != 1 {
			t.Errorf("%s was created with an idempotency key but exists %d times", number, numbers[number])
		}
	}
	for id := range s.sent {
		if !found[id].Submitted {
			t.Errorf("the submission of %s was acknowledged but is lost", id)
		}
	}
	known := 0
	for _, invoice := range found {
		if invoice.Submission != nil && invoice.Submission.Outcome == api.OutcomeAcknowledged {
			known++
		}
	}
	s.checkDocuments(t, known, 1)
	if s.responses[http.StatusServiceUnavailable] == 0 || numbers["INV-FULL"] > 0 {
		t.Errorf("responses %v, %d drafts on a full disk", s.responses, numbers["INV-FULL"])
	}
	if err := kit.Poll(func() error {
		now, err := s.goroutines()
		if err == nil && now > s.before+20 {
			err = fmt.Errorf("%d goroutines, %d at the beginning", now, s.before)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	t.Logf(
		"answers %v; %d drafts and %d submissions acknowledged, %d invoices there, %d acknowledged by the provider; %d events, %d repeated callbacks",
		s.responses, len(s.created), len(s.sent), len(found), known, events, repeats)
}
