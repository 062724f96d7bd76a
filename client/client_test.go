package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"quittance/client"
	"quittance/client/api"
)

// TestCallsHaveTheirEffectAtMostOnce checks that a call has its effect at most once whatever fails on the way, and
// exactly once if it succeeds; that it ends after a bounded number of requests; and that only the service receives the
// password and the token.
func TestCallsHaveTheirEffectAtMostOnce(t *testing.T) {
	var strayed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer elsewhere.Close()
	atMostOnce := func(t *testing.T, random *rand.Rand) {
		s, waits := newService(t), &sleeps{}
		faults := map[string]http.HandlerFunc{
			"": nil, "drop": drop, "drop after": s.dropAfter, "truncate": s.truncate,
			"401": refuse(401, api.CodeUnauthenticated), "429": refuse(429, api.CodeRateLimited, "Retry-After", "3"),
			"500": refuse(500, api.CodeInternal), "502": write(502, "<html>"), "503": refuse(503, api.CodeUnavailable),
			"504": write(504, ""), "garbage": write(200, "{{{"), "null": write(200, `{"data":null}`),
			"foreign":  write(200, `{"data":["x"]}`),
			"redirect": write(307, "", "Location", elsewhere.URL),
		}
		names := make([]string, 0, len(faults))
		for name := range faults {
			names = append(names, name)
		}
		slices.Sort(names)
		for range random.IntN(11) {
			s.script = append(s.script, faults[names[random.IntN(len(names))]])
		}
		loginNames := slices.DeleteFunc(slices.Clone(names),
			func(name string) bool { return name == "drop after" || name == "truncate" })
		for range random.IntN(6) {
			s.atLogin = append(s.atLogin, faults[loginNames[random.IntN(len(loginNames))]])
		}
		config := s.configure(waits)
		config.MaxAttempts = 1 + random.IntN(5)
		c, err := client.New(config)
		if err != nil {
			t.Fatal(err)
		}
		calls := 1 + random.IntN(3)
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
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, password) ||
				strings.Contains(text, tokens) {
				t.Fatalf("an error contains a secret: %s", text)
			}
		}
		if s.made() < len(ids) || s.made() > calls {
			t.Fatalf("%d calls, of which %d succeeded, had %d effects", calls, len(ids), s.made())
		}
		// A call uses at most two tokens, and each token needs at most one login.
		if most := calls * 2 * config.MaxAttempts; len(s.requests()) > most || s.loginRequests() > most {
			t.Fatalf("%d requests and %d logins, want at most %d", len(s.requests()), s.loginRequests(), most)
		}
		keys := map[string]bool{}
		for _, e := range s.requests() {
			keys[e.key] = true
		}
		if len(keys) > calls || keys[""] {
			t.Fatalf("%d calls under the keys %v", calls, keys)
		}
	}
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { atMostOnce(t, rand.New(rand.NewPCG(seed, 0))) })
	}
	if n := strayed.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestNewRejectsInvalidOptions(t *testing.T) {
	good := client.Config{BaseURL: "https://quittance.example.com/prefix/", Email: email, Password: password}
	if _, err := client.New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*client.Config){
		"no address":        func(c *client.Config) { c.BaseURL = "" },
		"no scheme":         func(c *client.Config) { c.BaseURL = "quittance.example.com" },
		"another scheme":    func(c *client.Config) { c.BaseURL = "ftp://quittance.example.com" },
		"no host":           func(c *client.Config) { c.BaseURL = "https:///api" },
		"user info":         func(c *client.Config) { c.BaseURL = "https://me:in-the-address@quittance.example.com" },
		"user info, broken": func(c *client.Config) { c.BaseURL = "https://me:in-the-address@quittance.example.com:x" },
		"query":             func(c *client.Config) { c.BaseURL += "?" },
		"fragment":          func(c *client.Config) { c.BaseURL += "#" },
		"no e-mail":         func(c *client.Config) { c.Email = "" },
		"no password":       func(c *client.Config) { c.Password = "" },
		"a key and a user":  func(c *client.Config) { c.APIKey = "qk_sandbox_1" },
		"a key and a name":  func(c *client.Config) { c.APIKey, c.Password = "qk_sandbox_1", "" },
		"a key with a line": func(c *client.Config) { c.APIKey, c.Email, c.Password = "qk_in-the-address\n", "", "" },
		"another alphabet":  func(c *client.Config) { c.APIKey, c.Email, c.Password = "qk_in-the-address_é", "", "" },
		"no UTF-8":          func(c *client.Config) { c.APIKey, c.Email, c.Password = "qk_in-the-address_\xff", "", "" },
		"attempts":          func(c *client.Config) { c.MaxAttempts = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := client.New(bad); err == nil || strings.Contains(err.Error(), "in-the-address") {
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
			if text := fmt.Sprintf(verb, value); strings.Contains(text, password) || strings.Contains(text, tokens) ||
				strings.Contains(text, fmt.Sprintf("%x", password)) {
				t.Errorf("%s of %T contains a secret: %s", verb, value, text)
			}
		}
		if text, err := json.Marshal(value); err == nil &&
			(strings.Contains(string(text), password) || strings.Contains(string(text), tokens)) {
			t.Errorf("%T as JSON contains a secret: %s", value, text)
		}
	}
	if text := fmt.Sprint(config); !strings.Contains(text, s.URL) || !strings.Contains(text, "[redacted]") {
		t.Errorf("the configuration shows as %s", text)
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

func TestLostSubscriptionSecretIsReported(t *testing.T) {
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

// TestContextEndsACall checks that a context that ends also ends the call, with the error of the context and with what
// went wrong before.
func TestContextEndsACall(t *testing.T) {
	s, c, waits := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.script = []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // the client closes the connection
		panic(http.ErrAbortHandler)
	}}
	if _, err := c.Invoice(ctx, "i"); !isCanceled(err) || len(s.requests()) != 1 || len(waits.waits) > 0 {
		t.Errorf("%v after %d requests and the waits %v", err, len(s.requests()), waits.waits)
	}
}
