// Package people has the pages of logins, second factors, users, API keys, the audit log and the company itself.
//
// Its invariant: whoever may act is decided by package account and the ledger; a page only asks them. Start reading at
// [Subject].
package people
