package server_test

import (
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/server"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/accesstest"
)

var update = flag.Bool("update", false, "write the table of operations in docs/permissions.md anew")

// colleague adds a user with a role to the company, and returns the company as that user sees it.
func (c *company) colleague(t testing.TB, role access.Role) *company {
	t.Helper()
	other := *c
	other.email = fmt.Sprintf("%s-%d@example.com", role, c.names.Add(1))
	if _, err := identity.AddUser(t.Context(), c.db, c.id, identity.NewUser{Email: other.email, Name: string(role),
		Role: role, PasswordHash: c.hash, Proved: true}); err != nil {
		t.Fatal(err)
	}
	var err error
	if other.user, err = c.db.UserByEmail(t.Context(), other.email); err != nil {
		t.Fatal(err)
	}
	return &other
}

// TestEveryRoleOnEveryRoute calls every operation with every role over real HTTP. Those that the role does not allow
// get 403, whatever else is wrong with the request; no other one does.
func TestEveryRoleOnEveryRoute(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		for _, role := range access.Roles {
			user := c.colleague(t, role)
			for _, route := range server.Routes() {
				if route.Needs == 0 {
					t.Fatalf("%s %s names no permission", route.Method, route.Path)
				}
				path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(route.Path, "00000000-0000-7000-8000-00000000000f")
				request := request{method: route.Method, path: path, token: user.token(t)}
				if route.HasBody {
					request.body = "{" // not even JSON: the role is checked before the body is read
				}
				allowed := route.Needs == access.Public || role.Permissions().Has(route.Needs)
				got := s.send(t, request)
				if forbidden := got.status == http.StatusForbidden; forbidden == allowed || got.status == http.StatusUnauthorized {
					t.Errorf("%s: %s %s answered %d, allowed: %v", role, route.Method, route.Path, got.status, allowed)
				} else if forbidden {
					got.want(t, http.StatusForbidden, api.CodeForbidden)
				}
			}
		}
	})
}

// TestRoleAtOnce checks that a changed role and a disabled user take effect with the next request of a token that
// exists already.
func TestRoleAtOnce(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		user := c.colleague(t, access.Viewer)
		create := request{method: http.MethodPost, path: invoicesPath, body: least, token: user.token(t)}
		s.send(t, create).want(t, http.StatusForbidden, api.CodeForbidden)
		if err := identity.SetRole(t.Context(), s.db, c.id, user.user.ID, access.Accountant); err != nil {
			t.Fatal(err)
		}
		s.send(t, create).want(t, http.StatusCreated, "")
		if err := identity.SetRole(t.Context(), s.db, c.id, user.user.ID, access.Developer); err != nil {
			t.Fatal(err)
		}
		s.send(t, create).want(t, http.StatusForbidden, api.CodeForbidden)
		if err := identity.DisableUser(t.Context(), s.db, c.id, user.user.ID, false); err != nil {
			t.Fatal(err)
		}
		s.send(t, create).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
	})
}

// TestForbiddenChangesNothing checks that a role that may not write cannot use the response to another user's
// idempotency key.
func TestForbiddenChangesNothing(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		viewer := c.colleague(t, access.Viewer)
		create := request{method: http.MethodPost, path: invoicesPath, body: least, token: c.token(t),
			header: http.Header{"Idempotency-Key": {"one"}}}
		s.send(t, create).want(t, http.StatusCreated, "")
		create.token = viewer.token(t)
		got := s.send(t, create)
		got.want(t, http.StatusForbidden, api.CodeForbidden)
		if got.header.Get("Idempotency-Replayed") != "" || strings.Contains(got.text, "external_id") {
			t.Errorf("the response was replayed: %s", got.text)
		}
		session, err := s.db.Authenticate(t.Context(), secret.Digest(secret.New(create.token)))
		if err != nil || session.Role != access.Viewer || session.Email != viewer.email ||
			session.Permissions != access.Viewer.Permissions() {
			t.Errorf("session %+v, %v", session, err)
		}
		if session.Account.CreatedAt.After(time.Now()) {
			t.Error("the columns of the session are shifted")
		}
	})
}

// TestAccessTable checks that docs/permissions.md shows for every operation who may call it.
func TestAccessTable(t *testing.T) {
	var shown []accesstest.Route
	for _, route := range server.Routes() {
		if !route.Hidden {
			shown = append(shown, accesstest.Route{Method: route.Method, Path: route.Path, Needs: route.Needs})
		}
	}
	accesstest.WantTable(t, "Operations of the API", shown, true, *update)
}
