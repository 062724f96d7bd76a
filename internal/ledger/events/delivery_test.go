package events_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestClaimOnce: many workers that claim at once share the due deliveries: each is claimed once.
func TestClaimOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal)
		const due = 36
		for n := range due / 3 {
			fixture.Record(t, f.Submit(t, fmt.Sprintf("INV-%d", n)), fixture.AllFour("accepted", true),
				api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal)
		}
		queue, _ := f.DeliveryQueue(t, s.ID)
		var mu sync.Mutex
		claims := map[base.ID]int{}
		fixture.Race(20, func(int) {
			// Beside others a claim may come away with nothing while there is more: the last look is after the race.
			for range 4 {
				claimed, err := events.ClaimDeliveries(t.Context(), queue, 3, fixture.LeaseDuration)
				fixture.Must2(t, err)
				mu.Lock()
				for _, d := range claimed {
					claims[d.ID]++
				}
				mu.Unlock()
			}
		})
		for _, d := range f.ClaimDeliveries(t, s.ID, 100) {
			claims[d.ID]++
		}
		if len(claims) != due {
			t.Errorf("%d deliveries were claimed, want %d", len(claims), due)
		}
		for id, n := range claims {
			if n != 1 {
				t.Errorf("delivery %s was claimed %d times", id, n)
			}
		}
	})
}

// TestDeliveryLease: a claim holds for its lease; then the delivery is due again. Of who comes too late the attempt is
// kept, because the receiver may have got the event, and nothing follows from it.
func TestDeliveryLease(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 1)
		first := f.ClaimDeliveries(t, s.ID, 10)
		f.Clock.Advance(fixture.LeaseDuration - time.Microsecond)
		if _, due := f.DeliveryQueue(t, s.ID); due || len(first) != 1 {
			t.Fatalf("%d claimed, and due again before the lease ends: %v", len(first), due)
		}
		f.Clock.Advance(time.Microsecond)
		second := f.ClaimDeliveries(t, s.ID, 10)
		if len(second) != 1 || second[0].ID != first[0].ID || !bytes.Equal(second[0].Body, first[0].Body) ||
			second[0].Attempts != 0 {
			t.Fatalf("claimed %+v, then %+v", first, second)
		}
		due := f.Delivery(t, first[0].ID).Due
		fixture.WantErr(t, first[0].RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}), base.ErrLeaseLost)
		f.WantDelivery(t, first[0].ID, fixture.Delivery{State: "pending", Attempts: 1, Due: due})
		kit.Must(t, second[0].RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}))
		f.WantDelivery(t, second[0].ID, fixture.Delivery{State: "delivered", Attempts: 2, Round: 1})
		fixture.WantErr(t, second[0].RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}), base.ErrLeaseLost)
		if kept, err := events.FindSubscription(ctx, f.Tenant, s.ID); err != nil || !kept.Active {
			t.Errorf("the subscription is deactivated: %+v, %v", kept, err)
		}
		// Where the destination leads is true however late it is seen; the delivery stays what the holder of the lease made
		// it.
		fixture.WantErr(t, first[0].RecordAttempt(ctx, fixture.Attempt(f, 302),
			events.DeliveryUpdate{State: events.DeliveryBlocked,
				Reason: "redirect", Deactivate: "redirect"}), base.ErrLeaseLost)
		f.WantDelivery(t, second[0].ID, fixture.Delivery{State: "delivered", Attempts: 4, Round: 1})
		if kept, err := events.FindSubscription(ctx, f.Tenant, s.ID); err != nil || kept.Active ||
			*kept.DeactivationReason != "redirect" {
			t.Errorf("the subscription still is active: %+v, %v", kept, err)
		}
	})
}

// TestRecordAttempt: an attempt is stored as it went, and makes its delivery due again at the right time or ends it.
func TestRecordAttempt(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		for _, end := range []events.DeliveryUpdate{
			{State: events.DeliveryDelivered}, {State: events.DeliveryFailed, Reason: "attempts_exhausted"},
			{State: events.DeliveryBlocked, Reason: "redirect"},
		} {
			f.Tell(t, 1)
			d := f.ClaimDeliveries(t, s.ID, 1)[0]
			due := f.Clock.Now().Add(time.Minute)
			failed := events.Attempt{StartedAt: f.Clock.Now(), Duration: time.Second, ErrorClass: "timeout"}
			kit.Must(t, d.RecordAttempt(ctx, failed, events.DeliveryUpdate{State: events.DeliveryPending, DueAt: due}))
			f.WantDelivery(t, d.ID, fixture.Delivery{State: "pending", Attempts: 1, Round: 1, Due: due.UnixMicro()})
			if early := f.ClaimDeliveries(t, s.ID, 1); len(early) != 0 {
				t.Fatalf("%+v is due before its time", early)
			}
			f.Clock.Advance(time.Minute)
			again := f.ClaimDeliveries(t, s.ID, 1)[0]
			if again.ID != d.ID || again.Event != d.Event || again.Attempts != 1 || again.Round != 1 {
				t.Errorf("the second attempt is %+v, the first was %+v", again, d)
			}
			kit.Must(t, again.RecordAttempt(ctx, fixture.Attempt(f, 200), end))
			f.WantDelivery(t, d.ID, fixture.Delivery{State: string(end.State), Reason: end.Reason, Attempts: 2, Round: 2})
			f.Clock.Advance(time.Hour)
			if late := f.ClaimDeliveries(t, s.ID, 1); len(late) != 0 {
				t.Errorf("%s is claimed again: %+v", end.State, late)
			}
			kept := f.Rows(t, `select ordinal, duration, http_status, error_class, answer from attempts where delivery_id = $1`,
				d.ID)
			want := fmt.Sprint([]string{"ordinal=1 duration=1000000 http_status=0 error_class=timeout answer=",
				fmt.Sprintf("ordinal=2 duration=1500000 http_status=200 error_class= answer=%x", "answer")})
			if fmt.Sprint(kept) != want {
				t.Errorf("attempts %v, want %v", kept, want)
			}
		}
	})
}

// TestDeactivation: pending deliveries end as failed, those in flight finish, and the subscription stays.
func TestDeactivation(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s, other := f.Subscribe(t, api.EventSubmissionUpdated), f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 5)
		flying := f.ClaimDeliveries(t, s.ID, 4)
		at := f.Clock.Advance(time.Second)
		kit.Must(t, flying[0].RecordAttempt(ctx, fixture.Attempt(f, 302),
			events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}))
		f.WantDelivery(t, flying[0].ID, fixture.Delivery{State: "blocked", Reason: "redirect", Attempts: 1, Round: 1})
		ended, err := events.FindSubscription(ctx, f.Tenant, s.ID)
		kit.Must(t, err)
		want := s
		want.Active, want.DeactivatedAt, want.DeactivationReason = false, &at, new("redirect")
		fixture.WantEqual(t, "the deactivated subscription", ended, want)
		if n := f.Number(t,
			`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_inactive' and due_at is null`, s.ID); n != 4 {
			t.Errorf("%d pending deliveries have ended, want 4", n)
		}
		kit.Must(t, flying[1].RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}))
		f.WantDelivery(t, flying[1].ID, fixture.Delivery{State: "delivered", Attempts: 1, Round: 1})
		kit.Must(t, flying[2].RecordAttempt(ctx, fixture.Attempt(f, 503),
			events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now().Add(time.Minute)}))
		f.WantDelivery(t, flying[2].ID, fixture.Delivery{State: "failed", Reason: "subscription_inactive", Attempts: 1,
			Round: 1})
		f.Clock.Advance(time.Second)
		kit.Must(t, flying[3].RecordAttempt(ctx, fixture.Attempt(f, 302),
			events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: "unsafe", Deactivate: "unsafe"}))
		again, err := events.FindSubscription(ctx, f.Tenant, s.ID)
		kit.Must(t, err)
		if !again.DeactivatedAt.Equal(at) || *again.DeactivationReason != "redirect" {
			t.Errorf("a second reason changed the first: %+v", again)
		}
		f.Clock.Advance(time.Hour)
		if late := f.ClaimDeliveries(t, s.ID, 10); len(late) != 0 {
			t.Errorf("%d deliveries of a deactivated subscription are due", len(late))
		}
		if n := len(f.ClaimDeliveries(t, other.ID, 10)); n != 5 {
			t.Errorf("the other subscription has %d deliveries due, want 5", n)
		}
	})
}

// TestEventBesideDeactivation: the delivery of an event that commits beside a deactivation, and has not seen it, ends
// like those that were pending then, and nothing is sent.
func TestEventBesideDeactivation(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 2)
		// The rows as such a commit leaves them: the subscription ended, its deliveries pending and due.
		f.Exec(t, `update subscriptions set active = 0, deactivated_at = 1, deactivation_reason = 'requested' where id = $1`,
			s.ID)
		if claimed := f.ClaimDeliveries(t, s.ID, 1); len(claimed) != 0 {
			t.Fatalf("%+v is sent to a deactivated subscription", claimed)
		}
		if n := f.Number(t,
			`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_inactive' and due_at is null and attempts = 0`, s.ID); n != 2 {
			t.Errorf("%d deliveries have ended, want 2", n)
		}
		if _, due := f.DeliveryQueue(t, s.ID); due {
			t.Error("a queue is left")
		}
	})
}

// TestSubscriptionLimit: a company has at most twenty active subscriptions, also when it creates them at once.
func TestSubscriptionLimit(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		var mu sync.Mutex
		var refused int
		fixture.Race(events.MaxSubscriptions+5, func(int) {
			_, err := events.CreateSubscription(t.Context(), f.Tenant,
				events.NewSubscription{URL: fixture.HookURL, Events: []api.EventKind{api.EventSubmissionUpdated}})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				if !errors.Is(err, base.ErrLimit) {
					t.Errorf("error %v", err)
				}
			}
		})
		if n := f.Number(t, `select count(*) from subscriptions where tenant_id = $1 and active = 1`,
			f.Tenant.ID()); n != events.MaxSubscriptions || refused != 5 {
			t.Errorf("%d are active and %d were refused", n, refused)
		}
	})
}
