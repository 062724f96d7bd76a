package fairlimit

import (
	"context"
	"runtime"
	"testing"
)

// waitingNow tells how many wait.
func (p *Limiter[K]) waitingNow() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, list := range p.waiting {
		n += len(list)
	}
	return n
}

// TestWait: holders that wait get places in turn, however many wait for one of them, each as the rule allows; whoever gives
// up leaves nothing behind.
func TestWait(t *testing.T) {
	p := New[string](2, Policy{Divisor: 1, Max: 1})
	for _, holder := range []string{"a", "b"} {
		if !p.TryAcquire(holder, 1) {
			t.Fatal("the pool is not free")
		}
	}
	got := make(chan string, 10)
	wait := func(ctx context.Context, holder string) {
		before := p.waitingNow()
		go func() {
			if p.Acquire(ctx, holder) {
				got <- holder
			} else {
				got <- holder + " gave up"
			}
		}()
		for p.waitingNow() == before {
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
	// b's place goes to c, because a has its own already; a's goes to d or a, in turn.
	p.Release("b", 1)
	if next := <-got; next != "c" {
		t.Errorf("%s got the place, want c", next)
	}
	p.Release("a", 1)
	if next := <-got; next != "a" {
		t.Errorf("%s got the place, want a, who came first", next)
	}
	p.Release("a", 1)
	if next := <-got; next != "d" {
		t.Errorf("%s got the place, want d, whose turn it is", next)
	}
	p.Release("c", 1)
	p.Release("d", 1)
	for range 2 {
		if next := <-got; next != "a" {
			t.Errorf("%s got the place, want a", next)
		}
		p.Release("a", 1)
	}
	if p.InUse() != 0 || p.waitingNow() != 0 || len(p.turns) != 0 || len(p.held) != 0 {
		t.Errorf("%d places, %d waiting, %v and %v are left", p.InUse(), p.waitingNow(), p.turns, p.held)
	}
}
