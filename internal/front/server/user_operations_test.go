package server_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

const (
	users       = "/api/v1/client/users"
	invitations = users + "/invitations"
)

var userOperations = []operation{
	{route: "GET /api/v1/client/users", rows: []row{
		{name: "oldest first", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, _ *request) { c.colleague(t, access.Developer) },
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination/total", "2")
				wantRaw(t, a, "/data/0/email", `"`+c.email+`"`)
				wantRaw(t, a, "/data/0/role", `"owner"`)
				wantRaw(t, a, "/data/0/active", "true")
				wantRaw(t, a, "/data/1/role", `"developer"`)
				if strings.Contains(a.text, "argon2") || strings.Contains(a.text, "password") {
					t.Errorf("it tells about passwords: %s", a.text)
				}
			}},
		badPage("page=0"),
	}},
	{route: "PATCH /api/v1/client/users/{user_id}", ids: aUser,
		body: func(*testing.T, *company) string { return `{"role":"viewer"}` }, rows: changeUserRows},
	{route: "DELETE /api/v1/client/users/{user_id}", ids: aUser, alone: true, rows: []row{
		{name: "removed", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			c.send(t, request{method: http.MethodDelete, path: a.request.path, token: c.token(t)}).want(t, http.StatusNotFound,
				api.CodeNotFound)
		}},
		{name: "the last owner", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
			prepare: func(_ *testing.T, c *company, r *request) { r.path = users + "/" + c.user.ID.String() },
			check: func(t *testing.T, _ *company, a response) {
				a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"role": {"last_owner"}})
			}},
	}},
	{route: "POST /api/v1/client/users/invitations", body: anInvitationBody, rows: inviteRows},
	{route: "GET /api/v1/client/users/invitations", rows: []row{
		{name: "newest first, without links", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, _ *request) { anInvitation(t, c); anInvitation(t, c) },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/pagination/total", "2")
				wantRaw(t, a, "/data/0/role", `"viewer"`)
				if strings.Contains(a.text, "url") || strings.Contains(a.text, "qi_") {
					t.Errorf("it shows a link: %s", a.text)
				}
			}},
		{name: "past the end", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?page=9223372036854775807&per_page=100" },
			check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		badPage("page=0"),
	}},
	{route: "POST /api/v1/client/users/invitations/{invitation_id}/revoke", ids: anInvitation, alone: true, rows: []row{
		{name: "the link stops working", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, c.get(t, invitations), "/data", "[]")
			c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)}).want(t, http.StatusNotFound,
				api.CodeNotFound)
		}},
	}},
}

// aUser adds a user who is no owner.
func aUser(t *testing.T, c *company) map[string]string {
	t.Helper()
	return map[string]string{"user_id": c.colleague(t, access.Accountant).user.ID.String()}
}

// link logs in the user at a path by single sign-on, as a person who is somebody else each time.
func (c *company) link(t *testing.T, path string) {
	t.Helper()
	id, err := base.ParseID(path[strings.LastIndex(path, "/")+1:])
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := c.db.Tenant(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	user, err := identity.FindUser(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	on := identity.SignOn{Issuer: "https://login.example", Subject: user.Email, Email: user.Email}
	if _, _, err := identity.CreateSignOnToken(t.Context(), c.db, on,
		identity.NewToken{Digest: secret.SessionDigest(secret.New(user.Email)),
			ExpiresAt: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
}

// newEmail returns an address that nobody has.
func (s *system) newEmail() string { return fmt.Sprintf("new-%d@example.com", s.names.Add(1)) }

// anInvitationBody returns the body of an invitation of a new address.
func anInvitationBody(_ *testing.T, c *company) string {
	return `{"email":"` + c.newEmail() + `","role":"viewer"}`
}

// anInvitation invites a person.
func anInvitation(t *testing.T, c *company) map[string]string {
	t.Helper()
	a := c.post(t, invitations, anInvitationBody(t, c))
	a.want(t, http.StatusCreated, "")
	return map[string]string{"invitation_id": a.textAt(t, "/data/id")}
}

// sends returns a prepare function that sends another body.
func sends(body string) func(t *testing.T, c *company, r *request) {
	return func(_ *testing.T, _ *company, r *request) { r.body = body }
}

// unprove gives the owner another address, and returns the code that proves it.
func (c *company) unprove(t *testing.T) string {
	t.Helper()
	kit.Must(t, identity.RecordMailer(t.Context(), c.db, true))
	code, err := secret.NewProof(rand.Reader)
	kit.Must(t, err)
	_, err = identity.ChangeAddressOf(t.Context(), c.db, c.id, c.user.ID, identity.AddressChange{Email: c.newEmail(),
		Proof: identity.NewProof{Secret: code, Digest: secret.ProofDigest(code)}})
	kit.Must(t, err)
	return code.Reveal()
}

// newAddress returns the body of a change of the own address.
func newAddress(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"current_password":%q}`, email, password)
}

var addressRows = []row{
	{name: "the new address logs in", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/email_proved", "false")
		c.send(t, request{method: http.MethodPost, path: "/api/v1/client/auth/login",
			body: credentials(a.textAt(t, "/data/email"), password)}).want(t, http.StatusOK, "")
		c.send(t, request{method: http.MethodPost, path: "/api/v1/client/auth/login",
			body: credentials(c.email, password)}).want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
	}},
	{name: "another password", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, c *company, r *request) { r.body = newAddress(c.newEmail(), "another pass phrase") },
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"current_password": {"wrong"}})
		}},
	// as any other, so that nobody learns who uses the service
	{name: "the address of another company's user", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, r *request) { r.body = newAddress(c.system.company(t).email, password) },
		check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/email_proved", "false") }},
	{name: "the address of a colleague", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			r.body = newAddress(c.colleague(t, access.Viewer).email, password)
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"exists"}})
		}},
	{name: "no address", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: sends(newAddress("books", password)),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"email"}})
		}},
}

var changeUserRows = []row{
	{name: "another address", status: http.StatusOK,
		prepare: func(_ *testing.T, c *company, r *request) { r.body = `{"email":"` + c.newEmail() + `"}` },
		check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/email_proved", "false") }},
	{name: "a role, and the address of a colleague", status: http.StatusUnprocessableEntity,
		code: api.CodeValidationFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			r.body = `{"role":"developer","email":"` + c.colleague(t, access.Viewer).email + `"}`
		},
		check: func(t *testing.T, c *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"exists"}})
			present, err := identity.UsersOf(t.Context(), c.db, c.id)
			kit.Must(t, err)
			for _, user := range present {
				if user.Role == access.Developer {
					t.Errorf("the refused call has changed the role of %s", user.Email)
				}
			}
		}},
	{name: "the own address", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, c *company, r *request) {
			r.path, r.body = users+"/"+c.user.ID.String(), `{"email":"`+c.newEmail()+`"}`
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"own_address"}})
		}},
	{name: "another role", status: http.StatusOK, prepare: sends(`{"role":"developer"}`),
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/role", `"developer"`)
			wantRaw(t, a, "/data/active", "true")
		}},
	{name: "disabled", status: http.StatusOK, prepare: sends(`{"active":false}`),
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/role", `"accountant"`)
			wantRaw(t, a, "/data/active", "false")
		}},
	{name: "unlinked", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		c.link(t, r.path)
		r.body = `{"linked":false}`
	}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/linked", "false") }},
	{name: "linked stays", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		c.link(t, r.path)
		r.body = `{"linked":true,"role":"viewer"}`
	}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/linked", "true") }},
	{name: "a link that does not exist", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: sends(`{"linked":true}`),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"linked": {"not_linked"}})
		}},
	{name: "nothing", status: http.StatusOK, prepare: sends(`{}`),
		check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/role", `"accountant"`) }},
	{name: "a role that does not exist", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: sends(`{"role":"root"}`),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"role": {"enum"}})
		}},
	{name: "null and an unknown member", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: sends(`{"role":null,"active":"yes","mail":"x@example.com"}`),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"role": {"required"}, "active": {"type"},
				"mail": {"unknown_field"}})
		}},
	{name: "the last owner loses the role", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, c *company, r *request) { r.path = users + "/" + c.user.ID.String() },
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"role": {"last_owner"}})
		}},
	{name: "the last owner leaves", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, c *company, r *request) {
			r.path, r.body = users+"/"+c.user.ID.String(), `{"active":false}`
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"active": {"last_owner"}})
		}},
}

var inviteRows = []row{
	{name: "a link for 72 hours", status: http.StatusCreated, check: func(t *testing.T, c *company, a response) {
		link := a.textAt(t, "/data/url")
		if !strings.HasPrefix(link, c.base+"/join#qi_") {
			t.Errorf("link %s", link)
		}
		expires, err := time.Parse(time.RFC3339Nano, a.textAt(t, "/data/expires_at"))
		if left := time.Until(expires); err != nil || left > 72*time.Hour+time.Minute || left < 71*time.Hour {
			t.Errorf("it expires in %s", left)
		}
		c.colleague(t, access.Owner) // the number of owners does not matter
	}},
	{name: "no address", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: sends(`{"email":"palm","role":"viewer"}`),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"email"}})
		}},
	{name: "the address of a user", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, c *company, r *request) {
			r.body = `{"email":" ` + strings.ToUpper(c.email) + `","role":"viewer"}`
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"exists"}})
		}},
	{name: "the address of another company's user", status: http.StatusCreated,
		prepare: func(t *testing.T, c *company, r *request) {
			r.body = `{"email":"` + c.company(t).email + `","role":"viewer"}`
		}},
	{name: "a role that does not exist", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: sends(`{"email":"a@example.com","role":"Owner"}`),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"role": {"enum"}})
		}},
	{name: "nothing", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed, prepare: sends(`{}`),
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"email": {"required"}, "role": {"required"}})
		}},
	{name: "too many people", status: http.StatusConflict, code: api.CodeLimitReached,
		prepare: func(t *testing.T, c *company, r *request) {
			tenant, err := c.db.Tenant(t.Context(), c.id)
			if err != nil {
				t.Fatal(err)
			}
			for n := range identity.MaxUsers - 1 {
				if _, err := identity.Invite(t.Context(), tenant, nil, identity.NewInvitation{Email: c.newEmail(),
					Role: access.Viewer, Digest: [32]byte{byte(n), byte(n >> 8), c.id[15], c.id[14], c.id[13]},
					ExpiresAt: time.Now().Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
			}
		}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/error/details/quota", `"users"`) }},
}

// TestInvitationLinkIsShownOnce checks that a response that is replayed has no link, and that the link is nowhere in
// the database.
func TestInvitationLinkIsShownOnce(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		invite := request{method: http.MethodPost, path: invitations, token: c.token(t),
			body: `{"email":"books@example.com","role":"accountant"}`, header: http.Header{"Idempotency-Key": {"one"}}}
		first := s.send(t, invite)
		first.want(t, http.StatusCreated, "")
		again := s.send(t, invite)
		again.want(t, http.StatusCreated, "")
		wantRaw(t, again, "/data/id", first.raw(t, "/data/id"))
		wantRaw(t, again, "/data/url", "")
	})
}
