package site_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ssotest"
)

const (
	strangersPassword = "a password of the stranger"
	ownPassword       = "a password of the person"
	victim            = "victim@other.example"
)

// join opens a link with a secret in a new browser and chooses a password.
func (s *system) join(t testing.TB, code, password string) (*visitor, response) {
	t.Helper()
	v := s.visitor(t)
	return v, v.post("/join/password", "code", code, "name", "Joined", "password", password)
}

// shownLink invites a person and returns the secret of the link that is shown.
func (v *visitor) shownLink(email string) string {
	v.t.Helper()
	found := invitationLink.FindStringSubmatch(v.post("/users/invitations", "email", email, "role", "owner").body)
	if found == nil {
		v.t.Fatal("no link is shown")
	}
	return found[3]
}

// loginStatus returns the status of a login to the API.
func (s *system) loginStatus(t testing.TB, email, password string) int {
	t.Helper()
	return s.api(t, "", http.MethodPost, "/api/v1/client/auth/login", map[string]string{"email": email,
		"password": password}, nil)
}

// squat makes the owner of a company join it with the address of somebody else, by the link that is shown.
func (s *system) squat(t testing.TB) *visitor {
	t.Helper()
	s.company(t, "squatter@a.example", strangersPassword)
	squatter := s.visitor(t)
	squatter.login("squatter@a.example", strangersPassword)
	stranger, joined := s.join(t, squatter.shownLink(victim), strangersPassword)
	if joined.header.Get("Location") != "/invoices?notice=good.joined" {
		t.Fatalf("the stranger joins: %d, to %s", joined.status, joined.header.Get("Location"))
	}
	return stranger
}

// TestSquatter checks that nobody keeps the address of somebody else: the owner of a company invites it and joins by
// the link that is shown; the person is invited by another company, joins by the mailed link, and the stranger's
// password and session end.
func TestSquatter(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine string) {
		s := start(t, engine, true, time.Second)
		kit.Must(t, identity.RecordMailer(t.Context(), s.DB(), true))
		stranger := s.squat(t)
		if got := s.loginStatus(t, victim, strangersPassword); got != http.StatusOK {
			t.Fatalf("the stranger's password before: %d", got)
		}
		s.company(t, "owner@b.example", ownPassword)
		b := s.visitor(t)
		b.login("owner@b.example", ownPassword)
		shown := b.shownLink(victim)
		mailed := s.mail(t, victim, identity.MailInvitation).Secret.Reveal()
		if mailed == shown {
			t.Fatal("the mailed link is the one that is shown")
		}
		if got := s.visitor(t).post("/join", "code", b.shownLink(victim)).body; strings.Contains(got, `id="ends"`) {
			t.Error("the link that is shown tells where else somebody logs in with the address")
		}
		mailed = s.lastMailed(t, b, victim)
		if got := s.visitor(t).post("/join", "code", mailed).body; !strings.Contains(got, `id="ends"`) {
			t.Error("the mailed link does not name the companies in which the login ends")
		}
		_, joined := s.join(t, mailed, ownPassword)
		if joined.header.Get("Location") != "/invoices?notice=good.joined" {
			t.Fatalf("the person joins: %d, to %s", joined.status, joined.header.Get("Location"))
		}
		if got := stranger.get("/account"); got.status != http.StatusSeeOther {
			t.Errorf("the stranger's session: %d", got.status)
		}
		if got := s.loginStatus(t, victim, strangersPassword); got != http.StatusUnauthorized {
			t.Errorf("the stranger's password: %d", got)
		}
		if got := s.loginStatus(t, victim, ownPassword); got != http.StatusOK {
			t.Errorf("the person's password: %d", got)
		}
		s.company(t, "owner@c.example", ownPassword)
		c := s.visitor(t)
		c.login("owner@c.example", ownPassword)
		if got := s.visitor(t).post("/join", "code", s.lastMailed(t, c,
			victim)); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "another company") {
			t.Errorf("the mailed link of a second company: %d", got.status)
		}
	})
}

// lastMailed sends the invitation of an address again, and returns the secret of the mailed link.
func (s *system) lastMailed(t testing.TB, owner *visitor, address string) string {
	t.Helper()
	owner.shownLink(address)
	return s.mail(t, address, identity.MailInvitation).Secret.Reveal()
}

// TestSignOnAvoidsSquatter checks that a verified login by single sign-on does not land in the company of a stranger
// who has joined with the address, and that the person who chooses a company ends what the stranger has.
func TestSignOnAvoidsSquatter(t *testing.T) {
	t.Parallel()
	s, provider := withProvider(t, first(), ssotest.Person{Subject: "victim", Email: victim})
	stranger := s.squat(t)
	person := s.visitor(t)
	if got := person.signOn(provider, "victim", ""); got.header.Get("Location") != "/login/company" {
		t.Fatalf("single sign-on leads to %s", got.header.Get("Location"))
	}
	if got := person.get("/account"); got.status != http.StatusSeeOther {
		t.Errorf("the person is logged in without a choice: %d", got.status)
	}
	if got := stranger.get("/account"); got.status != http.StatusOK {
		t.Errorf("the stranger before the choice: %d", got.status)
	}
	company := regexp.MustCompile(`name="company" value="([^"]+)"`).FindStringSubmatch(person.get("/login/company").body)
	if got := s.visitor(t).post("/login/company", "company", company[1]); got.header.Get("Location") != "/login" {
		t.Errorf("a choice in another browser leads to %s", got.header.Get("Location"))
	}
	if got := person.post("/login/company", "company", company[1]); got.header.Get("Location") != "/" {
		t.Errorf("the choice leads to %s", got.header.Get("Location"))
	}
	if got := stranger.get("/account"); got.status != http.StatusSeeOther {
		t.Errorf("the stranger's session after the choice: %d", got.status)
	}
	if got := s.loginStatus(t, victim, strangersPassword); got != http.StatusUnauthorized {
		t.Errorf("the stranger's password after the choice: %d", got)
	}
}

// TestMailBomb checks that no act of a stranger fills a mailbox: a user with the address of somebody else changes the
// password again and again.
func TestMailBomb(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	kit.Must(t, identity.RecordMailer(t.Context(), s.DB(), true))
	change := func(email string) (changed, mails int) {
		t.Helper()
		present := strangersPassword
		for n := range 30 {
			token := s.tokenOrNone(t, email, present)
			next := fmt.Sprintf("%s %d", strangersPassword, n)
			if s.api(t, token, http.MethodPost, "/api/v1/client/auth/password",
				map[string]string{"current_password": present, "new_password": next}, nil) != http.StatusOK {
				break
			}
			present = next
			changed++
		}
		return changed, len(s.mails(t, email))
	}
	s.squat(t)
	// an invitation, and one mail with a proof
	if changed, mails := change(victim); changed == 0 || changed > 10 || mails > 2 {
		t.Errorf("unproved: %d changes, %d mails", changed, mails)
	}
	if changed, mails := change("squatter@a.example"); changed == 0 || changed > 10 || mails > identity.MaxMailsTo {
		t.Errorf("proved: %d changes, %d mails", changed, mails)
	}
}

// tokenOrNone logs in to the API; "" if that is refused.
func (s *system) tokenOrNone(t testing.TB, email, password string) string {
	t.Helper()
	var login struct {
		Token string `json:"token"`
	}
	s.api(t, "", http.MethodPost, "/api/v1/client/auth/login", map[string]string{"email": email, "password": password},
		&login)
	return login.Token
}

// TestAddressPages checks that people prove and change their addresses on the account page, and that owners change
// those of colleagues, and remove them.
func TestAddressPages(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	kit.Must(t, identity.RecordMailer(t.Context(), s.DB(), true))
	s.company(t, "owner@b.example", ownPassword)
	owner := s.visitor(t)
	owner.login("owner@b.example", ownPassword)
	ann, _ := s.join(t, owner.shownLink("ann@b.example"), ownPassword)
	if got := ann.get("/account").body; !strings.Contains(got, "Not proved") {
		t.Error("the account page does not say that the address is unproved")
	}
	if !strings.Contains(ann.get("/").body, `id="unproved"`) {
		t.Error("the overview does not say that the address is unproved")
	}
	if got := ann.post("/account/address/proof"); got.header.Get("Location") != "/account?notice=good.proof_sent" {
		t.Errorf("a link is asked for: %d, to %s", got.status, got.header.Get("Location"))
	}
	code := s.mail(t, "ann@b.example", identity.MailAddressProof).Secret.Reveal()
	if got := owner.post("/prove", "code", code); got.status != http.StatusUnprocessableEntity {
		t.Errorf("the link of somebody else: %d", got.status)
	}
	if got := s.visitor(t).get("/prove").body; !strings.Contains(got, "Log in as the user") {
		t.Error("who is not logged in is not asked to log in")
	}
	if got := ann.post("/prove", "code", code); got.header.Get("Location") != "/account?notice=good.address_proved" {
		t.Errorf("the link: %d, to %s", got.status, got.header.Get("Location"))
	}
	if strings.Contains(ann.get("/").body, `id="unproved"`) {
		t.Error("the overview says that a proved address is unproved")
	}
	if got := ann.post("/account/address", "email", "ann@new.example", "current",
		"wrong"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("another address with a wrong password: %d", got.status)
	}
	if got := ann.post("/account/address", "email", "ann@new.example",
		"current", ownPassword); got.header.Get("Location") != "/account?notice=good.address_changed" {
		t.Errorf("another address: %d, to %s", got.status, got.header.Get("Location"))
	}
	s.mail(t, "ann@b.example", identity.MailAddressChanged)
	page := owner.get("/users").body
	user := regexp.MustCompile(`/users/([0-9a-f-]{36})/remove`).FindStringSubmatch(page)
	if user == nil || !strings.Contains(page, "Address not proved") {
		t.Fatal("the list has no button to remove, or does not say that the address is unproved")
	}
	if got := owner.post("/users/"+user[1]+"/address", "email",
		"ann@third.example"); got.header.Get("Location") != "/users?notice=good.address_changed" {
		t.Errorf("the address of a colleague: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := owner.post("/account/leave"); got.header.Get("Location") != "/login?notice=good.left" {
		t.Errorf("an owner leaves: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := ann.post("/account/leave"); got.header.Get("Location") != "/account?notice=bad.last_owner" {
		t.Errorf("the last owner leaves: %d, to %s", got.status, got.header.Get("Location"))
	}
}
