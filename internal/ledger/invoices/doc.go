// Package invoices has what a company writes and what becomes of it: drafts, credit notes, the customer book,
// connections to providers, submissions, and the evidence of everything that a provider said about them.
//
// # Drafts
//
// [Create], [Update] and [Delete] write drafts, with summary.go for what lists show. deletion.go keeps lists numbered
// without gaps, counters.go counts invoices for the overview, idempotent.go stores responses, credit.go has credit
// notes.
//
// # Submissions
//
// [BeginSubmission] commits the intent, the permanent reference and the exact document before a byte is sent, and
// returns the lease of whoever may send it. [SubmissionLease.Record] commits what the provider said: seal, evidence,
// states, outcome, events, deliveries and the time of the next query, in the order that its comment gives. circuit.go
// is the circuit breaker of a connection; resolve.go and restored.go handle decisions of administrators and restored
// backups; [ClaimSubmissions] gives due submissions to workers.
package invoices
