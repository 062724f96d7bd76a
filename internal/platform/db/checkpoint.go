package db

// Moment is one side of an irreversible step: of a commit, or of a message to another party.
type Moment string

// The moments of a step.
const (
	Before Moment = "before"
	After  Moment = "after"
)

// Checkpoint is called before and after every irreversible step. A test that kills the process at each of them, or runs
// other work there, covers every point that matters. step is the operation that a transaction commits, or a call over
// the network such as "provider submit".
type Checkpoint func(moment Moment, step string)

// Checkpoint calls the function given in [Options.Checkpoint]. Packages that use the network to work on rows of the
// database call it around every exchange.
func (d *DB) Checkpoint(moment Moment, step string) {
	if d.options.Checkpoint != nil {
		d.options.Checkpoint(moment, step)
	}
}
