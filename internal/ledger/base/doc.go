// Package base is what the other packages of the ledger are made of: the database and its transactions, tenants and who
// may act, seals, the audit log, and quotas.
//
// A [*Tenant] comes only from this package: from [DB.Authenticate] and [DB.AuthenticateAPIKey], from a [Queue] of due
// work, or from [DB.Tenant] for an administrator. [DB.TenantOf] makes one of any identifiers: it is for rows that an
// operation of the ledger has read itself. [Tenant.Write] runs an operation in a transaction, a [Tx], which
// checks that the caller may still do what it does; [Tenant.Read] and [Tenant.List] read. Packages outside of the
// ledger see none of these; they may only name a tenant and a database.
//
// # What a transaction leaves to its end
//
// Counters, notices, the set of companies and the audit log are written when the transaction is about to commit, once
// for all writes that are committed together, in the order of [Rank]: see [Tx.Defer]. Rows that many writes lock are
// locked last.
//
// # Seals
//
// A row that decides who may act carries a seal over its columns (sealed tables: [SealedTables]); without the right one
// it does not act. Evidence and the audit log are chains of digests ([ChainEnd], [ChainLink]) whose ends are sealed
// ([Seal]), so that nothing can be changed, moved, added or removed unnoticed. Package proof verifies both.
//
// Read tenant.go first, then database.go, sealed rows in access_seal.go, and audit.go.
package base
