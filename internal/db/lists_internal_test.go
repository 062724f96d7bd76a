package db

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestListLimiter: a company has listsPerOwner lists at a time; a further one gets the slot that comes free, or is refused;
// another company is in no way concerned; nothing is remembered of who reads nothing.
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
	left, err := limiter.acquire(t.Context(), other)
	if err != nil {
		t.Errorf("of another company: %v", err)
	}
	left()
	limiter.wait = time.Hour
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := limiter.acquire(ended, one); !errors.Is(err, context.Canceled) {
		t.Errorf("of a caller that has gone: %v", err)
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
		t.Errorf("%d companies and %d lists are left", len(limiter.owners), len(limiter.all))
	}
}

// TestListAll: however many companies read lists, no more than the limiter's bound run at a time.
func TestListAll(t *testing.T) {
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
