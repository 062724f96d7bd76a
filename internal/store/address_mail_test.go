package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// TestResetProves checks that a link for a new password proves the address: each of several unproved users gets one,
// which nobody but this user ends and of which no company learns; with the link sessions and invitations of the user
// end, the second factor stays, and the others give way.
func TestResetProves(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const email = "victim@example.com"
		squatting := f.newCompany(t, "squatter@example.com")
		squatter, own := f.unproved(t, squatting, email, 11), f.unproved(t, f.company, email, 12)
		company{user: own, tenant: f.tenant}.enroll(t, f, f.sessionOf(t, 12), digest(10))
		kit.Must(t, second(f.tenant.Invite(ctx, new(f.sessionOf(t, 12)), store.NewInvitation{Email: "by@example.com",
			Role: access.Owner, Digest: digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		kit.Must(t, f.RequestPasswordReset(ctx, store.ResetRequest{Email: email, Language: "en"}))
		kit.Must(t, second(f.AnswerResetRequest(ctx, numbered(20))))
		links := map[store.ID]byte{}
		for n := range byte(2) {
			linked, err := f.UsablePasswordReset(ctx, digest(20+n))
			kit.Must(t, err)
			links[linked.ID] = 20 + n
		}
		wantEqual(t, "entries about the request", len(f.audited(t, "user.request-password-reset")), 0)
		kit.Must(t, f.ResetPassword(ctx, squatting.account.ID, squatter.ID, "$squatter"))
		wantErr(t, second(f.UsablePasswordReset(ctx, digest(links[squatter.ID]))), store.ErrNotFound)
		reset, err := f.CompletePasswordReset(ctx, digest(links[own.ID]), "$new")
		kit.Must(t, err)
		wantEqual(t, "the user", reset.ID, own.ID)
		f.wantGivenWay(t, squatter, 11)
		wantErr(t, second(f.Authenticate(ctx, digest(12))), store.ErrNotFound)
		wantErr(t, second(f.UsableInvitation(ctx, digest(30))), store.ErrNotFound)
		kit.Must(t, second(f.SecondFactor(ctx, own)))
		found, err := f.UserByEmail(ctx, email)
		kit.Must(t, err)
		if found.ID != own.ID || found.ProvedAt == nil || found.PasswordHash != "$new" {
			t.Errorf("who logs in is %+v", found)
		}
	})
}

// numbered returns links with digests from a number on.
func numbered(n byte) func() (store.NewReset, error) {
	return func() (store.NewReset, error) {
		n++
		return newReset(n - 1), nil
	}
}

// TestPendingLoginKeepsItsAddress checks that a login by single sign-on which lacks the second factor is not completed
// with an address that its user has taken meanwhile.
func TestPendingLoginKeepsItsAddress(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		other := f.newCompany(t, "mallory@example.com")
		mallory := other.user
		login := func(n byte) *store.PendingLogin {
			t.Helper()
			kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: digest(n), User: mallory, Means: store.LoginBySingleSignOn,
				SignOn: &store.SignOn{Issuer: issuer, Subject: "mallory", Email: mallory.Email}}, f.Clock.Now().Add(time.Hour)))
			pending, err := f.PendingLogin(ctx, digest(n))
			kit.Must(t, err)
			return &pending
		}
		begun := login(20)
		kit.Must(t, second(f.ChangeAddress(ctx, other.account.ID, mallory.ID, store.AddressChange{Email: f.user.Email})))
		wantErr(t, second(f.PendingLogin(ctx, digest(20))), store.ErrNotFound)
		for address, token := range map[string]store.NewToken{"that of another company's user": f.bySignOn(21),
			"one that nobody has": f.bySignOn(22)} {
			on := *begun.SignOn
			if on.Email = f.user.Email; token.Digest == f.bySignOn(22).Digest {
				on.Email = "nobody@example.com"
			}
			token.Pending = new(digest(20))
			if err := third(f.CreateSignOnToken(ctx, on, token)); !errors.Is(err, store.ErrSessionEnded) {
				t.Errorf("%s: %v", address, err)
			}
		}
	})
}

// TestMailsToStrangers checks that a company cannot use the mails that prove addresses to write to more strangers than
// by invitations.
func TestMailsToStrangers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "first@example.com", Name: "First", Role: access.Viewer,
			PasswordHash: "$"})
		kit.Must(t, err)
		for n := range store.MaxInvitationMails + 10 {
			kit.Must(t, second(f.ChangeAddress(ctx, f.account.ID, id,
				store.AddressChange{Email: fmt.Sprintf("stranger-%d@example.com", n), Proof: proof(byte(n))})))
		}
		mails := f.number(t, `select count(*) from mails where account_id = $1 and kind = $2`, f.account.ID,
			store.MailAddressProof)
		wantEqual(t, "mails to strangers", mails, int64(store.MaxInvitationMails))
		made, err := f.tenant.Invite(ctx, new(as(f.user.ID)), store.NewInvitation{Email: "next@example.com",
			Role: access.Viewer, Digest: digest(240), MailDigest: digest(241), Secret: secret.New("qi_x"),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		wantEqual(t, "the mail of an invitation", made.Mail.State, store.MailFailed)
	})
}

// TestMailLimits checks that the mails of a kind to one address are limited, whatever causes them, and that one company
// cannot use up what another may send.
func TestMailLimits(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const changes = 40
		sent := 0
		for n := range changes {
			kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, fmt.Sprint("$", n)))
			sent += len(f.claimMails(t))
		}
		if sent != store.MaxMailsTo || f.LimitedMails() != changes-store.MaxMailsTo {
			t.Errorf("%d mails for %d changes, %d limited", sent, changes, f.LimitedMails())
		}
		f.Clock.Advance(24 * time.Hour)
		kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, "$next"))
		if mails := f.claimMails(t); len(mails) != 1 {
			t.Errorf("%d mails the next day", len(mails))
		}
		all := 0
		for company := range byte(5) {
			c := f.newCompany(t, fmt.Sprintf("owner-%d@example.com", company))
			first := 0
			for n := range byte(2 * store.MaxMailsTo) {
				made, err := c.tenant.Invite(ctx, new(as(c.user.ID)),
					store.NewInvitation{Email: "one@example.com", Role: access.Viewer, Digest: digest(100 + 10*company + n),
						MailDigest: digest(200 + n), Secret: secret.New("qi_x"), ExpiresAt: f.Clock.Now().Add(time.Hour)})
				kit.Must(t, err)
				if made.Mail.State == store.MailPending {
					first++
				}
			}
			if all += first; company < 3 && first != store.MaxMailsTo {
				t.Errorf("company %d sent %d mails", company, first)
			}
		}
		wantEqual(t, "all mails to one address", all, 3*store.MaxMailsTo)
	})
}
