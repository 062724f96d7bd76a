package store_test

import (
	"context"
	"errors"
	"time"

	"quittance/internal/store"
)

// scannedCompanies is how many companies' entries a step of a scan reads, twice.
const scannedCompanies = 2 * 256

// findDue scans for the queue of the fixture's company; the others are copies, whose seals do not open.
func findDue(queue *store.Queue, scan func(context.Context, store.ScanCursor) (store.DueScan, error),
	key store.ID) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for from := (store.ScanCursor{}); ; {
			step, err := scan(ctx, from)
			if err != nil {
				return err
			}
			var found bool
			if *queue, found = findQueue(step.Queues, key); found {
				return nil
			}
			if from = step.Next; from.IsZero() {
				return errors.New("nothing is due")
			}
		}
	}
}

// mailOperations are those of mails.
func (f *fixture) mailOperations(db *store.DB, tenant *store.Tenant, rows *planRows) []operation {
	var mailQueue store.Queue
	var mails []store.MailLease
	return []operation{
		{name: "TellOwners", uses: "notices_due", depth: 1, run: func(ctx context.Context) error {
			_, err := db.TellOwners(ctx)
			return err
		}},
		{name: "DueMailQueues", uses: "mails_due", depth: scannedCompanies,
			run: findDue(&mailQueue, db.DueMailQueues, f.account.ID)},
		{name: "ClaimMails", uses: "mails_due", run: func(ctx context.Context) (err error) {
			mails, err = mailQueue.ClaimMails(ctx, 20, leaseDuration)
			return err
		}},
		{name: "RecordMail", run: func(ctx context.Context) error {
			return mails[0].Record(ctx, store.MailResult{State: store.MailPending, DueAt: f.Clock.Now().Add(time.Minute),
				Reason: "unreachable"})
		}},
		{name: "MailBacklog", whole: []string{"mails"}, run: func(ctx context.Context) error {
			_, _, err := db.MailBacklog(ctx)
			return err
		}},
		{name: "RevokeInvitation", uses: "mails_subject", run: func(ctx context.Context) error {
			_, err := tenant.RevokeInvitation(ctx, as(f.user.ID), rows.invitation)
			return err
		}},
		{name: "MailSettings", run: func(ctx context.Context) error {
			_, err := tenant.MailSettings(ctx, f.user.ID)
			return err
		}},
	}
}
