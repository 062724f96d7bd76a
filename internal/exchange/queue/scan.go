package queue

import (
	"context"
	"math"
	"time"

	"quittance/internal/ledger/base"
)

// scanDutyCycle bounds the time spent scanning to one part in scanDutyCycle: after a step, the scheduler waits three
// times as long as the step took, so that many notifications do not turn into permanent scanning.
const scanDutyCycle = 4

// noScan is the wait when no scan step can begin until something else happens.
const noScan = time.Duration(math.MaxInt64)

// scan is the state of the search for queues with due work.
type scan struct {
	// requested says that a notification has arrived since the last scan began, stepping that a step is running.
	requested, stepping bool
	// cursor is where the current scan continues; zero between scans.
	cursor base.ScanCursor
	// A step begins no earlier than notBefore, and a scan no later than pollAt; both by the clock of the machine.
	notBefore, pollAt time.Time
	// nextDue is when the earliest work becomes due that was not due yet when the scan saw it, by the clock of the work.
	nextDue time.Time
	// quickLeftOut and slowLeftOut say that the scan found quick or slow queues that it did not make ready.
	quickLeftOut, slowLeftOut bool
	// When there are more slow queues than fit into the ready list, the scans share them: the next scan begins with the
	// slow queues that did not fit into the list in this one. resumeSlow is the cursor of the first step with such a
	// queue; the next scan makes no slow queue before it ready. resumeSet says that this scan has set it. A scan to which
	// all slow queues fitted resets it, so that the one after it begins with the first slow queue again.
	resumeSlow base.ScanCursor
	resumeSet  bool
	// madeReady is the number of queues that the scans have made ready. Each step begins with the queue at this index,
	// modulo their number, so that a list that is nearly full does not take the same queues of a large step every time.
	madeReady int
	// begun and completed are those of [Progress].
	begun, completed int
}

// begin resets the results of the last scan.
func (s *scan) begin() {
	s.requested, s.quickLeftOut, s.slowLeftOut, s.resumeSet, s.nextDue = false, false, false, false, time.Time{}
}

// end notes the end of a scan; the next one begins at pollAt at the latest.
func (s *scan) end(pollAt time.Time) { s.cursor, s.pollAt = base.ScanCursor{}, pollAt }

// leftOut reports whether the scan found quick or slow queues that it did not make ready.
func (s *scan) leftOut(quick bool) bool {
	if quick {
		return s.quickLeftOut
	}
	return s.slowLeftOut
}

// scanWait returns how long it is until the next scan step begins: zero or less for at once, [noScan] while a step is
// running or the ready list is full.
func (s *scheduler[T]) scanWait() time.Duration {
	if s.scan.stepping || !s.ready.fits(true) {
		return noScan
	}
	wait := s.scan.pollAt.Sub(s.machineNow())
	if !s.scan.nextDue.IsZero() {
		wait = min(wait, s.scan.nextDue.Sub(s.options.Now()))
	}
	othersFit := (s.scan.quickLeftOut || s.scan.slowLeftOut) && s.ready.size < maxReady/2
	if s.scan.requested || !s.scan.cursor.IsZero() || othersFit {
		wait = 0
	}
	return max(wait, s.scan.notBefore.Sub(s.machineNow()))
}

// scanStep makes the next step of a scan, which is the first one of a new scan after the end of the last.
func (s *scheduler[T]) scanStep(ctx context.Context) {
	if s.scan.cursor.IsZero() {
		s.scan.begin()
		s.scan.begun++
	}
	s.scan.stepping = true
	from := s.scan.cursor
	s.run(func() func() {
		began := s.machineNow()
		found, err := s.source.Scan(ctx, from)
		took := s.machineNow().Sub(began)
		return func() {
			s.scan.stepping = false
			s.scan.notBefore = s.machineNow().Add(min((scanDutyCycle-1)*took, s.options.PollInterval))
			logged := s.answered(ctx, err)
			if err == nil {
				s.scanned(found)
				return
			}
			if !logged {
				s.options.Log.ErrorContext(ctx, "cannot scan for due work", "work", s.source.Name, "error", err)
			}
			s.scan.begin() // forget what the failed scan learned, so that only the poll starts the next one
			s.scan.end(s.machineNow().Add(s.options.PollInterval))
		}
	})
}

// scanned handles the result of a scan step.
func (s *scheduler[T]) scanned(found base.DueScan) {
	first := s.scan.madeReady
	for n := range found.Queues {
		s.admit(found.Queues[(first+n)%len(found.Queues)])
	}
	s.workers.forgetIdle()
	if !found.NextDue.IsZero() && (s.scan.nextDue.IsZero() || found.NextDue.Before(s.scan.nextDue)) {
		s.scan.nextDue = found.NextDue
	}
	if s.scan.cursor = found.Next; !s.scan.cursor.IsZero() {
		return
	}
	if !s.scan.resumeSet {
		s.scan.resumeSlow = base.ScanCursor{}
	}
	s.scan.completed = s.scan.begun
	s.scan.end(s.machineNow().Add(s.options.PollInterval))
}

// admit makes a queue with due work ready if it fits into the list and it is not one of the slow queues before
// resumeSlow.
func (s *scheduler[T]) admit(due base.Queue) {
	known := s.workers.queues[due.Key()]
	quick := known != nil && known.quick
	switch {
	case known != nil && known.claiming:
		known.foundAgain = true
	case known != nil && known.ready:
	case !quick && s.scan.cursor.Before(s.scan.resumeSlow):
		s.scan.slowLeftOut = true
	case s.ready.fits(quick):
		s.ready.push(s.workers.queue(due))
		s.scan.madeReady++
	case quick:
		s.scan.quickLeftOut = true
	default:
		s.scan.slowLeftOut = true
		if !s.scan.resumeSet {
			s.scan.resumeSet, s.scan.resumeSlow = true, s.scan.cursor
		}
	}
}
