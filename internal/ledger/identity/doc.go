// Package identity has the people of the service: accounts and their users, passwords, second factors and passkeys,
// single sign-on, sessions, API keys and invitations; the operators; and the mails and notices that people get.
//
// Who is behind a call is looked up in package base ([base.DB.Authenticate]); here is everything that changes it. Each
// change is in the audit log, and rows that decide who may act are sealed with it.
//
// Start reading at [CreateAccount], then follow a login: [BeginLogin] and [CreateToken].
package identity
