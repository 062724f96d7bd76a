package account

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is who waits for turns of which all places are taken, and who got one in which order.
type crowd struct {
	*turns
	mu      sync.Mutex
	order   []string
	refused map[string]int
	waiting sync.WaitGroup
}

func newCrowd(places, most int) *crowd {
	return &crowd{turns: newTurns(places, most, time.Minute), refused: map[string]int{}}
}

// come has somebody wait, who leaves again as soon as it has got a place. It returns once it waits or has its answer.
func (c *crowd) come(turn Turn) {
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

// wait has everybody get a place.
func (c *crowd) wait(release func()) {
	release()
	c.waiting.Wait()
}

func (c *crowd) place(t *testing.T, holder string) int {
	t.Helper()
	n := slices.Index(c.order, holder)
	if n < 0 {
		t.Fatalf("%s got no place", holder)
	}
	return n
}

// TestTurns: however many passwords of one holder wait, another holder waits for one hash of that holder at most.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(1, 128)
		release, err := c.acquire(t.Context(), Turn{})
		must(t, err)
		for range 100 {
			c.come(Turn{Holder: "busy"})
		}
		c.come(Turn{Holder: "another"})
		c.come(Turn{Holder: "third"})
		c.wait(release)
		if n := c.place(t, "another"); n > 1 {
			t.Errorf("another waited for %d hashes", n)
		}
		if n := c.place(t, "third"); n > 2 {
			t.Errorf("the third waited for %d hashes", n)
		}
		if len(c.order) != 102 {
			t.Errorf("%d got a place", len(c.order))
		}
	})
}

// TestKnownTurns: however many unknown holders wait, each with a source of its own, every second turn is for a known holder.
func TestKnownTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(1, 128)
		release, err := c.acquire(t.Context(), Turn{})
		must(t, err)
		for n := range 200 { // more than may wait
			c.come(Turn{Holder: fmt.Sprint("stranger ", n)})
		}
		for n := range 5 {
			c.come(Turn{Holder: fmt.Sprint("known ", n), Known: true})
		}
		c.wait(release)
		for n := range 5 {
			if got := c.place(t, fmt.Sprint("known ", n)); got > 2*n+1 {
				t.Errorf("known %d waited for %d hashes", n, got)
			}
		}
		if len(c.order) != 128+5 || len(c.refused) != 200-128 {
			t.Errorf("%d got a place, %d were refused", len(c.order), len(c.refused))
		}
	})
}

// TestFullQueue: if the queue is full, a new holder displaces the last waiter of the holder with the most waiters, and that holder
// gets ErrBusy.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(1, 10)
		release, err := c.acquire(t.Context(), Turn{})
		must(t, err)
		for range 15 {
			c.come(Turn{Holder: "busy"})
		}
		if c.refused["busy"] != 5 {
			t.Errorf("%d of the busy one are refused, want 5", c.refused["busy"])
		}
		for range 8 {
			c.come(Turn{Holder: "another"})
		}
		if got := c.waitingCount(); got != 10 {
			t.Errorf("%d wait, want 10", got)
		}
		c.wait(release)
		if c.refused["busy"] != 10 || c.refused["another"] != 3 {
			t.Errorf("refused are %v: each of two holders should have half", c.refused)
		}
	})
}

// TestLongestWait: a waiter that has waited too long gets ErrBusy, and takes no turn from those who still wait.
func TestLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTurns(1, 10, maxWait)
		release, err := c.acquire(t.Context(), Turn{})
		must(t, err)
		began := time.Now()
		_, err = c.acquire(t.Context(), Turn{Holder: "late"})
		wantErr(t, err, ErrBusy)
		if waited := time.Since(began); waited != maxWait || c.waitingCount() != 0 {
			t.Errorf("it waited %v; %d wait", waited, c.waitingCount())
		}
		release()
		release, err = c.acquire(t.Context(), Turn{})
		must(t, err)
		release()
	})
}

// TestTurnsUnderLoad: with many concurrent waiters, no more than the available slots are in use, and all are free in the end.
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
		t.Errorf("%d were inside at once; %d places are free, %d wait", most, c.free, c.waitingCount())
	}
}
