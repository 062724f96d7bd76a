package store_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/store"
	"quittance/test/kit"
)

// use returns a use of the n-th limit, which allows most uses a minute.
func use(n byte, most int64) store.LimitUse {
	return store.LimitUse{Key: digest(n), Max: most, Window: time.Minute}
}

// wantSpent checks how often a limit was used.
func wantSpent(t *testing.T, db *store.DB, n byte, want int64) {
	t.Helper()
	used, _, err := db.LimitUsage(t.Context(), digest(n))
	kit.Must(t, err)
	if used != want {
		t.Errorf("limit %d has %d uses, want %d", n, used, want)
	}
}

// wantExhausted checks that an error names the limit at an index as used up.
func wantExhausted(t *testing.T, err error, index int, used int64) {
	t.Helper()
	exhausted, ok := errors.AsType[*store.LimitExceededError](err)
	if !ok || exhausted.Index != index || exhausted.Usage.Used != used {
		t.Errorf("error %#v, want limit %d to be exhausted at %d", err, index, used)
	}
}

// TestSpend checks that uses are counted in windows that begin with a use, for all replicas together.
func TestSpend(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		replica, end := f.Again(t), f.Clock.Now().Add(time.Minute)
		wantSpent(t, f.DB, 1, 0)
		for n, db := range []*store.DB{f.DB, replica, f.DB} {
			spent, err := db.AcquireLimits(ctx, use(1, 3))
			kit.Must(t, err)
			wantEqual(t, "used limits", spent, []store.LimitUsage{{Key: digest(1), Used: int64(n + 1), WindowEnd: end}})
			f.Clock.Advance(10 * time.Second)
		}
		_, err := replica.AcquireLimits(ctx, use(1, 3))
		wantExhausted(t, err, 0, 3)
		wantSpent(t, replica, 1, 3)
		wantSpent(t, f.DB, 2, 0)
		f.Clock.Advance(30*time.Second - time.Microsecond) // a microsecond before the end
		wantSpent(t, f.DB, 1, 3)
		f.Clock.Advance(time.Microsecond)
		wantSpent(t, f.DB, 1, 0)
		spent, err := f.AcquireLimits(ctx, use(1, 3))
		kit.Must(t, err)
		if spent[0].Used != 1 || !spent[0].WindowEnd.Equal(f.Clock.Now().Add(time.Minute)) {
			t.Errorf("the first use of a new window counts as %+v", spent)
		}
	})
}

// TestSpendAllOrNone checks that if one limit is used up, no limit counts the use.
func TestSpendAllOrNone(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		for range 2 {
			_, err := f.AcquireLimits(t.Context(), use(1, 9), use(2, 2), use(3, 9))
			kit.Must(t, err)
		}
		_, err := f.AcquireLimits(t.Context(), use(1, 9), use(2, 2), use(3, 9))
		wantExhausted(t, err, 1, 2)
		for n := byte(1); n <= 3; n++ {
			wantSpent(t, f.DB, n, 2)
		}
	})
}

// TestSpendAtOnce checks that of any number of concurrent uses at several replicas, exactly as many are counted as the
// limit allows, and that the refused ones leave no trace in other limits.
func TestSpendAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		replica := f.Again(t)
		var counted atomic.Int64
		race(60, func(n int) {
			db := f.DB
			if n%2 == 0 {
				db = replica
			}
			_, err := db.AcquireLimits(t.Context(), use(100+byte(n), 1), use(1, 20))
			if _, exhausted := errors.AsType[*store.LimitExceededError](err); exhausted {
				return
			}
			must2(t, err)
			counted.Add(1)
		})
		if counted.Load() != 20 {
			t.Errorf("%d of 60 uses were counted, want 20", counted.Load())
		}
		wantSpent(t, f.DB, 1, 20)
		if n := f.number(t, `select count(*) from limits`); n != 21 {
			t.Errorf("%d limits have a use, want 21", n)
		}
	})
}

// TestSettleLimits checks that a use is returned to the window it was counted in, and to no later one.
func TestSettleLimits(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first, err := f.AcquireLimits(ctx, use(1, 5), use(2, 5))
		kit.Must(t, err)
		_, err = f.AcquireLimits(ctx, use(1, 5), use(2, 5))
		kit.Must(t, err)
		kit.Must(t, f.ReleaseLimits(ctx, first[1:]))
		wantSpent(t, f.DB, 1, 2)
		wantSpent(t, f.DB, 2, 1)
		f.Clock.Advance(time.Minute)
		_, err = f.AcquireLimits(ctx, use(1, 5))
		kit.Must(t, err)
		kit.Must(t, f.ReleaseLimits(ctx, first))
		wantSpent(t, f.DB, 1, 1)
	})
}

// TestRenew checks that a renewed window lasts from its last use.
func TestRenew(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, renewed := t.Context(), use(1, 0)
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
		wantSpent(t, f.DB, 1, 1)
	})
}

// TestSweep checks that only ended windows, and tokens a week after they expired, are removed.
func TestSweep(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.AcquireLimits(ctx, use(1, 1), store.LimitUse{Key: digest(2), Max: 1, Window: time.Hour})
		kit.Must(t, err)
		f.token(t, 10, time.Minute)
		f.token(t, 11, 2*time.Hour)
		counts := func(limits, tokens int64) {
			t.Helper()
			kit.Must(t, f.DeleteExpired(ctx))
			if n := f.number(t, `select count(*) from limits`); n != limits {
				t.Errorf("%d windows are left, want %d", n, limits)
			}
			if n := f.number(t, `select count(*) from tokens where tenant_id = $1`, f.tenant.Key()); n != tokens {
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
