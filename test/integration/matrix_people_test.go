package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/test/kit"
)

const (
	atUsers       = "/api/v1/client/users"
	atInvitations = atUsers + "/invitations"
)

// people covers invitations by an owner and by an administrator, the changes of the users who join, and the import of
// one of them.
func people(t *testing.T, c *customer) {
	c.login(t)
	books := newCustomer(c.site)
	books.email, books.password = "books@palm.example", "three mild walruses sing"
	invited := c.do(t, http.MethodPost, atInvitations, "", fmt.Sprintf(`{"email":%q,"role":"accountant"}`, books.email),
		http.StatusCreated)
	books.join(t, valueAt(t, invited, "/data/url"))
	books.login(t)
	books.importDrafts(t)

	erp := newCustomer(c.site)
	erp.email, erp.password = "erp@palm.example", "four tidy penguins hum"
	var made struct{ URL string }
	c.record(t, &made, "", "account", "user", "invite", c.account, "--email", erp.email, "--role", "viewer")
	erp.join(t, made.URL)
	c.command(t, "", "account", "user", "role", c.account, "--email", erp.email, "--role", "developer")
	erp.login(t)
	erp.subscribe(t) // which a viewer may not

	got := c.do(t, http.MethodPost, atInvitations, "", `{"email":"late@palm.example","role":"owner"}`, http.StatusCreated)
	c.revokeInvitation(t, valueAt(t, got, "/data/id"))
	if got := c.form(t,
		"/join", url.Values{"code": {secretOf(t,
			valueAt(t, got, "/data/url"))}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a revoked invitation: status %d", got.status)
	}

	at := atUsers + "/" + c.userID(t, books.email)
	c.do(t, http.MethodPatch, at, "", `{"role":"viewer","active":false}`, http.StatusOK)
	if got := c.call(t, http.MethodGet, atAccount, books.token, "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("a disabled user gets status %d", got.status)
	}
	c.do(t, http.MethodPatch, at, "", `{"active":true}`, http.StatusOK)
	books.login(t)
	c.auditPeople(t, c.email+" owner active", books.email+" viewer active", erp.email+" developer active")
}

// auditPeople checks that the company has exactly these users, each with role and state, and no invitation.
func (c *customer) auditPeople(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, user := range c.users(t) {
		state := "disabled"
		if user.Active {
			state = "active"
		}
		got = append(got, fmt.Sprint(user.Email, " ", user.Role, " ", state))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the users are %q, want %q", got, want)
	}
	if left := valueAt(t, c.do(t, http.MethodGet, atInvitations, "", "", http.StatusOK),
		"/pagination/total"); left != "0" {
		t.Errorf("%s invitations are left", left)
	}
	c.audit(t)
}

// users returns the users of the company.
func (c *customer) users(t *testing.T) []api.User {
	t.Helper()
	users, err := readAll[api.User](func(path string) ([]byte, error) {
		return c.do(t, http.MethodGet, path, "", "", http.StatusOK).body, nil
	}, atUsers)
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// userID returns the identifier of the user of the company with an e-mail address.
func (c *customer) userID(t *testing.T, email string) string {
	t.Helper()
	users := c.users(t)
	n := slices.IndexFunc(users, func(u api.User) bool { return u.Email == email })
	if n < 0 {
		t.Fatalf("the company has no user %s", email)
	}
	return users[n].ID
}

// join chooses a password on the page of an invitation. If the response was lost, the invitation may be used up
// already; then the password must be right.
func (c *customer) join(t *testing.T, link string) {
	t.Helper()
	got := c.form(t, "/join/password", url.Values{"code": {secretOf(t, link)}, "name": {"A person"},
		"password": {c.password}})
	if got.status != http.StatusSeeOther && !(got.status == http.StatusUnprocessableEntity && c.fired) {
		t.Fatalf("join as %s: status %d: %s", c.email, got.status, got.body)
	}
}

// secretOf returns the secret in the link of an invitation.
func secretOf(t *testing.T, link string) string {
	t.Helper()
	_, code, found := strings.Cut(link, "#")
	if !found {
		t.Fatalf("%q is no link of an invitation", link)
	}
	return code
}

// revokeInvitation revokes an invitation. If the response was lost, it may be gone already.
func (c *customer) revokeInvitation(t *testing.T, id string) {
	t.Helper()
	if got := c.do(t, http.MethodPost, atInvitations+"/"+id+"/revoke", "", "", http.StatusOK,
		http.StatusNotFound); got.status != http.StatusOK && !c.fired {
		t.Fatalf("revocation of an invitation: %s", got.body)
	}
}

// form sends a form of the console like a person who sends it again until there is a response.
func (s *site) form(t *testing.T, path string, values url.Values) response {
	t.Helper()
	var got response
	if err := kit.Poll(func() error {
		s.running(t)
		var err error
		if got, err = s.caller.form(s.base+path, values); err == nil && got.status == http.StatusServiceUnavailable {
			err = fmt.Errorf("unavailable: %s", got.body)
		}
		return err
	}); err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return got
}
