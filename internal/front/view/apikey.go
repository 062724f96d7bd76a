package view

import (
	"fmt"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/identity"
)

// APIKey returns an API key as it is at a time. The key itself is stored nowhere.
func APIKey(k identity.APIKey, now time.Time) api.APIKey {
	out := api.APIKey{ID: k.ID.String(), Name: k.Name, Prefix: k.Prefix, LastFour: k.LastFour, Scopes: texts(k.Scopes),
		Networks: texts(k.Networks), State: api.APIKeyActive, ExpiresAt: k.ExpiresAt, CreatedAt: k.CreatedAt,
		CreatedBy: k.CreatedBy, LastUsedAt: k.LastUsedAt, LastUsedFrom: k.LastUsedFrom, RevokedAt: k.RevokedAt}
	switch {
	case k.RevokedAt != nil:
		out.State = api.APIKeyRevoked
	case k.Ended(now):
		out.State = api.APIKeyExpired
	}
	return out
}

// texts returns the text of each member of a list; the result is not nil.
func texts[T any](list []T) []string {
	out := make([]string, len(list))
	for n, one := range list {
		out[n] = fmt.Sprint(one)
	}
	return out
}
