package submission

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/internal/ledger/base"
	"quittance/test/kit"
)

func company(n int) base.ID { return base.ID{15: byte(n), 14: byte(n >> 8), 0: 1} }

// fill acquires every call that a company can have, and returns the functions that release them.
func fill(t *testing.T, l *callLimiter, of base.ID) (leave []func()) {
	t.Helper()
	for {
		out, err := l.acquire(t.Context(), of, 0)
		if errors.Is(err, ErrBusy) {
			return leave
		}
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
}

// TestCallsAreShared checks that a company alone has enough calls for a thousand submissions a second. If the providers
// of forty companies hang, another company still gets calls. A released call goes to a waiter.
func TestCallsAreShared(t *testing.T) {
	l := newCallLimiter()
	first := fill(t, l, company(1))
	if len(first) < 64 || len(first) > maxCallsOfCompany {
		t.Errorf("a company alone has %d calls", len(first))
	}
	for n := 2; n <= 40; n++ {
		fill(t, l, company(n))
	}
	if more := fill(t, l, company(41)); len(more) == 0 {
		t.Errorf("no call for another company while the providers of %d hang", 40)
	}
	acquired := make(chan error, 1)
	go func() {
		release, err := l.acquire(t.Context(), company(40), time.Hour)
		if err == nil {
			defer release()
		}
		acquired <- err
	}()
	kit.Until(t, "the caller waits", func() bool { return l.waitingSlots.InUse() > 0 })
	for _, release := range first {
		release()
	}
	if err := <-acquired; err != nil {
		t.Errorf("no call for the waiter: %v", err)
	}
	kit.Until(t, "nobody waits", func() bool { return l.waitingSlots.InUse() == 0 })
}

// TestWaitingEnds checks that a waiter is refused when its time is over or its context is cancelled, and leaves nothing
// behind. The number of waiters is limited.
func TestWaitingEnds(t *testing.T) {
	l := newCallLimiter()
	held := fill(t, l, company(1))
	if _, err := l.acquire(t.Context(), company(1), time.Nanosecond); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	ended := make(chan error, maxWaiting)
	waiting := 0
	for ; l.waitingSlots.InUse() < maxWaitingOfCompany; waiting++ {
		go func() {
			_, err := l.acquire(cancelled, company(1), time.Hour)
			ended <- err
		}()
		kit.Until(t, "one more waits", func() bool { return l.waitingSlots.InUse() == waiting+1 })
	}
	if _, err := l.acquire(t.Context(), company(1), time.Hour); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v for one waiter too many, want ErrBusy", err)
	}
	cancel()
	for range waiting {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
	}
	for _, release := range held {
		release()
	}
	if l.calls.InUse() != 0 || l.waitingSlots.InUse() != 0 || len(l.waiting) != 0 {
		t.Errorf("%d calls and %d waiting slots are in use", l.calls.InUse(), l.waitingSlots.InUse())
	}
}

// TestAllCallsAreReleased checks that the limit holds for any sequence of acquiring, waiting, giving up and releasing,
// and that at the end no call or waiting slot is in use.
func TestAllCallsAreReleased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newCallLimiter()
		var inside []func()
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "step") > 0 || len(inside) == 0 {
				release, err := l.acquire(context.Background(), company(rapid.IntRange(0, 3).Draw(t, "company")),
					time.Duration(rapid.IntRange(0, 1).Draw(t, "wait")))
				if err == nil {
					inside = append(inside, release)
				}
				continue
			}
			at := rapid.IntRange(0, len(inside)-1).Draw(t, "who")
			inside[at]()
			inside = append(inside[:at], inside[at+1:]...)
		}
		if l.calls.InUse() != len(inside) || len(inside) > maxCalls {
			t.Fatalf("%d calls in use, want %d", l.calls.InUse(), len(inside))
		}
		for _, release := range inside {
			release()
		}
		if l.calls.InUse() != 0 || l.waitingSlots.InUse() != 0 {
			t.Fatal("calls or waiting slots are still in use")
		}
	})
}
