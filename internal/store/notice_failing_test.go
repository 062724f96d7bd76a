package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
)

// TestFailingNotice checks that an attempt after which a delivery keeps failing causes a notice at once, that those of
// a day after it make one, and that other attempts cause none, nor one whose lease another worker has taken since.
func TestFailingNotice(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		s := f.subscribe(t, api.EventSubmissionUpdated)
		fails := func(d store.DeliveryLease, keeps bool) error {
			return d.RecordAttempt(ctx, attempt(f, 500), store.DeliveryUpdate{State: store.DeliveryPending,
				DueAt: f.Clock.Now().Add(time.Hour), KeepsFailing: keeps})
		}
		want := func(when string, want ...string) {
			t.Helper()
			var got []string
			_, err := f.TellOwners(ctx)
			kit.Must(t, err)
			for _, m := range f.claimMails(t) {
				got = append(got, fmt.Sprintf("%s %s %d", m.To, m.Kind, m.Count))
				kit.Must(t, m.Record(ctx, store.MailResult{State: store.MailSent}))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		f.tell(t, 4)
		claimed := f.claimDeliveries(t, s.ID, 4)
		kit.Must(t, fails(claimed[0], false))
		want("after an attempt that fails")
		kit.Must(t, fails(claimed[1], true))
		want("at once", "owner@example.com notice_failing 1")
		kit.Must(t, fails(claimed[2], true))
		f.Clock.Advance(leaseDuration)
		again := f.claimDeliveries(t, s.ID, 1)
		if len(again) != 1 || again[0].ID != claimed[3].ID {
			t.Fatalf("claimed %d deliveries", len(again))
		}
		wantErr(t, fails(claimed[3], true), store.ErrLeaseLost)
		want("within the day")
		f.Clock.Advance(store.NoticeInterval(store.NoticeFailing))
		want("after it", "owner@example.com notice_failing 1")
	})
}
