// Package incoming has the e-invoices that others sent to a company, as its provider delivers them, and the events of a
// provider that reports by a queue.
//
// A worker claims the purchase sync of a connection with [ClaimPurchases]. [PurchaseLease.RetainPurchases] keeps
// documents in the transaction that moves the cursor, so that none is lost and none is there twice. A document that the
// provider delivers again with another content is a further [Revision] in a chain that is sealed, like evidence.
package incoming
