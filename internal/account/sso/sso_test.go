package sso_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/account/sso"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ssotest"
)

// run runs a client until the test ends, and waits until it has found its provider.
func run(t *testing.T, client *sso.Client) {
	t.Helper()
	begin(t, client)
	kit.Until(t, "the provider is found", client.Available)
}

// begin runs a client until the test ends.
func begin(t *testing.T, client *sso.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// TestRealProvider logs in at a real OpenID provider over TLS: a person opens the address that Begin returns, logs in
// there, and is sent back with an answer that Identify turns into the person's identity. A code works once.
func TestRealProvider(t *testing.T) {
	t.Parallel()
	const base = "https://quittance.example"
	provider := ssotest.Start(t, base, true, ssotest.Person{Subject: "subject-1", Email: "books@palm.example"},
		ssotest.Person{Subject: "subject-2", Email: "new@palm.example", Unverified: true})
	config := provider.Config(base)
	config.AllowLoopback, config.Now, config.Log = false, time.Now, slog.New(slog.DiscardHandler)
	client, err := sso.New(config)
	kit.Must(t, err)
	run(t, client)
	attempt, err := sso.NewAttempt(rand.Reader, time.Now(), "/")
	kit.Must(t, err)
	to, err := client.Begin(attempt)
	kit.Must(t, err)
	answer, err := attempt.Answer(provider.LogIn(t, to, "subject-1"), time.Now())
	kit.Must(t, err)
	got, err := client.Identify(t.Context(), answer)
	if want := (sso.Identity{Issuer: provider.Issuer, Subject: "subject-1", Email: "books@palm.example"}); got != want ||
		err != nil {
		t.Errorf("the identity is %+v, %v, want %+v", got, err, want)
	}
	if _, err := client.Identify(t.Context(), answer); !errors.Is(err, sso.ErrInvalid) {
		t.Errorf("a code that was used gives %v", err)
	}
	attempt, err = sso.NewAttempt(rand.Reader, time.Now(), "/")
	kit.Must(t, err)
	to, err = client.Begin(attempt)
	kit.Must(t, err)
	answer, err = attempt.Answer(provider.LogIn(t, to, "subject-2"), time.Now())
	kit.Must(t, err)
	if _, err := client.Identify(t.Context(), answer); !errors.Is(err, sso.ErrUnverified) {
		t.Errorf("an address that was not verified gives %v", err)
	}
}

// hostileCase is what a hostile provider does, and what comes of it.
type hostileCase struct {
	change func(t *testing.T, h *hostile)
	want   error
	// logged is a part of the cause in the log.
	logged string
}

// userInfo is a case with other claims in the ID token and those of a UserInfo endpoint, whose subject is that of the
// ID token unless it says otherwise.
func userInfo(token, info map[string]any, want error, logged string) hostileCase {
	return hostileCase{func(_ *testing.T, h *hostile) {
		h.claims = func(claims map[string]any) { maps.Copy(claims, token) }
		h.userInfo = map[string]any{"sub": "subject 1"}
		maps.Copy(h.userInfo, info)
	}, want, logged}
}

// trusted is a case of a provider whose addresses the operator vouches for.
func trusted(change func(t *testing.T, h *hostile), want error) hostileCase {
	return hostileCase{func(t *testing.T, h *hostile) {
		h.trust = true
		change(t, h)
	}, want, ""}
}

// TestHostileProvider checks that nothing but a valid ID token for this client and this attempt gives an identity.
func TestHostileProvider(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(*testing.T, *hostile) {
		return func(_ *testing.T, h *hostile) { h.claims = func(claims map[string]any) { claims[name] = value } }
	}
	elsewhere := func(path string) func(*testing.T, *hostile) {
		return func(t *testing.T, h *hostile) {
			other := newHostile(t) // it would serve the call
			other.key, other.claims = h.key, func(map[string]any) { t.Error("a redirect was followed") }
			h.handlers[path] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+path, http.StatusTemporaryRedirect)
			}
		}
	}
	for name, test := range map[string]hostileCase{
		"unchanged":          {func(*testing.T, *hostile) {}, nil, ""},
		"client and another": {set("aud", []string{"other", hostileClient}), sso.ErrInvalid, "issued to the client"},
		"several audiences": {func(_ *testing.T, h *hostile) {
			h.claims = func(c map[string]any) { c["aud"], c["azp"] = []string{"other", hostileClient}, hostileClient }
		}, nil, ""},
		"another audience":           {set("aud", "other"), sso.ErrInvalid, "audience"},
		"another party":              {set("azp", "other"), sso.ErrInvalid, "issued to the client"},
		"another issuer":             {set("iss", "https://login.example"), sso.ErrInvalid, "different provider"},
		"another nonce":              {set("nonce", "other"), sso.ErrInvalid, "nonce"},
		"no nonce":                   {set("nonce", nil), sso.ErrInvalid, "nonce"},
		"expired":                    {set("exp", time.Now().Add(-time.Minute).Unix()), sso.ErrInvalid, "expired"},
		"not valid yet":              {set("nbf", time.Now().Add(time.Hour).Unix()), sso.ErrInvalid, "not before"},
		"no subject":                 {set("sub", ""), sso.ErrInvalid, "subject"},
		"long subject":               {set("sub", strings.Repeat("s", 256)), sso.ErrInvalid, "subject"},
		"subject with controls":      {set("sub", "a\nb"), sso.ErrInvalid, "subject"},
		"not verified":               {set("email_verified", false), sso.ErrUnverified, "verified"},
		"verified unknown":           {set("email_verified", nil), sso.ErrUnverified, "verified"},
		"verified as a text":         {set("email_verified", "true"), nil, ""},
		"not verified as a text":     {set("email_verified", "false"), sso.ErrUnverified, "verified"},
		"verified as a number":       {set("email_verified", 1), sso.ErrInvalid, "not true or false"},
		"verified as another text":   {set("email_verified", "yes"), sso.ErrInvalid, "not true or false"},
		"no address":                 {set("email", nil), sso.ErrUnverified, "verified"},
		"no signature":               {func(_ *testing.T, h *hostile) { h.sign = unsigned }, sso.ErrInvalid, "alg"},
		"signed with the public key": {func(t *testing.T, h *hostile) { h.sign = h.withPublicKey(t) }, sso.ErrInvalid, "alg"},
		"signed by somebody else": {func(t *testing.T, h *hostile) {
			other := newKey(t)
			h.sign = func(payload []byte) string { return signed(t, "RS256", other, payload) }
		}, sso.ErrInvalid, "signature"},
		"no ID token": {func(_ *testing.T, h *hostile) { h.sign = func([]byte) string { return "" } }, sso.ErrInvalid,
			"no ID token"},
		"endless keys":     {func(_ *testing.T, h *hostile) { h.handlers["/keys"] = endless }, sso.ErrInvalid, "too large"},
		"endless response": {func(_ *testing.T, h *hostile) { h.handlers["/token"] = endless }, sso.ErrInvalid, "too large"},
		"token elsewhere":  {elsewhere("/token"), sso.ErrUnavailable, "redirect"},
		"keys elsewhere":   {elsewhere("/keys"), sso.ErrInvalid, "redirect"},
		"broken": {func(_ *testing.T, h *hostile) {
			h.handlers["/token"] = func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, strings.Repeat("down ", 5000), http.StatusBadGateway)
			}
		}, sso.ErrUnavailable, "(cut)"},
		"code refused": {func(_ *testing.T, h *hostile) {
			h.handlers["/token"] = func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			}
		}, sso.ErrInvalid, "invalid_grant"},
		"secret in the body": {func(_ *testing.T, h *hostile) {
			h.discovery = func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"} }
		}, nil, ""},
		"UserInfo of another": {func(_ *testing.T, h *hostile) {
			set("email", nil)(nil, h)
			h.userInfo = map[string]any{"sub": "subject 2", "email": "owner@palm.example", "email_verified": true}
		}, sso.ErrInvalid, "UserInfo"},
		"verified in UserInfo": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"email": "books@palm.example", "email_verified": true}, nil, ""),
		"verified as a text in UserInfo": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"email": "books@palm.example", "email_verified": "true"}, nil, ""),
		"only verified in UserInfo": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"email_verified": true}, nil, ""),
		"not verified in UserInfo": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"email": "books@palm.example", "email_verified": false}, sso.ErrUnverified, "verified"),
		"unknown in UserInfo, too": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"email": "books@palm.example"}, sso.ErrUnverified, "verified"),
		"refused, whatever UserInfo says": userInfo(map[string]any{"email_verified": false},
			map[string]any{"email": "books@palm.example", "email_verified": true}, sso.ErrUnverified, "verified"),
		"another address verified": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"email": "other@palm.example", "email_verified": true}, sso.ErrUnverified, "another address"),
		"verified for another subject": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"sub": "subject 2", "email_verified": true}, sso.ErrInvalid, "another subject"),
		"verified by another issuer": userInfo(map[string]any{"email_verified": nil},
			map[string]any{"iss": "https://login.example", "email_verified": true}, sso.ErrInvalid, "issuer"),
		"the address alone in UserInfo": userInfo(map[string]any{"email": nil},
			map[string]any{"email": "books@palm.example"}, nil, ""),
		"trusted without the claim": trusted(set("email_verified", nil), nil),
		"trusted, the address in UserInfo": trusted(userInfo(map[string]any{"email": nil, "email_verified": nil},
			map[string]any{"email": "books@palm.example"}, nil, "").change, nil),
		"trusted, but not verified":         trusted(set("email_verified", false), sso.ErrUnverified),
		"trusted, but not verified as text": trusted(set("email_verified", "false"), sso.ErrUnverified),
		"trusted, without an address":       trusted(set("email", nil), sso.ErrUnverified),
		"endless UserInfo": {func(t *testing.T, h *hostile) {
			userInfo(map[string]any{"email_verified": nil}, map[string]any{}, nil, "").change(t, h)
			h.handlers["/userinfo"] = endless
		}, sso.ErrInvalid, "too large"},
		"UserInfo elsewhere": {func(t *testing.T, h *hostile) {
			userInfo(map[string]any{"email_verified": nil}, map[string]any{}, nil, "").change(t, h)
			elsewhere("/userinfo")(t, h)
		}, sso.ErrUnavailable, "redirect"},
		"UserInfo": {func(_ *testing.T, h *hostile) {
			set("email", nil)(nil, h)
			h.userInfo = map[string]any{"sub": "subject 1", "email": "books@palm.example", "email_verified": true}
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			test.change(t, h)
			got, err := h.login(t, h.client(t))
			if !errors.Is(err, test.want) || (err == nil) != (got == sso.Identity{Issuer: h.URL, Subject: "subject 1",
				Email: "books@palm.example"}) {
				t.Errorf("Identify returned %+v, %v, want %v", got, err, test.want)
			}
			if log := h.logged(); !strings.Contains(log, test.logged) || len(log) > 1000 ||
				strings.Contains(log, hostileSecret) {
				t.Errorf("the log does not say %q: %s", test.logged, log)
			}
			if err != nil && err.Error() != test.want.Error() {
				t.Errorf("the error has a text of the provider: %v", err)
			}
			if name == "secret in the body" == h.basic && err == nil {
				t.Errorf("the client authenticated in the header: %v", h.basic)
			}
		})
	}
}

// TestHangingProvider checks that a provider that never responds does not hold a login without end.
func TestHangingProvider(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long")
	}
	h := newHostile(t)
	done := make(chan struct{})
	h.handlers["/token"] = func(http.ResponseWriter, *http.Request) { <-done }
	defer close(done)
	if _, err := h.login(t, h.client(t)); !errors.Is(err, sso.ErrUnavailable) {
		t.Errorf("Identify returned %v", err)
	}
}

// TestDiscovery checks which discovery documents a client accepts, and that it goes on asking a provider that is down.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *hostile){
		"another issuer": func(h *hostile) { h.discovery = func(d map[string]any) { d["issuer"] = "https://login.example" } },
		"plain keys": func(h *hostile) {
			h.discovery = func(d map[string]any) {
				d["jwks_uri"] = "http://login.example/keys"
			}
		},
		"plain tokens": func(h *hostile) {
			h.discovery = func(d map[string]any) { d["token_endpoint"] = "http://login.example/token" }
		},
		"no endpoint": func(h *hostile) { h.discovery = func(d map[string]any) { delete(d, "authorization_endpoint") } },
		"a script": func(h *hostile) {
			h.discovery = func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }
		},
		"endless": func(h *hostile) { h.handlers["/.well-known/openid-configuration"] = endless },
		"elsewhere": func(h *hostile) {
			h.handlers["/.well-known/openid-configuration"] = func(w http.ResponseWriter,
				r *http.Request) {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			}
			h.handlers["/elsewhere"] = h.serveDiscovery
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			change(h)
			client, err := sso.New(sso.Config{Issuer: h.URL, ClientID: "c", ClientSecret: secret.New("s"), AllowLoopback: true,
				Now: time.Now, Log: slog.New(slog.NewTextHandler(&lockedWriter{h: h}, nil))})
			kit.Must(t, err)
			begin(t, client)
			kit.Eventually(t, func() error {
				if log := h.logged(); !strings.Contains(log, "cannot read") {
					return fmt.Errorf("the log does not say that the document cannot be read: %s", log)
				}
				return nil
			})
			if client.Available() {
				t.Error("the document is accepted")
			}
			if _, err := client.Begin(sso.Attempt{}); !errors.Is(err, sso.ErrUnavailable) {
				t.Errorf("Begin returned %v", err)
			}
		})
	}
	t.Run("down first", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t)
		var up atomic.Bool
		h.handlers["/.well-known/openid-configuration"] = func(w http.ResponseWriter, r *http.Request) {
			if !up.Swap(true) {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return
			}
			h.serveDiscovery(w, r)
		}
		h.client(t)
		if log := h.logged(); !strings.Contains(log, "cannot read the configuration") {
			t.Errorf("the log is %s", log)
		}
	})
}

// TestNew checks which issuers are accepted.
func TestNew(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string]bool{
		"https://login.example": true, "https://login.example/tenant/": true, "http://login.example": false,
		"http://127.0.0.1:9": false, "login.example": false,
		"https://user:password@login.example": false, "https://login.example?x": false, "https://login.example#x": false,
		"": false, "ftp://login.example": false,
	} {
		if _, err := sso.New(sso.Config{Issuer: issuer, ClientID: "c", ClientSecret: secret.New("s")}); (err == nil) != want {
			t.Errorf("%q: %v", issuer, err)
		}
	}
	for issuer, want := range map[string]bool{"http://127.0.0.1:9": true, "http://localhost": true, "http://[::1]": true,
		"http://10.0.0.1": false, "http://localhost.example": false} {
		if _, err := sso.New(sso.Config{Issuer: issuer, ClientID: "c", ClientSecret: secret.New("s"),
			AllowLoopback: true}); (err == nil) != want {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}

// TestAnswer checks that only the browser that began an attempt can continue it, in time.
func TestAnswer(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	client := h.client(t)
	a, state := h.attempt(t, client)
	other, _ := h.attempt(t, client)
	now := time.Now()
	read, err := sso.ReadAttempt(a.Cookie())
	if err != nil || read != a {
		t.Fatalf("the attempt is %+v, %v after it was read", read, err)
	}
	moved := a
	moved.Next = "/users"
	for name, test := range map[string]struct {
		attempt sso.Attempt
		query   url.Values
		at      time.Time
		want    error
	}{
		"right":        {a, url.Values{"state": {state}, "code": {"c"}}, now, nil},
		"just in time": {a, url.Values{"state": {state}, "code": {"c"}}, now.Add(sso.AttemptTTL - time.Second), nil},
		"late": {a, url.Values{"state": {state}, "code": {"c"}}, now.Add(sso.AttemptTTL + 2*time.Second),
			sso.ErrState},
		"no state":        {a, url.Values{"code": {"c"}}, now, sso.ErrState},
		"another browser": {other, url.Values{"state": {state}, "code": {"c"}}, now, sso.ErrState},
		"another page":    {moved, url.Values{"state": {state}, "code": {"c"}}, now, sso.ErrState},
		"two states":      {a, url.Values{"state": {state, "x"}, "code": {"c"}}, now, sso.ErrState},
		"two codes":       {a, url.Values{"state": {state}, "code": {"c", "d"}}, now, sso.ErrState},
	} {
		if _, err := test.attempt.Answer(test.query, test.at); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	for _, cookie := range []string{"", ".", "..", "a.1.", strings.Repeat("A", 43) + ".x.", strings.Repeat("A", 44) +
		".1.", strings.Repeat("A", 43) + ".1.?", a.Cookie() + ".", strings.Repeat("A", 9999)} {
		if _, err := sso.ReadAttempt(cookie); !errors.Is(err, sso.ErrState) {
			t.Errorf("the cookie %.50q gives %v", cookie, err)
		}
	}
	long, err := sso.NewAttempt(rand.Reader, now, "/"+strings.Repeat("x", 2000))
	if err != nil || long.Next != "/" {
		t.Errorf("a long address gives %q, %v", long.Next, err)
	}
}

// TestAnswersOfTheProvider checks errors of the provider, and answers that are another provider's (RFC 9207).
func TestAnswersOfTheProvider(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		names bool
		extra url.Values
		want  error
	}{
		"denied": {false, url.Values{"error": {"access_denied"}, "error_description": {"<script>"}},
			sso.ErrDenied},
		"error and code":         {false, url.Values{"error": {"access_denied"}, "code": {"code"}}, sso.ErrDenied},
		"nothing":                {false, nil, sso.ErrDenied},
		"another issuer":         {false, url.Values{"code": {"code"}, "iss": {"https://login.example"}}, sso.ErrInvalid},
		"no issuer":              {false, url.Values{"code": {"code"}}, nil},
		"no issuer but promised": {true, url.Values{"code": {"code"}}, sso.ErrInvalid},
		"the issuer":             {true, url.Values{"code": {"code"}, "iss": {"the provider"}}, nil},
		"another code":           {false, url.Values{"code": {"another"}}, sso.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.discovery = func(d map[string]any) { d["authorization_response_iss_parameter_supported"] = test.names }
			client := h.client(t)
			a, state := h.attempt(t, client)
			query := url.Values{"state": {state}}
			maps.Copy(query, test.extra)
			if query.Get("iss") == "the provider" {
				query.Set("iss", h.URL)
			}
			answer, err := a.Answer(query, time.Now())
			kit.Must(t, err)
			if _, err := client.Identify(t.Context(), answer); !errors.Is(err, test.want) || err != nil &&
				err.Error() != test.want.Error() {
				t.Errorf("Identify returned %v, want %v", err, test.want)
			}
		})
	}
}

// TestRequest checks what the provider is asked for.
func TestRequest(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.attempt(t, h.client(t))
	for key, want := range map[string]string{"response_type": "code", "client_id": hostileClient,
		"redirect_uri": hostileBase + "/login/sso/callback", "scope": "openid email", "code_challenge_method": "S256",
		"theme": "dark"} {
		if got := h.begun.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	values := map[string]bool{}
	for _, key := range []string{"state", "nonce", "code_challenge"} {
		if values[h.begun.Get(key)] = true; len(h.begun.Get(key)) != 43 {
			t.Errorf("%s is %q", key, h.begun.Get(key))
		}
	}
	if len(values) != 3 {
		t.Errorf("the values are not different: %v", h.begun)
	}
}
