package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/server"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

const apiKeys = "/api/v1/client/api-keys"

// key creates an API key of the company and returns it with its identifier. more are further members of the request.
func (c *company) key(t testing.TB, more string, scopes ...access.Scope) (key, id string) {
	t.Helper()
	a := c.post(t, apiKeys, keyRequest(more, scopes...))
	a.want(t, http.StatusCreated, "")
	return a.textAt(t, "/data/key"), a.textAt(t, "/data/id")
}

func keyRequest(more string, scopes ...access.Scope) string {
	names := make([]string, len(scopes))
	for n, scope := range scopes {
		names[n] = fmt.Sprintf("%q", scope)
	}
	return fmt.Sprintf(`{"name":"ERP","scopes":[%s]%s}`, strings.Join(names, ","), more)
}

// aKey creates an API key for the parameter of a path.
func aKey(t *testing.T, c *company) map[string]string {
	t.Helper()
	key, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := c.db.Tenant(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	created, err := identity.CreateAPIKey(t.Context(), tenant, identity.NewAPIKey{Key: key, Name: "ERP",
		Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"api_key_id": created.ID.String()}
}

var apiKeyOperations = []operation{
	{route: "POST /api/v1/client/api-keys", rows: createKeyRows, alone: true,
		body: func(*testing.T, *company) string { return keyRequest("", access.ScopeRead) }},
	{route: "GET /api/v1/client/api-keys", rows: []row{
		{name: "newest first, without the keys", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) {
				c.key(t, "", access.ScopeRead)
				c.key(t, `,"networks":["192.0.2.7"]`, access.ScopeWebhooks, access.ScopeRead)
				r.path += "?per_page=1&page=1"
			},
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data/0/scopes", `["read","webhooks"]`)
				wantRaw(t, a, "/data/0/networks", `["192.0.2.7/32"]`)
				wantRaw(t, a, "/data/0/created_by", fmt.Sprintf("%q", c.email))
				wantRaw(t, a, "/data/0/last_used_at", "null")
				wantRaw(t, a, "/data/0/key", "")
				wantRaw(t, a, "/pagination", `{"current_page":1,"per_page":1,"last_page":2,"has_more":true,"total":2}`)
				wantRaw(t, c.get(t, apiKeys+"?per_page=1&page=2"), "/data/0/scopes", `["read"]`)
				wantRaw(t, c.get(t, apiKeys+"?page=99999999999999999999"), "/data", "[]")
			}},
	}},
	{route: "POST /api/v1/client/api-keys/{api_key_id}/revoke", ids: aKey, rows: []row{
		{name: "twice", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/state", `"revoked"`)
			wantRaw(t, a, "/data/created_by", "null")
			again := c.post(t, a.request.path, "")
			again.want(t, http.StatusOK, "")
			if again.text != a.text {
				t.Errorf("again %s\nfirst %s", again.text, a.text)
			}
		}},
	}},
}

var createKeyRows = []row{
	{name: "every field", status: http.StatusCreated,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = `{"name":" ERP ","scopes":["submit","read","submit"],"networks":["203.0.113.9/24","::ffff:192.0.2.1","2001:db8::1/32","203.0.113.0/24"],"expires_at":"2999-01-01T00:00:00+04:00"}`
		},
		check: func(t *testing.T, c *company, a response) {
			key := a.textAt(t, "/data/key")
			if !regexp.MustCompile(`^qk_sandbox_[0-9A-Za-z]{49}$`).MatchString(key) {
				t.Errorf("key %q", key)
			}
			for path, want := range map[string]string{"name": `"ERP"`, "scopes": `["read","submit"]`,
				"networks": `["203.0.113.0/24","192.0.2.1/32","2001:db8::/32"]`, "expires_at": `"2998-12-31T20:00:00.000000Z"`,
				"state": `"active"`, "prefix": `"qk_sandbox_"`, "last_four": fmt.Sprintf("%q", key[len(key)-4:])} {
				wantRaw(t, a, "/data/"+path, want)
			}
			if list := c.get(t, apiKeys); strings.Contains(list.text, key[len("qk_sandbox_"):len(key)-4]) ||
				list.raw(t, "/data/0/id") != a.raw(t, "/data/id") {
				t.Errorf("list %s", list.text)
			}
		}},
	{name: "the 101st key", status: http.StatusConflict, code: api.CodeLimitReached,
		prepare: func(t *testing.T, c *company, _ *request) {
			for range identity.MaxAPIKeys {
				aKey(t, c)
			}
		},
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/error/details", `{"limit":100,"quota":"api_keys"}`)
			wantRaw(t, c.get(t, "/api/v1/client/account"), "/data/quotas/api_keys", `{"limit":100,"used":100}`)
		}},
	badKey("no scope", `{"name":"ERP","scopes":[]}`, map[string][]string{"scopes": {"min_items"}}),
	badKey("nothing", `{}`, map[string][]string{"name": {"required"}, "scopes": {"required"}}),
	badKey("everything",
		`{"name":"  ","scopes":["all"],"networks":["x","10.0.0.0/33","fe80::1%eth0","::ffff:10.0.0.0/104",""],"expires_at":"2020-01-01T00:00:00Z"}`,
		map[string][]string{"name": {"required"}, "scopes[0]": {"enum"}, "networks[0]": {"network"},
			"networks[1]": {"network"}, "networks[2]": {"network"}, "networks[3]": {"network"},
			"networks[4]": {"network"}, "expires_at": {"future"}}),
	badKey("a date", `{"name":"ERP","scopes":["read"],"expires_at":"2999-01-01"}`,
		map[string][]string{"expires_at": {"date_time"}}),
	badKey("a long name", `{"name":"`+strings.Repeat("x", 101)+`","scopes":["read"]}`,
		map[string][]string{"name": {"max_length"}}),
}

func badKey(name, body string, faults map[string][]string) row {
	return row{name: name, status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = body },
		check:   func(t *testing.T, _ *company, a response) { a.wantFaults(t, api.CodeValidationFailed, faults) }}
}

// TestEveryScopeOnEveryRoute calls every operation with a key of every scope. Those that the scope does not cover get
// 403, and no key can manage keys, users or logins.
func TestEveryScopeOnEveryRoute(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		for _, scope := range access.Scopes {
			key, _ := c.key(t, "", scope)
			for _, route := range server.Routes() {
				if route.Public {
					continue
				}
				r := request{method: route.Method, path: regexp.MustCompile(`\{\w+\}`).ReplaceAllString(route.Path,
					"00000000-0000-7000-8000-00000000000f"), token: key}
				if route.HasBody {
					r.body = "{"
				}
				got := s.send(t, r)
				if allowed := scope.Permissions().Has(route.Needs); (got.status == http.StatusForbidden) == allowed ||
					got.status == http.StatusUnauthorized {
					t.Errorf("%s: %s %s answered %d, allowed: %v", scope, route.Method, route.Path, got.status, allowed)
				} else if !allowed {
					got.want(t, http.StatusForbidden, api.CodeForbidden)
				}
			}
		}
	})
}

// TestAPIKeyActs checks the life of a key: a machine creates and submits with it, the list shows when it was used last,
// the audit log names its creator, and it is refused as soon as it is revoked.
func TestAPIKeyActs(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.connected(t)
		key, id := c.key(t, "", access.ScopeWrite, access.ScopeSubmit)
		created := s.send(t, request{method: http.MethodPost, path: invoicesPath, body: s.numbered(""), token: key})
		created.want(t, http.StatusCreated, "")
		invoice := invoicesPath + "/" + created.textAt(t, "/data/id")
		s.send(t, request{method: http.MethodPost, path: invoice + "/submit", token: key}).want(t, http.StatusOK, "")
		s.send(t, request{method: http.MethodGet, path: invoice, token: key}).want(t, http.StatusForbidden, api.CodeForbidden)
		account := s.send(t, request{method: http.MethodGet, path: "/api/v1/client/account", token: key})
		account.want(t, http.StatusOK, "")
		wantRaw(t, account, "/data/quotas/tokens/used", "0")
		kit.Until(t, "the record of the use", func() bool {
			return c.get(t, apiKeys).raw(t,
				"/data/0/last_used_at") != "null"
		})
		wantRaw(t, c.get(t, apiKeys), "/data/0/last_used_from", `"127.0.0.1"`)

		c.post(t, apiKeys+"/"+id+"/revoke", "").want(t, http.StatusOK, "")
		s.send(t, request{method: http.MethodPost, path: invoicesPath, body: s.numbered(""), token: key}).want(t,
			http.StatusUnauthorized, api.CodeUnauthenticated)
		acts, err := s.db.Audit(t.Context(), base.AuditFilter{Account: &c.id, Act: "api_key", Limit: 10})
		if err != nil || len(acts) != 2 {
			t.Fatalf("%d acts, %v", len(acts), err)
		}
		for n, act := range acts {
			if act.Act != []string{"api_key.create", "api_key.revoke"}[n] || act.Kind != base.ActorUser ||
				act.Name != c.email || act.Means != base.MeansAPI ||
				act.Source != "127.0.0.1" || act.RequestID == "" || act.Subject != id {
				t.Errorf("act %+v", act)
			}
		}
	})
}

// TestAPIKeyExpires checks that a key is not accepted after its expiry, and that the list says so.
func TestAPIKeyExpires(t *testing.T) {
	onEngines(t, func(c *service.Config) { c.Now = time.Now }, func(t *testing.T, s *system) {
		c := s.company(t)
		const life = 20 * time.Minute
		key, _ := c.key(t, fmt.Sprintf(`,"expires_at":%q`, s.clock.Now().Add(life).Format(time.RFC3339Nano)),
			access.ScopeRead)
		r := request{method: http.MethodGet, path: invoicesPath, token: key}
		s.send(t, r).want(t, http.StatusOK, "")
		s.clock.advance(life)
		s.send(t, r).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
		wantRaw(t, c.get(t, apiKeys), "/data/0/state", `"expired"`)
	})
}

// TestAPIKeyNetworks checks that a key works only from its networks, that only trusted proxies say where a request
// comes from, and that calls from elsewhere, which need the stolen key, cost the company nothing of its limit.
func TestAPIKeyNetworks(t *testing.T) {
	const calls = 5
	onFirst(t, func(c *service.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.RateLimit, c.Now = calls, time.Now
	}, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		key, _ := c.key(t, `,"networks":["203.0.113.0/24","2001:db8::/32"]`, access.ScopeRead)
		from := func(source string) response {
			return s.send(t, request{method: http.MethodGet, path: invoicesPath, token: key,
				header: http.Header{"X-Forwarded-For": {source}}})
		}
		for _, source := range []string{"198.51.100.7", "203.0.113.7, 198.51.100.7", "127.0.0.1", "2001:db9::1", "unknown",
			"203.0.113.7, x", ""} {
			for range calls {
				a := from(source)
				a.want(t, http.StatusForbidden, api.CodeForbidden)
				wantRaw(t, a, "/error/details/source/0/rule", `"network"`)
				if a.header.Get("RateLimit-Limit") != "" {
					t.Error("a call from elsewhere was counted")
				}
			}
		}
		for _, source := range []string{"203.0.113.7", "198.51.100.7, 203.0.113.255", "::ffff:203.0.113.7", "2001:db8::1"} {
			from(source).want(t, http.StatusOK, "")
		}
		from("203.0.113.7").want(t, http.StatusOK, "")
		from("203.0.113.7").want(t, http.StatusTooManyRequests, api.CodeRateLimited) // each key has its own limit
		other, _ := c.key(t, "", access.ScopeRead)
		s.send(t, request{method: http.MethodGet, path: invoicesPath, token: other}).want(t, http.StatusOK, "")
	})
}

// TestUntrustedForwardingHeader checks that a client that is no proxy cannot say where it comes from.
func TestUntrustedForwardingHeader(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		key, _ := s.company(t).key(t, `,"networks":["203.0.113.0/24"]`, access.ScopeRead)
		s.send(t, request{method: http.MethodGet, path: invoicesPath, token: key,
			header: http.Header{"X-Forwarded-For": {"203.0.113.7"}}}).
			want(t, http.StatusForbidden, api.CodeForbidden)
	})
}

// TestWrongAPIKeys checks what a caller learns about a credential that is not accepted: what is wrong with its form,
// and nothing else.
func TestWrongAPIKeys(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		key, id := c.key(t, "", access.Scopes...)
		unknown, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		production, err := secret.NewAPIKey(secret.APIKeyProduction, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c.post(t, apiKeys+"/"+id+"/revoke", "").want(t, http.StatusOK, "")
		bearer := func(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }
		for name, test := range map[string]struct {
			header http.Header
			query  string
			rule   string
		}{
			"revoked":           {bearer(key), "", ""},
			"unknown":           {bearer(unknown.Reveal()), "", ""},
			"a character less":  {bearer(key[:len(key)-1]), "", "api_key"},
			"a character more":  {bearer(key + "0"), "", "api_key"},
			"another character": {bearer(key[:20] + "_" + key[21:]), "", "api_key"},
			"the prefix":        {bearer("qk_"), "", "api_key"},
			"of production":     {bearer(production.Reveal()), "", "environment"},
			"as a user name": {http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(key+":"))}},
				"", "scheme"},
			"in the query":       {http.Header{}, "?api_key=" + key, "api_key"},
			"in another header":  {http.Header{"X-Api-Key": {key}}, "", ""},
			"as a session":       {http.Header{"Cookie": {"quittance_session=" + key}}, "", ""},
			"twice":              {http.Header{"Authorization": {"Bearer " + key, "Bearer " + key}}, "", ""},
			"bytes in the token": {bearer("qk_sandbox_\xff\xfe"), "", "api_key"},
		} {
			t.Run(name, func(t *testing.T) {
				a := s.send(t, request{method: http.MethodGet, path: invoicesPath + test.query, header: test.header})
				a.want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
				if test.rule == "" {
					wantRaw(t, a, "/error/details", "{}")
					return
				}
				wantRaw(t, a, "/error/details/authorization/0/rule", fmt.Sprintf("%q", test.rule))
			})
		}
	})
}

// logBuffer is a log that several goroutines write.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestMisplacedAPIKeys checks that a key in the query, the body or an Idempotency-Key is refused, and that no key is
// logged, wherever it stands. The log names the identifier of the key.
func TestMisplacedAPIKeys(t *testing.T) {
	var log logBuffer
	onFirst(t, func(c *service.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}, func(t *testing.T, s *system) {
		c := s.company(t)
		key, id := c.key(t, "", access.ScopeRead, access.ScopeWrite)
		for place, r := range map[string]request{
			"query": {method: http.MethodGet, path: invoicesPath + "?external_id=" + key},
			"body":  {method: http.MethodPost, path: invoicesPath, body: edit(least, "recipient_name", `"`+key+`"`)},
			"Idempotency-Key": {method: http.MethodPost, path: invoicesPath, body: least,
				header: http.Header{"Idempotency-Key": {"a-" + key}}},
		} {
			r.token = key
			a := s.send(t, r)
			a.want(t, http.StatusBadRequest, api.CodeMalformedRequest)
			wantFault(t, a, place)
		}
		s.send(t, request{method: http.MethodPost, path: loginPath, body: credentials(key, key)}).want(t,
			http.StatusBadRequest, api.CodeMalformedRequest)
		s.send(t, request{method: http.MethodGet, path: invoicesPath + "/" + key, token: key}).want(t, http.StatusNotFound,
			api.CodeNotFound)
		s.send(t, request{method: http.MethodGet, path: "/" + key, token: key}).want(t, http.StatusNotFound, api.CodeNotFound)
		renamed := s.send(t, request{method: http.MethodGet, path: invoicesPath, token: key,
			header: http.Header{"X-Request-Id": {key}, "User-Agent": {key}, "Referer": {"https://example.com/?" + key}}})
		renamed.want(t, http.StatusOK, "")
		if renamed.header.Get("X-Request-Id") == key {
			t.Error("the key became a request id")
		}
		// The prefix alone, and a mistyped key, are no secrets.
		s.send(t, request{method: http.MethodPost, path: invoicesPath, body: edit(least, "recipient_name",
			`"qk_sandbox_ `+key[:len(key)-1]+`"`), token: key}).want(t, http.StatusCreated, "")
		written := log.String()
		if strings.Contains(written, key) || strings.Contains(written, key[20:]) {
			t.Error("the log contains a key")
		}
		if !strings.Contains(written, "key="+id) {
			t.Error("the log does not name the key")
		}
	})
}

// TestAPIKeyIsShownOnce checks that a repetition of the creation returns the same key without its secret part.
func TestAPIKeyIsShownOnce(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		r := request{method: http.MethodPost, path: apiKeys, body: keyRequest("", access.ScopeRead), token: c.token(t),
			header: http.Header{"Idempotency-Key": {"once"}}}
		first := s.send(t, r)
		first.want(t, http.StatusCreated, "")
		again := s.send(t, r)
		again.want(t, http.StatusCreated, "")
		if again.header.Get("Idempotency-Replayed") != "true" || again.raw(t, "/data/key") != "" ||
			again.raw(t, "/data/id") != first.raw(t, "/data/id") {
			t.Errorf("again %s", again.text)
		}
		wantRaw(t, c.get(t, apiKeys), "/pagination/total", "1")
	})
}
