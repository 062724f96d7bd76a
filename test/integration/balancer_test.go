package integration_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// checkEvery is the interval of the balancer's readiness checks, and checkFor limits one. drainFor is the
// --shutdown-delay that goes with them, long enough for a busy machine.
const (
	checkEvery = 100 * time.Millisecond
	checkFor   = 30 * time.Second
	drainFor   = 10 * time.Second
)

// balancer distributes calls over the ready servers like common load balancers: it polls /readyz, keeps its connections
// open, and passes errors on. If no server is ready, because the machine has no time for the database, it takes those
// that were ready before: balancers fail open.
type balancer struct {
	url   string
	watch func(base string) // begins the checks of a server

	mu    sync.Mutex
	known map[string]health // by address
	turn  int
}

// health says whether a server was ready at the last check, and at any check.
type health struct{ now, ever bool }

// newBalancer runs a balancer until the test ends.
func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{known: map[string]health{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.choose()) },
		ErrorLog: slog.NewLogLogger(slog.NewTextHandler(t.Output(), nil), slog.LevelWarn)}
	server := httptest.NewServer(proxy)
	b.url = server.URL
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: checkFor}
	ctx, stop := context.WithCancel(context.Background())
	var checking sync.WaitGroup
	b.watch = func(base string) { checking.Go(func() { b.check(ctx, client, base) }) }
	t.Cleanup(func() {
		stop()
		checking.Wait()
		server.Close()
		transport.CloseIdleConnections()
	})
	return b
}

// add adds a server; it gets calls once it is ready.
func (b *balancer) add(base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[base] = health{}
	b.watch(base)
}

// remove removes a server.
func (b *balancer) remove(base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, base)
}

// ready returns the servers that were ready at the last check, in order.
func (b *balancer) ready() []string {
	return b.those(func(h health) bool { return h.now })
}

// those returns the servers whose health meets a condition, in order.
func (b *balancer) those(meets func(h health) bool) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b.known)), func(base string) bool { return !meets(b.known[base]) })
}

// choose selects the servers in turn. If there is none, it selects an address that refuses connections.
func (b *balancer) choose() *url.URL {
	usable := b.ready()
	if len(usable) == 0 {
		usable = b.those(func(h health) bool { return h.ever })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turn++; len(usable) > 0 {
		if to, err := url.Parse(usable[b.turn%len(usable)]); err == nil {
			return to
		}
	}
	return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
}

// check polls a server until it is removed or the balancer ends. No server waits for the check of another one, and one
// that responds late stays what it was.
func (b *balancer) check(ctx context.Context, client *http.Client, base string) {
	for {
		ready, err := isReady(ctx, client, base)
		b.mu.Lock()
		before, known := b.known[base]
		if !known || ctx.Err() != nil {
			b.mu.Unlock()
			return
		}
		if !os.IsTimeout(err) {
			b.known[base] = health{ready, ready || before.ever}
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(checkEvery):
		}
	}
}

func isReady(ctx context.Context, client *http.Client, base string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return false, err
	}
	return response.StatusCode == http.StatusOK, nil
}
