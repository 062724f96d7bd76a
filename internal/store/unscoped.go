package store

// What is not one tenant's, and why it may be so:
//
//   - Accounts, users and their passwords: an administrator's, on the command line (account.go).
//   - Tokens: looked up before it is known whose they are; the look-up makes the *Tenant (account.go).
//   - Limits: counted before anybody is known (limit.go).
//   - Provider connections: the account's, kept across a reset of its tenant (connection.go).
//   - Lanes of due work: the workers', who get a *Tenant with every piece (queues.go).
//   - How far reconciliation is behind: numbers for the operator (circuit.go).
//   - Keys: which of them the database is sealed under, and sealing everything anew, are the installation's (keyrecords.go,
//     reseal.go, bind.go).
//   - Running servers: processes, not a tenant's (servers.go).
//   - The lists of every account's submissions and deliveries, for an administrator (overview.go).
//   - A submission that an administrator decides about: named alone, the look-up makes the *Tenant (resolve.go).
//   - The environment the database is served in, and the reset of an account (reset.go).
//   - That the database was restored from a backup: every open submission is due (restored.go).
//   - The audit log: an account's entries, and those of what belongs to no account (audit.go).
//   - The sweep of what has ended by itself (limit.go).
//
// Everything else is a method of *Tenant.
