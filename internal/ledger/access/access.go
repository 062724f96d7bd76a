// Package access says who may do what. Every operation of the API and every page of the console names the one
// [Permission] that it needs. The role of a user, or the scopes of an API key, give a set of [Permissions].
//
// The invariant: an operation that names no permission is refused to everybody, because nobody has the zero Permission.
//
// Start reading at [Role.Permissions].
package access

import (
	"fmt"
	"slices"
)

// Permission is what an operation needs.
type Permission uint16

// The permissions.
const (
	// Public operations need no login. Nobody has this permission, and nobody needs it.
	Public Permission = 1 << iota
	// OwnLogin covers the caller's own password and sessions.
	OwnLogin
	// ReadAccount covers the company's profile, connection and quotas.
	ReadAccount
	// Read covers drafts, submissions, credit notes, incoming e-invoices, evidence, customers and items.
	Read
	// ReadWebhooks covers subscriptions, events and deliveries.
	ReadWebhooks
	// Write covers the creation, change and deletion of drafts, credit notes, customers and items, and the checks that
	// people need while they write.
	Write
	// Submit covers submissions to the provider.
	Submit
	// ManageWebhooks covers the creation and deactivation of subscriptions, and redeliveries.
	ManageWebhooks
	// ManageKeys covers the list, creation and revocation of API keys.
	ManageKeys
	// ManageUsers covers the list of users, their roles, and invitations.
	ManageUsers
	// ReadAudit covers the audit log of the company.
	ReadAudit
)

// All lists all permissions but [Public].
var All = []Permission{OwnLogin, ReadAccount, Read, ReadWebhooks, Write, Submit, ManageWebhooks, ManageKeys, ManageUsers, ReadAudit} //nolint:gochecknoglobals // a constant table

// String returns the name of a permission, such as "read".
func (p Permission) String() string {
	switch p {
	case Public:
		return "public"
	case OwnLogin:
		return "own login"
	case ReadAccount:
		return "read account"
	case Read:
		return "read"
	case ReadWebhooks:
		return "read webhooks"
	case Write:
		return "write"
	case Submit:
		return "submit"
	case ManageWebhooks:
		return "manage webhooks"
	case ManageKeys:
		return "manage keys"
	case ManageUsers:
		return "manage users"
	case ReadAudit:
		return "read audit"
	}
	return fmt.Sprintf("Permission(%d)", uint16(p))
}

// Permissions is a set of permissions. The zero value is empty.
type Permissions uint16

// permissions returns the set of some permissions.
func permissions(list ...Permission) Permissions {
	var set Permissions
	for _, p := range list {
		set |= Permissions(p)
	}
	return set
}

// Has reports whether the set contains a permission. No set contains the zero Permission.
func (s Permissions) Has(p Permission) bool { return p != 0 && s&Permissions(p) == Permissions(p) }

// Covers reports whether the set contains all of another set.
func (s Permissions) Covers(other Permissions) bool { return s&other == other }

// Scopes returns the scopes of API keys that allow nothing but what the set does. Nobody gives a key more than that.
func (s Permissions) Scopes() []Scope {
	return slices.DeleteFunc(slices.Clone(Scopes), func(scope Scope) bool { return !s.Covers(scope.Permissions()) })
}

// Role is what a user may do in a company.
type Role string

// The roles.
const (
	Owner      Role = "owner"
	Accountant Role = "accountant"
	Developer  Role = "developer"
	Viewer     Role = "viewer"
)

// Roles lists all roles.
var Roles = []Role{Owner, Accountant, Developer, Viewer} //nolint:gochecknoglobals // a constant table

// IsValid reports whether r is one of the roles.
func (r Role) IsValid() bool { return slices.Contains(Roles, r) }

// Permissions returns what a user with the role may do; nothing for an unknown role.
func (r Role) Permissions() Permissions {
	every := permissions(OwnLogin, ReadAccount, Read, ReadWebhooks)
	switch r {
	case Owner:
		return permissions(All...)
	case Accountant:
		return every | permissions(Write, Submit)
	case Developer:
		return every | permissions(ManageWebhooks, ManageKeys)
	case Viewer:
		return every
	}
	return 0
}

// Scope is what an API key may do. A key can have several scopes.
type Scope string

// The scopes.
const (
	ScopeRead     Scope = "read"
	ScopeWrite    Scope = "write"
	ScopeSubmit   Scope = "submit"
	ScopeWebhooks Scope = "webhooks"
)

// Scopes lists all scopes.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeSubmit, ScopeWebhooks} //nolint:gochecknoglobals // a constant table

// IsValid reports whether s is one of the scopes.
func (s Scope) IsValid() bool { return slices.Contains(Scopes, s) }

// Permissions returns what a key with the scope may do; nothing for an unknown scope. No scope covers logins, users,
// API keys or the audit log.
func (s Scope) Permissions() Permissions {
	switch s {
	case ScopeRead:
		return permissions(ReadAccount, Read, ReadWebhooks)
	case ScopeWrite:
		return permissions(ReadAccount, Write)
	case ScopeSubmit:
		return permissions(ReadAccount, Submit)
	case ScopeWebhooks:
		return permissions(ReadAccount, ReadWebhooks, ManageWebhooks)
	}
	return 0
}

// PermissionsOf returns what a key with all the given scopes may do.
func PermissionsOf(scopes []Scope) Permissions {
	var set Permissions
	for _, scope := range scopes {
		set |= scope.Permissions()
	}
	return set
}
