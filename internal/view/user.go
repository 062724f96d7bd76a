package view

import (
	"quittance/client/api"
	"quittance/internal/store"
)

// User presents a user.
func User(u store.User) api.User {
	return api.User{ID: u.ID.String(), Email: u.Email, Name: u.Name, Role: api.Role(u.Role), Active: u.DisabledAt == nil, Linked: u.Linked, CreatedAt: u.CreatedAt}
}

// Invitation presents an invitation, without its secret.
func Invitation(i store.Invitation) api.Invitation {
	return api.Invitation{ID: i.ID.String(), Email: i.Email, Role: api.Role(i.Role), ExpiresAt: i.ExpiresAt}
}
