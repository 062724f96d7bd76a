package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// hangingProvider is a provider that accepts every document and reports it as processing without end. It can be made to
// hang.
type hangingProvider struct {
	url string

	mu              sync.Mutex
	hanging         chan struct{} // closed when it responds again; nil while it responds
	inside, highest int
	calls           int
	polled          map[string]int // status queries with a response, by reference
}

func newHangingProvider(t *testing.T) *hangingProvider {
	t.Helper()
	m := &hangingProvider{polled: map[string]int{}}
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(func() {
		m.recover()
		server.Close()
	})
	return m
}

func (m *hangingProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reference, isDocument := strings.CutPrefix(r.URL.Path, "/v1/documents")
	if !isDocument {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	// A server notices that its client has disconnected only after it has read the body.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	hanging := m.enter()
	defer m.leave()
	if hanging != nil {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler) // without it net/http answers 200, which may still arrive
	}
	if r.Method == http.MethodPost {
		reference = r.Header.Get("Idempotency-Key")
	}
	reference = strings.TrimPrefix(reference, "/")
	if r.Method == http.MethodGet {
		m.mu.Lock()
		m.polled[reference]++
		m.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w,
		`{"reference":%q,"provider_reference":"P","status":"processing","sequence":1,"reported_at":"2026-03-01T09:00:00Z","states":{}}`, reference)
}

func (m *hangingProvider) enter() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside++
	m.calls++
	m.highest = max(m.highest, m.inside)
	return m.hanging
}

func (m *hangingProvider) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside--
}

// hang makes every call wait until its client gives up, and resets the counts.
func (m *hangingProvider) hang() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hanging, m.calls, m.highest = make(chan struct{}), 0, 0
}

func (m *hangingProvider) recover() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hanging != nil {
		close(m.hanging)
	}
	m.hanging, m.polled = nil, map[string]int{}
}

// counts returns the number of calls, and the highest number of concurrent ones.
func (m *hangingProvider) counts() (calls, highest int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.highest
}

// rounds returns the number of references that were polled, and the highest number of polls of one of them.
func (m *hangingProvider) rounds() (references, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, times := range m.polled {
		most = max(most, times)
	}
	return len(m.polled), most
}

// submitted creates drafts in the store and submits them concurrently over the API. It returns the responses by status.
func (c *company) submitted(t *testing.T, count int) map[int][]response {
	t.Helper()
	tenant, err := c.db.Tenant(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, count)
	for n := range ids {
		var draft api.Draft
		if err := json.Unmarshal([]byte(c.numbered("")), &draft); err != nil {
			t.Fatal(err)
		}
		created, err := invoices.Create(t.Context(), tenant, &draft)
		if err != nil {
			t.Fatal(err)
		}
		ids[n] = created.ID.String()
	}
	token := c.token(t)
	var mu sync.Mutex
	responses := map[int][]response{}
	var group sync.WaitGroup
	for _, id := range ids {
		group.Go(func() {
			a, err := c.try(t.Context(), request{method: http.MethodPost, path: invoicesPath + "/" + id + "/submit",
				token: token})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			responses[a.status] = append(responses[a.status], a)
		})
	}
	group.Wait()
	return responses
}

// connection returns the only connection of a company.
func (c *company) connection(t *testing.T) invoices.Connection {
	t.Helper()
	all, err := invoices.Connections(t.Context(), c.db, &c.id)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d connections: %v", len(all), err)
	}
	return all[0]
}

// TestOutageOfOneProvider checks an outage in which the provider of one company hangs on every call while hundreds of
// its submissions are open. The provider gets a bounded number of calls, further submissions of that company are
// refused before anything is recorded, and another company submits, sees its states and gets its webhooks as usual.
// When the provider responds again, every submission is polled before any is polled a third time.
func TestOutageOfOneProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const open, burst = 500, 320
	slow := func(c *service.Config) {
		c.PollFirst, c.PollMax, c.ProviderTimeout = 4*time.Second, 4*time.Second, 10*time.Second
	}
	onEngines(t, slow, func(t *testing.T, s *system) {
		provider := newHangingProvider(t)
		hit, other := s.company(t), s.connected(t)
		hit.connect(t, provider.url, service.Sandbox)
		for range open / 10 {
			// A submission that the provider takes late is unknown, and open all the same.
			if responses := hit.submitted(t, 10); len(responses[http.StatusOK])+len(responses[http.StatusAccepted]) != 10 {
				t.Fatalf("%d of 10 were accepted", len(responses[http.StatusOK])+len(responses[http.StatusAccepted]))
			}
		}
		provider.hang()
		kit.Until(t, "a failing connection", func() bool { return hit.connection(t).RetryAt != nil })
		if since := hit.get(t, "/api/v1/client/account").textAt(t, "/data/connection/failing_since"); since == "" {
			t.Error("the account does not show that its connection fails")
		}
		calls, highest := provider.counts()
		// The service makes 64 concurrent status queries. The provider may not have noticed yet that some have ended.
		if highest > 2*64 {
			t.Errorf("%d concurrent status queries", highest)
		}
		var group sync.WaitGroup
		group.Go(func() { hit.checkBurst(t, hit.submitted(t, burst)) })
		other.submitAndAwaitDeliveries(t, 20)
		group.Wait()
		// These are status queries only. The burst of submissions has its own bound, an eighth of all calls.
		if calls > 64+64+2 {
			t.Errorf("%d status queries before the failure was noticed", calls)
		}
		if _, highest := provider.counts(); highest > 2*128 {
			t.Errorf("%d concurrent calls", highest)
		}
		if hit.connection(t).RetryAt == nil {
			t.Error("the connection recovered before its provider did")
		}
		provider.recover()
		kit.Until(t, "a poll of every submission", func() bool {
			references, _ := provider.rounds()
			return references >= open
		})
		if _, most := provider.rounds(); most > 2 {
			t.Errorf("one submission was polled %d times before every one was polled", most)
		}
		kit.Until(t, "the recovery of the connection", func() bool { return hit.connection(t).Failures == 0 })
		if since := hit.get(t, "/api/v1/client/account").raw(t, "/data/connection/failing_since"); since != "null" {
			t.Errorf("the account shows that its connection has failed since %s", since)
		}
	})
}

// checkBurst checks the responses to more submissions than may wait for a hanging provider.
func (c *company) checkBurst(t *testing.T, responses map[int][]response) {
	for status, some := range responses {
		switch status {
		case http.StatusAccepted, http.StatusBadGateway:
		case http.StatusServiceUnavailable:
			for _, a := range some {
				if a.header.Get("Retry-After") == "" {
					t.Error("503 without Retry-After")
				}
			}
		default:
			t.Errorf("%d answers %d: %.200s", len(some), status, some[0].text)
		}
	}
	refused := len(responses[http.StatusServiceUnavailable])
	drafts := c.get(t, invoicesPath+"?submitted=false").raw(t, "/pagination/total")
	if want := refused + len(responses[http.StatusBadGateway]); refused == 0 || drafts != strconv.Itoa(want) {
		t.Errorf("%d submissions were refused; %s drafts, want %d", refused, drafts, want)
	}
}

// submitAndAwaitDeliveries submits invoices one after the other, and waits for the delivery of the terminal event of
// each.
func (c *company) submitAndAwaitDeliveries(t *testing.T, count int) {
	t.Helper()
	c.post(t, subscriptions, fmt.Sprintf(`{"url": %q, "events": ["einvoice.terminal"]}`,
		c.sandbox.Info.ReceiverURL)).want(t, http.StatusCreated, "")
	for range count {
		id := c.draft(t, c.numbered(""))
		c.post(t, invoicesPath+"/"+id+"/submit", "").want(t, http.StatusOK, "")
	}
	kit.Until(t, "the delivery of every terminal event", func() bool {
		return strings.Count(c.get(t, "/api/v1/webhooks/deliveries?state=delivered&per_page=100").text,
			`"event":"einvoice.terminal"`) == count
	})
}
