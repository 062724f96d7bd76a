package account

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quittance/test/kit"
)

// holders wait for slots that are all in use. It records the order in which they got one.
type holders struct {
	*turns
	mu      sync.Mutex
	order   []string
	refused map[string]int
	waiting sync.WaitGroup
}

func newHolders(slots, most int) *holders {
	return &holders{turns: newTurns(slots, most, time.Minute), refused: map[string]int{}}
}

// start starts a holder that releases its slot as soon as it has one. It returns when the holder waits or is refused.
func (c *holders) start(turn Turn) {
	c.waiting.Go(func() {
		release, err := c.acquire(context.Background(), turn)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.refused[turn.Holder]++
			return
		}
		c.order = append(c.order, turn.Holder)
		release()
	})
	synctest.Wait()
}

// drain releases a slot and waits until every holder has had one.
func (c *holders) drain(release func()) {
	release()
	c.waiting.Wait()
}

func (c *holders) position(t *testing.T, holder string) int {
	t.Helper()
	n := slices.Index(c.order, holder)
	if n < 0 {
		t.Fatalf("%s got no slot", holder)
	}
	return n
}

// TestTurns checks that a holder waits for at most one hash of another holder, whatever number of its passwords wait.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHolders(1, 128)
		release, err := c.acquire(t.Context(), Turn{})
		kit.Must(t, err)
		for range 100 {
			c.start(Turn{Holder: "busy"})
		}
		c.start(Turn{Holder: "another"})
		c.start(Turn{Holder: "third"})
		c.drain(release)
		if n := c.position(t, "another"); n > 1 {
			t.Errorf("another waited for %d hashes", n)
		}
		if n := c.position(t, "third"); n > 2 {
			t.Errorf("the third waited for %d hashes", n)
		}
		if len(c.order) != 102 {
			t.Errorf("%d got a slot", len(c.order))
		}
	})
}

// TestKnownTurns checks that every second turn is for a known holder, whatever number of unknown holders wait.
func TestKnownTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHolders(1, 128)
		release, err := c.acquire(t.Context(), Turn{})
		kit.Must(t, err)
		for n := range 200 { // more than the queue holds
			c.start(Turn{Holder: fmt.Sprint("stranger ", n)})
		}
		for n := range 5 {
			c.start(Turn{Holder: fmt.Sprint("known ", n), Known: true})
		}
		c.drain(release)
		for n := range 5 {
			if got := c.position(t, fmt.Sprint("known ", n)); got > 2*n+1 {
				t.Errorf("known %d waited for %d hashes", n, got)
			}
		}
		if len(c.order) != 128+5 || len(c.refused) != 200-128 {
			t.Errorf("%d got a slot, %d were refused", len(c.order), len(c.refused))
		}
	})
}

// TestFullQueue checks that if the queue is full, a new holder displaces the last waiter of the holder with the most
// waiters, which gets ErrBusy.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHolders(1, 10)
		release, err := c.acquire(t.Context(), Turn{})
		kit.Must(t, err)
		for range 15 {
			c.start(Turn{Holder: "busy"})
		}
		if c.refused["busy"] != 5 {
			t.Errorf("%d of the busy one are refused, want 5", c.refused["busy"])
		}
		for range 8 {
			c.start(Turn{Holder: "another"})
		}
		if got := c.waitingCount(); got != 10 {
			t.Errorf("%d wait, want 10", got)
		}
		c.drain(release)
		if c.refused["busy"] != 10 || c.refused["another"] != 3 {
			t.Errorf("refused are %v: each of two holders should have half", c.refused)
		}
	})
}

// TestLongestWait checks that a waiter that has waited too long gets ErrBusy, and takes no turn from others.
func TestLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTurns(1, 10, maxWait)
		release, err := c.acquire(t.Context(), Turn{})
		kit.Must(t, err)
		began := time.Now()
		_, err = c.acquire(t.Context(), Turn{Holder: "late"})
		wantErr(t, err, ErrBusy)
		if waited := time.Since(began); waited != maxWait || c.waitingCount() != 0 {
			t.Errorf("it waited %v; %d wait", waited, c.waitingCount())
		}
		release()
		release, err = c.acquire(t.Context(), Turn{})
		kit.Must(t, err)
		release()
	})
}

// TestTurnsUnderLoad checks that with many concurrent waiters, no more than the available slots are in use, and all are
// free in the end.
func TestTurnsUnderLoad(t *testing.T) {
	c := newTurns(3, 20, time.Millisecond)
	var mu sync.Mutex
	var inside, most int
	var all sync.WaitGroup
	for n := range 300 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if n%7 == 0 {
				time.AfterFunc(time.Duration(n)*time.Microsecond, cancel)
			}
			defer cancel()
			release, err := c.acquire(ctx, Turn{Holder: fmt.Sprint(n % 5), Known: n%2 == 0})
			if err != nil {
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(100 * time.Microsecond)
			mu.Lock()
			inside--
			mu.Unlock()
			release()
		})
	}
	all.Wait()
	if most > 3 || c.free != 3 || c.waitingCount() != 0 {
		t.Errorf("%d were inside at once; %d slots are free, %d wait", most, c.free, c.waitingCount())
	}
}

// waitingCount returns the number of waiters.
func (t *turns) waitingCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queues[0].size + t.queues[1].size
}
