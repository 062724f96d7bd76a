// Package ledger opens a database of the service, and does what concerns the database as a whole: it brings the schema
// up to date, takes keys into use and seals values anew, copies and restores, and removes what has expired.
//
// # The packages below
//
// The ledger is what must never be wrong: all tables, with one schema and one set of statements
// for SQLite and PostgreSQL. Its packages import only those above them in this list:
//
//   - schema: the migrations.
//   - access: roles, scopes of keys, and what each may do.
//   - base: transactions, tenants and who may act, seals, the audit log, quotas.
//   - identity: accounts, users, factors, sessions, keys, operators, and the mails to people.
//   - events: events, the destinations of webhooks, and their deliveries.
//   - invoices: drafts, credit notes, connections, submissions and the evidence of what a provider said about them.
//   - incoming: e-invoices that others sent, and the events of a provider that reports by a queue.
//   - lists: what operators and administrators see of all companies.
//   - proof: verifies all of it, exports evidence, and anchors it outside of the database.
//
// # Concepts
//
// A [*base.Tenant] is the data of one company, and the only access to it. Package base alone creates one: for a valid
// token, for claimed work, or for an administrator. Every operation on a company's data takes a *Tenant, and none takes
// a tenant's identifier. What belongs to no tenant takes a [*base.DB]; unscoped.go lists all of that with reasons.
//
// An exported function is one transaction, called an operation, unless it takes a transaction: such a function is a
// part of the operations of another package of the ledger. What concerns very many rows, such as [DeleteExpired], is
// a transaction for each few of them. What belongs together (a state, its evidence, its events,
// their deliveries) is committed together or not at all. No write runs under the context of a request, because a client
// that disconnects must not interrupt one.
//
// The rows are also the queue of work: submissions, deliveries, mails and purchase syncs have a due time and a lease. A
// worker claims due rows and works without a transaction. Only the holder of the lease decides what happens next and
// when; a response that a worker records after it has lost the lease is kept and merged all the same.
//
// Secrets are sealed (encrypted and authenticated) before they reach a row. Rows that describe work contain only
// identifiers.
//
// # Where to begin
//
// Read base/tenant.go, then follow the creation of a draft: [invoices.Create]. The heart of the product is
// [invoices.BeginSubmission] and [invoices.SubmissionLease.Record].
package ledger
