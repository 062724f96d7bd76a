package api

import "time"

// Role says what a user may do in the company.
type Role string

// The roles.
const (
	RoleOwner      Role = "owner"
	RoleAccountant Role = "accountant"
	RoleDeveloper  Role = "developer"
	RoleViewer     Role = "viewer"
)

// User is a person who can log in to the company.
type User struct {
	ID    string `json:"id" format:"uuid" doc:"Identifier."`
	Email string `json:"email" doc:"E-mail address, with which the user logs in."`
	// EmailProved reports that the user has proved to have the address.
	EmailProved bool      `json:"email_proved" doc:"True if the user has proved to have the address, with a link that was mailed to it or by single sign-on. An unproved address gets no e-mails but those with such a link, and the user may lose the login when somebody else proves it." example:"true"`
	Name        string    `json:"name" doc:"Name of the user."`
	Role        Role      `json:"role" enum:"owner,accountant,developer,viewer" doc:"What the user may do."`
	Active      bool      `json:"active" doc:"False for a user who is disabled and cannot log in."`
	Linked      bool      `json:"linked" doc:"True for a user who has logged in by single sign-on. The first such login links the user to a person at the OpenID provider, and nobody else there logs in as this user."`
	CreatedAt   time.Time `json:"created_at" doc:"When the user was added."`
}

// UserChange is a merge patch of a user. An absent member is unchanged.
type UserChange struct {
	Email  *string `json:"email,omitempty" required:"true" minLength:"1" maxLength:"256" doc:"The new e-mail address of a colleague, who proves it with a link that is mailed to it. Users change their own with POST /api/v1/client/auth/address." example:"books@example.com"`
	Role   *Role   `json:"role,omitempty" required:"true" enum:"owner,accountant,developer,viewer" doc:"The new role. It takes effect with the user's next request."`
	Linked *bool   `json:"linked,omitempty" required:"true" doc:"false ends the link to a person at the OpenID provider, so that the next login by single sign-on makes another one. true is allowed only for a user who is linked."`
	Active *bool   `json:"active,omitempty" required:"true" doc:"false prevents the user from logging in, and revokes the tokens of the user and the invitations that the user has made; true allows the login again."`
	// RevokeAPIKeys is no member of a user.
	RevokeAPIKeys *bool `json:"revoke_api_keys,omitempty" required:"true" doc:"true also revokes the API keys that the user has made, which otherwise go on working when the user is disabled or gets another role."`
}

// InvitationRequest is the body of an invitation.
type InvitationRequest struct {
	Email *string `json:"email" required:"true" minLength:"1" maxLength:"256" doc:"E-mail address of the person, with which this person logs in." example:"books@example.com"`
	Role  *Role   `json:"role" required:"true" enum:"owner,accountant,developer,viewer" doc:"What the person may do."`
}

// Invitation allows a person to become a user of the company, once and until it expires.
type Invitation struct {
	ID        string    `json:"id" format:"uuid" doc:"Identifier."`
	Email     string    `json:"email" doc:"E-mail address of the invited person."`
	Role      Role      `json:"role" enum:"owner,accountant,developer,viewer" doc:"Role that the person gets."`
	ExpiresAt time.Time `json:"expires_at" doc:"When the invitation ends, 72 hours after it was made."`
}

// NewInvitation is the response to an invitation. No other response has its link.
type NewInvitation struct {
	Invitation
	URL string `json:"url,omitempty" doc:"The link that the person opens to choose a password. Send it to this person only: whoever has it can use it. Absent in a response that is replayed for an Idempotency-Key." example:"https://invoices.example/join#qi_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"`
}
