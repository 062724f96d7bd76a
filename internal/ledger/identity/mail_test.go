package identity_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestMailIsCausedByItsAct checks that an invitation causes a mail in its transaction only in an installation that
// sends mails, that the mail is claimed by one worker with its secret, is repeated after a crash or a failure, and
// loses its secret at its end.
func TestMailIsCausedByItsAct(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		if made, _ := f.InviteByMail(t, 1, "silent@example.com"); made.Mail.State != "" || len(f.ClaimMails(t)) != 0 {
			t.Errorf("an installation without a relay has caused a mail: %+v", made.Mail)
		}
		f.SendMails(t)
		made, code := f.InviteByMail(t, 2, "ann@example.com")
		fixture.WantEqual(t, "mail", made.Mail, identity.InvitationMail{State: identity.MailPending})
		claimed := f.ClaimMails(t)
		if len(claimed) != 1 || claimed[0].To != "ann@example.com" || !claimed[0].Secret.Equal(code) ||
			claimed[0].Company != f.Account.Company || claimed[0].Attempts != 1 {
			t.Fatalf("claimed %+v", claimed)
		}
		if again := f.ClaimMails(t); len(again) != 0 {
			t.Errorf("claimed %d mails under the lease of another worker", len(again))
		}
		f.Clock.Advance(fixture.LeaseDuration) // the worker has ended
		repeated := f.ClaimMails(t)
		if len(repeated) != 1 || repeated[0].ID != claimed[0].ID || repeated[0].Attempts != 2 {
			t.Fatalf("after a crash claimed %+v", repeated)
		}
		fixture.WantErr(t, claimed[0].Record(ctx, identity.MailResult{State: identity.MailSent}), base.ErrLeaseLost)
		kit.Must(t, repeated[0].Record(ctx, identity.MailResult{State: identity.MailPending,
			DueAt: f.Clock.Now().Add(time.Minute), Reason: "unreachable"}))
		fixture.WantEqual(t, "mail", f.MailOf(t, made.ID), identity.InvitationMail{State: identity.MailPending,
			Reason: "unreachable"})
		// The decoy's mail is one of them.
		if pending, oldest, err := identity.MailBacklog(ctx, f.DB); err != nil || pending != 2 ||
			oldest.After(claimed[0].CreatedAt) {
			t.Errorf("backlog %d since %v, %v", pending, oldest, err)
		}
		f.Clock.Advance(time.Minute)
		third := f.ClaimMails(t)
		if len(third) != 1 || f.MailSecrets(t) != 1 {
			t.Fatalf("claimed %d, %d secrets", len(third), f.MailSecrets(t))
		}
		kit.Must(t, third[0].Record(ctx, identity.MailResult{State: identity.MailSent}))
		fixture.WantErr(t, third[0].Record(ctx, identity.MailResult{State: identity.MailSent}), base.ErrLeaseLost)
		fixture.WantEqual(t, "mail", f.MailOf(t, made.ID), identity.InvitationMail{State: identity.MailSent})
		if f.MailSecrets(t) != 0 {
			t.Error("the secret of a sent mail is still stored")
		}
		f.Clock.Advance(8 * 24 * time.Hour)
		kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
		var left int
		kit.Must(t, f.Raw.QueryRowContext(ctx, `select count(*) from mails where account_id = $1`,
			f.Account.ID[:]).Scan(&left))
		if left != 0 {
			t.Errorf("%d rows are left after a week", left)
		}
		kit.Must(t, identity.RecordMailer(ctx, f.DB, false))
		if sends, err := identity.SendsMail(ctx, f.DB); err != nil || sends {
			t.Errorf("sends %v, %v", sends, err)
		}
	})
}

// TestMailEndsWithItsSubject checks that a mail is not sent once its invitation was revoked, replaced or used, its
// company suspended, or its time over, that it does not open for another recipient, and that no secret of such a mail
// stays.
func TestMailEndsWithItsSubject(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		n := byte(3)
		for name, end := range map[string]func(made identity.Invitation){
			"revoked": func(made identity.Invitation) {
				kit.Must(t, fixture.Second(identity.RevokeInvitation(ctx, f.Tenant, fixture.As(f.User.ID), made.ID)))
			},
			"replaced": func(made identity.Invitation) { f.Invite(t, n+100, made.Email, access.Viewer) },
			"used": func(identity.Invitation) {
				kit.Must(t, fixture.Second(identity.Join(ctx, f.DB, fixture.Digest(n), identity.NewUser{Name: "Used",
					PasswordHash: "$2"}, identity.NewProof{})))
			},
			"suspended": func(identity.Invitation) { kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID)) },
			"expired":   func(identity.Invitation) { f.Clock.Advance(identity.MailTTL) },
			"swept": func(identity.Invitation) {
				f.Clock.Advance(identity.MailTTL)
				kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
			},
			"redirected": func(identity.Invitation) {
				_, err := f.Raw.ExecContext(ctx,
					`update mails set recipient = 'thief@example.com' where account_id = $1 and due_at is not null`, f.Account.ID[:])
				kit.Must(t, err)
			},
		} {
			n++
			made, _ := f.InviteByMail(t, n, name+"@example.com")
			end(made)
			if claimed := f.ClaimMails(t); len(claimed) != 0 || f.MailSecrets(t) != 0 {
				t.Errorf("%s: %d mails are sent, %d secrets are left", name, len(claimed), f.MailSecrets(t))
			}
			kit.Must(t, identity.ReactivateAccount(ctx, f.DB, f.Account.ID))
		}
	})
}

// TestInvitationMailLimits checks that a company cannot cause more mails of invitations than allowed, in total or to
// one address, and that the invitations themselves are made.
func TestInvitationMailLimits(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.SendMails(t)
		limited := identity.InvitationMail{State: identity.MailFailed, Reason: identity.MailLimited}
		for n := range identity.MaxMailsTo {
			if made, _ := f.InviteByMail(t, byte(n), "same@example.com"); made.Mail.State != identity.MailPending {
				t.Fatalf("mail %d to one address: %+v", n, made.Mail)
			}
		}
		made, _ := f.InviteByMail(t, 20, "same@example.com")
		fixture.WantEqual(t, "another mail to one address", made.Mail, limited)
		for n := identity.MaxMailsTo; n < identity.MaxInvitationMails; n++ {
			if made, _ := f.InviteByMail(t, byte(100+n),
				fmt.Sprintf("p%d@example.com", n)); made.Mail.State != identity.MailPending {
				t.Fatalf("mail %d: %+v", n, made.Mail)
			}
		}
		made, _ = f.InviteByMail(t, 21, "more@example.com")
		fixture.WantEqual(t, "another mail", made.Mail, limited)
		fixture.WantEqual(t, "in the list", f.MailOf(t, made.ID), identity.InvitationMail{})
		f.Clock.Advance(time.Hour)
		if made, _ := f.InviteByMail(t, 22, "later@example.com"); made.Mail.State != identity.MailPending {
			t.Errorf("an hour later: %+v", made.Mail)
		}
		if made, _ := f.InviteByMail(t, 23, "same@example.com"); made.Mail != limited {
			t.Errorf("an hour later to the same address: %+v", made.Mail)
		}
	})
}

// TestMailClaimedOnce checks that workers that claim at the same time get different mails.
func TestMailClaimedOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.SendMails(t)
		const mails = 12
		for n := range byte(mails) {
			f.InviteByMail(t, n, fmt.Sprintf("p%d@example.com", n))
		}
		scan, err := identity.DueMailQueues(t.Context(), f.DB, base.ScanCursor{})
		kit.Must(t, err)
		var claimed atomic.Int32
		fixture.Race(8, func(int) {
			got, err := identity.ClaimMails(t.Context(), scan.Queues[0], 3, fixture.LeaseDuration)
			if err != nil {
				t.Error(err)
			}
			claimed.Add(int32(len(got)))
		})
		for more := f.ClaimMails(t); len(more) > 0; more = f.ClaimMails(t) {
			claimed.Add(int32(len(more)))
		}
		if claimed.Load() != mails {
			t.Errorf("%d claims of %d mails", claimed.Load(), mails)
		}
	})
}

// TestNotices checks that owners who want them get one notice at once and one for everything else within an interval,
// that nobody else gets one, and that nothing is told while the installation sends no mails or the company is
// suspended.
func TestNotices(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		for n, role := range []access.Role{access.Owner, access.Owner, access.Owner, access.Viewer} {
			id, err := identity.AddUser(ctx, f.DB, f.Account.ID,
				identity.NewUser{Email: fmt.Sprintf("%s-%d@example.com", role, n), Name: "N",
					Role: role, PasswordHash: "$2", Proved: true})
			kit.Must(t, err)
			user, err := identity.FindUser(ctx, f.Tenant, id)
			kit.Must(t, err)
			switch n {
			case 1:
				kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, user.ID, false))
			case 2:
				_, err := identity.CreateToken(ctx, f.DB, user, identity.NewToken{Digest: fixture.Digest(99),
					ExpiresAt: f.Clock.Now().AddDate(1, 0, 0)})
				kit.Must(t, err)
				off := identity.MailSettings{Language: "ar", Off: []identity.MailKind{identity.NoticeRejection}}
				kit.Must(t, identity.SetMailSettings(ctx, f.Tenant, base.Session{User: user.ID, Digest: fixture.Digest(99)}, off))
				stored, err := identity.ReadMailSettings(ctx, f.Tenant, user.ID)
				kit.Must(t, err)
				fixture.WantEqual(t, "settings", stored, off)
			}
		}
		wantActs(t, f, map[string]int{"user.set-notices": 1})
		told := func() (to []string) {
			t.Helper()
			for handled := 1; handled > 0; {
				var err error
				handled, err = identity.TellOwners(ctx, f.DB)
				kit.Must(t, err)
			}
			for _, m := range f.ClaimMails(t) {
				to = append(to, fmt.Sprintf("%s %s %d %s", m.To, m.Kind, m.Count, m.Language))
				kit.Must(t, m.Record(ctx, identity.MailResult{State: identity.MailSent}))
			}
			slices.Sort(to)
			return to
		}
		number := 0
		reject := func() {
			number++
			fixture.Decide(t, f.Submit(t, fmt.Sprintf("INV-R%d", number)),
				func(s invoices.Submission, now time.Time) invoices.Decision {
					d := fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventStatusChanged)
					d.Outcome = api.OutcomeRejected
					return d
				})
		}
		want := func(when string, want ...string) {
			t.Helper()
			if got := told(); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		reject()
		want("without a relay")
		f.SendMails(t)
		reject()
		want("at once", "owner-0@example.com notice_rejection 1 ", "owner@example.com notice_rejection 1 ")
		reject()
		reject()
		want("within the hour")
		f.Clock.Advance(time.Hour)
		want("after it", "owner-0@example.com notice_rejection 2 ", "owner@example.com notice_rejection 2 ")
		f.Clock.Advance(2 * time.Hour)
		want("without news")
		s := f.Subscribe(t, "einvoice.status.changed")
		reject()
		d := f.ClaimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 302),
			events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}))
		want("after a deactivation", "owner-0@example.com notice_deactivated 1 ", "owner-0@example.com notice_rejection 1 ",
			"owner-2@example.com notice_deactivated 1 ar", "owner@example.com notice_deactivated 1 ",
			"owner@example.com notice_rejection 1 ")
		f.Clock.Advance(2 * time.Hour)
		_, err := events.DeactivateSubscription(ctx, f.Tenant, f.Subscribe(t, "einvoice.terminal").ID)
		kit.Must(t, err)
		want("after a deactivation at the company's request")
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
		reject()
		want("while suspended")
	})
}
