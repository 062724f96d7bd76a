package identity_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestResetProves checks that a link for a new password proves the address: each of several unproved users gets one,
// which nobody but this user ends and of which no company learns; with the link sessions and invitations of the user
// end, the second factor stays, and the others give way.
func TestResetProves(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		const email = "victim@example.com"
		squatting := f.NewCompany(t, "squatter@example.com")
		squatter, own := unproved(t, f, squatting, email, 11), unproved(t, f, f.Company, email, 12)
		fixture.Company{User: own, Tenant: f.Tenant}.Enroll(t, f, sessionOf(t, f, 12), fixture.Digest(10))
		kit.Must(t, fixture.Second(identity.Invite(ctx, f.Tenant, new(sessionOf(t, f, 12)),
			identity.NewInvitation{Email: "by@example.com",
				Role: access.Owner, Digest: fixture.Digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		kit.Must(t, identity.RequestPasswordReset(ctx, f.DB, identity.ResetRequest{Email: email, Language: "en"}))
		kit.Must(t, fixture.Second(identity.AnswerResetRequest(ctx, f.DB, numbered(20))))
		links := map[base.ID]byte{}
		for n := range byte(2) {
			linked, err := identity.UsablePasswordReset(ctx, f.DB, fixture.Digest(20+n))
			kit.Must(t, err)
			links[linked.ID] = 20 + n
		}
		fixture.WantEqual(t, "entries about the request", len(f.Audited(t, "user.request-password-reset")), 0)
		kit.Must(t, identity.ResetPassword(ctx, f.DB, squatting.Account.ID, squatter.ID, "$squatter"))
		fixture.WantErr(t, fixture.Second(identity.UsablePasswordReset(ctx, f.DB,
			fixture.Digest(links[squatter.ID]))), base.ErrNotFound)
		reset, err := identity.CompletePasswordReset(ctx, f.DB, fixture.Digest(links[own.ID]), "$new")
		kit.Must(t, err)
		fixture.WantEqual(t, "the user", reset.ID, own.ID)
		wantGivenWay(t, f, squatter, 11)
		fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(12))), base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.FindUsableInvitation(ctx, f.DB, fixture.Digest(30))),
			base.ErrNotFound)
		kit.Must(t, fixture.Second(identity.FindSecondFactor(ctx, f.DB, own)))
		found, err := f.UserByEmail(ctx, email)
		kit.Must(t, err)
		if found.ID != own.ID || found.ProvedAt == nil || found.PasswordHash != "$new" {
			t.Errorf("who logs in is %+v", found)
		}
	})
}

// numbered returns links with digests from a number on.
func numbered(n byte) func() (identity.NewReset, error) {
	return func() (identity.NewReset, error) {
		n++
		return fixture.NewReset(n - 1), nil
	}
}

// TestPendingLoginKeepsItsAddress checks that a login by single sign-on which lacks the second factor is not completed
// with an address that its user has taken meanwhile.
func TestPendingLoginKeepsItsAddress(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		other := f.NewCompany(t, "mallory@example.com")
		mallory := other.User
		login := func(n byte) *identity.PendingLogin {
			t.Helper()
			kit.Must(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: fixture.Digest(n), User: mallory,
				Means:  identity.LoginBySingleSignOn,
				SignOn: &identity.SignOn{Issuer: issuer, Subject: "mallory", Email: mallory.Email}}, f.Clock.Now().Add(time.Hour)))
			pending, err := identity.FindPendingLogin(ctx, f.DB, fixture.Digest(n))
			kit.Must(t, err)
			return &pending
		}
		begun := login(20)
		kit.Must(t, fixture.Second(identity.ChangeAddressOf(ctx, f.DB, other.Account.ID, mallory.ID,
			identity.AddressChange{Email: f.User.Email})))
		fixture.WantErr(t, fixture.Second(identity.FindPendingLogin(ctx, f.DB, fixture.Digest(20))), base.ErrNotFound)
		for address, token := range map[string]identity.NewToken{"that of another company's user": bySignOn(f, 21),
			"one that nobody has": bySignOn(f, 22)} {
			on := *begun.SignOn
			if on.Email = f.User.Email; token.Digest == bySignOn(f, 22).Digest {
				on.Email = "nobody@example.com"
			}
			token.Pending = new(fixture.Digest(20))
			if err := third(identity.CreateSignOnToken(ctx, f.DB, on, token)); !errors.Is(err, identity.ErrSessionEnded) {
				t.Errorf("%s: %v", address, err)
			}
		}
	})
}

// TestMailsToStrangers checks that a company cannot use the mails that prove addresses to write to more strangers than
// by invitations.
func TestMailsToStrangers(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "first@example.com",
			Name: "First", Role: access.Viewer, PasswordHash: "$"})
		kit.Must(t, err)
		for n := range identity.MaxInvitationMails + 10 {
			kit.Must(t, fixture.Second(identity.ChangeAddressOf(ctx, f.DB, f.Account.ID, id,
				identity.AddressChange{Email: fmt.Sprintf("stranger-%d@example.com", n), Proof: provedBy(byte(n))})))
		}
		mails := f.Number(t, `select count(*) from mails where account_id = $1 and kind = $2`, f.Account.ID,
			identity.MailAddressProof)
		fixture.WantEqual(t, "mails to strangers", mails, int64(identity.MaxInvitationMails))
		made, err := identity.Invite(ctx, f.Tenant, new(fixture.As(f.User.ID)),
			identity.NewInvitation{Email: "next@example.com",
				Role: access.Viewer, Digest: fixture.Digest(240), MailDigest: fixture.Digest(241), Secret: secret.New("qi_x"),
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		fixture.WantEqual(t, "the mail of an invitation", made.Mail.State, identity.MailFailed)
	})
}

// TestMailLimits checks that the mails of a kind to one address are limited, whatever causes them, and that one company
// cannot use up what another may send.
func TestMailLimits(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		const changes = 40
		sent := 0
		for n := range changes {
			kit.Must(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, fmt.Sprint("$", n)))
			sent += len(f.ClaimMails(t))
		}
		if sent != identity.MaxMailsTo || f.LimitedMails() != changes-identity.MaxMailsTo {
			t.Errorf("%d mails for %d changes, %d limited", sent, changes, f.LimitedMails())
		}
		f.Clock.Advance(24 * time.Hour)
		kit.Must(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, "$next"))
		if mails := f.ClaimMails(t); len(mails) != 1 {
			t.Errorf("%d mails the next day", len(mails))
		}
		all := 0
		for company := range byte(5) {
			c := f.NewCompany(t, fmt.Sprintf("owner-%d@example.com", company))
			first := 0
			for n := range byte(2 * identity.MaxMailsTo) {
				made, err := identity.Invite(ctx, c.Tenant, new(fixture.As(c.User.ID)),
					identity.NewInvitation{Email: "one@example.com", Role: access.Viewer, Digest: fixture.Digest(100 + 10*company + n),
						MailDigest: fixture.Digest(200 + n), Secret: secret.New("qi_x"), ExpiresAt: f.Clock.Now().Add(time.Hour)})
				kit.Must(t, err)
				if made.Mail.State == identity.MailPending {
					first++
				}
			}
			if all += first; company < 3 && first != identity.MaxMailsTo {
				t.Errorf("company %d sent %d mails", company, first)
			}
		}
		fixture.WantEqual(t, "all mails to one address", all, 3*identity.MaxMailsTo)
	})
}
