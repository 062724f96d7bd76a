// Package invoice holds the domain rules, without input or output: what a draft still needs, which advice applies to
// it, what it adds up to, and what the regulated provider has reported about its submission.
//
// Invariants: nothing here rejects what the provider should judge ([Faults] checks form, and [Warnings] is only
// advice). No amount passes through a float, and each amount is rounded once. No state is inferred: only [ReadReport]
// makes a state of one of the four dimensions, from retained evidence, with the provider's own value. [State] is
// generic over its dimension, so that the compiler rejects the use of one dimension's state as another's.
//
// Start reading at [ReadReport] and [States.Merge] for the provider's reports, and at [Missing] and [Compute] for the
// customer's drafts.
package invoice
