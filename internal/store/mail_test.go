package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// sendMails makes the installation send mails.
func (f *fixture) sendMails(t *testing.T) {
	t.Helper()
	kit.Must(t, f.RecordMailer(t.Context(), true))
}

// inviteByMail invites a person with a secret, for which a mail is caused.
func (f *fixture) inviteByMail(t *testing.T, n byte, email string) (store.Invitation, secret.Text) {
	t.Helper()
	code, err := secret.NewInvitation(strings.NewReader(strings.Repeat(string(rune('a'+n%26)), 32)))
	kit.Must(t, err)
	made, err := f.tenant.Invite(t.Context(), new(as(f.user.ID)), store.NewInvitation{Email: email, Role: access.Viewer,
		Digest: digest(n), ExpiresAt: f.Clock.Now().Add(72 * time.Hour), Secret: code})
	kit.Must(t, err)
	return made, code
}

// claimMails claims the due mails of the fixture's company.
func (f *fixture) claimMails(t *testing.T) []store.MailLease {
	t.Helper()
	scan, err := f.DueMailQueues(t.Context(), store.ScanCursor{})
	kit.Must(t, err)
	var claimed []store.MailLease
	for _, q := range scan.Queues {
		if q.Company() == f.account.ID {
			claimed, err = q.ClaimMails(t.Context(), 1000, leaseDuration)
			kit.Must(t, err)
		}
	}
	return claimed
}

// mailOf returns the mail of an invitation as the list shows it.
func (f *fixture) mailOf(t *testing.T, id store.ID) store.InvitationMail {
	t.Helper()
	listed, err := f.tenant.Invitations(t.Context())
	kit.Must(t, err)
	for _, i := range listed {
		if i.ID == id {
			return i.Mail
		}
	}
	t.Fatalf("invitation %s is not listed", id)
	return store.InvitationMail{}
}

// mailSecrets counts the sealed secrets in the table of mails.
func (f *fixture) mailSecrets(t *testing.T) (n int) {
	t.Helper()
	kit.Must(t, f.raw.QueryRowContext(t.Context(), `select count(secret) from mails where account_id = $1`,
		f.account.ID[:]).Scan(&n))
	return n
}

// TestMailIsCausedByItsAct checks that an invitation causes a mail in its transaction only in an installation that
// sends mails, that the mail is claimed by one worker with its secret, is repeated after a crash or a failure, and
// loses its secret at its end.
func TestMailIsCausedByItsAct(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		if made, _ := f.inviteByMail(t, 1, "silent@example.com"); made.Mail.State != "" || len(f.claimMails(t)) != 0 {
			t.Errorf("an installation without a relay has caused a mail: %+v", made.Mail)
		}
		f.sendMails(t)
		made, code := f.inviteByMail(t, 2, "ann@example.com")
		wantEqual(t, "mail", made.Mail, store.InvitationMail{State: store.MailPending})
		claimed := f.claimMails(t)
		if len(claimed) != 1 || claimed[0].To != "ann@example.com" || !claimed[0].Secret.Equal(code) ||
			claimed[0].Company != f.account.Company || claimed[0].Attempts != 1 {
			t.Fatalf("claimed %+v", claimed)
		}
		if again := f.claimMails(t); len(again) != 0 {
			t.Errorf("claimed %d mails under the lease of another worker", len(again))
		}
		f.Clock.Advance(leaseDuration) // the worker has ended
		repeated := f.claimMails(t)
		if len(repeated) != 1 || repeated[0].ID != claimed[0].ID || repeated[0].Attempts != 2 {
			t.Fatalf("after a crash claimed %+v", repeated)
		}
		wantErr(t, claimed[0].Record(ctx, store.MailResult{State: store.MailSent}), store.ErrLeaseLost)
		kit.Must(t, repeated[0].Record(ctx, store.MailResult{State: store.MailPending, DueAt: f.Clock.Now().Add(time.Minute),
			Reason: "unreachable"}))
		wantEqual(t, "mail", f.mailOf(t, made.ID), store.InvitationMail{State: store.MailPending, Reason: "unreachable"})
		// The decoy's mail is one of them.
		if pending, oldest, err := f.MailBacklog(ctx); err != nil || pending != 2 || oldest.After(claimed[0].CreatedAt) {
			t.Errorf("backlog %d since %v, %v", pending, oldest, err)
		}
		f.Clock.Advance(time.Minute)
		third := f.claimMails(t)
		if len(third) != 1 || f.mailSecrets(t) != 1 {
			t.Fatalf("claimed %d, %d secrets", len(third), f.mailSecrets(t))
		}
		kit.Must(t, third[0].Record(ctx, store.MailResult{State: store.MailSent}))
		wantErr(t, third[0].Record(ctx, store.MailResult{State: store.MailSent}), store.ErrLeaseLost)
		wantEqual(t, "mail", f.mailOf(t, made.ID), store.InvitationMail{State: store.MailSent})
		if f.mailSecrets(t) != 0 {
			t.Error("the secret of a sent mail is still stored")
		}
		f.Clock.Advance(8 * 24 * time.Hour)
		kit.Must(t, f.DeleteExpired(ctx))
		var left int
		kit.Must(t, f.raw.QueryRowContext(ctx, `select count(*) from mails where account_id = $1`,
			f.account.ID[:]).Scan(&left))
		if left != 0 {
			t.Errorf("%d rows are left after a week", left)
		}
		kit.Must(t, f.RecordMailer(ctx, false))
		if sends, err := f.SendsMail(ctx); err != nil || sends {
			t.Errorf("sends %v, %v", sends, err)
		}
	})
}

// TestMailEndsWithItsSubject checks that a mail is not sent once its invitation was revoked, replaced or used, its
// company suspended, or its time over, that it does not open for another recipient, and that no secret of such a mail
// stays.
func TestMailEndsWithItsSubject(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		n := byte(3)
		for name, end := range map[string]func(made store.Invitation){
			"revoked": func(made store.Invitation) {
				kit.Must(t, second(f.tenant.RevokeInvitation(ctx, as(f.user.ID), made.ID)))
			},
			"replaced": func(made store.Invitation) { f.invite(t, n+100, made.Email, access.Viewer) },
			"used": func(store.Invitation) {
				kit.Must(t, second(f.Join(ctx, digest(n), store.NewUser{Name: "Used", PasswordHash: "$2"}, store.NewProof{})))
			},
			"suspended": func(store.Invitation) { kit.Must(t, f.SuspendAccount(ctx, f.account.ID)) },
			"expired":   func(store.Invitation) { f.Clock.Advance(store.MailTTL) },
			"swept": func(store.Invitation) {
				f.Clock.Advance(store.MailTTL)
				kit.Must(t, f.DeleteExpired(ctx))
			},
			"redirected": func(store.Invitation) {
				_, err := f.raw.ExecContext(ctx,
					`update mails set recipient = 'thief@example.com' where account_id = $1 and due_at is not null`, f.account.ID[:])
				kit.Must(t, err)
			},
		} {
			n++
			made, _ := f.inviteByMail(t, n, name+"@example.com")
			end(made)
			if claimed := f.claimMails(t); len(claimed) != 0 || f.mailSecrets(t) != 0 {
				t.Errorf("%s: %d mails are sent, %d secrets are left", name, len(claimed), f.mailSecrets(t))
			}
			kit.Must(t, f.ReactivateAccount(ctx, f.account.ID))
		}
	})
}

// TestInvitationMailLimits checks that a company cannot cause more mails of invitations than allowed, in total or to
// one address, and that the invitations themselves are made.
func TestInvitationMailLimits(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.sendMails(t)
		limited := store.InvitationMail{State: store.MailFailed, Reason: store.MailLimited}
		for n := range store.MaxMailsTo {
			if made, _ := f.inviteByMail(t, byte(n), "same@example.com"); made.Mail.State != store.MailPending {
				t.Fatalf("mail %d to one address: %+v", n, made.Mail)
			}
		}
		made, _ := f.inviteByMail(t, 20, "same@example.com")
		wantEqual(t, "another mail to one address", made.Mail, limited)
		for n := store.MaxMailsTo; n < store.MaxInvitationMails; n++ {
			if made, _ := f.inviteByMail(t, byte(100+n),
				fmt.Sprintf("p%d@example.com", n)); made.Mail.State != store.MailPending {
				t.Fatalf("mail %d: %+v", n, made.Mail)
			}
		}
		made, _ = f.inviteByMail(t, 21, "more@example.com")
		wantEqual(t, "another mail", made.Mail, limited)
		wantEqual(t, "in the list", f.mailOf(t, made.ID), store.InvitationMail{})
		f.Clock.Advance(time.Hour)
		if made, _ := f.inviteByMail(t, 22, "later@example.com"); made.Mail.State != store.MailPending {
			t.Errorf("an hour later: %+v", made.Mail)
		}
		if made, _ := f.inviteByMail(t, 23, "same@example.com"); made.Mail != limited {
			t.Errorf("an hour later to the same address: %+v", made.Mail)
		}
	})
}

// TestMailClaimedOnce checks that workers that claim at the same time get different mails.
func TestMailClaimedOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.sendMails(t)
		const mails = 12
		for n := range byte(mails) {
			f.inviteByMail(t, n, fmt.Sprintf("p%d@example.com", n))
		}
		scan, err := f.DueMailQueues(t.Context(), store.ScanCursor{})
		kit.Must(t, err)
		var claimed atomic.Int32
		race(8, func(int) {
			got, err := scan.Queues[0].ClaimMails(t.Context(), 3, leaseDuration)
			if err != nil {
				t.Error(err)
			}
			claimed.Add(int32(len(got)))
		})
		for more := f.claimMails(t); len(more) > 0; more = f.claimMails(t) {
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for n, role := range []access.Role{access.Owner, access.Owner, access.Owner, access.Viewer} {
			id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: fmt.Sprintf("%s-%d@example.com", role, n), Name: "N",
				Role: role, PasswordHash: "$2", Proved: true})
			kit.Must(t, err)
			user, err := f.tenant.User(ctx, id)
			kit.Must(t, err)
			switch n {
			case 1:
				kit.Must(t, f.DisableUser(ctx, f.account.ID, user.ID, false))
			case 2:
				_, err := f.CreateToken(ctx, user, store.NewToken{Digest: digest(99), ExpiresAt: f.Clock.Now().AddDate(1, 0, 0)})
				kit.Must(t, err)
				off := store.MailSettings{Language: "ar", Off: []store.MailKind{store.NoticeRejection}}
				kit.Must(t, f.tenant.SetMailSettings(ctx, store.Session{User: user.ID, Digest: digest(99)}, off))
				stored, err := f.tenant.MailSettings(ctx, user.ID)
				kit.Must(t, err)
				wantEqual(t, "settings", stored, off)
			}
		}
		wantActs(t, f, map[string]int{"user.set-notices": 1})
		told := func() (to []string) {
			t.Helper()
			for handled := 1; handled > 0; {
				var err error
				handled, err = f.TellOwners(ctx)
				kit.Must(t, err)
			}
			for _, m := range f.claimMails(t) {
				to = append(to, fmt.Sprintf("%s %s %d %s", m.To, m.Kind, m.Count, m.Language))
				kit.Must(t, m.Record(ctx, store.MailResult{State: store.MailSent}))
			}
			slices.Sort(to)
			return to
		}
		number := 0
		reject := func() {
			number++
			decide(t, f.submit(t, fmt.Sprintf("INV-R%d", number)), func(s store.Submission, now time.Time) store.Decision {
				d := reported(s, now, allFour("accepted", true), api.EventStatusChanged)
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
		f.sendMails(t)
		reject()
		want("at once", "owner-0@example.com notice_rejection 1 ", "owner@example.com notice_rejection 1 ")
		reject()
		reject()
		want("within the hour")
		f.Clock.Advance(time.Hour)
		want("after it", "owner-0@example.com notice_rejection 2 ", "owner@example.com notice_rejection 2 ")
		f.Clock.Advance(2 * time.Hour)
		want("without news")
		s := f.subscribe(t, "einvoice.status.changed")
		reject()
		d := f.claimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, d.RecordAttempt(ctx, attempt(f, 302),
			store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}))
		want("after a deactivation", "owner-0@example.com notice_deactivated 1 ", "owner-0@example.com notice_rejection 1 ",
			"owner-2@example.com notice_deactivated 1 ar", "owner@example.com notice_deactivated 1 ",
			"owner@example.com notice_rejection 1 ")
		f.Clock.Advance(2 * time.Hour)
		_, err := f.tenant.DeactivateSubscription(ctx, f.subscribe(t, "einvoice.terminal").ID)
		kit.Must(t, err)
		want("after a deactivation at the company's request")
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
		reject()
		want("while suspended")
	})
}
