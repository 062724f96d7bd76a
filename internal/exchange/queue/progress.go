package queue

// Progress says how far the work of a source is.
type Progress struct {
	// ScansBegun is the number of scans that have begun, and ScansCompleted the number of the last one that has seen all
	// due work.
	ScansBegun, ScansCompleted int
	// Tasks is the number of tasks that have started.
	Tasks int
	// Idle says that nothing is running or waiting, and that no scan has to begin before the poll interval ends or a
	// commit causes work.
	Idle bool
}

// progress returns the progress at the end of a step.
func (s *scheduler[T]) progress() Progress {
	overdue := !s.scan.nextDue.IsZero() && !s.scan.nextDue.After(s.options.Now())
	return Progress{ScansBegun: s.scan.begun, ScansCompleted: s.scan.completed, Tasks: s.tasks,
		Idle: s.background == 0 && s.ready.size == 0 && !s.scan.requested && s.scan.cursor.IsZero() && !s.scan.quickLeftOut &&
			!s.scan.slowLeftOut && !overdue}
}
