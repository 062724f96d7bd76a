// Package bench measures a deployment under load, for anybody who wants to know what it does on their own machine: drafts,
// submissions, deliveries in bursts and at a steady rate, the fairness between companies, lists, the start, and
// hours of trouble.
//
// Its invariants: nothing is invented, what could not be measured is reported as such and why; a steady rate is an open
// loop, whose latencies count from the moment at which a call was due, so that a server that stands still is seen by
// every call that it kept waiting; what the machine can do at all is measured in the same run and stands beside the
// figures; the load is synthetic, and goes through the same calls and transactions as any other.
//
// A measurement is a function: start reading at [Deliveries]. It works on its own deployment, a server in a child process on
// a database made for it (deployment.go), or on a given one (session.go); [Histogram], pace.go and wire.go make the load;
// [Report] is what comes out.
package bench
