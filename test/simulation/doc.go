// Package simulation runs the whole of Quittance in one process, one step at a time, and injects every kind of fault.
//
// The real handlers, store, workers, provider adapter and webhook sender run against the fake provider and hostile
// receivers, over connections that exist only in memory. The simulator controls everything that they would get from the
// outside world: the clock (a testing/synctest bubble, where time passes when every goroutine waits), randomness, the
// resolver, the dialler, the behaviour of the provider, and the moment at which a process dies. A seed determines
// operations and faults. The same seed gives the same trace, so that a failure can be repeated.
//
// Its invariants: one step runs at a time, and other steps may run while it waits for the network. A process that died
// has no further effect on the database or the network. What clients were told is compared with what the provider's
// ledger and the receivers know, never only with the service's own data. At the end of a run the faults stop, the clock
// advances until no work is left, and then every promise is checked (verify_test.go, verify_events_test.go,
// canaries_test.go).
//
// The package contains only tests. Start reading at run in world_test.go. The operations are in operations_test.go, and
// the bugs that the simulation must find are in planted_bugs_test.go. docs/reliability.md explains how to run more
// seeds.
package simulation
