package base_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// wantExhausted checks that an error names the limit at an index as used up.
func wantExhausted(t *testing.T, err error, index int, used int64) {
	t.Helper()
	exhausted, ok := errors.AsType[*base.LimitExceededError](err)
	if !ok || exhausted.Index != index || exhausted.Usage.Used != used {
		t.Errorf("error %#v, want limit %d to be exhausted at %d", err, index, used)
	}
}

// TestSpend checks that uses are counted in windows that begin with a use, for all replicas together.
func TestSpend(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		replica, end := f.Again(t), f.Clock.Now().Add(time.Minute)
		fixture.WantSpent(t, f.DB, 1, 0)
		for n, db := range []*base.DB{f.DB, replica, f.DB} {
			spent, err := db.AcquireLimits(ctx, fixture.Use(1, 3))
			kit.Must(t, err)
			fixture.WantEqual(t, "used limits", spent, []base.LimitUsage{{Key: fixture.Digest(1), Used: int64(n + 1),
				WindowEnd: end}})
			f.Clock.Advance(10 * time.Second)
		}
		_, err := replica.AcquireLimits(ctx, fixture.Use(1, 3))
		wantExhausted(t, err, 0, 3)
		fixture.WantSpent(t, replica, 1, 3)
		fixture.WantSpent(t, f.DB, 2, 0)
		f.Clock.Advance(30*time.Second - time.Microsecond) // a microsecond before the end
		fixture.WantSpent(t, f.DB, 1, 3)
		f.Clock.Advance(time.Microsecond)
		fixture.WantSpent(t, f.DB, 1, 0)
		spent, err := f.AcquireLimits(ctx, fixture.Use(1, 3))
		kit.Must(t, err)
		if spent[0].Used != 1 || !spent[0].WindowEnd.Equal(f.Clock.Now().Add(time.Minute)) {
			t.Errorf("the first use of a new window counts as %+v", spent)
		}
	})
}

// TestSpendAllOrNone checks that if one limit is used up, no limit counts the use.
func TestSpendAllOrNone(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		for range 2 {
			_, err := f.AcquireLimits(t.Context(), fixture.Use(1, 9), fixture.Use(2, 2), fixture.Use(3, 9))
			kit.Must(t, err)
		}
		_, err := f.AcquireLimits(t.Context(), fixture.Use(1, 9), fixture.Use(2, 2), fixture.Use(3, 9))
		wantExhausted(t, err, 1, 2)
		for n := byte(1); n <= 3; n++ {
			fixture.WantSpent(t, f.DB, n, 2)
		}
	})
}

// TestSpendAtOnce checks that of any number of concurrent uses at several replicas, exactly as many are counted as the
// limit allows, and that the refused ones leave no trace in other limits.
func TestSpendAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		replica := f.Again(t)
		var counted atomic.Int64
		fixture.Race(60, func(n int) {
			db := f.DB
			if n%2 == 0 {
				db = replica
			}
			_, err := db.AcquireLimits(t.Context(), fixture.Use(100+byte(n), 1), fixture.Use(1, 20))
			if _, exhausted := errors.AsType[*base.LimitExceededError](err); exhausted {
				return
			}
			fixture.Must2(t, err)
			counted.Add(1)
		})
		if counted.Load() != 20 {
			t.Errorf("%d of 60 uses were counted, want 20", counted.Load())
		}
		fixture.WantSpent(t, f.DB, 1, 20)
		if n := f.Number(t, `select count(*) from limits`); n != 21 {
			t.Errorf("%d limits have a use, want 21", n)
		}
	})
}

// TestSettleLimits checks that a use is returned to the window it was counted in, and to no later one.
func TestSettleLimits(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		first, err := f.AcquireLimits(ctx, fixture.Use(1, 5), fixture.Use(2, 5))
		kit.Must(t, err)
		_, err = f.AcquireLimits(ctx, fixture.Use(1, 5), fixture.Use(2, 5))
		kit.Must(t, err)
		kit.Must(t, f.ReleaseLimits(ctx, first[1:]))
		fixture.WantSpent(t, f.DB, 1, 2)
		fixture.WantSpent(t, f.DB, 2, 1)
		f.Clock.Advance(time.Minute)
		_, err = f.AcquireLimits(ctx, fixture.Use(1, 5))
		kit.Must(t, err)
		kit.Must(t, f.ReleaseLimits(ctx, first))
		fixture.WantSpent(t, f.DB, 1, 1)
	})
}

// TestRenew checks that a renewed window lasts from its last use.
func TestRenew(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, renewed := t.Context(), fixture.Use(1, 0)
		for range 3 {
			kit.Must(t, f.ReleaseLimits(ctx, nil, renewed))
			f.Clock.Advance(40 * time.Second)
		}
		used, end, err := f.LimitUsage(ctx, renewed.Key)
		kit.Must(t, err)
		if want := f.Clock.Now().Add(20 * time.Second); used != 3 || !end.Equal(want) {
			t.Errorf("%d uses until %v, want 3 until %v", used, end, want)
		}
		f.Clock.Advance(20 * time.Second)
		kit.Must(t, f.ReleaseLimits(ctx, nil, renewed))
		fixture.WantSpent(t, f.DB, 1, 1)
	})
}

// TestSweep checks that only ended windows, and tokens a week after they expired, are removed.
func TestSweep(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := f.AcquireLimits(ctx, fixture.Use(1, 1), base.LimitUse{Key: fixture.Digest(2), Max: 1, Window: time.Hour})
		kit.Must(t, err)
		f.Token(t, 10, time.Minute)
		f.Token(t, 11, 2*time.Hour)
		counts := func(limits, tokens int64) {
			t.Helper()
			kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
			if n := f.Number(t, `select count(*) from limits`); n != limits {
				t.Errorf("%d windows are left, want %d", n, limits)
			}
			if n := f.Number(t, `select count(*) from tokens where tenant_id = $1`, f.Tenant.ID()); n != tokens {
				t.Errorf("%d tokens are left, want %d", n, tokens)
			}
		}
		counts(2, 2)
		f.Clock.Advance(2 * time.Minute)
		counts(1, 2)
		f.Clock.Advance(7 * 24 * time.Hour)
		counts(0, 1)
	})
}
