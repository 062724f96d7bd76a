package ledger_test

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/ledgertest/fixture"
)

// scannedCompanies is how many companies' entries a step of a scan reads, twice.
const scannedCompanies = 2 * 256

// findDue scans for the queue of the fixture's company; the others are copies, whose seals do not open.
func findDue(queue *base.Queue, scan func(context.Context, base.ScanCursor) (base.DueScan, error),
	key base.ID) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for from := (base.ScanCursor{}); ; {
			step, err := scan(ctx, from)
			if err != nil {
				return err
			}
			var found bool
			if *queue, found = fixture.FindQueue(step.Queues, key); found {
				return nil
			}
			if from = step.Next; from.IsZero() {
				return errors.New("nothing is due")
			}
		}
	}
}

// mailOperations are those of mails.
func mailOperations(f *fixture.Fixture, db *base.DB, tenant *base.Tenant, rows *planRows) []operation {
	var mailQueue base.Queue
	var mails []identity.MailLease
	return []operation{
		{name: "TellOwners", uses: "notices_due", depth: 1, run: func(ctx context.Context) error {
			_, err := identity.TellOwners(ctx, db)
			return err
		}},
		{name: "DueMailQueues", uses: "mails_due", depth: scannedCompanies,
			run: findDue(&mailQueue, func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
				return identity.DueMailQueues(ctx, db, from)
			}, f.Account.ID)},
		{name: "ClaimMails", uses: "mails_due", run: func(ctx context.Context) (err error) {
			mails, err = identity.ClaimMails(ctx, mailQueue, 20, fixture.LeaseDuration)
			return err
		}},
		{name: "RecordMail", run: func(ctx context.Context) error {
			return mails[0].Record(ctx, identity.MailResult{State: identity.MailPending, DueAt: f.Clock.Now().Add(time.Minute),
				Reason: "unreachable"})
		}},
		{name: "MailBacklog", whole: []string{"mails"}, run: func(ctx context.Context) error {
			_, _, err := identity.MailBacklog(ctx, db)
			return err
		}},
		{name: "RevokeInvitation", uses: "mails_subject", run: func(ctx context.Context) error {
			_, err := identity.RevokeInvitation(ctx, tenant, fixture.As(f.User.ID), rows.invitation)
			return err
		}},
		{name: "MailSettings", run: func(ctx context.Context) error {
			_, err := identity.ReadMailSettings(ctx, tenant, f.User.ID)
			return err
		}},
	}
}
