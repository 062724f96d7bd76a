// Package simulation runs the whole of Quittance in one process, one step at a time, and lets everything go wrong.
//
// The real handlers, the real store, the real workers, the real adapter and the real sender run against the provider
// sandbox and hostile receivers over connections that exist in memory only. The simulator owns what they would get
// from the world: the clock (a testing/synctest bubble, where time passes when everybody waits), randomness, the
// resolver, the dialler, the provider's mood, and the moment at which a process dies. A seed chooses operations and
// faults; the same seed gives the same trace, so that a failure found once is found again.
//
// Its invariants: one step at a time, and while a step waits for the network others may happen; a process that dies
// does nothing more, neither to the database nor to the network; what clients are told is compared with what the
// provider's ledger and the receivers know, never with the service's own opinion alone. A run ends in calm: the faults
// stop, the clock goes on until nothing is left to do, and then every promise is checked (verify_test.go, verify_events_test.go, canaries_test.go).
//
// The package has tests alone. Start reading at run in world_test.go; the operations are in operations_test.go, the
// bugs that the simulation has to find in planted_test.go. docs/reliability.md says how to run more seeds.
package simulation
