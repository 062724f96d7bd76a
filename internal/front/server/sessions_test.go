package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/access"
)

const sessions = "/api/v1/client/sessions"

// sessionID returns the identifier of the session of a token.
func (s *system) sessionID(t testing.TB, token string) string {
	t.Helper()
	a := s.send(t, request{method: http.MethodGet, path: sessions, token: token})
	a.want(t, http.StatusOK, "")
	for n := range 100 {
		if at := fmt.Sprintf("/data/%d/", n); a.raw(t, at+"current") == "true" {
			return a.textAt(t, at+"id")
		}
	}
	t.Fatalf("no current session: %s", a.text)
	return ""
}

// aSession begins a session of the owner. Its identifier has a zero, which the test of unknown identifiers replaces.
func aSession(t *testing.T, c *company) map[string]string {
	t.Helper()
	id := ""
	for !strings.Contains(id, "0") {
		id = c.sessionID(t, c.token(t))
	}
	return map[string]string{"session_id": id}
}

var sessionOperations = []operation{
	{route: "GET /api/v1/client/sessions", rows: []row{
		{name: "the last begun first", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/0/current", "true")
			wantRaw(t, a, "/data/0/last_used_at", "null")
			wantRaw(t, a, "/data/0/ended_at", "null")
		}},
		{name: "of a colleague", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
			colleague := c.colleague(t, access.Viewer)
			colleague.token(t)
			r.path += "?user_id=" + colleague.user.ID.String()
		}, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/pagination/total", "1")
			wantRaw(t, a, "/data/0/current", "false")
		}},
		{name: "of a colleague, by a viewer", status: http.StatusForbidden, code: api.CodeForbidden,
			prepare: func(t *testing.T, c *company, r *request) {
				r.token = c.colleague(t, access.Viewer).token(t)
				r.path += "?user_id=" + c.user.ID.String()
			}},
		{name: "of a user of another company", status: http.StatusNotFound, code: api.CodeNotFound,
			prepare: func(t *testing.T, c *company, r *request) {
				r.path += "?user_id=" + c.system.company(t).user.ID.String()
			}},
		{name: "of nobody", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?user_id=me" }},
		{name: "past the end", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?page=9223372036854775807&per_page=100" },
			check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		badPage("page=0"),
	}},
	{route: "POST /api/v1/client/sessions/{session_id}/end", ids: aSession, rows: []row{
		{name: "the session ends", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			if a.textAt(t, "/data/ended_at") == "" {
				t.Errorf("no end: %s", a.text)
			}
			c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)}).want(t, http.StatusOK, "")
		}},
		{name: "a session of the owner, by a viewer", status: http.StatusNotFound, code: api.CodeNotFound,
			prepare: func(t *testing.T, c *company, r *request) {
				r.token = c.colleague(t, access.Viewer).token(t)
			}},
	}},
	{route: "POST /api/v1/client/sessions/end-others", alone: true, rows: []row{
		{name: "the other sessions end", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, _ *request) { c.token(t); c.token(t) },
			check: func(t *testing.T, c *company, a response) {
				if ended := a.raw(t, "/data/ended"); ended == "0" || ended == "1" {
					t.Errorf("ended %s", ended)
				}
				again := c.send(t, request{method: http.MethodPost, path: sessions + "/end-others", token: a.request.token})
				wantRaw(t, again, "/data/ended", "0")
			}},
	}},
}

// TestSessionOfLogin: a login leaves what people recognize it by, a hostile User-Agent included, and the end of the
// session holds on another replica at once. An API key can neither list nor end sessions.
func TestSessionOfLogin(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		hostile := "Mozilla/5.0 <script>(X11; Linux) Firefox/1 " + strings.Repeat("x", 4000)
		a := s.send(t, request{method: http.MethodPost, path: "/api/v1/client/auth/login",
			body: fmt.Sprintf(`{"email":%q,"password":%q}`, c.email, password), header: http.Header{"User-Agent": {hostile}}})
		a.want(t, http.StatusOK, "")
		token := a.textAt(t, "/data/token")
		list := s.send(t, request{method: http.MethodGet, path: sessions, token: token})
		wantRaw(t, list, "/data/0/client", `"api"`)
		wantRaw(t, list, "/data/0/means", `"password"`)
		wantRaw(t, list, "/data/0/device", `"Firefox on Linux"`)
		if source := list.textAt(t, "/data/0/source"); source == "" {
			t.Errorf("no address: %s", list.text)
		}
		if stored := list.textAt(t, "/data/0/user_agent"); stored != hostile[:256] {
			t.Errorf("stored %q", stored)
		}
		key, _ := c.key(t, "", access.Scopes...)
		end := sessions + "/" + list.textAt(t, "/data/0/id") + "/end"
		s.send(t, request{method: http.MethodGet, path: sessions, token: key}).want(t, http.StatusForbidden,
			api.CodeForbidden)
		s.send(t, request{method: http.MethodPost, path: end, token: key}).want(t, http.StatusForbidden, api.CodeForbidden)
		s.send(t, request{method: http.MethodPost, path: sessions + "/end-others", token: key}).want(t, http.StatusForbidden,
			api.CodeForbidden)
		c.post(t, end, "").want(t, http.StatusOK, "")
		s.send(t, request{method: http.MethodGet, path: sessions, token: token}).want(t, http.StatusUnauthorized,
			api.CodeUnauthenticated)
	})
}
