package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"quittance/internal/exchange/queue"
	"quittance/internal/exchange/webhook"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// forever is a time-out of an attempt that is longer than any test.
const forever = time.Hour

// destination has a destination for each path. The test can make each of them hang.
type destination struct {
	target
	mu       sync.Mutex
	hanging  map[string]bool
	over     chan struct{}
	received map[string]int // requests with a response, by path
	inside   map[string]int
	highest  int // greatest number of concurrent requests of one path
	all      int // greatest number of concurrent requests of all paths
}

func newDestination(t *testing.T) *destination {
	t.Helper()
	r := &destination{hanging: map[string]bool{}, over: make(chan struct{}), received: map[string]int{},
		inside: map[string]int{}}
	_, r.target = newServer(t, r.serve)
	return r
}

func (r *destination) serve(w http.ResponseWriter, request *http.Request) {
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return
	}
	path := request.URL.Path
	r.mu.Lock()
	r.inside[path]++
	r.highest = max(r.highest, r.inside[path])
	inside := 0
	for _, n := range r.inside {
		inside += n
	}
	r.all = max(r.all, inside)
	hanging := r.hanging[path]
	r.mu.Unlock()
	if hanging {
		<-r.over
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside[path]--
	r.received[path]++
}

func (r *destination) set(path string, hanging bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hanging[path] = hanging
}

// eventually waits until holds returns true.
func (r *destination) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	kit.Eventually(t, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if holds() {
			return nil
		}
		return fmt.Errorf("%s: did not happen; received %v, inside %v", what, r.received, r.inside)
	})
}

// options are those of the service.
func options(s *ledgertest.Store) queue.Options {
	return queue.Options{Workers: 1536, SlowWorkers: 512, MaxPerCompany: 128, MaxPerQueue: 64, MaxPerSlowQueue: 8,
		SlowAfter: time.Second, PollInterval: time.Second, Now: s.Now, Log: s.Options.Log}
}

// TestHangingDestinationsDelayNobodyElse checks that the destinations of forty companies, which accept requests and
// never respond, do not delay the events of another company, whose destination is new. Then that destination hangs too,
// in the middle of a burst, and a third company still gets its events.
func TestHangingDestinationsDelayNobodyElse(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, r := ledgertest.Open(t, engine), newDestination(t)
			const companies, each = 40, 3
			for n := range companies {
				c := newCompany(t, s, fmt.Sprintf("hanging%d@example.com", n))
				for k := range each {
					path := fmt.Sprintf("/hanging/%d/%d", n, k)
					r.set(path, true)
					c.subscribe(t, r.url(path))
				}
				c.addEvents(t, 5)
			}
			deliver(t, s, newSender(t, webhook.Config{Policy: r.policy, Timeout: forever}), forever, options(s),
				func(webhook.Verdict) {})
			t.Cleanup(func() { close(r.over) })
			r.eventually(t, "an attempt at each destination that hangs", func() bool { return len(r.inside) == companies*each })
			first, second := newCompany(t, s, "first@example.com"), newCompany(t, s, "second@example.com")
			first.subscribe(t, r.url("/first"))
			second.subscribe(t, r.url("/second"))
			first.addEvents(t, 100)
			r.eventually(t, "the first company's events", func() bool { return r.received["/first"] == 100 })
			r.set("/first", true)
			first.addEvents(t, 100)
			r.eventually(t, "a burst that hangs", func() bool { return r.inside["/first"] > 8 })
			s.Clock.Advance(time.Second)
			second.addEvents(t, 100)
			r.eventually(t, "the second company's events", func() bool { return r.received["/second"] == 100 })
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.highest > 64 || r.all > companies*each+2*64 {
				t.Errorf("%d concurrent attempts for one destination and %d in all", r.highest, r.all)
			}
			for path, n := range r.inside {
				if path != "/first" && path != "/second" && n != 1 {
					t.Errorf("%d attempts for %s, which has never responded, want one", n, path)
				}
			}
		})
	}
}

// TestConnectionsAreReused checks that concurrent attempts to one destination have a connection each, and that the next
// attempts reuse these connections, even if the responses are longer than the part that is retained.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	const atOnce, waves = 64, 3
	var mu sync.Mutex
	peers, inside, full := map[string]bool{}, 0, make(chan struct{})
	long := make([]byte, 20<<10)
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		peers[r.RemoteAddr] = true
		wave := full
		if inside++; inside == atOnce {
			inside, full = 0, make(chan struct{})
			close(wave)
		}
		mu.Unlock()
		<-wave // all requests have arrived
		_, _ = w.Write(long)
	})
	sender := newSender(t, webhook.Config{Policy: d.policy})
	for range waves {
		var running sync.WaitGroup
		for range atOnce {
			running.Go(func() {
				if got := sender.Send(t.Context(), requestTo(d.url("/"))); got.Verdict != webhook.Delivered ||
					len(got.ResponseBody) != webhook.MaxResponseBody {
					t.Errorf("verdict %s with %d bytes", got.Verdict, len(got.ResponseBody))
				}
			})
		}
		running.Wait()
	}
	mu.Lock()
	defer mu.Unlock()
	// On a busy machine net/http gives up a few connections: those whose request is not reported as written within 50 ms
	// of the response.
	if len(peers) < atOnce || len(peers) > 2*atOnce {
		t.Errorf("%d connections for %d times %d concurrent attempts, want %d", len(peers), waves, atOnce, atOnce)
	}
}

// TestSessionsAreResumed checks that a new connection to a known host resumes its TLS session.
func TestSessionsAreResumed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var resumed []bool
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		resumed = append(resumed, r.TLS.DidResume)
		mu.Unlock()
		w.Header().Set("Connection", "close")
	})
	sender := newSender(t, webhook.Config{Policy: d.policy})
	for range 2 {
		check(t, sender.Send(t.Context(), requestTo(d.url("/"))), webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200})
	}
	mu.Lock()
	defer mu.Unlock()
	if len(resumed) != 2 || resumed[0] || !resumed[1] {
		t.Errorf("resumed: %v, want the second of two", resumed)
	}
}
