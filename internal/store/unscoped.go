package store

// What is not one tenant's, and why it may be so:
//
//   - Accounts, users and their passwords: an administrator's, on the command line (account.go).
//   - Tokens: looked up before it is known whose they are; the look-up makes the *Tenant (account.go).
//   - Limits: counted before anybody is known (limit.go).
//   - Provider connections: the account's, kept across a reset of its tenant (connection.go).
//   - Lanes of due work: the workers', who get a *Tenant with every piece (lanes.go).
//
// Everything else is a method of *Tenant.
