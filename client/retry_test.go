package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// operations has a call of every kind: a read, a creation and a submission.
var operations = map[string]func(context.Context, *client.Client) error{
	"read": func(ctx context.Context, c *client.Client) error { _, err := c.Invoice(ctx, "i"); return err },
	"create": func(ctx context.Context, c *client.Client) error {
		_, err := c.CreateInvoice(ctx, api.Draft{})
		return err
	},
	"submit": func(ctx context.Context, c *client.Client) error { _, err := c.Submit(ctx, "i"); return err },
}

func TestWhichCallsAreRetried(t *testing.T) {
	date := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	const first, second, third = 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond
	for name, test := range map[string]struct {
		response http.HandlerFunc
		waits    []time.Duration // nil if it is not retried
	}{
		"connection dropped": {drop, []time.Duration{first, second, third}},
		"answer broken off":  {write(200, "{", "Content-Length", "100"), []time.Duration{first, second, third}},
		"429":                {refuse(429, api.CodeRateLimited), []time.Duration{first, second, third}},
		"429 for a while": {refuse(429, api.CodeRateLimited, "Retry-After", "2"),
			[]time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}},
		"429 until a date": {refuse(429, api.CodeRateLimited,
			"Retry-After", date.Add(time.Minute).Format(http.TimeFormat)),
			[]time.Duration{time.Minute, time.Minute, time.Minute}},
		"429 until a past date": {refuse(429, api.CodeRateLimited,
			"Retry-After", date.Add(-time.Hour).Format(http.TimeFormat)), []time.Duration{first, second, third}},
		"429 for too long": {refuse(429, api.CodeRateLimited, "Retry-After", "61"), nil},
		"429 for ever":     {refuse(429, api.CodeRateLimited, "Retry-After", "9223372036854775807"), nil},
		"429 for nonsense": {refuse(429, api.CodeRateLimited, "Retry-After", "soon"),
			[]time.Duration{first, second, third}},
		"429 for less than 0": {refuse(429, api.CodeRateLimited, "Retry-After", "-5"),
			[]time.Duration{first, second, third}},
		"502 of a proxy":     {write(502, "<html>"), []time.Duration{first, second, third}},
		"502 provider_error": {refuse(502, api.CodeProviderError), []time.Duration{first, second, third}},
		"503": {refuse(503, api.CodeUnavailable, "Retry-After", "5"),
			[]time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second}},
		"504":      {write(504, ""), []time.Duration{first, second, third}},
		"400":      {refuse(400, api.CodeMalformedRequest), nil},
		"404":      {refuse(404, api.CodeNotFound), nil},
		"409":      {refuse(409, api.CodeSubmissionInProgress), nil},
		"422":      {refuse(422, api.CodeValidationFailed), nil},
		"500":      {refuse(500, api.CodeInternal), nil},
		"garbage":  {write(200, "garbage"), nil},
		"redirect": {write(302, "", "Location", "/"), nil},
	} {
		for kind, call := range operations {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s, waits := newService(t), &sleeps{}
				s.fallback = test.response
				config := s.configure(waits)
				config.Now = func() time.Time { return date }
				if err := call(t.Context(), newClient(t, config)); err == nil {
					t.Fatal("no error")
				}
				if got := len(s.requests()); got != len(test.waits)+1 || !slices.Equal(waits.waits, test.waits) {
					t.Errorf("%d requests with waits %v", got, waits.waits)
				}
			})
		}
	}
}

// TestIdempotencyKeysOfAttempts checks that all attempts of a creation have the same key, that every creation has its
// own, and that reads and submissions have none.
func TestIdempotencyKeysOfAttempts(t *testing.T) {
	s, c, _ := start(t)
	s.script = []http.HandlerFunc{s.dropAfter, refuse(503, api.CodeUnavailable), nil, s.truncate, nil, drop, nil}
	for _, kind := range []string{"create", "create", "submit"} {
		if err := operations[kind](t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	for _, e := range s.requests() {
		keys = append(keys, e.key)
	}
	one, two := keys[0], keys[3]
	if !slices.Equal(keys, []string{one, one, one, two, two, "", ""}) || len(one) != 32 || len(two) != 32 || one == two ||
		s.made() != 2 {
		t.Errorf("%d effects under the keys %q", s.made(), keys)
	}
}

// TestRawBody checks that a document arrives byte by byte in every attempt, under one key.
func TestRawBody(t *testing.T) {
	const document = "{ \"invoice_number\":\"A\",\n\"invoice_number\":\"B\", \"Currency\":1.50}\n"
	s, c, _ := start(t)
	s.script = []http.HandlerFunc{drop, refuse(503, api.CodeUnavailable)}
	if _, err := c.CreateInvoice(t.Context(), api.Draft{}, client.RawBody([]byte(document)),
		client.IdempotencyKey("order-1")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PatchInvoice(t.Context(), "i", nil, client.RawBody([]byte("not JSON"))); err != nil {
		t.Fatal(err)
	}
	requests := s.requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	for n, e := range requests {
		want, key := document, "order-1"
		if n == 3 {
			want, key = "not JSON", e.key
		}
		if e.body != want || e.key != key || e.key == "" || e.contentType != "application/json" {
			t.Errorf("request %d is %+v", n, e)
		}
	}
}

func TestWaitsAreBoundedAndSpread(t *testing.T) {
	s, waits := newService(t), &sleeps{}
	s.fallback = drop
	config := s.configure(waits)
	config.MaxAttempts = 9
	spread := []float64{0, 0.999}
	config.Jitter = func() float64 {
		spread[0], spread[1] = spread[1], spread[0]
		return spread[1]
	}
	if _, err := newClient(t, config).Invoice(t.Context(), "i"); err == nil || len(s.requests()) != 9 {
		t.Fatalf("%v after %d requests", err, len(s.requests()))
	}
	base := 200 * time.Millisecond
	for n, got := range waits.waits {
		low, high := base/2, base*3/2
		if n%2 == 0 && got != low || n%2 == 1 && (got <= base || got >= high) {
			t.Errorf("wait %d is %s, of %s", n, got, base)
		}
		base = min(2*base, 5*time.Second)
	}
}

func TestOneAttempt(t *testing.T) {
	s, waits := newService(t), &sleeps{}
	s.fallback = refuse(503, api.CodeUnavailable)
	config := s.configure(waits)
	config.MaxAttempts = 1
	_, err := newClient(t, config).Invoice(t.Context(), "i")
	if status, _ := refusalOf(err); status != 503 || len(s.requests()) != 1 || len(waits.waits) > 0 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
}

// TestLoginsRespectRetryAfter checks that logins, which are limited, wait as long as the service asks.
func TestLoginsRespectRetryAfter(t *testing.T) {
	s, c, waits := start(t)
	s.atLogin = []http.HandlerFunc{refuse(429, api.CodeRateLimited, "Retry-After", "42"), drop}
	if _, err := c.Invoice(t.Context(), "i"); err != nil {
		t.Fatal(err)
	}
	if s.loginRequests() != 3 || !slices.Equal(waits.waits, []time.Duration{42 * time.Second, 400 * time.Millisecond}) {
		t.Errorf("%d logins, waits %v", s.loginRequests(), waits.waits)
	}
}

func TestContextEndsAWait(t *testing.T) {
	s := newService(t)
	s.fallback = refuse(503, api.CodeUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	config := s.configure(&sleeps{})
	config.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	_, err := newClient(t, config).Invoice(ctx, "i")
	if _, code := refusalOf(err); !isCanceled(err) || code != api.CodeUnavailable || len(s.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
}

// TestDefaultTimer checks that the timer that is used when none is injected ends with the context.
func TestDefaultTimer(t *testing.T) {
	s := newService(t)
	s.script = []http.HandlerFunc{refuse(429, api.CodeRateLimited)}
	config := s.configure(nil)
	config.Sleep, config.Jitter = nil, func() float64 { return -0.5 } // waits take no time
	c := newClient(t, config)
	if _, err := c.Invoice(t.Context(), "i"); err != nil || len(s.requests()) != 2 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.fallback = func(w http.ResponseWriter, r *http.Request) {
		refuse(429, api.CodeRateLimited, "Retry-After", "60")(w, r)
		time.AfterFunc(200*time.Millisecond, cancel) // when the client waits for its next attempt
	}
	if _, err := c.Invoice(ctx, "i"); !isCanceled(err) {
		t.Error(err)
	}
}

// TestSlowServiceTimesOut checks that each attempt ends after its time-out if the service hangs.
func TestSlowServiceTimesOut(t *testing.T) {
	s, waits := newService(t), &sleeps{}
	if _, err := newClient(t, s.configure(waits)).Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.fallback = func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	config := s.configure(waits)
	config.MaxAttempts = 2
	config.HTTPClient.Timeout = 2 * time.Second
	_, err := newClient(t, config).Invoice(t.Context(), "i")
	var timeout interface{ Timeout() bool }
	if !errors.As(err, &timeout) || !timeout.Timeout() || len(s.requests()) != 2 || len(waits.waits) != 1 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
	if text := err.Error(); !strings.HasPrefix(text, "client: ") {
		t.Error(text)
	}
}
