package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
)

// delivery is a row of deliveries.
type delivery struct {
	state, reason   string
	attempts, round int64
	due             int64 // 0 for never
}

func (f *fixture) delivery(t *testing.T, id store.ID) delivery {
	t.Helper()
	var d delivery
	kit.Must(t, f.raw.QueryRowContext(t.Context(),
		`select state, coalesce(reason, ''), attempts, round, coalesce(due_at, 0) from deliveries where tenant_id = $1 and id = $2`,
		f.tenant.Key(), id).Scan(&d.state, &d.reason, &d.attempts, &d.round, &d.due))
	return d
}

func (f *fixture) wantDelivery(t *testing.T, id store.ID, want delivery) {
	t.Helper()
	wantEqual(t, "the delivery", f.delivery(t, id), want)
}

// tell records n events, of as many submissions.
func (f *fixture) tell(t *testing.T, n int) {
	t.Helper()
	for range n {
		number := f.number(t, `select invoices from tenants where id = $1`, f.tenant.Key())
		record(t, f.submit(t, fmt.Sprintf("INV-T%d", number)), allFour("accepted", false), api.EventSubmissionUpdated)
	}
}

func attempt(f *fixture, status int) store.Attempt {
	return store.Attempt{StartedAt: f.Clock.Now(), Duration: 1500 * time.Millisecond, HTTPStatus: status,
		ResponseBody: []byte("answer")}
}

// deactivate ends a subscription by a blocked delivery of one event more.
func (f *fixture) deactivate(t *testing.T, s store.Subscription) {
	t.Helper()
	f.tell(t, 1)
	d := f.claimDeliveries(t, s.ID, 1)[0]
	kit.Must(t, d.RecordAttempt(t.Context(), attempt(f, 302),
		store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}))
}

// TestClaimOnce: many workers that claim at once share the due deliveries: each is claimed once.
func TestClaimOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal)
		const due = 36
		for n := range due / 3 {
			record(t, f.submit(t, fmt.Sprintf("INV-%d", n)), allFour("accepted", true), api.EventSubmissionUpdated,
				api.EventStatusChanged, api.EventTerminal)
		}
		queue, _ := f.deliveryQueue(t, s.ID)
		var mu sync.Mutex
		claims := map[store.ID]int{}
		race(20, func(int) {
			// Beside others a claim may come away with nothing while there is more: the last look is after the race.
			for range 4 {
				claimed, err := queue.ClaimDeliveries(t.Context(), 3, leaseDuration)
				must2(t, err)
				mu.Lock()
				for _, d := range claimed {
					claims[d.ID]++
				}
				mu.Unlock()
			}
		})
		for _, d := range f.claimDeliveries(t, s.ID, 100) {
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 1)
		first := f.claimDeliveries(t, s.ID, 10)
		f.Clock.Advance(leaseDuration - time.Microsecond)
		if _, due := f.deliveryQueue(t, s.ID); due || len(first) != 1 {
			t.Fatalf("%d claimed, and due again before the lease ends: %v", len(first), due)
		}
		f.Clock.Advance(time.Microsecond)
		second := f.claimDeliveries(t, s.ID, 10)
		if len(second) != 1 || second[0].ID != first[0].ID || !bytes.Equal(second[0].Body, first[0].Body) ||
			second[0].Attempts != 0 {
			t.Fatalf("claimed %+v, then %+v", first, second)
		}
		due := f.delivery(t, first[0].ID).due
		wantErr(t, first[0].RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}),
			store.ErrLeaseLost)
		f.wantDelivery(t, first[0].ID, delivery{state: "pending", attempts: 1, due: due})
		kit.Must(t, second[0].RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}))
		f.wantDelivery(t, second[0].ID, delivery{state: "delivered", attempts: 2, round: 1})
		wantErr(t, second[0].RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}),
			store.ErrLeaseLost)
		if kept, err := f.tenant.Subscription(ctx, s.ID); err != nil || !kept.Active {
			t.Errorf("the subscription is deactivated: %+v, %v", kept, err)
		}
		// Where the destination leads is true however late it is seen; the delivery stays what the holder of the lease made
		// it.
		wantErr(t, first[0].RecordAttempt(ctx, attempt(f, 302), store.DeliveryUpdate{State: store.DeliveryBlocked,
			Reason: "redirect", Deactivate: "redirect"}), store.ErrLeaseLost)
		f.wantDelivery(t, second[0].ID, delivery{state: "delivered", attempts: 4, round: 1})
		if kept, err := f.tenant.Subscription(ctx, s.ID); err != nil || kept.Active ||
			*kept.DeactivationReason != "redirect" {
			t.Errorf("the subscription still is active: %+v, %v", kept, err)
		}
	})
}

// TestRecordAttempt: an attempt is stored as it went, and makes its delivery due again at the right time or ends it.
func TestRecordAttempt(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s := f.subscribe(t, api.EventSubmissionUpdated)
		for _, end := range []store.DeliveryUpdate{
			{State: store.DeliveryDelivered}, {State: store.DeliveryFailed, Reason: "attempts_exhausted"},
			{State: store.DeliveryBlocked, Reason: "redirect"},
		} {
			f.tell(t, 1)
			d := f.claimDeliveries(t, s.ID, 1)[0]
			due := f.Clock.Now().Add(time.Minute)
			failed := store.Attempt{StartedAt: f.Clock.Now(), Duration: time.Second, ErrorClass: "timeout"}
			kit.Must(t, d.RecordAttempt(ctx, failed, store.DeliveryUpdate{State: store.DeliveryPending, DueAt: due}))
			f.wantDelivery(t, d.ID, delivery{state: "pending", attempts: 1, round: 1, due: due.UnixMicro()})
			if early := f.claimDeliveries(t, s.ID, 1); len(early) != 0 {
				t.Fatalf("%+v is due before its time", early)
			}
			f.Clock.Advance(time.Minute)
			again := f.claimDeliveries(t, s.ID, 1)[0]
			if again.ID != d.ID || again.Event != d.Event || again.Attempts != 1 || again.Round != 1 {
				t.Errorf("the second attempt is %+v, the first was %+v", again, d)
			}
			kit.Must(t, again.RecordAttempt(ctx, attempt(f, 200), end))
			f.wantDelivery(t, d.ID, delivery{state: string(end.State), reason: end.Reason, attempts: 2, round: 2})
			f.Clock.Advance(time.Hour)
			if late := f.claimDeliveries(t, s.ID, 1); len(late) != 0 {
				t.Errorf("%s is claimed again: %+v", end.State, late)
			}
			kept := f.rows(t, `select ordinal, duration, http_status, error_class, answer from attempts where delivery_id = $1`,
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s, other := f.subscribe(t, api.EventSubmissionUpdated), f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 5)
		flying := f.claimDeliveries(t, s.ID, 4)
		at := f.Clock.Advance(time.Second)
		kit.Must(t, flying[0].RecordAttempt(ctx, attempt(f, 302),
			store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}))
		f.wantDelivery(t, flying[0].ID, delivery{state: "blocked", reason: "redirect", attempts: 1, round: 1})
		ended, err := f.tenant.Subscription(ctx, s.ID)
		kit.Must(t, err)
		want := s
		want.Active, want.DeactivatedAt, want.DeactivationReason = false, &at, new("redirect")
		wantEqual(t, "the deactivated subscription", ended, want)
		if n := f.number(t,
			`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_inactive' and due_at is null`, s.ID); n != 4 {
			t.Errorf("%d pending deliveries have ended, want 4", n)
		}
		kit.Must(t, flying[1].RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}))
		f.wantDelivery(t, flying[1].ID, delivery{state: "delivered", attempts: 1, round: 1})
		kit.Must(t, flying[2].RecordAttempt(ctx, attempt(f, 503),
			store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().Add(time.Minute)}))
		f.wantDelivery(t, flying[2].ID, delivery{state: "failed", reason: "subscription_inactive", attempts: 1, round: 1})
		f.Clock.Advance(time.Second)
		kit.Must(t, flying[3].RecordAttempt(ctx, attempt(f, 302),
			store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "unsafe", Deactivate: "unsafe"}))
		again, err := f.tenant.Subscription(ctx, s.ID)
		kit.Must(t, err)
		if !again.DeactivatedAt.Equal(at) || *again.DeactivationReason != "redirect" {
			t.Errorf("a second reason changed the first: %+v", again)
		}
		f.Clock.Advance(time.Hour)
		if late := f.claimDeliveries(t, s.ID, 10); len(late) != 0 {
			t.Errorf("%d deliveries of a deactivated subscription are due", len(late))
		}
		if n := len(f.claimDeliveries(t, other.ID, 10)); n != 5 {
			t.Errorf("the other subscription has %d deliveries due, want 5", n)
		}
	})
}

// TestEventBesideDeactivation: the delivery of an event that commits beside a deactivation, and has not seen it, ends
// like those that were pending then, and nothing is sent.
func TestEventBesideDeactivation(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 2)
		// The rows as such a commit leaves them: the subscription ended, its deliveries pending and due.
		f.exec(t, `update subscriptions set active = 0, deactivated_at = 1, deactivation_reason = 'requested' where id = $1`,
			s.ID)
		if claimed := f.claimDeliveries(t, s.ID, 1); len(claimed) != 0 {
			t.Fatalf("%+v is sent to a deactivated subscription", claimed)
		}
		if n := f.number(t,
			`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_inactive' and due_at is null and attempts = 0`, s.ID); n != 2 {
			t.Errorf("%d deliveries have ended, want 2", n)
		}
		if _, due := f.deliveryQueue(t, s.ID); due {
			t.Error("a queue is left")
		}
	})
}

// TestSubscriptionLimit: a company has at most twenty active subscriptions, also when it creates them at once.
func TestSubscriptionLimit(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		var mu sync.Mutex
		var refused int
		race(store.MaxSubscriptions+5, func(int) {
			_, err := f.tenant.CreateSubscription(t.Context(),
				store.NewSubscription{URL: hookURL, Events: []api.EventKind{api.EventSubmissionUpdated}})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				if !errors.Is(err, store.ErrLimit) {
					t.Errorf("error %v", err)
				}
			}
		})
		if n := f.number(t, `select count(*) from subscriptions where tenant_id = $1 and active = 1`,
			f.tenant.Key()); n != store.MaxSubscriptions || refused != 5 {
			t.Errorf("%d are active and %d were refused", n, refused)
		}
	})
}
