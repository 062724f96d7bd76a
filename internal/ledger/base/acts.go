package base

import (
	"slices"
)

// acts are the names of all acts in the audit log: a noun and a verb, with underscores within the noun and hyphens
// within the verb. A name in use stays, because entries are kept. docs/audit.md says which operation leaves which
// entry, and tests compare it with the operations of the API, the pages of the console and the commands; the console
// needs a text for each.
var acts = [...]string{ //nolint:gochecknoglobals // a constant table
	// People.
	"session.begin", "session.end", "session.revoke", "session.revoke-others", "user.change-password",
	"user.request-password-reset", "user.complete-password-reset", "user.enroll-second-factor",
	"user.disable-second-factor", "user.replace-recovery-codes", "user.reset-second-factor",
	"user.add-passkey", "user.rename-passkey", "user.remove-passkey", "user.refuse-passkey", "user.wrong-code",
	"user.invite", "user.join", "invitation.revoke", "user.set-notices",
	"user.link", "user.unlink",
	"user.request-address-proof", "user.prove-address", "user.give-way", "user.change-address", "user.remove",
	// API keys.
	"api_key.create", "api_key.revoke",
	// Operators.
	"operator.add", "operator.enrol", "operator.log-in", "operator.log-out", "operator.disable", "operator.reset",
	// Documents.
	"draft.create", "draft.import", "draft.update", "draft.delete", "invoice.submit",
	"credit_note.create", "credit_note.update", "credit_note.void", "credit_note.submit",
	// The customer book and the item catalogue.
	"customer.create", "customer.update", "customer.delete", "item.create", "item.update", "item.delete",
	// Webhooks.
	"subscription.create", "subscription.deactivate", "delivery.redeliver",
	// Administration.
	"account.create", "account.rename", "account.profile", "account.login-policy", "account.suspend", "account.reactivate",
	"user.add", "user.role", "user.disable", "user.enable", "user.reset-password",
	"connection.add", "connection.activate", "connection.disable", "connection.approve", "connection.confirm-credit-notes",
	"connection.replace-credential", "submission.resolve", "submission.contradicted", "sandbox.reset", "invoices.recount",
	"evidence.export", "evidence.seal", "access.seal", "key.add", "key.promote", "key.reseal", "key.retire",
	"database.migrate", "database.backup", "database.restored",
}

// Acts returns the names of all acts in the audit log.
func Acts() []string { return slices.Clone(acts[:]) }
