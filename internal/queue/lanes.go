package queue

import (
	"container/list"
	"time"

	"quittance/internal/fairlimit"
	"quittance/internal/store"
)

// Bounds of what a run remembers. They are far above what it needs to keep every worker busy.
const (
	// maxKnown is how many lanes are remembered, beyond those with work under way or in line.
	maxKnown = 16 << 10
	// maxWaiting is how many quick lanes, and how many slow ones, stand in line at a time.
	maxWaiting = 512
)

// The fractions of free workers that one company may hold; see [fairlimit.Rule]. Slow lanes hold on to their workers, so
// that their fraction is what decides how many companies can be slow at once before others of them wait.
const (
	quickPart = 8
	slowPart  = 32
)

// lane is what a run knows of a lane. It lives in memory, in each process by itself: it is about pace alone, and a
// process that has forgotten a lane begins with it as with a new one.
type lane struct {
	store.Queue
	owner *owner
	// quick tells that the other side has answered soon when it was last asked, and that no piece is late.
	quick bool
	// window is how many pieces may be under way, from 1. It grows by one with each answer, and so doubles in the time
	// of an answer, and is halved by each piece without one: what does not answer is asked little.
	window int
	// busy is how many pieces are under way, claims that are being made included, and late how many for too long.
	busy, late int
	// claiming tells that a claim is being made, and found that a look has found work since it began.
	claiming, found bool
	// waiting tells that the lane stands in line.
	waiting bool
}

// owner is a company with lanes under way or in line.
type owner struct {
	id          store.ID
	quick, slow int // workers it holds
	line        []*lane
	listed      bool // stands in the line of companies
}

// floor knows the lanes and who holds how many workers.
type floor struct {
	Options
	known       map[store.ID]*lane
	owners      map[store.ID]*owner
	quick, slow int       // workers that are taken
	running     list.List // of *piece, oldest first
}

// piece is a piece of work under way.
type piece struct {
	lane    *lane
	began   time.Time
	late    bool
	element *list.Element
}

func newFloor(o Options) *floor {
	return &floor{Options: o, known: map[store.ID]*lane{}, owners: map[store.ID]*owner{}}
}

// lane returns what is known of a lane. A new one has still to show that it is quick.
func (f *floor) lane(l store.Queue) *lane {
	if known := f.known[l.Key()]; known != nil {
		return known
	}
	own := f.owners[l.Company()]
	if own == nil {
		own = &owner{id: l.Company()}
		f.owners[own.id] = own
	}
	added := &lane{Queue: l, owner: own, window: 1}
	f.known[l.Key()] = added
	return added
}

// forget makes room when too many lanes are known: whoever has nothing to do is forgotten, in no order.
func (f *floor) forget() {
	if len(f.known) <= maxKnown {
		return
	}
	for key, l := range f.known {
		if l.busy == 0 && !l.waiting && !l.claiming {
			delete(f.known, key)
		}
		if len(f.known) <= maxKnown/2 {
			break
		}
	}
	used := map[store.ID]bool{}
	for _, l := range f.known {
		used[l.owner.id] = true
	}
	for id := range f.owners {
		if !used[id] {
			delete(f.owners, id)
		}
	}
}

// room is how many pieces of a lane may be begun now. A quick lane that has some under way waits until a quarter of its
// workers is free, so that a long line is claimed in batches. It may be negative.
func (f *floor) room(l *lane) int {
	if !l.quick {
		free := f.SlowWorkers - f.slow
		return min(min(l.window, f.MaxPerSlowQueue)-l.busy, fairlimit.Policy{Divisor: slowPart, Max: f.MaxPerCompany}.Available(free, l.owner.slow))
	}
	// Slow lanes keep what is theirs, and quick ones that have just turned slow may have taken more.
	free := f.Workers - max(f.SlowWorkers, f.slow) - f.quick
	limit := min(l.window, f.MaxPerQueue)
	room := min(limit-l.busy, fairlimit.Policy{Divisor: quickPart, Max: f.MaxPerCompany}.Available(free, l.owner.quick))
	if l.busy > 0 && room < limit/4 {
		return 0
	}
	return room
}

// take counts workers of a lane; a negative number gives them back.
func (f *floor) take(l *lane, workers int) {
	l.busy += workers
	if l.quick {
		f.quick += workers
		l.owner.quick += workers
	} else {
		f.slow += workers
		l.owner.slow += workers
	}
}

// turn makes a lane quick or slow, with everything it holds.
func (f *floor) turn(l *lane, quick bool) {
	if l.quick == quick {
		return
	}
	held := l.busy
	f.take(l, -held)
	l.quick = quick
	f.take(l, held)
}

// begin notes a piece for which a worker was taken.
func (f *floor) begin(l *lane) *piece {
	p := &piece{lane: l, began: f.Now()}
	p.element = f.running.PushBack(p)
	return p
}

// nextLate is when the oldest piece is late; zero when there is none.
func (f *floor) nextLate() time.Time {
	if oldest := f.running.Front(); oldest != nil {
		return oldest.Value.(*piece).began.Add(f.SlowAfter)
	}
	return time.Time{}
}

// age turns the lanes slow of which a piece is under way for too long.
func (f *floor) age() {
	now := f.Now()
	for oldest := f.running.Front(); oldest != nil; oldest = f.running.Front() {
		p := oldest.Value.(*piece)
		if now.Before(p.began.Add(f.SlowAfter)) {
			return
		}
		f.running.Remove(oldest)
		p.element, p.late = nil, true
		p.lane.late++
		f.turn(p.lane, false)
	}
}

// end notes that a piece has ended, and gives its worker back.
func (f *floor) end(p *piece, o Result) {
	l := p.lane
	if p.element != nil {
		f.running.Remove(p.element)
	}
	if p.late {
		l.late--
	}
	f.take(l, -1)
	if o.Responded {
		l.window = min(l.window+1, max(f.MaxPerQueue, f.MaxPerSlowQueue))
	} else {
		l.window = max(l.window/2, 1)
	}
	switch {
	case o.Latency >= f.SlowAfter:
		f.turn(l, false)
	case o.Responded && l.late == 0:
		f.turn(l, true)
	}
}
