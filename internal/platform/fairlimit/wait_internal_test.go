package fairlimit

import (
	"context"
	"runtime"
	"testing"
)

// TestAcquire: waiting holders acquire in turn, however many callers of one of them wait, each as the policy allows. A
// caller whose context ends leaves nothing behind.
func TestAcquire(t *testing.T) {
	l := New[string](2, Policy{Divisor: 1, Max: 1})
	for _, holder := range []string{"a", "b"} {
		if !l.TryAcquire(holder, 1) {
			t.Fatal("the limiter is not free")
		}
	}
	got := make(chan string, 10)
	wait := func(ctx context.Context, holder string) {
		before := l.Waiting()
		go func() {
			if l.Acquire(ctx, holder) {
				got <- holder
			} else {
				got <- holder + " gave up"
			}
		}()
		for l.Waiting() == before {
			runtime.Gosched()
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	for _, holder := range []string{"a", "a", "a", "c", "d"} {
		wait(t.Context(), holder)
	}
	wait(ctx, "e")
	giveUp()
	if first := <-got; first != "e gave up" {
		t.Fatalf("%s", first)
	}
	// c acquires what b releases, because a has its maximum. What a releases goes to a and d in turn.
	l.Release("b", 1)
	if next := <-got; next != "c" {
		t.Errorf("%s acquired, want c", next)
	}
	l.Release("a", 1)
	if next := <-got; next != "a" {
		t.Errorf("%s acquired, want a, which came first", next)
	}
	l.Release("a", 1)
	if next := <-got; next != "d" {
		t.Errorf("%s acquired, want d, whose turn it is", next)
	}
	l.Release("c", 1)
	l.Release("d", 1)
	for range 2 {
		if next := <-got; next != "a" {
			t.Errorf("%s acquired, want a", next)
		}
		l.Release("a", 1)
	}
	if l.InUse() != 0 || l.Waiting() != 0 || len(l.turns) != 0 || len(l.held) != 0 {
		t.Errorf("left over: %d in use, %d waiting, %v and %v", l.InUse(), l.Waiting(), l.turns, l.held)
	}
}
