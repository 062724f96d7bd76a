package store_test

import (
	"testing"
	"time"

	"quittance/internal/store"
)

// TestSpend: uses are counted in windows that begin with a use, by all replicas together.
func TestSpend(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, key := t.Context(), digest(1)
		spent := func(db *store.DB, key [32]byte, want int64) {
			t.Helper()
			used, _, err := db.Spent(ctx, key)
			must(t, err)
			if used != want {
				t.Errorf("%d uses, want %d", used, want)
			}
		}
		replica, end := f.Again(t), f.Clock.Now().Add(time.Minute)
		spent(f.DB, key, 0)
		for n, db := range []*store.DB{f.DB, replica, f.DB} {
			used, until, err := db.Spend(ctx, key, time.Minute)
			must(t, err)
			if used != int64(n+1) || !until.Equal(end) {
				t.Errorf("use %d counts as %d until %v, want %d until %v", n+1, used, until, n+1, end)
			}
			f.Clock.Advance(10 * time.Second)
		}
		spent(replica, key, 3)
		spent(f.DB, digest(2), 0)
		f.Clock.Advance(30*time.Second - time.Microsecond) // a microsecond before the end
		spent(f.DB, key, 3)
		f.Clock.Advance(time.Microsecond)
		spent(f.DB, key, 0)
		used, until, err := f.Spend(ctx, key, time.Minute)
		must(t, err)
		if used != 1 || !until.Equal(f.Clock.Now().Add(time.Minute)) {
			t.Errorf("the first use of a new window counts as %d until %v", used, until)
		}

		race(20, func(int) {
			_, _, err := f.Spend(ctx, digest(3), time.Minute)
			must2(t, err)
		})
		spent(f.DB, digest(3), 20)
	})
}

// TestRenew: a renewed window lasts from the last use, not from the first.
func TestRenew(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, key := t.Context(), digest(1)
		for range 3 {
			must(t, f.Renew(ctx, key, time.Minute))
			f.Clock.Advance(40 * time.Second)
		}
		used, end, err := f.Spent(ctx, key)
		must(t, err)
		if want := f.Clock.Now().Add(20 * time.Second); used != 3 || !end.Equal(want) {
			t.Errorf("%d uses until %v, want 3 until %v", used, end, want)
		}
		f.Clock.Advance(20 * time.Second)
		must(t, f.Renew(ctx, key, time.Minute))
		if used, _, err = f.Spent(ctx, key); err != nil || used != 1 {
			t.Errorf("%d uses after the end, error %v", used, err)
		}
	})
}

// TestSweep removes ended windows, and tokens a week after they expired: nothing else.
func TestSweep(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, _, err := f.Spend(ctx, digest(1), time.Minute)
		must(t, err)
		_, _, err = f.Spend(ctx, digest(2), time.Hour)
		must(t, err)
		f.token(t, 10, time.Minute)
		f.token(t, 11, 2*time.Hour)
		counts := func(limits, tokens int64) {
			t.Helper()
			must(t, f.Sweep(ctx))
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
