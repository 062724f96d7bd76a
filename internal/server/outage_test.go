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

	"quittance/internal/service"
	"quittance/internal/store"
	"quittance/sdk/go/api"
)

// moody is a provider that takes every document and goes on processing it for ever, and that hangs when it is told to.
type moody struct {
	url string

	mu              sync.Mutex
	hanging         chan struct{} // closed when it answers again; nil while it answers
	inside, highest int
	calls           int
	asked           map[string]int // look-ups answered, by reference
}

func newMoody(t *testing.T) *moody {
	t.Helper()
	m := &moody{asked: map[string]int{}}
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(func() {
		m.recover()
		server.Close()
	})
	return m
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reference, isDocument := strings.CutPrefix(r.URL.Path, "/v1/documents")
	if !isDocument {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	// A server notices that its client has gone only after it has read the body.
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
		return
	}
	if r.Method == http.MethodPost {
		reference = r.Header.Get("Idempotency-Key")
	}
	reference = strings.TrimPrefix(reference, "/")
	if r.Method == http.MethodGet {
		m.mu.Lock()
		m.asked[reference]++
		m.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"reference":%q,"provider_reference":"P","status":"processing","sequence":1,"reported_at":"2026-03-01T09:00:00Z","states":{}}`, reference)
}

func (m *moody) enter() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside++
	m.calls++
	m.highest = max(m.highest, m.inside)
	return m.hanging
}

func (m *moody) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside--
}

// hang has every call from now on wait until it gives up; counts begin anew.
func (m *moody) hang() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hanging, m.calls, m.highest = make(chan struct{}), 0, 0
}

func (m *moody) recover() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hanging != nil {
		close(m.hanging)
	}
	m.hanging, m.asked = nil, map[string]int{}
}

// counts returns how many calls there were, and how many of them at once at most.
func (m *moody) counts() (calls, highest int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.highest
}

// rounds returns how many references were asked about, and how often at most.
func (m *moody) rounds() (references, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, times := range m.asked {
		most = max(most, times)
	}
	return len(m.asked), most
}

// submitted creates drafts past the API, and submits them at the same time over it. It returns their answers by status.
func (c *company) submitted(t *testing.T, count int) map[int][]answer {
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
		created, err := tenant.CreateInvoice(t.Context(), &draft)
		if err != nil {
			t.Fatal(err)
		}
		ids[n] = created.ID.String()
	}
	token := c.token(t)
	var mu sync.Mutex
	answers := map[int][]answer{}
	var group sync.WaitGroup
	for _, id := range ids {
		group.Go(func() {
			a, err := c.try(t.Context(), request{method: http.MethodPost, path: invoices + "/" + id + "/submit", token: token})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[a.status] = append(answers[a.status], a)
		})
	}
	group.Wait()
	return answers
}

// own returns the one connection of a company.
func (c *company) own(t *testing.T) store.Connection {
	t.Helper()
	all, err := c.db.Connections(t.Context(), &c.id)
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
	const open, burst = 500, 320
	slow := func(c *service.Config) {
		c.PollFirst, c.PollMax, c.ProviderTimeout = 4*time.Second, 4*time.Second, 2*time.Second
	}
	onEngines(t, slow, func(t *testing.T, s *system) {
		provider := newMoody(t)
		hit, other := s.company(t), s.connected(t)
		hit.connect(t, provider.url, service.Sandbox)
		for range open / 50 {
			if answers := hit.submitted(t, 50); len(answers[http.StatusOK]) != 50 {
				t.Fatalf("%d of 50 were taken", len(answers[http.StatusOK]))
			}
		}
		provider.hang()
		patiently(t, "trouble", func() bool { return hit.own(t).RetryAt != nil })
		if since := hit.get(t, "/api/v1/client/account").text1(t, "/data/connection/failing_since"); since == "" {
			t.Error("the company is not told that its connection fails")
		}
		calls, highest := provider.counts()
		// Our side makes 64 look-ups at once; the provider may not have noticed yet that some have ended.
		if highest > 2*64 {
			t.Errorf("%d look-ups at once", highest)
		}
		var group sync.WaitGroup
		group.Go(func() { hit.checkBurst(t, hit.submitted(t, burst)) })
		other.trades(t, 20)
		group.Wait()
		// Look-ups alone; the burst of submissions has a bound of its own, of an eighth of all there may be.
		if calls > 64+64+2 {
			t.Errorf("%d look-ups before the trouble was noticed", calls)
		}
		if _, highest := provider.counts(); highest > 2*128 {
			t.Errorf("%d calls at once", highest)
		}
		if hit.own(t).RetryAt == nil {
			t.Error("the trouble is over before its time")
		}
		provider.recover()
		patiently(t, "one round", func() bool { references, _ := provider.rounds(); return references >= open })
		if _, most := provider.rounds(); most > 2 {
			t.Errorf("one submission was asked about %d times before every one was", most)
		}
		patiently(t, "the end of the trouble", func() bool { return hit.own(t).Failures == 0 })
		if since := hit.get(t, "/api/v1/client/account").raw(t, "/data/connection/failing_since"); since != "null" {
			t.Errorf("the company is told that its connection fails since %s", since)
		}
	})
}

// checkBurst looks at the answers to more submissions than a hanging provider may hold.
func (c *company) checkBurst(t *testing.T, answers map[int][]answer) {
	for status, some := range answers {
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
	refused := len(answers[http.StatusServiceUnavailable])
	drafts := c.get(t, invoices+"?submitted=false").raw(t, "/pagination/total")
	if want := refused + len(answers[http.StatusBadGateway]); refused == 0 || drafts != strconv.Itoa(want) {
		t.Errorf("%d submissions were refused; %s drafts, want %d", refused, drafts, want)
	}
}

// trades submits invoices one after the other, and waits until every state of each is final and its end was delivered.
func (c *company) trades(t *testing.T, count int) {
	t.Helper()
	c.post(t, subscriptions, fmt.Sprintf(`{"url": %q, "events": ["einvoice.terminal"]}`, c.sandbox.Info.ReceiverURL)).want(t, http.StatusCreated, "")
	for range count {
		id := c.draft(t, c.numbered(""))
		c.post(t, invoices+"/"+id+"/submit", "").want(t, http.StatusOK, "")
	}
	patiently(t, "delivery of every end", func() bool {
		return strings.Count(c.get(t, "/api/v1/webhooks/deliveries?state=delivered&per_page=100").text, `"event":"einvoice.terminal"`) == count
	})
}

// patiently is eventually for what hundreds of calls have to be made for.
func patiently(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
