package api

import "time"

// APIKeyRequest is the body of an API key's creation.
type APIKeyRequest struct {
	Name      *string  `json:"name" required:"true" minLength:"1" maxLength:"100" doc:"What uses the key, for people." example:"ERP, Dubai"`
	Scopes    []string `json:"scopes" required:"true" minItems:"1" maxItems:"4" enum:"read,write,submit,webhooks" doc:"What the key may do, which is nothing that the role of its maker does not allow: owners give any scope, developers read and webhooks. read: read everything that people can read. write: create, change and delete drafts and credit notes. submit: submit them to the provider. webhooks: read, create and deactivate webhook subscriptions, and deliver again."`
	Networks  []string `json:"networks" nullable:"true" maxItems:"20" doc:"Networks that the key is accepted from, as addresses or in CIDR notation; any if null or empty. A call from elsewhere gets 403."`
	ExpiresAt *string  `json:"expires_at" maxLength:"64" doc:"Time in the future from which the key is not accepted any more (RFC 3339); null for never." example:"2027-03-01T00:00:00Z"`
}

// APIKey is the credential of a machine. The key itself is in [NewAPIKey] only.
type APIKey struct {
	ID           string     `json:"id" format:"uuid" doc:"Identifier, which logs and the audit log name."`
	Name         string     `json:"name" doc:"What uses the key."`
	Prefix       string     `json:"prefix" doc:"Beginning of the key, which names its environment." example:"qk_sandbox_"`
	LastFour     string     `json:"last_four" doc:"Last four characters of the key." example:"x7Qz"`
	Scopes       []string   `json:"scopes" nullable:"false" enum:"read,write,submit,webhooks" doc:"What the key may do."`
	Networks     []string   `json:"networks" nullable:"false" doc:"Networks that the key is accepted from, in CIDR notation; empty for any."`
	State        string     `json:"state" enum:"active,expired,revoked" doc:"Only an active key is accepted."`
	ExpiresAt    *time.Time `json:"expires_at" doc:"When the key expires; null for never."`
	CreatedAt    time.Time  `json:"created_at" doc:"When it was created."`
	CreatedBy    *string    `json:"created_by" doc:"E-mail address of the user who created it; null for an administrator." example:"owner@example.com"`
	LastUsedAt   *time.Time `json:"last_used_at" doc:"When it was used last, to a minute; null for never."`
	LastUsedFrom *string    `json:"last_used_from" doc:"Address that it was used from then." example:"203.0.113.7"`
	RevokedAt    *time.Time `json:"revoked_at" doc:"When it was revoked."`
}

// NewAPIKey is the response to the creation of an API key, and the only one with the key.
type NewAPIKey struct {
	APIKey
	Key string `json:"key,omitempty" doc:"The key, shown in this response only, for the header Authorization: Bearer <key>. It matches ^qk_(sandbox|production)_[0-9A-Za-z]{49}$." example:"qk_sandbox_00sD5BYEnD81lGzjWMwm3DFC4HBUGvYJxBFK6T8uFh3pa0xQ4"`
}

// The states of an API key.
const (
	APIKeyActive  = "active"
	APIKeyExpired = "expired"
	APIKeyRevoked = "revoked"
)
