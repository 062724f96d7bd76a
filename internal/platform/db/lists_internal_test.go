package db

import (
	"context"
	"errors"
	"testing"
	"time"

	"quittance/test/kit"
)

// TestListLimiter checks that an owner reads at most listsPerOwner lists concurrently, that a further list gets the
// next free slot or fails, that other owners are not affected, and that the limiter keeps nothing of owners that read
// no lists.
func TestListLimiter(t *testing.T) {
	t.Parallel()
	limiter := newListLimiter(2 * listsPerOwner)
	limiter.wait = time.Millisecond
	one, other := [16]byte{1}, [16]byte{2}
	var leave []func()
	for range listsPerOwner {
		left, err := limiter.acquire(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, left)
	}
	if _, err := limiter.acquire(t.Context(), one); !errors.Is(err, ErrListsBusy) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("one more: %v", err)
	}
	limiter.wait = 0 // a free slot does not wait, however late the goroutine runs
	for range 100 {
		left, err := limiter.acquire(t.Context(), other)
		if err != nil {
			t.Fatalf("of another owner: %v", err)
		}
		left()
	}
	limiter.wait = time.Hour
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := limiter.acquire(ended, one); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	entered := make(chan error)
	go func() {
		left, err := limiter.acquire(context.Background(), one)
		if err == nil {
			left()
		}
		entered <- err
	}()
	leave[0]()
	if err := <-entered; err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	for _, left := range leave[1:] {
		left()
	}
	if len(limiter.owners) != 0 || len(limiter.all) != 0 {
		t.Errorf("%d owners and %d lists are left", len(limiter.owners), len(limiter.all))
	}
}

// TestListTotal checks that the total of concurrent lists is bounded, however many owners read them.
func TestListTotal(t *testing.T) {
	t.Parallel()
	limiter := newListLimiter(1)
	left, err := limiter.acquire(t.Context(), [16]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := limiter.acquire(ended, [16]byte{2}); !errors.Is(err, context.Canceled) {
		t.Errorf("beyond the bound: %v", err)
	}
	left()
	if left, err = limiter.acquire(t.Context(), [16]byte{2}); err != nil {
		t.Fatal(err)
	}
	left()
}

// TestListPlans checks that the statements of a list are planned for their values on PostgreSQL, however often they
// run.
func TestListPlans(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		if g.SingleServer() {
			return // SQLite keeps the plan for any values, which does not depend on how many rows there are
		}
		err := g.List(t.Context(), [16]byte{1}, func(ctx context.Context, q Querier) error {
			for range 10 {
				var n int64
				if err := q.QueryRowContext(ctx, "select count(*) from numbers where n > $1", 1).Scan(&n); err != nil {
					return err
				}
			}
			var generic, custom int64
			err := q.QueryRowContext(ctx,
				"select sum(generic_plans), sum(custom_plans) from pg_prepared_statements where statement like 'select count(%'").Scan(&generic, &custom)
			if generic != 0 || custom != 10 {
				t.Errorf("%d plans for any values and %d for their values, want 0 and 10", generic, custom)
			}
			return err
		})
		kit.Must(t, err)
	})
}
