package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"quittance/api"
	"quittance/client"
)

// The promise: whatever happens on the way, a call has its effect at most once, and exactly once when it succeeds; it
// ends after a bounded number of requests; and nobody but the service gets to see the password and the token.
func TestAtMostOnceWhateverHappens(t *testing.T) {
	var strayed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer elsewhere.Close()
	rapid.Check(t, func(t *rapid.T) {
		s, waits := newService(t), &sleeps{}
		faults := map[string]http.HandlerFunc{
			"": nil, "drop": drop, "drop after": s.dropAfter, "truncate": s.truncate,
			"401": refuse(401, api.CodeUnauthenticated), "429": refuse(429, api.CodeRateLimited, "Retry-After", "3"),
			"500": refuse(500, api.CodeInternal), "502": write(502, "<html>"), "503": refuse(503, api.CodeUnavailable),
			"504": write(504, ""), "garbage": write(200, "{{{"), "null": write(200, `{"data":null}`), "foreign": write(200, `{"data":["x"]}`),
			"redirect": write(307, "", "Location", elsewhere.URL),
		}
		names := make([]string, 0, len(faults))
		for name := range faults {
			names = append(names, name)
		}
		slices.Sort(names)
		script := rapid.SliceOfN(rapid.SampledFrom(names), 0, 10)
		for _, name := range script.Draw(t, "script") {
			s.script = append(s.script, faults[name])
		}
		loginNames := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "drop after" || name == "truncate" })
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(loginNames), 0, 5).Draw(t, "logins") {
			s.atLogin = append(s.atLogin, faults[name])
		}
		config := s.configure(waits)
		config.MaxAttempts = rapid.IntRange(1, 5).Draw(t, "attempts")
		c, err := client.New(config)
		if err != nil {
			t.Fatal(err)
		}
		calls := rapid.IntRange(1, 3).Draw(t, "calls")
		ids := map[string]bool{}
		for range calls {
			made, err := c.CreateInvoice(t.Context(), api.Draft{})
			if err == nil {
				if !strings.HasPrefix(made.ID, "made-") || ids[made.ID] {
					t.Fatalf("created %q after %v", made.ID, ids)
				}
				ids[made.ID] = true
				continue
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, password) || strings.Contains(text, tokens) {
				t.Fatalf("an error tells a secret: %s", text)
			}
		}
		if s.made() < len(ids) || s.made() > calls {
			t.Fatalf("%d calls, %d of them good, had %d effects", calls, len(ids), s.made())
		}
		// A call is tried under two tokens at most, each of which takes one login at most.
		if most := calls * 2 * config.MaxAttempts; len(s.requests()) > most || s.loginRequests() > most {
			t.Fatalf("%d requests and %d logins, %d are the most", len(s.requests()), s.loginRequests(), most)
		}
		keys := map[string]bool{}
		for _, e := range s.requests() {
			keys[e.key] = true
		}
		if len(keys) > calls || keys[""] {
			t.Fatalf("%d calls under the keys %v", calls, keys)
		}
	})
	if n := strayed.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestNewRefuses(t *testing.T) {
	good := client.Config{BaseURL: "https://quittance.example.com/prefix/", Email: email, Password: password}
	if _, err := client.New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*client.Config){
		"no address":        func(c *client.Config) { c.BaseURL = "" },
		"no scheme":         func(c *client.Config) { c.BaseURL = "quittance.example.com" },
		"another scheme":    func(c *client.Config) { c.BaseURL = "ftp://quittance.example.com" },
		"no host":           func(c *client.Config) { c.BaseURL = "https:///api" },
		"user info":         func(c *client.Config) { c.BaseURL = "https://me:" + password + "@quittance.example.com" },
		"user info, broken": func(c *client.Config) { c.BaseURL = "https://me:" + password + "@quittance.example.com:x" },
		"query":             func(c *client.Config) { c.BaseURL += "?" },
		"fragment":          func(c *client.Config) { c.BaseURL += "#" },
		"no e-mail":         func(c *client.Config) { c.Email = "" },
		"no password":       func(c *client.Config) { c.Password = "" },
		"attempts":          func(c *client.Config) { c.MaxAttempts = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := client.New(bad); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingShowsTheSecrets(t *testing.T) {
	s, c, waits := start(t)
	config := s.configure(waits)
	if _, err := c.Invoice(t.Context(), "invoice-1"); err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{config, &config, struct{ C client.Config }{config}, c, struct{ c *client.Client }{c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, password) || strings.Contains(text, tokens) || strings.Contains(text, fmt.Sprintf("%x", password)) {
				t.Errorf("%s of %T tells a secret: %s", verb, value, text)
			}
		}
		if text, err := json.Marshal(value); err == nil && (strings.Contains(string(text), password) || strings.Contains(string(text), tokens)) {
			t.Errorf("%T as JSON tells a secret: %s", value, text)
		}
	}
	if text := fmt.Sprint(config); !strings.Contains(text, s.URL) || !strings.Contains(text, "[redacted]") {
		t.Errorf("the configuration shows as %s", text)
	}
}

// What is sent, operation by operation.
func TestRequests(t *testing.T) {
	s := newService(t)
	s.fallback = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/prefix/api/v1/client/invoices" {
			answer(w, 200, api.List[api.Invoice]{Data: []api.Invoice{}})
			return
		}
		answer(w, 200, api.Data[api.NewSubscription]{Data: api.NewSubscription{Secret: "whsec_1"}})
	}
	// The login of this service is at another path, and answers like the rest.
	s.script = []http.HandlerFunc{write(200, `{"data":{"token":"t"}}`)}
	config := s.configure(&sleeps{})
	config.BaseURL += "/prefix/"
	config.UserAgent = "shop/1.0"
	config.Random = strings.NewReader(strings.Repeat("\x01\xab", 16))
	c := newClient(t, config)
	ctx := t.Context()
	call := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	call(c.CreateInvoice(ctx, api.Draft{InvoiceNumber: new("INV-1"), TotalAmount: new(api.MustDecimal("10.00"))}))
	call(c.CreateInvoice(ctx, api.Draft{}, client.IdempotencyKey("order-4711")))
	call(c.Invoice(ctx, "a/b?c"))
	call(c.Invoices(ctx, client.InvoiceQuery{}))
	call(c.Invoices(ctx, client.InvoiceQuery{Page: 3, PerPage: 10}))
	call(c.Submit(ctx, "i"))
	call(c.CreateSubscription(ctx, api.SubscriptionRequest{URL: new("https://hooks.example.com")}))
	const random = "01ab01ab01ab01ab01ab01ab01ab01ab"
	want := []exchange{
		{method: "POST", path: "/auth/login", body: `{"email":"` + email + `","password":"` + password + `"}`},
		{method: "POST", path: "/invoices", key: random},
		{method: "POST", path: "/invoices", key: "order-4711"},
		{method: "GET", path: "/invoices/a%2Fb%3Fc"},
		{method: "GET", path: "/invoices"},
		{method: "GET", path: "/invoices", query: "page=3&per_page=10"},
		{method: "POST", path: "/invoices/i/submit"},
		{method: "POST", path: "/subscriptions", key: random, body: `{"url":"https://hooks.example.com","events":null,"description":null}`},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.arrived) != len(want) {
		t.Fatalf("%d requests: %+v", len(s.arrived), s.arrived)
	}
	for n, got := range s.arrived {
		w := want[n]
		prefix := "/prefix/api/v1/client"
		if w.path == "/subscriptions" {
			prefix = "/prefix/api/v1/webhooks"
		}
		if got.method != w.method || got.path != prefix+w.path || got.query != w.query || got.key != w.key {
			t.Errorf("%d: %+v", n, got)
		}
		authorization := "Bearer t"
		if n == 0 {
			authorization = ""
		}
		if got.authorization != authorization || got.contentType != "application/json" || got.userAgent != "shop/1.0" {
			t.Errorf("%d: headers of %+v", n, got)
		}
		if w.body != "" && got.body != w.body {
			t.Errorf("%d: body %s", n, got.body)
		}
	}
	if body := s.arrived[1].body; !strings.Contains(body, `"invoice_number":"INV-1"`) || !strings.Contains(body, `"total_amount":10.00,`) {
		t.Errorf("a draft is sent as %s", body)
	}
}

func TestBadIdempotencyKeysAreNotSent(t *testing.T) {
	s, c, _ := start(t)
	for _, key := range []string{"", " ", "a b", "a\r\nX: y", "é", strings.Repeat("k", 256)} {
		if _, err := c.CreateInvoice(t.Context(), api.Draft{}, client.IdempotencyKey(key)); err == nil {
			t.Errorf("the key %q was sent", key)
		}
	}
	if n := len(s.requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
	config := s.configure(&sleeps{})
	config.Random = strings.NewReader("too short")
	if _, err := newClient(t, config).CreateInvoice(t.Context(), api.Draft{}); err == nil || len(s.requests()) > 0 {
		t.Errorf("a creation without a key: %v", err)
	}
}

func TestASubscriptionWhoseSecretIsLostIsSaidSo(t *testing.T) {
	s, c, _ := start(t)
	s.script = []http.HandlerFunc{s.dropAfter}
	got, err := c.CreateSubscription(t.Context(), api.SubscriptionRequest{URL: new("https://hooks.example.com")})
	if !errors.Is(err, client.ErrSecretLost) || got.ID != "made-1" || s.made() != 1 {
		t.Errorf("%+v, %v, %d made", got, err, s.made())
	}
	got, err = c.CreateSubscription(t.Context(), api.SubscriptionRequest{URL: new("https://hooks.example.com")})
	if err != nil || got.Secret == "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A context that has ended ends the call, with its own error and what went wrong before.
func TestContextEndsACall(t *testing.T) {
	s, c, _ := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.script = []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // the client hangs up
	}}
	if _, err := c.Invoice(ctx, "i"); !isCanceled(err) || len(s.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
}
