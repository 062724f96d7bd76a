package queue

import "slices"

// maxReady bounds the ready list: it takes slow queues up to maxReady entries and quick ones up to twice as many, so
// that slow queues never keep quick ones out. It is far above what keeps every worker busy.
const maxReady = 512

// roundRobin is the list of ready queues: those that have due work and wait for workers. Companies take turns, and so
// do the queues of a company.
type roundRobin struct {
	companies []*company // those with ready queues; the first has the next turn
	size      int        // ready queues
}

// fits reports whether another quick or slow queue fits into the list.
func (r *roundRobin) fits(quick bool) bool {
	return r.size < maxReady || quick && r.size < 2*maxReady
}

// push puts a queue behind its company's other ready queues, and a company that had none behind the others. A queue
// that is ready already keeps its position.
func (r *roundRobin) push(q *queue) {
	if q.ready {
		return
	}
	q.ready = true
	r.size++
	if len(q.company.ready) == 0 {
		r.companies = append(r.companies, q.company)
	}
	q.company.ready = append(q.company.ready, q)
}

// serve gives each company a turn, again and again until nothing more can begin. capacity returns how many tasks of a
// queue can begin; serve takes a queue with capacity out of the list and passes it to begin, which must not push. A
// company that had a turn goes to the end of the list; companies and queues without capacity keep their positions.
func (r *roundRobin) serve(capacity func(*queue) int, begin func(*queue, int)) {
	for served := true; served; {
		served = false
		var passedOver, hadTurn []*company
		for _, c := range r.companies {
			tasks := 0
			at := slices.IndexFunc(c.ready, func(q *queue) bool {
				tasks = capacity(q)
				return tasks > 0
			})
			if at < 0 {
				passedOver = append(passedOver, c)
				continue
			}
			served = true
			q := c.ready[at]
			c.ready = slices.Delete(c.ready, at, at+1)
			q.ready = false
			r.size--
			if len(c.ready) > 0 {
				hadTurn = append(hadTurn, c)
			}
			begin(q, tasks)
		}
		r.companies = append(passedOver, hadTurn...)
	}
}
