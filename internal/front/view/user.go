package view

import (
	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// User presents a user.
func User(u base.User) api.User {
	return api.User{ID: u.ID.String(), Email: u.Email, EmailProved: u.ProvedAt != nil, Name: u.Name,
		Role: api.Role(u.Role), Active: u.DisabledAt == nil, Linked: u.Linked, CreatedAt: u.CreatedAt}
}

// Caller presents who makes a call, and what it may do.
func Caller(s *base.Session) api.Caller {
	if s.Key != nil {
		return api.Caller{Kind: "api_key", APIKeyID: new(s.Key.ID.String()), Scopes: texts(s.Key.Scopes)}
	}
	return api.Caller{Kind: "user", Email: &s.Email, Role: new(api.Role(s.Role))}
}

// Invitation presents an invitation, without its secret.
func Invitation(i identity.Invitation) api.Invitation {
	return api.Invitation{ID: i.ID.String(), Email: i.Email, Role: api.Role(i.Role), ExpiresAt: i.ExpiresAt}
}
