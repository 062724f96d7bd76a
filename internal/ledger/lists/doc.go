// Package lists reads what operators and administrators see of all companies: accounts, connections, submissions with
// an unknown outcome, undelivered deliveries, the audit log, and how much work waits. Nothing here writes.
package lists
