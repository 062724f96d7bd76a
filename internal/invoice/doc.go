// Package invoice is the domain, free of any input or output: what a draft still needs, what we advise about it, what
// it adds up to, and what the regulated provider has said about its submission.
//
// Invariants: nothing here refuses what the provider should judge ([Faults] holds form, [Warnings] only advice); no
// amount passes through a float and each is rounded once; and no state is inferred. A state of one of the four
// dimensions (specification, part 2.5) is made by [ReadReport] alone, from retained evidence, in the provider's own
// word. [State] is generic over its dimension, so the compiler refuses to use one dimension's state as another's.
//
// Start reading at [ReadReport] and [States.Merge] for what the provider says, at [Missing] and [Compute] for what
// the customer says.
package invoice
