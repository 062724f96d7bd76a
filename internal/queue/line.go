package queue

import "slices"

// line is the lanes that are known to have work and wait for workers. Companies take turns, and so do the lanes of each.
type line struct {
	owners []*owner // those with lanes in line, whose turn is next first
	size   int      // lanes in line
}

// admits tells whether there is a place for one lane more. Quick lanes always find some that slow ones cannot take.
func (q *line) admits(quick bool) bool {
	return q.size < maxWaiting || quick && q.size < 2*maxWaiting
}

// join puts a lane at the end of its company's lanes, and the company at the end of the line unless it stands there
// already. A lane that waits keeps its place.
func (q *line) join(l *lane) {
	if l.waiting {
		return
	}
	l.waiting = true
	q.size++
	l.owner.line = append(l.owner.line, l)
	if !l.owner.listed {
		l.owner.listed = true
		q.owners = append(q.owners, l.owner)
	}
}

// serve lets each company have a turn, and again while something can be begun: room says how much of a lane, and begin is
// told of a lane that has left the line. Whoever had a turn goes to the end; whoever had none keeps its place, and so
// do the lanes of a company that are passed over.
func (q *line) serve(room func(*lane) int, begin func(*lane, int)) {
	for served := true; served; {
		served = false
		var kept, behind []*owner
		for _, own := range q.owners {
			may := 0
			at := slices.IndexFunc(own.line, func(l *lane) bool {
				may = room(l)
				return may > 0
			})
			if at < 0 {
				kept = append(kept, own)
				continue
			}
			served = true
			l := own.line[at]
			own.line = slices.Delete(own.line, at, at+1)
			l.waiting = false
			q.size--
			if own.listed = len(own.line) > 0; own.listed {
				behind = append(behind, own)
			}
			begin(l, may)
		}
		q.owners = append(kept, behind...)
	}
}
