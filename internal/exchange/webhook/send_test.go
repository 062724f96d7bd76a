package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/receiver"
	"quittance/internal/exchange/webhook"
)

// TestSendDeliversTheStoredBytes checks that a request consists of the stored bytes and the four headers of
// docs/webhooks.md, and reveals nothing else.
func TestSendDeliversTheStoredBytes(t *testing.T) {
	t.Parallel()
	type seen struct {
		method, target, host, proto string
		header                      http.Header
		body                        []byte
		length                      int64
	}
	requests := make(chan seen, 1)
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		requests <- seen{r.Method, r.RequestURI, r.Host, r.Proto, r.Header, body, r.ContentLength}
		fmt.Fprint(w, "thanks")
	})
	sender := webhook.NewSender(webhook.Config{Policy: d.policy}) // everything else has a default
	t.Cleanup(sender.Close)
	request := requestTo(d.url("/in%2Fbox/@me"))

	check(t, sender.Send(t.Context(), request), webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200,
		ResponseBody: []byte("thanks")})

	got := <-requests
	if got.method != "POST" || got.target != "/in%2Fbox/@me" || got.host != d.addr.String() || got.proto != "HTTP/1.1" {
		t.Errorf("request line: %s %s %s, host %s", got.method, got.target, got.proto, got.host)
	}
	if string(got.body) != string(request.Body) || got.length != int64(len(request.Body)) {
		t.Errorf("body %q of length %d, want %q", got.body, got.length, request.Body)
	}
	want := map[string]string{
		"Content-Type":        "application/json",
		"User-Agent":          "Quittance-Webhook/1",
		"X-Webhook-Event":     "einvoice.terminal",
		"X-Webhook-Delivery":  "0195500e-7c00-7000-8000-000000000001",
		"X-Webhook-Timestamp": "2026-03-01T09:30:00.123456Z",
		"X-Webhook-Signature": request.Signature,
		"Content-Length":      strconv.Itoa(len(request.Body)),
	}
	for name, value := range want {
		if values := got.header.Values(name); len(values) != 1 || values[0] != value {
			t.Errorf("header %s is %q, want %q", name, values, value)
		}
	}
	if len(got.header) != len(want) {
		t.Errorf("headers %v, want only %v", got.header, want)
	}
}

// TestSendIsVerifiedByTheReceiverLibrary checks that the receiver library accepts the requests of Send.
func TestSendIsVerifiedByTheReceiverLibrary(t *testing.T) {
	t.Parallel()
	verifier := receiver.Verifier{
		Secrets: []string{"whsec_test"},
		Now:     func() time.Time { return time.Date(2026, 3, 1, 9, 31, 0, 0, time.UTC) },
	}
	var accepted atomic.Int32
	handler := receiver.Handler(verifier, func(context.Context, receiver.Event) error {
		accepted.Add(1)
		return nil
	})
	_, d := newServer(t, handler.ServeHTTP)
	sender := newSender(t, webhook.Config{Policy: d.policy})

	check(t, sender.Send(t.Context(), requestTo(d.url("/"))), webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 204})
	forged := requestTo(d.url("/"))
	forged.Body = append(forged.Body, ' ')
	check(t, sender.Send(t.Context(), forged), webhook.Result{Verdict: webhook.Failed, HTTPStatus: 401})
	if accepted.Load() != 1 {
		t.Errorf("%d events accepted, want 1", accepted.Load())
	}
}

// TestSendClassifiesEveryStatus checks the table of docs/webhooks.md, for every HTTP status.
func TestSendClassifiesEveryStatus(t *testing.T) {
	t.Parallel()
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			t.Errorf("path %s: %v", r.URL.Path, err)
		}
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	})
	sender := newSender(t, webhook.Config{Policy: d.policy})
	retried := map[int]bool{408: true, 409: true, 425: true, 429: true}
	for status := 200; status <= 999; status++ {
		want := webhook.Result{Verdict: webhook.Failed, HTTPStatus: status}
		switch {
		case status < 300:
			want.Verdict = webhook.Delivered
		case status < 400:
			want.Verdict, want.Reason = webhook.Blocked, webhook.ReasonRedirect
		case retried[status], status >= 500 && status < 600:
			want.Verdict = webhook.Retry
		}
		check(t, sender.Send(t.Context(), requestTo(d.url("/"+strconv.Itoa(status)))), want)
	}
}

func TestSendReadsRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Retry-After"] = r.Header["X-Webhook-Delivery"]
		w.WriteHeader(map[string]int{"/busy": 503, "/done": 200, "/no": 400}[r.URL.Path])
	})
	sender := newSender(t, webhook.Config{Policy: d.policy, Now: func() time.Time { return now }})
	for value, want := range map[string]time.Duration{
		"0":                              0,
		"120":                            2 * time.Minute,
		"21599":                          6*time.Hour - time.Second,
		"21600":                          6 * time.Hour,
		"21601":                          6 * time.Hour,
		"9223372036854775807":            6 * time.Hour,
		"99999999999999999999999":        6 * time.Hour,
		"Sun, 01 Mar 2026 09:31:30 GMT":  90 * time.Second,
		"Sunday, 01-Mar-26 09:31:30 GMT": 90 * time.Second,
		"Sun Mar  1 09:31:30 2026":       90 * time.Second,
		"Sun, 01 Mar 2026 09:29:00 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  6 * time.Hour,
		"Sat, 01 Jan 0000 00:00:00 GMT":  0,
		"-5":                             0,
		"+5":                             0,
		"1.5":                            0,
		"soon":                           0,
		"":                               0,
	} {
		request := requestTo(d.url("/busy"))
		request.EventID = value
		check(t, sender.Send(t.Context(), request), webhook.Result{Verdict: webhook.Retry, HTTPStatus: 503, RetryAfter: want})
	}
	// It has a meaning only if there is another attempt.
	for path, want := range map[string]webhook.Result{
		"/done": {Verdict: webhook.Delivered, HTTPStatus: 200},
		"/no":   {Verdict: webhook.Failed, HTTPStatus: 400},
	} {
		request := requestTo(d.url(path))
		request.EventID = "120"
		check(t, sender.Send(t.Context(), request), want)
	}
}

func TestSendMeasuresWithItsClock(t *testing.T) {
	t.Parallel()
	_, d := newServer(t, func(http.ResponseWriter, *http.Request) {})
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	sender := newSender(t, webhook.Config{Policy: d.policy, Now: func() time.Time {
		at = at.Add(7 * time.Second)
		return at
	}})
	if got := sender.Send(t.Context(), requestTo(d.url("/"))); got.Duration != 7*time.Second {
		t.Errorf("duration %v, want 7s", got.Duration)
	}
}

// newCountingServer starts a server that responds with 200 to every request and counts its connections.
func newCountingServer(t *testing.T) (*atomic.Int32, target) {
	t.Helper()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return &connections, targetOf(server, server.Listener)
}

// TestSendReusesConnectionsPerCheckedAddress checks that a connection serves many deliveries, but only while the name
// resolves to the same checked addresses.
func TestSendReusesConnectionsPerCheckedAddress(t *testing.T) {
	t.Parallel()
	connections, d := newCountingServer(t)
	here := []string{"127.0.0.1"}
	names := responses(here, []string{"::ffff:127.0.0.1", "127.0.0.1"}, here, []string{"169.254.169.254"}, here)
	sender := newSender(t, webhook.Config{Policy: d.policy, Resolver: names})
	delivered := webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200}

	for range 3 {
		check(t, sender.Send(t.Context(), requestTo(d.named("hooks.example.com", "/"))), delivered)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 3 deliveries, want 1", n)
	}
	check(t, sender.Send(t.Context(), requestTo(d.named("hooks.example.com", "/"))), unsafeAddress())
	// Another name of the same address needs its own connection, because the certificate of the first was checked for its
	// name.
	check(t, sender.Send(t.Context(), requestTo(d.named("other.example.com", "/"))), delivered)
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections for 2 names, want 2", n)
	}
	if len(names.asked) != 5 || names.asked[0] != "ip hooks.example.com" {
		t.Errorf("the resolver looked up %q, want once for each attempt", names.asked)
	}
}

// TestSendTriesTheNextAddress checks that Send tries the addresses of a name one after another, in any order.
func TestSendTriesTheNextAddress(t *testing.T) {
	t.Parallel()
	connections, d := newCountingServer(t)
	// 127.0.0.0 accepts no connection.
	names := responses([]string{"127.0.0.1", "127.0.0.0"}, []string{"127.0.0.0", "127.0.0.1"})
	sender := newSender(t, webhook.Config{Policy: loopbackToo(d.policy), Resolver: names})
	for range 2 {
		check(t, sender.Send(t.Context(), requestTo(d.named("hooks.example.com", "/"))),
			webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200})
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 2 deliveries, want 1", n)
	}
}

func TestSendKeepsFewIdleConnectionsPerDestination(t *testing.T) {
	t.Parallel()
	const inFlight, kept = 6, 2
	var connections atomic.Int32
	arrivals := make(chan struct{}, inFlight)
	proceed := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrivals <- struct{}{}
		<-proceed
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	d := targetOf(server, server.Listener)
	sender := newSender(t, webhook.Config{Policy: d.policy, MaxIdlePerDestination: kept})
	// round makes concurrent deliveries, each over its own connection.
	round := func() {
		var sends sync.WaitGroup
		for range inFlight {
			sends.Go(func() {
				check(t, sender.Send(t.Context(), requestTo(d.url("/"))),
					webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200})
			})
		}
		for range inFlight {
			<-arrivals
		}
		for range inFlight {
			proceed <- struct{}{}
		}
		sends.Wait()
	}
	round()
	round()
	if n := connections.Load(); n != inFlight+inFlight-kept {
		t.Errorf("%d connections in two rounds, want %d", n, inFlight+inFlight-kept)
	}
	connections.Store(0)
	sender.Close()
	round()
	if n := connections.Load(); n != inFlight {
		t.Errorf("%d connections after Close, want %d", n, inFlight)
	}
}

func TestSendFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var received atomic.Int32
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		_, _ = io.Copy(w, r.Body)
	})
	sender := newSender(t, webhook.Config{Policy: d.policy, Resolver: responses([]string{"127.0.0.1"})})
	var sends sync.WaitGroup
	for worker := range 16 {
		sends.Go(func() {
			for i := range 20 {
				request := requestTo(d.named("hooks.example.com", "/"))
				request.Body = fmt.Appendf(nil, "%d of %d", i, worker)
				check(t, sender.Send(t.Context(), request), webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200,
					ResponseBody: request.Body})
			}
		})
	}
	sends.Wait()
	if received.Load() != 320 {
		t.Errorf("%d requests received, want 320", received.Load())
	}
}
