package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// WithAPIKey returns info with the API key of the sandbox's own company. Call it while [Sandbox.Run] serves.
func (s *Sandbox) WithAPIKey(ctx context.Context, info Info) (Info, error) {
	key, err := s.apiKey(ctx)
	if err != nil {
		return Info{}, err
	}
	info.APIKey = key.Reveal()
	return info, nil
}

// apiKey returns the key of the sandbox's own company for the commands of developers on this machine. It is made once
// and kept in the data directory, and made again if it was revoked or the company was reset.
func (s *Sandbox) apiKey(ctx context.Context) (secret.Text, error) {
	saved, err := s.layout.load()
	if err != nil || saved == nil {
		return secret.Text{}, fmt.Errorf("read the API key of the sandbox: %w", err)
	}
	id, err := base.ParseID(saved.AccountID)
	if err != nil {
		return secret.Text{}, fmt.Errorf("account of the sandbox: %w", err)
	}
	tenant, err := s.DB().Tenant(ctx, id)
	if err != nil {
		return secret.Text{}, err
	}
	keys, err := identity.APIKeys(ctx, tenant)
	if err != nil {
		return secret.Text{}, err
	}
	for _, key := range keys {
		if key.ID.String() == saved.APIKeyID && key.RevokedAt == nil {
			return secret.New(saved.APIKey), nil
		}
	}
	add, faults := account.ReadAPIKeyRequest(api.APIKeyRequest{Name: new("Commands of this machine"),
		Scopes:   []string{"read", "write", "submit", "webhooks"},
		Networks: []string{"127.0.0.0/8", "::1"}}, s.DB().Now())
	if len(faults) > 0 {
		return secret.Text{}, fmt.Errorf("API key of the sandbox: %v", faults)
	}
	made, key, err := (&account.Service{DB: s.DB(), Random: rand.Reader, Environment: service.Sandbox}).CreateAPIKey(ctx,
		tenant, base.Session{}, add)
	if err != nil {
		return secret.Text{}, fmt.Errorf("create the API key of the sandbox: %w", err)
	}
	saved.APIKey, saved.APIKeyID = key.Reveal(), made.ID.String()
	return key, s.layout.save(*saved)
}
