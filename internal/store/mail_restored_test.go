package store_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
)

// TestMailsEndWithRestore checks that a restored database sends no mail or notice that was waiting in the backup, also
// not under the lease of a worker of that time, that no secret of such a mail stays, and that what happens afterwards
// is mailed.
func TestMailsEndWithRestore(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		f.inviteByMail(t, 2, "leased@example.com")
		leased := f.claimMails(t)
		waiting, _ := f.inviteByMail(t, 3, "waiting@example.com")
		reject := func(number string) {
			decide(t, f.submit(t, number), func(s store.Submission, now time.Time) store.Decision {
				d := reported(s, now, allFour("accepted", true), api.EventStatusChanged)
				d.Outcome = api.OutcomeRejected
				return d
			})
		}
		reject("INV-R1")
		if _, err := f.MarkRestored(ctx); err != nil || len(leased) != 1 {
			t.Fatalf("%d leased, %v", len(leased), err)
		}
		wantErr(t, leased[0].Record(ctx, store.MailResult{State: store.MailPending, DueAt: f.Clock.Now()}),
			store.ErrLeaseLost)
		f.Clock.Advance(leaseDuration)
		told, err := f.TellOwners(ctx)
		kit.Must(t, err)
		if claimed := f.claimMails(t); told != 0 || len(claimed) != 0 || f.mailSecrets(t) != 0 {
			t.Errorf("after the restore: %d notices, %d mails, %d secrets", told, len(claimed), f.mailSecrets(t))
		}
		wantEqual(t, "mail", f.mailOf(t, waiting.ID),
			store.InvitationMail{State: store.MailEnded, Reason: store.MailRestored})
		f.inviteByMail(t, 4, "later@example.com")
		reject("INV-R2")
		told, err = f.TellOwners(ctx)
		kit.Must(t, err)
		claimed := f.claimMails(t)
		if told != 1 || len(claimed) != 2 {
			t.Fatalf("afterwards: %d notices, %d mails", told, len(claimed))
		}
		for _, m := range claimed {
			if m.Kind == store.NoticeRejection && m.Count != 1 {
				t.Errorf("the notice counts %d rejections", m.Count)
			}
		}
	})
}
