package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stalling is a server that answers one call at a time, each in a millisecond, and that stalls once.
type stalling struct {
	free  chan struct{} // has an element while no call is being answered; a mutex would stop the clock of the test
	stall int64         // the call that takes a second; none when below 0
}

func newStalling(stall int64) *stalling {
	s := &stalling{free: make(chan struct{}, 1), stall: stall}
	s.free <- struct{}{}
	return s
}

func (s *stalling) call(_ context.Context, _ int, n int64) error {
	<-s.free
	defer func() { s.free <- struct{}{} }()
	if n == s.stall {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Millisecond)
	return nil
}

// An open loop shows the effect of a server that stalls for a second on all calls that were due in that second,
// although few of the clients are free to call: the latencies count from when the calls were due. A closed loop shows
// one slow call.
func TestOpenLoopOmitsNothing(t *testing.T) {
	run := func(rate float64) (*Histogram, outcome) {
		var h *Histogram
		var result outcome
		synctest.Test(t, func(t *testing.T) {
			h = NewHistogram()
			s := newStalling(500)
			result = load{clients: 4, rate: rate, count: 2000, now: time.Now, latency: h,
				done: new(atomic.Int64)}.run(t.Context(), s.call)
		})
		return h, result
	}
	open, result := run(200) // 10 s, of which the stall is one
	if result.done != 2000 || result.started != 2000 || open.Count() != 2000 {
		t.Fatalf("%d calls of %d succeeded, %d were counted", result.done, result.started, open.Count())
	}
	// 200 calls were due during the stall: a tenth of all. They waited for half a second on average, and all but the first
	// few started late.
	if p95, p80 := open.Quantile(.95), open.Quantile(.8); p95 < 400*time.Millisecond || p80 > 200*time.Millisecond {
		t.Errorf("p80 %v and p95 %v: the stall is not what the calls saw", p80, p95)
	}
	if result.late < 150 || result.late > 350 || result.latest < 900*time.Millisecond {
		t.Errorf("%d calls started late, by %v at most", result.late, result.latest)
	}
	if result.elapsed < 9900*time.Millisecond || result.elapsed > 10500*time.Millisecond {
		t.Errorf("it took %v", result.elapsed)
	}
	closed, result := run(0)
	if p95 := closed.Quantile(.95); p95 > 20*time.Millisecond || closed.Max() < time.Second || result.late != 0 {
		t.Errorf("closed: p95 %v, longest %v, %d late", p95, closed.Max(), result.late)
	}
}

// A load ends by count or by duration, whichever comes first, and calls as often as its rate says.
func TestLoadEnds(t *testing.T) {
	for name, c := range map[string]struct {
		load load
		want int64
		took time.Duration
	}{
		"open, by duration": {load{clients: 3, rate: 100, duration: 2 * time.Second}, 200, 1991 * time.Millisecond},
		"open, by count": {load{clients: 3, rate: 100, count: 50, duration: 2 * time.Second}, 50,
			491 * time.Millisecond},
		"closed, by count":    {load{clients: 1, count: 50}, 50, 50 * time.Millisecond},
		"closed, by duration": {load{clients: 1, duration: time.Second}, 1000, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := c.load
			l.now, l.latency, l.done = time.Now, NewHistogram(), new(atomic.Int64)
			result := l.run(t.Context(), newStalling(-1).call)
			if result.done != c.want || l.done.Load() != c.want || result.elapsed != c.took {
				t.Errorf("%s: %d calls in %v, want %d in %v", name, result.done, result.elapsed, c.want, c.took)
			}
		})
	}
}

// Failures are counted by reason and are not part of the latency; the end of the context is not a failure.
func TestLoadCountsFailures(t *testing.T) {
	l := load{clients: 2, count: 10, now: time.Now, latency: NewHistogram(), done: new(atomic.Int64)}
	result := l.run(t.Context(), func(_ context.Context, _ int, n int64) error {
		if n%2 == 0 {
			return statusError(503)
		}
		return nil
	})
	if result.done != 5 || result.failed["HTTP 503"] != 5 || result.failures() != 5 || l.latency.Count() != 5 {
		t.Errorf("%+v, %d latencies", result, l.latency.Count())
	}
	both := result.plus(outcome{started: 1, failed: map[string]int64{"HTTP 503": 1, "HTTP 500": 2}})
	if both.failed["HTTP 503"] != 6 || both.failed["HTTP 500"] != 2 || both.started != 11 ||
		result.failed["HTTP 503"] != 5 {
		t.Errorf("together %+v", both)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result = l.run(ctx, func(ctx context.Context, _ int, _ int64) error {
		cancel()
		return ctx.Err()
	})
	if result.failures() != 0 || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("after the end %+v", result)
	}
}
