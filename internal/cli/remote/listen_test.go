package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
)

// company is a server whose only operation is the events feed.
type company struct {
	mu     sync.Mutex
	events []event
	// removed is how many events were removed by age, and calls how many pages were read.
	removed, calls int
	// old is a server of a version before the cursor of the end.
	old bool
}

func (c *company) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		at := len(c.events)
		c.events = append(c.events, event{SchemaVersion: api.SchemaVersion, ID: fmt.Sprintf("event-%d", at),
			Event: api.EventKinds[at%len(api.EventKinds)], ResourceID: "R",
			OccurredAt: time.Now().UTC().Format(time.RFC3339Nano), Payload: json.RawMessage(`{"invoice_number":"A&B <1>"}`)})
	}
}

// ServeHTTP returns pages of at most three events.
func (c *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	after := 0
	switch text := r.URL.Query().Get("after"); {
	case text == "":
	case text == api.CursorLatest && !c.old:
		after = len(c.events)
	default:
		var err error
		if after, err = strconv.Atoi(text); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: api.Error{Code: api.CodeMalformedRequest}})
			return
		}
	}
	after = max(after, c.removed)
	end := max(after, min(after+3, len(c.events)))
	page := api.Feed[event]{Data: []event{}, Pagination: api.Cursor{NextCursor: strconv.Itoa(end),
		HasMore: end < len(c.events)}}
	if after < end {
		page.Data = c.events[after:end]
	}
	_ = json.NewEncoder(w).Encode(page)
}

// program is a customer's program on this machine. It verifies what it receives.
type program struct {
	mu       sync.Mutex
	key      string
	received []string
	// answer is called with the number of the request, from 1, before the response.
	answer func(n int)
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	event, err := receiver.Verifier{Secrets: []string{p.key}}.Verify(r.Header, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	p.received = append(p.received, event.ID)
	p.answer(len(p.received))
}

var errIdle = errors.New("there is nothing more to forward")

// listenOnce runs a listener until the feed has no more events, or its context ends, and returns what it prints.
func listenOnce(ctx context.Context, file, server, to, from string) (string, error) {
	var out bytes.Buffer
	service, err := client.New(client.Config{BaseURL: server, APIKey: "key"})
	if err != nil {
		return "", err
	}
	env := Environment{Context: ctx, Out: &out, Err: &out, Now: time.Now}
	l := &listener{feed: feed{env: env, service: service,
		wait: func(context.Context, time.Duration) error { return errIdle }}, to: to, key: []byte("whsec_run"),
		file: file, calls: localClient()}
	said, err := l.begin(ctx, from)
	if err != nil {
		return out.String(), err
	}
	env.say("%s", said)
	err = l.run(ctx)
	return out.String(), err
}

// TestNothingIsLostOrRepeatedSilently interrupts listeners while the program works on an event, when nobody can know
// whether it has arrived, as a kill would. The runs together forward every event; only an event that was being
// forwarded is repeated, and announced.
func TestNothingIsLostOrRepeatedSilently(t *testing.T) {
	dir := t.TempDir()
	for n := range 36 { // two runs, each killed at any of its first requests or not at all, and a last one
		kills := []int{n / 6, n % 6, 0}
		file := filepath.Join(dir, strconv.Itoa(n)+".json")
		feed := &company{}
		server := httptest.NewServer(feed)
		to := &program{key: "whsec_run"}
		var printed strings.Builder
		interrupted := 0
		for run, killAt := range kills {
			local := httptest.NewServer(to)
			ctx, kill := context.WithCancel(t.Context())
			base := len(to.received)
			to.answer = func(n int) {
				if n == base+killAt {
					kill()
					interrupted++
				}
			}
			from := ""
			if printed.Len() == 0 {
				from = "start"
			}
			feed.add([]int{4, 3, 1}[run])
			out, err := listenOnce(ctx, file, server.URL, local.URL, from)
			kill()
			local.Close() // waits for a request that was under way
			if !errors.Is(err, errIdle) && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			printed.WriteString(out + "\n")
		}
		server.Close()
		if len(to.received) > len(feed.events)+interrupted {
			t.Errorf("killed at %v: %d requests for %d events, %d interrupted:\n%s", kills, len(to.received), len(feed.events),
				interrupted, printed.String())
		}
		for _, e := range feed.events {
			if !slices.Contains(to.received, e.ID) || !strings.Contains(printed.String(), e.ID) {
				t.Errorf("%s was not forwarded:\n%s", e.ID, printed.String())
			}
			requests, announced := 0, regexp.MustCompile(`(?m) `+e.ID+` .*\(repeated`).MatchString(printed.String())
			for _, id := range to.received {
				if id == e.ID {
					requests++
				}
			}
			if requests > 1 && !announced {
				t.Errorf("%s was forwarded %d times, announced: %v\n%s", e.ID, requests, announced, printed.String())
			}
		}
		if in := slices.Compact(slices.Clone(to.received)); !slices.IsSortedFunc(in, func(a, b string) int {
			return number(a) - number(b)
		}) {
			t.Errorf("out of order: %v", to.received)
		}
	}
}

func number(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "event-"))
	return n
}

// TestFeedThatWasReset checks that a listener does not continue at the cursor of another feed, where it would miss
// events.
func TestFeedThatWasReset(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position.json")
	feed := &company{}
	feed.add(5)
	server := httptest.NewServer(feed)
	defer server.Close()
	to := &program{key: "whsec_run", answer: func(int) {}}
	local := httptest.NewServer(to)
	defer local.Close()
	if out, err := listenOnce(t.Context(), file, server.URL, local.URL, ""); !errors.Is(err, errIdle) ||
		!strings.Contains(out, "Beginning with the next event") {
		t.Fatalf("%v\n%s", err, out)
	}
	feed.events = nil
	out, err := listenOnce(t.Context(), file, server.URL, local.URL, "")
	if !errors.Is(err, errIdle) || !strings.Contains(out, "does not have the last forwarded event") {
		t.Fatalf("%v\n%s", err, out)
	}
	feed.add(2)
	if out, err := listenOnce(t.Context(), file, server.URL, local.URL, ""); !errors.Is(err, errIdle) ||
		len(to.received) != 2 {
		t.Errorf("%v, %v\n%s", err, to.received, out)
	}
}

// TestNewerRunTakesOver checks that an older run ends when a newer one begins, because both would forward the same
// events.
func TestNewerRunTakesOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position.json")
	feed := &company{}
	feed.add(3)
	server := httptest.NewServer(feed)
	defer server.Close()
	to := &program{key: "whsec_run"}
	local := httptest.NewServer(to)
	defer local.Close()
	to.answer = func(n int) {
		if n == 1 {
			if err := writePrivate(file, position{Run: "newer"}); err != nil {
				t.Error(err)
			}
		}
	}
	if out, err := listenOnce(t.Context(), file, server.URL, local.URL, "start"); !errors.Is(err, errTakenOver) ||
		len(to.received) != 1 {
		t.Errorf("%v, %v\n%s", err, to.received, out)
	}
}

func TestForwardsOnlyToThisMachine(t *testing.T) {
	for address, rule := range map[string]string{"https://localhost:3000/": "scheme",
		"http://192.0.2.1/":     "192.0.2.1 is not a loopback address",
		"http://[2001:db8::1]/": "2001:db8::1 is not a loopback address", "http://0.0.0.0/": "not a loopback address",
		"localhost:3000": "scheme", "ftp://localhost/": "scheme",
		"http://user:canary@localhost/": "a user or a password", "http://169.254.169.254/latest": "not a loopback address",
		"": "scheme", "http://": "host",
		"http://localhost/#f": "fragment", "http://localhost/#": "fragment",
		"http://localhost:99999/": "the port must be from 1 to 65535, and is 99999",
		"http://localhost:0/":     "port", "http://u:canary@localhost:x/": "not an address"} {
		err := checkLocal(t.Context(), address)
		if !errors.Is(err, errNotLocal) || !strings.Contains(err.Error(), "--forward-to: ") ||
			!strings.Contains(err.Error(), rule) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v, want an error about %s", address, err, rule)
		}
	}
	for _, address := range []string{"http://localhost:3000/hooks", "http://127.0.0.1/", "http://[::1]:80/",
		"http://127.9.9.9/"} {
		if err := checkLocal(t.Context(), address); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	// A name that resolves elsewhere later is refused when the socket connects.
	response, err := localClient().Get("http://192.0.2.1/")
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, errNotLocal) {
		t.Errorf("connected to another machine: %v", err)
	}
}
