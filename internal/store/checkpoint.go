package store

// Moment is a side of a step that cannot be taken back: a commit, or a message to another party.
type Moment string

// The two moments of a step.
const (
	Before Moment = "before"
	After  Moment = "after"
)

// Checkpoint is told of every moment before and after a step that cannot be taken back. A test that ends the process
// there, or lets others act there, has tried every place where it matters. The step is the fact that a transaction
// commits, or a call over the network such as "provider submit".
type Checkpoint func(moment Moment, step string)

// Checkpoint tells the observer given in [Options] of a moment. Packages that speak to the network on behalf of the store's
// work call it around every exchange.
func (db *DB) Checkpoint(moment Moment, step string) {
	if db.check != nil {
		db.check(moment, step)
	}
}
