package identity_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestFailingNotice checks that an attempt after which a delivery keeps failing causes a notice at once, that those of
// a day after it make one, and that other attempts cause none, nor one whose lease another worker has taken since.
func TestFailingNotice(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		fails := func(d events.DeliveryLease, keeps bool) error {
			return d.RecordAttempt(ctx, fixture.Attempt(f, 500), events.DeliveryUpdate{State: events.DeliveryPending,
				DueAt: f.Clock.Now().Add(time.Hour), KeepsFailing: keeps})
		}
		want := func(when string, want ...string) {
			t.Helper()
			var got []string
			_, err := identity.TellOwners(ctx, f.DB)
			kit.Must(t, err)
			for _, m := range f.ClaimMails(t) {
				got = append(got, fmt.Sprintf("%s %s %d", m.To, m.Kind, m.Count))
				kit.Must(t, m.Record(ctx, identity.MailResult{State: identity.MailSent}))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		f.Tell(t, 4)
		claimed := f.ClaimDeliveries(t, s.ID, 4)
		kit.Must(t, fails(claimed[0], false))
		want("after an attempt that fails")
		kit.Must(t, fails(claimed[1], true))
		want("at once", "owner@example.com notice_failing 1")
		kit.Must(t, fails(claimed[2], true))
		f.Clock.Advance(fixture.LeaseDuration)
		again := f.ClaimDeliveries(t, s.ID, 1)
		if len(again) != 1 || again[0].ID != claimed[3].ID {
			t.Fatalf("claimed %d deliveries", len(again))
		}
		fixture.WantErr(t, fails(claimed[3], true), base.ErrLeaseLost)
		want("within the day")
		f.Clock.Advance(identity.NoticeInterval(identity.NoticeFailing))
		want("after it", "owner@example.com notice_failing 1")
	})
}
