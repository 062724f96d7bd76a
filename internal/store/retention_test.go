package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// TestRetentionInBatches checks that one call removes more old history, of every company, than one transaction does,
// and keeps younger history.
func TestRetentionInBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const old = 700
		second := f.newCompany(t, "second@example.com")
		for _, c := range []company{f.company, second} {
			s := c.subscribe(t, api.EventStatusChanged)
			record(t, c.submit(t, "INV-1"), allFour("accepted", false),
				slices.Repeat([]api.EventKind{api.EventStatusChanged}, old)...)
			for _, d := range f.claimDeliveries(t, s.ID, old) {
				kit.Must(t, d.RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}))
			}
		}
		f.Clock.Advance(10 * 24 * time.Hour)
		record(t, f.submit(t, "INV-2"), allFour("accepted", false), api.EventStatusChanged)
		removed, err := f.ApplyRetention(ctx, store.Retention{Attempts: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if left := f.number(t, `select count(*) from attempts`); removed != 2*old || left != 0 {
			t.Errorf("%d attempts went and %d are left", removed, left)
		}
		removed, err = f.ApplyRetention(ctx, store.Retention{Events: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if events, deliveries := f.number(t, `select count(*) from events`), f.number(t,
			`select count(*) from deliveries`); removed != 2*old || events != 1 || deliveries != 1 {
			t.Errorf("%d events went, %d events and %d deliveries are left", removed, events, deliveries)
		}
		removed, err = f.ApplyRetention(ctx, store.Retention{Events: 5 * 24 * time.Hour, Attempts: 5 * 24 * time.Hour})
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
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const old = 600
		s := f.subscribe(t, api.EventStatusChanged)
		f.backlog(t, old)
		var ids []store.ID
		for _, d := range f.claimDeliveries(t, s.ID, old) {
			ids = append(ids, d.ID)
			kit.Must(t, d.RecordAttempt(ctx, attempt(f, 400),
				store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "refused"}))
		}
		f.Clock.Advance(10 * 24 * time.Hour)
		var mu sync.Mutex
		again := 0
		race(3, func(n int) {
			if n == 0 {
				if _, err := f.ApplyRetention(ctx, store.Retention{Events: time.Hour, Attempts: time.Hour}); err != nil {
					t.Errorf("retention: %v", err)
				}
				return
			}
			for k, id := range ids {
				if k%2 != n-1 || k%3 == 0 {
					continue
				}
				_, err := f.tenant.Redeliver(ctx, id)
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Errorf("redeliver: %v", err)
				}
				if err == nil {
					mu.Lock()
					again++
					mu.Unlock()
				}
			}
		})
		pending := f.number(t, `select count(*) from deliveries where state = 'pending' and due_at is not null`)
		deliveries, events := f.number(t, `select count(*) from deliveries`), f.number(t, `select count(*) from events`)
		if pending != int64(again) || deliveries != pending || events != pending {
			t.Errorf("%d were asked for again; %d pending deliveries of %d and %d events are left", again, pending, deliveries,
				events)
		}
	})
}

// TestRetentionPlans checks that old rows are found as a range of a primary key, regardless of the amount of younger
// ones.
func TestRetentionPlans(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		s := storetest.Open(t, engine)
		fillStore(t, s, 50, 3, 20_000, 50)
		raw := openRaw(t, s)
		_, err := raw.ExecContext(t.Context(),
			`insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer)
			select tenant_id, id, 1, created_at, 0, 200, '', id from deliveries`)
		kit.Must(t, err)
		explain := "explain query plan "
		if engine == storetest.Postgres {
			explain = "explain "
			_, err := raw.ExecContext(t.Context(), "vacuum analyze")
			kit.Must(t, err)
		}
		at, looked := s.Clock.Now().UnixMicro(), 0
		for _, statement := range statementsOf(t) {
			args := map[string][]any{
				"ApplyRetention": {make([]byte, 16), make([]byte, 16), 256},
				"pruneAttempts":  {make([]byte, 16), make([]byte, 16), make([]byte, 16), 256, at},
				"pruneEvents":    {make([]byte, 16), make([]byte, 16), make([]byte, 16), 256},
			}[statement.function]
			if args == nil || strings.Contains(statement.text, "delete") {
				continue
			}
			looked++
			plan := strings.Join(planOf(t, raw, engine, explain+statement.text, args...), "\n")
			for _, table := range []string{"attempts", "events", "deliveries", "a", "e", "d"} {
				if strings.Contains(plan, "SCAN "+table) || strings.Contains(plan, "Seq Scan on "+table) {
					t.Errorf("%s: %s reads a table as a whole:\n%s", engine, statement.function, plan)
				}
			}
			if !strings.Contains(plan, "INDEX") && !strings.Contains(plan, "Index") && !strings.Contains(plan, "PRIMARY KEY") {
				t.Errorf("%s: %s has an unexpected plan:\n%s", engine, statement.function, plan)
			}
		}
		if looked != 4 {
			t.Errorf("%d statements were found, want 4", looked)
		}
	}
}
