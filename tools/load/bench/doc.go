// Package bench measures a deployment under load, so that users know what to expect of it on their own machine: drafts,
// submissions, deliveries in bursts and at a steady rate, the fairness between companies, lists, the start, and hours
// of failures.
//
// Its invariants: it invents nothing, and reports what could not be measured with the reason; a steady rate is an open
// loop, whose latencies count from the time at which a call was due, so that a stalled server shows in every call that
// it delayed; the limits of the machine are measured in the same run and reported next to the results; the load is
// synthetic, and uses the same calls and transactions as any other.
//
// A measurement is a function: start reading at [Deliveries]. It uses its own deployment, a server in a child process
// on a database made for it (deployment.go), or a given one (session.go). [Histogram], pace.go and client_conn.go make
// the load, the SDK makes all other calls, package benchdb fills the database, and [Report] is the result.
package bench
