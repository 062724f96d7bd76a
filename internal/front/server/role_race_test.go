package server_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// held sends a request whose body comes only when between has returned, which runs once the server has checked the
// caller: it asks for the body then.
func (s *system) held(t *testing.T, r request, between func()) response {
	t.Helper()
	asked := make(chan struct{})
	body, rest := io.Pipe()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(asked) }})
	go func() {
		<-asked
		between()
		_, err := io.WriteString(rest, r.body)
		rest.CloseWithError(err)
	}()
	out, err := http.NewRequestWithContext(ctx, r.method, s.base+r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	out.ContentLength = int64(len(r.body))
	out.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + r.token},
		"Expect": {"100-continue"}}
	maps.Copy(out.Header, r.header)
	transport := &http.Transport{ExpectContinueTimeout: time.Hour, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	got, err := transport.RoundTrip(out)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{request: r, status: got.StatusCode, header: got.Header, text: string(text)}
}

// TestRoleEndsInFlight checks that no write is committed for a user whose role was taken away, or who was disabled,
// after the server had checked it: nothing that the role allowed follows the demotion in the audit log.
func TestRoleEndsInFlight(t *testing.T) {
	ends := map[string]func(ctx context.Context, c, user *company) error{
		"demoted": func(ctx context.Context, c, user *company) error {
			return identity.SetRole(ctx, c.db, c.id, user.user.ID, access.Viewer)
		},
		"disabled": func(ctx context.Context, c, user *company) error {
			return identity.DisableUser(ctx, c.db, c.id, user.user.ID, false)
		},
	}
	onEngines(t, nil, func(t *testing.T, s *system) {
		for name, end := range ends {
			for _, write := range []struct {
				role       access.Role
				path, body string
			}{
				{access.Developer, apiKeys, keyRequest("", access.ScopeRead)},
				{access.Owner, apiKeys, keyRequest("", access.Scopes...)},
				{access.Developer, "/api/v1/webhooks/subscriptions", `{"url":"https://hooks.example.com/x"}`},
				{access.Accountant, invoicesPath, least},
				{access.Accountant, "/api/v1/client/customers", `{"recipient_name":"Palm Books"}`},
				{access.Owner, invitations, `{"email":"new@example.com","role":"owner"}`},
			} {
				for _, key := range []string{"", "one"} {
					c := s.company(t)
					user := c.colleague(t, write.role)
					r := request{method: http.MethodPost, path: write.path, body: write.body, token: user.token(t),
						header: http.Header{}}
					if key != "" {
						r.header.Set("Idempotency-Key", key)
					}
					got := s.held(t, r, func() {
						if err := end(t.Context(), c, user); err != nil {
							t.Error(err)
						}
					})
					if got.status != http.StatusForbidden && got.status != http.StatusUnauthorized {
						t.Errorf("%s %s %s: answered %d %s", name, write.role, write.path, got.status, got.text)
					}
					acts, err := s.db.Audit(t.Context(), base.AuditFilter{Account: &c.id, Limit: 100})
					if err != nil || len(acts) == 0 {
						t.Fatalf("%d acts, %v", len(acts), err)
					}
					if last := acts[len(acts)-1].Act; last != "user.role" && last != "user.disable" {
						t.Errorf("%s %s %s: %s follows the end of the role", name, write.role, write.path, last)
					}
				}
			}
		}
	})
}

// TestDemotionRacesKeys lets eight creations of keys race the demotion of their maker. Every key is older than the
// demotion.
func TestDemotionRacesKeys(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		for range 4 {
			c := s.company(t)
			user := c.colleague(t, access.Developer)
			token, done := user.token(t), make(chan error)
			const keys = 8
			for range keys {
				go func() {
					_, err := s.try(t.Context(), request{method: http.MethodPost, path: apiKeys,
						body: keyRequest("", access.ScopeRead), token: token})
					done <- err
				}()
			}
			err := identity.SetRole(t.Context(), s.db, c.id, user.user.ID, access.Viewer)
			for range keys {
				if failed := <-done; failed != nil {
					t.Error(failed)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			acts, err := s.db.Audit(t.Context(), base.AuditFilter{Account: &c.id, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			demoted := false
			for _, act := range acts {
				demoted = demoted || act.Act == "user.role"
				if demoted && act.Act == "api_key.create" {
					t.Error("a key was made after the demotion of its maker")
				}
			}
			if !demoted {
				t.Error("the demotion left no entry")
			}
		}
	})
}

// TestKeyWithinRole checks that nobody makes a key that may do what its maker may not.
func TestKeyWithinRole(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		developer := c.colleague(t, access.Developer)
		for _, role := range []*company{c, developer} {
			permitted := access.Owner.Permissions()
			if role == developer {
				permitted = access.Developer.Permissions()
			}
			for _, scope := range access.Scopes {
				got := role.post(t, apiKeys, keyRequest("", scope))
				if permitted.Covers(scope.Permissions()) {
					got.want(t, http.StatusCreated, "")
					continue
				}
				got.wantFaults(t, api.CodeValidationFailed, map[string][]string{"scopes[0]": {"role"}})
			}
		}
		developer.post(t, apiKeys, keyRequest("", access.Scopes...)).wantFaults(t, api.CodeValidationFailed,
			map[string][]string{"scopes[1]": {"role"}})
		if made := developer.get(t, apiKeys); strings.Count(made.text, fmt.Sprintf("%q", developer.email)) != 2 {
			t.Errorf("keys %s", made.text)
		}
	})
}

// TestRevokeKeysOfPerson checks that who disables or demotes somebody can revoke the keys of this person with the same
// call, and no others.
func TestRevokeKeysOfPerson(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		for _, change := range []string{`{"active":false,"revoke_api_keys":true}`,
			`{"role":"viewer","revoke_api_keys":true}`} {
			c := s.company(t)
			developer := c.colleague(t, access.Developer)
			theirs, _ := developer.key(t, "", access.ScopeRead)
			own, _ := c.key(t, "", access.ScopeRead)
			use := func(key string) int {
				return s.send(t, request{method: http.MethodGet, path: invoicesPath, token: key}).status
			}
			patch := func(body string) {
				c.send(t, request{method: http.MethodPatch, path: users + "/" + developer.user.ID.String(), token: c.token(t),
					body: body}).want(t, http.StatusOK, "")
			}
			patch(`{"role":"accountant"}`)
			if got := use(theirs); got != http.StatusOK {
				t.Errorf("the key of a user who got another role: %d", got)
			}
			patch(change)
			if got := use(theirs); got != http.StatusUnauthorized {
				t.Errorf("%s: the key of this person: %d", change, got)
			}
			if got := use(own); got != http.StatusOK {
				t.Errorf("%s: the key of somebody else: %d", change, got)
			}
		}
	})
}
