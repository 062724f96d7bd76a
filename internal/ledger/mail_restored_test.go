package ledger_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestMailsEndWithRestore checks that a restored database sends no mail or notice that was waiting in the backup, also
// not under the lease of a worker of that time, that no secret of such a mail stays, and that what happens afterwards
// is mailed.
func TestMailsEndWithRestore(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		f.InviteByMail(t, 2, "leased@example.com")
		leased := f.ClaimMails(t)
		waiting, _ := f.InviteByMail(t, 3, "waiting@example.com")
		reject := func(number string) {
			fixture.Decide(t, f.Submit(t, number), func(s invoices.Submission, now time.Time) invoices.Decision {
				d := fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventStatusChanged)
				d.Outcome = api.OutcomeRejected
				return d
			})
		}
		reject("INV-R1")
		if _, err := ledger.MarkRestored(ctx, f.DB); err != nil || len(leased) != 1 {
			t.Fatalf("%d leased, %v", len(leased), err)
		}
		fixture.WantErr(t, leased[0].Record(ctx, identity.MailResult{State: identity.MailPending, DueAt: f.Clock.Now()}),
			base.ErrLeaseLost)
		f.Clock.Advance(fixture.LeaseDuration)
		told, err := identity.TellOwners(ctx, f.DB)
		kit.Must(t, err)
		if claimed := f.ClaimMails(t); told != 0 || len(claimed) != 0 || f.MailSecrets(t) != 0 {
			t.Errorf("after the restore: %d notices, %d mails, %d secrets", told, len(claimed), f.MailSecrets(t))
		}
		fixture.WantEqual(t, "mail", f.MailOf(t, waiting.ID),
			identity.InvitationMail{State: identity.MailEnded, Reason: identity.MailRestored})
		f.InviteByMail(t, 4, "later@example.com")
		reject("INV-R2")
		told, err = identity.TellOwners(ctx, f.DB)
		kit.Must(t, err)
		claimed := f.ClaimMails(t)
		if told != 1 || len(claimed) != 2 {
			t.Fatalf("afterwards: %d notices, %d mails", told, len(claimed))
		}
		for _, m := range claimed {
			if m.Kind == identity.NoticeRejection && m.Count != 1 {
				t.Errorf("the notice counts %d rejections", m.Count)
			}
		}
	})
}
