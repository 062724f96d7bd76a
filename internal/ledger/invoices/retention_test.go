package invoices_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestRetentionInBatches checks that one call removes more old history, of every company, than one transaction does,
// and keeps younger history.
func TestRetentionInBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		const old = 700
		second := f.NewCompany(t, "second@example.com")
		for _, c := range []fixture.Company{f.Company, second} {
			s := c.Subscribe(t, api.EventStatusChanged)
			fixture.Record(t, c.Submit(t, "INV-1"), fixture.AllFour("accepted", false),
				slices.Repeat([]api.EventKind{api.EventStatusChanged}, old)...)
			for _, d := range f.ClaimDeliveries(t, s.ID, old) {
				kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 200), events.DeliveryUpdate{State: events.DeliveryDelivered}))
			}
		}
		f.Clock.Advance(10 * 24 * time.Hour)
		fixture.Record(t, f.Submit(t, "INV-2"), fixture.AllFour("accepted", false), api.EventStatusChanged)
		removed, err := invoices.ApplyRetention(ctx, f.DB, invoices.Retention{Attempts: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if left := f.Number(t, `select count(*) from attempts`); removed != 2*old || left != 0 {
			t.Errorf("%d attempts went and %d are left", removed, left)
		}
		removed, err = invoices.ApplyRetention(ctx, f.DB, invoices.Retention{Events: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if events, deliveries := f.Number(t, `select count(*) from events`), f.Number(t,
			`select count(*) from deliveries`); removed != 2*old || events != 1 || deliveries != 1 {
			t.Errorf("%d events went, %d events and %d deliveries are left", removed, events, deliveries)
		}
		removed, err = invoices.ApplyRetention(ctx, f.DB, invoices.Retention{Events: 5 * 24 * time.Hour,
			Attempts: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if removed != 0 {
			t.Errorf("%d rows went again", removed)
		}
	})
}

// TestRetentionBesideRedeliver checks that removing history and redelivering the same deliveries at the same time both
// succeed, and that each event is then either complete and being delivered, or gone.
func TestRetentionBesideRedeliver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		const old = 600
		s := f.Subscribe(t, api.EventStatusChanged)
		fixture.Backlog(t, f, old)
		var ids []base.ID
		for _, d := range f.ClaimDeliveries(t, s.ID, old) {
			ids = append(ids, d.ID)
			kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 400),
				events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}))
		}
		f.Clock.Advance(10 * 24 * time.Hour)
		var mu sync.Mutex
		again := 0
		fixture.Race(3, func(n int) {
			if n == 0 {
				if _, err := invoices.ApplyRetention(ctx, f.DB, invoices.Retention{Events: time.Hour,
					Attempts: time.Hour}); err != nil {
					t.Errorf("retention: %v", err)
				}
				return
			}
			for k, id := range ids {
				if k%2 != n-1 || k%3 == 0 {
					continue
				}
				_, err := events.Redeliver(ctx, f.Tenant, id)
				if err != nil && !errors.Is(err, base.ErrNotFound) {
					t.Errorf("redeliver: %v", err)
				}
				if err == nil {
					mu.Lock()
					again++
					mu.Unlock()
				}
			}
		})
		pending := f.Number(t, `select count(*) from deliveries where state = 'pending' and due_at is not null`)
		deliveries, events := f.Number(t, `select count(*) from deliveries`), f.Number(t, `select count(*) from events`)
		if pending != int64(again) || deliveries != pending || events != pending {
			t.Errorf("%d were asked for again; %d pending deliveries of %d and %d events are left", again, pending, deliveries,
				events)
		}
	})
}
