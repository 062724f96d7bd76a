package sso_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"quittance/internal/account/sso"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// hostile is a provider that does what a test tells it. Without changes it behaves well.
type hostile struct {
	*httptest.Server
	key *rsa.PrivateKey
	// claims changes the claims of the next ID token, and sign replaces its signature.
	claims func(map[string]any)
	sign   func(payload []byte) string
	// handlers replace the endpoints with these paths.
	handlers map[string]http.HandlerFunc
	// discovery changes the discovery document.
	discovery func(map[string]any)
	// trust is [sso.Config.TrustEmails].
	trust bool
	// userInfo is what the UserInfo endpoint returns; nil for no such endpoint.
	userInfo map[string]any

	mu    sync.Mutex
	begun url.Values // the query of the last attempt
	// basic says whether the client authenticated in the header at the last call of the token endpoint.
	basic bool
	log   strings.Builder
}

const (
	hostileClient = "client"
	hostileSecret = "a secret with : and % in it"
	hostileBase   = "https://quittance.example"
)

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{key: newKey(t), handlers: map[string]http.HandlerFunc{}, claims: func(map[string]any) {},
		discovery: func(map[string]any) {}}
	h.sign = func(payload []byte) string { return signed(t, jose.RS256, h.key, payload) }
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve := map[string]http.HandlerFunc{"/.well-known/openid-configuration": h.serveDiscovery, "/keys": h.serveKeys,
			"/token": h.serveToken, "/userinfo": h.serveUserInfo}[r.URL.Path]
		if replaced := h.handlers[r.URL.Path]; replaced != nil {
			serve = replaced
		}
		if serve == nil {
			http.NotFound(w, r)
			return
		}
		serve(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	kit.Must(t, err)
	return key
}

// signed returns payload as a JWT with a signature by key.
func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, payload []byte) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	kit.Must(t, err)
	object, err := signer.Sign(payload)
	kit.Must(t, err)
	text, err := object.CompactSerialize()
	kit.Must(t, err)
	return text
}

// withPublicKey signs with the public key of the provider as if it were a shared secret.
func (h *hostile) withPublicKey(t *testing.T) func([]byte) string {
	der, err := x509.MarshalPKIXPublicKey(&h.key.PublicKey)
	kit.Must(t, err)
	key := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return func(payload []byte) string { return signed(t, jose.HS256, key, payload) }
}

func unsigned(payload []byte) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) +
		"." + base64.RawURLEncoding.EncodeToString(payload) + "."
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the caller sees what is missing
}

func (h *hostile) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	document := map[string]any{"issuer": h.URL, "authorization_endpoint": h.URL + "/authorize?theme=dark",
		"token_endpoint": h.URL + "/token", "jwks_uri": h.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}}
	if h.userInfo != nil {
		document["userinfo_endpoint"] = h.URL + "/userinfo"
	}
	h.discovery(document)
	writeJSON(w, document)
}

func (h *hostile) serveKeys(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &h.key.PublicKey, Use: "sig", Algorithm: "RS256"}}})
}

func (h *hostile) serveUserInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer an access token" {
		http.Error(w, "no access token", http.StatusUnauthorized)
		return
	}
	writeJSON(w, h.userInfo)
}

// serveToken exchanges a code, if client and code verifier are right.
func (h *hostile) serveToken(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, password, basic := r.BasicAuth()
	if h.basic = basic; basic {
		id, _ = url.QueryUnescape(id)
		password, _ = url.QueryUnescape(password)
	} else {
		id, password = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != hostileClient || password != hostileSecret ||
		r.PostFormValue("redirect_uri") != h.begun.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != h.begun.Get("code_challenge") ||
		r.PostFormValue("code") != "code" {
		w.WriteHeader(http.StatusBadRequest)
		writeJSON(w, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": h.URL, "aud": hostileClient, "sub": "subject 1",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": h.begun.Get("nonce"),
		"email": "books@palm.example", "email_verified": true}
	h.claims(claims)
	payload, err := json.Marshal(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, map[string]any{"access_token": "an access token", "token_type": "Bearer", "id_token": h.sign(payload)})
}

// client returns a client of the provider. It reads the discovery document until the test ends.
func (h *hostile) client(t *testing.T) *sso.Client {
	t.Helper()
	client, err := sso.New(sso.Config{Issuer: h.URL, ClientID: hostileClient, ClientSecret: secret.New(hostileSecret),
		BaseURL: hostileBase, AllowLoopback: true, TrustEmails: h.trust, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&lockedWriter{h: h}, nil))})
	kit.Must(t, err)
	run(t, client)
	return client
}

type lockedWriter struct{ h *hostile }

func (w *lockedWriter) Write(text []byte) (int, error) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	return w.h.log.Write(text)
}

// logged returns what the client has logged.
func (h *hostile) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// attempt begins an attempt and returns it with the state that the provider got.
func (h *hostile) attempt(t *testing.T, client *sso.Client) (sso.Attempt, string) {
	t.Helper()
	a, err := sso.NewAttempt(rand.Reader, time.Now(), "/invoices?tab=drafts")
	kit.Must(t, err)
	to, err := client.Begin(a)
	kit.Must(t, err)
	parsed, err := url.Parse(to)
	kit.Must(t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = parsed.Query()
	return a, h.begun.Get("state")
}

// login goes through one attempt.
func (h *hostile) login(t *testing.T, client *sso.Client) (sso.Identity, error) {
	t.Helper()
	a, state := h.attempt(t, client)
	answer, err := a.Answer(url.Values{"state": {state}, "code": {"code"}}, time.Now())
	kit.Must(t, err)
	return client.Identify(t.Context(), answer)
}

func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"keys":[`)
	for {
		if _, err := io.WriteString(w, strings.Repeat(`{"kty":"oct","k":"AAAA"},`, 1000)); err != nil {
			return
		}
	}
}
