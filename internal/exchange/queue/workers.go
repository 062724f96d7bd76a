package queue

import (
	"container/list"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
)

// maxIdle is how many queues are remembered beyond those that are ready or have running tasks.
const maxIdle = 16 << 10

// One company holds at most this fraction of the workers that are free; see [fairlimit.Policy]. Slow queues hold their
// workers for long, so the divisor for them decides how many companies can be slow at the same time before others wait.
const (
	quickDivisor = 8
	slowDivisor  = 32
)

// queue is what this process knows about a queue. It is about speed alone and lives in memory: a process that does not
// know a queue treats it as a new one.
type queue struct {
	base.Queue
	company *company
	// quick says that the last response was prompt and that no running task is late.
	quick bool
	// window is how many tasks may run at the same time, at least 1. It grows by one with each response, and so doubles
	// within one response time, and is halved by each task without a response.
	window int
	// busy is the number of workers that the queue holds, for running tasks and for claims in progress. late is how many
	// of its running tasks are late.
	busy, late int
	// claiming says that a claim is in progress, foundAgain that a scan has found due work since that claim began.
	claiming, foundAgain bool
	// ready says that the queue is in the ready list.
	ready bool
}

// company is a company with queues that are known.
type company struct {
	id                  base.ID
	quickBusy, slowBusy int      // workers that its queues hold
	ready               []*queue // its part of the ready list
}

// workerPool counts the workers that queues hold and decides how many more a queue may have.
type workerPool struct {
	options             Options
	queues              map[base.ID]*queue
	companies           map[base.ID]*company
	quickBusy, slowBusy int       // workers that quick and slow queues hold
	running             list.List // of *task that are not late, oldest first
}

// task is a running task.
type task struct {
	queue   *queue
	began   time.Time
	running *list.Element // nil once the task is late
}

func newWorkerPool(options Options) *workerPool {
	return &workerPool{options: options, queues: map[base.ID]*queue{}, companies: map[base.ID]*company{}}
}

// queue returns what is known about a queue. A new one is slow until it has responded.
func (p *workerPool) queue(due base.Queue) *queue {
	if known := p.queues[due.Key()]; known != nil {
		return known
	}
	c := p.companies[due.Company()]
	if c == nil {
		c = &company{id: due.Company()}
		p.companies[c.id] = c
	}
	added := &queue{Queue: due, company: c, window: 1}
	p.queues[due.Key()] = added
	return added
}

// forgetIdle bounds the memory: when too many queues are known, it forgets idle ones, in no particular order.
func (p *workerPool) forgetIdle() {
	if len(p.queues) <= maxIdle {
		return
	}
	for key, q := range p.queues {
		if q.busy == 0 && !q.ready && !q.claiming {
			delete(p.queues, key)
		}
		if len(p.queues) <= maxIdle/2 {
			break
		}
	}
	used := map[base.ID]bool{}
	for _, q := range p.queues {
		used[q.company.id] = true
	}
	for id := range p.companies {
		if !used[id] {
			delete(p.companies, id)
		}
	}
}

// capacity returns how many tasks of a queue may begin now; none when it is zero or negative. A quick queue with
// running tasks waits until a quarter of its limit is free, so that a long queue is claimed in batches.
func (p *workerPool) capacity(q *queue) int {
	o := p.options
	if !q.quick {
		free := o.SlowWorkers - p.slowBusy
		company := fairlimit.Policy{Divisor: slowDivisor, Max: o.MaxPerCompany}.Available(free, q.company.slowBusy)
		return min(min(q.window, o.MaxPerSlowQueue)-q.busy, company)
	}
	// The slow pool is not available to quick queues. It may be exceeded by queues that became slow with many tasks
	// running.
	free := o.Workers - max(o.SlowWorkers, p.slowBusy) - p.quickBusy
	limit := min(q.window, o.MaxPerQueue)
	company := fairlimit.Policy{Divisor: quickDivisor, Max: o.MaxPerCompany}.Available(free, q.company.quickBusy)
	capacity := min(limit-q.busy, company)
	if q.busy > 0 && capacity < limit/4 {
		return 0
	}
	return capacity
}

// acquire counts n more workers for a queue.
func (p *workerPool) acquire(q *queue, n int) {
	q.busy += n
	if q.quick {
		p.quickBusy += n
		q.company.quickBusy += n
	} else {
		p.slowBusy += n
		q.company.slowBusy += n
	}
}

// release counts n fewer workers for a queue.
func (p *workerPool) release(q *queue, n int) { p.acquire(q, -n) }

// setQuick moves a queue, with the workers that it holds, to the quick or the slow ones.
func (p *workerPool) setQuick(q *queue, quick bool) {
	held := q.busy
	p.release(q, held)
	q.quick = quick
	p.acquire(q, held)
}

// start notes that a task begins, for which a worker was acquired.
func (p *workerPool) start(q *queue) *task {
	t := &task{queue: q, began: p.options.Now()}
	t.running = p.running.PushBack(t)
	return t
}

// nextLate returns when the oldest running task becomes late; the zero time when there is none.
func (p *workerPool) nextLate() time.Time {
	if oldest := p.running.Front(); oldest != nil {
		return oldest.Value.(*task).began.Add(p.options.SlowAfter)
	}
	return time.Time{}
}

// demoteLate moves the queues of tasks that have become late to the slow pool.
func (p *workerPool) demoteLate() {
	now := p.options.Now()
	for oldest := p.running.Front(); oldest != nil; oldest = p.running.Front() {
		t := oldest.Value.(*task)
		if now.Before(t.began.Add(p.options.SlowAfter)) {
			return
		}
		p.running.Remove(oldest)
		t.running = nil
		t.queue.late++
		p.setQuick(t.queue, false)
	}
}

// finish notes the end of a task and releases its worker.
func (p *workerPool) finish(t *task, result Result) {
	q := t.queue
	if t.running != nil {
		p.running.Remove(t.running)
	} else {
		q.late--
	}
	p.release(q, 1)
	if result.Responded {
		q.window = min(q.window+1, max(p.options.MaxPerQueue, p.options.MaxPerSlowQueue))
	} else {
		q.window = max(q.window/2, 1)
	}
	switch {
	case result.Latency >= p.options.SlowAfter:
		p.setQuick(q, false)
	case result.Responded && q.late == 0:
		p.setQuick(q, true)
	}
}
