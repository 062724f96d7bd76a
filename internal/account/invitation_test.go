package account

import (
	"strings"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// invited returns the secret of an invitation by the owner of a service's account.
func invited(t *testing.T, s *Service, account base.Account, address string, role access.Role) string {
	t.Helper()
	tenant, err := s.DB.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	made, err := s.Invite(t.Context(), tenant, nil, address, role)
	kit.Must(t, err)
	link := made.Link("https://invoices.example/")
	before, code, found := strings.Cut(link, "#")
	if !found || before != "https://invoices.example/join" || !strings.HasPrefix(code, secret.InvitationPrefix) ||
		len(code) != len(secret.InvitationPrefix)+43 {
		t.Fatalf("link %s", link)
	}
	if !made.ExpiresAt.Equal(s.Now().Add(72 * time.Hour)) {
		t.Errorf("expires at %s", made.ExpiresAt)
	}
	return code
}

// TestJoin checks that an invited person chooses a password once and logs in with it and the invited address, and that
// nothing else is accepted as an invitation.
func TestJoin(t *testing.T) {
	s, db, account := newService(t)
	ctx := t.Context()
	code := invited(t, s, account, "  Books@Example.COM ", access.Accountant)
	found, err := s.FindInvitation(ctx, home, code)
	kit.Must(t, err)
	if found.Email != "books@example.com" || found.Role != access.Accountant || found.Company != account.Company {
		t.Errorf("found %+v", found)
	}
	for name, refused := range map[string]struct {
		code, name, password string
		want                 error
	}{
		"no code":           {"", "Books", chosen, ErrInvitation},
		"another code":      {code[:len(code)-1] + "~", "Books", chosen, ErrInvitation},
		"short password":    {code, "Books", "14 characters!", ErrPasswordLength},
		"long password":     {code, "Books", strings.Repeat("ab", 129), ErrPasswordLength},
		"invalid UTF-8":     {code, "Books", chosen + "\xff", ErrPasswordLength},
		"common password":   {code, "Books", "aaaaaaaaaaaaaaaa", ErrCommonPassword},
		"name of two lines": {code, "Books\nand more", chosen, ErrName},
		"long name":         {code, strings.Repeat("n", 257), chosen, ErrName},
	} {
		if _, err := s.Join(ctx, home, refused.code, refused.name, refused.password); err == nil ||
			err.Error() != refused.want.Error() {
			t.Errorf("%s: %v, want %v", name, err, refused.want)
		}
	}
	user, err := s.Join(ctx, home, code, "", chosen)
	kit.Must(t, err)
	if user.Email != "books@example.com" || user.Name != user.Email || user.Role != access.Accountant ||
		user.PasswordChangeRequired {
		t.Errorf("user %+v", user)
	}
	login, _, err := s.Login(ctx, home, Credentials{Email: "books@example.com", Password: chosen})
	kit.Must(t, err)
	session, err := db.Authenticate(ctx, secret.Digest(login.Token))
	kit.Must(t, err)
	if session.Role != access.Accountant || session.Account.ID != account.ID {
		t.Errorf("session %+v", session)
	}
	_, err = s.Join(ctx, home, code, "", chosen)
	wantErr(t, err, ErrInvitation)
	_, err = s.FindInvitation(ctx, home, code)
	wantErr(t, err, ErrInvitation)
	// The secret of an invitation is no token, and a token is no invitation.
	if _, err := db.Authenticate(ctx, secret.Digest(secret.New(code))); err == nil {
		t.Error("an invitation authenticates")
	}
	for _, address := range []string{"", "@", "a@", "@b", "a b@c", "a@b\n", "a\x00@b", "plain"} {
		if parsed, err := ParseEmail(address); err == nil && parsed != "a@b" {
			t.Errorf("%q is the address %q", address, parsed)
		}
	}
}

// TestJoinWithForeignAddress checks that somebody who joins with the link that was shown takes nothing from the user of
// another company who has the address: both log in with their own password, and a company only with that of its user.
func TestJoinWithForeignAddress(t *testing.T) {
	s, db, own := newService(t)
	other, err := identity.CreateAccount(t.Context(), s.DB, "Other", identity.NewUser{Email: "other@example.com",
		Name: "Other", PasswordHash: "$2"})
	kit.Must(t, err)
	kit.Must(t, second(s.Join(t.Context(), home, invited(t, s, other, email, access.Owner), "Second", chosen)))
	for _, c := range []struct {
		password string
		account  base.ID
		want     base.ID
	}{{password, base.ID{}, own.ID}, {chosen, base.ID{}, other.ID}, {chosen, other.ID, other.ID},
		{password, other.ID, base.ID{}}, {chosen, own.ID, base.ID{}}} {
		db.Clock.Advance(time.Minute)
		login, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: c.password, Account: c.account})
		if c.want.IsZero() {
			wantErr(t, err, ErrInvalidCredentials)
			continue
		}
		kit.Must(t, err)
		if login.User.Account != c.want {
			t.Errorf("logged in to %v, want %v", login.User.Account, c.want)
		}
	}
}

// TestTrustIsNotShared checks that a source which one of several users with an address has logged in from is not exempt
// from the failure limit for the others, and that the user who is trusted there still logs in once it is exceeded.
func TestTrustIsNotShared(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	other, err := identity.CreateAccount(ctx, s.DB, "Other", identity.NewUser{Email: "other@example.com", Name: "Other",
		PasswordHash: "$2"})
	kit.Must(t, err)
	kit.Must(t, second(s.Join(ctx, home, invited(t, s, other, email, access.Owner), "Second", chosen)))
	try := func(from, password string) error {
		t.Helper()
		db.Clock.Advance(7 * time.Second) // so that the limits of the source have room
		_, _, err := s.Login(ctx, from, Credentials{Email: email, Password: password})
		return err
	}
	kit.Must(t, try(home, chosen))
	for range failureRate {
		wantErr(t, try(home, "not the password"), ErrInvalidCredentials)
	}
	wantErr(t, try(home, password), ErrInvalidCredentials) // is not compared any more
	kit.Must(t, try(home, chosen))
	if err := try("203.0.113.9", password); !limited(err) {
		t.Errorf("a source that nobody trusts: %v", err)
	}
	db.Clock.Advance(failureWindow)
	kit.Must(t, try(home, password))
}

func second[T any](_ T, err error) error { return err }

// TestInvitationLimits checks that wrong secrets are limited like logins, before any password is hashed, and that a
// right one is not charged.
func TestInvitationLimits(t *testing.T) {
	s, db, account := newService(t)
	ctx := t.Context()
	code := invited(t, s, account, "books@example.com", access.Viewer)
	hashes := counted(s.Hasher)
	for range 2 * s.LoginRate {
		_, err := s.FindInvitation(ctx, home, code)
		kit.Must(t, err)
	}
	wantUsed(t, db, 0, "invitation", home)
	for n := range s.LoginRate {
		var err error
		if n%2 == 0 {
			_, err = s.Join(ctx, home, "qi_wrong", "", chosen)
		} else {
			_, err = s.FindInvitation(ctx, home, "qi_wrong")
		}
		wantErr(t, err, ErrInvitation)
	}
	for _, given := range []string{code, "qi_wrong"} {
		if _, err := s.FindInvitation(ctx, home, given); !limited(err) {
			t.Errorf("%v after too many wrong secrets", err)
		}
		if _, err := s.Join(ctx, home, given, "", chosen); !limited(err) {
			t.Errorf("%v after too many wrong secrets", err)
		}
	}
	if hashes.Load() != 0 {
		t.Errorf("%d passwords were hashed", hashes.Load())
	}
	if _, err := s.Join(ctx, "192.0.2.9", code, "", chosen); err != nil {
		t.Errorf("another source: %v", err)
	}
	s.LoginRate = 0 // disabled
	_, err := s.FindInvitation(ctx, home, "qi_wrong")
	wantErr(t, err, ErrInvitation)
}
