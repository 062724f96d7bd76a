package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/strictjson"
)

type accountKeyCmd struct {
	Create apiKeyCreateCmd `cmd:"" help:"Create an API key. The key is shown once."`
	List   apiKeyListCmd   `cmd:"" help:"List the API keys of an account."`
	Revoke apiKeyRevokeCmd `cmd:"" help:"Revoke an API key at once and for good."`
}

// Help is shown by --help.
func (accountKeyCmd) Help() string {
	return `Example:
  quittance account key create 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --name ERP --scope read --scope write --scope submit`
}

type apiKeyCreateCmd struct {
	one
	Name    string   `required:"" help:"What uses the key."`
	Scope   []string `required:"" placeholder:"SCOPE" help:"What the key may do: read, write, submit or webhooks. Can be repeated."`
	Network []string `placeholder:"CIDR" help:"Network that the key is accepted from; any if not given. Can be repeated."`
	Expires string   `placeholder:"TIME" help:"Time from which the key is not accepted any more, such as 2027-03-01T00:00:00Z; never if not given."`
}

// Help is shown by --help.
func (apiKeyCreateCmd) Help() string {
	return `The database must have been served before, because the key names the environment.

Example:
  quittance account key create 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --name ERP --scope read --scope write --scope submit \
    --network 203.0.113.0/24 --expires 2027-03-01T00:00:00Z`
}

// Run creates an API key.
func (c apiKeyCreateCmd) Run(env environment) error {
	members := map[string]any{"name": c.Name, "scopes": c.Scope, "networks": append([]string{}, c.Network...)}
	if c.Expires != "" {
		members["expires_at"] = c.Expires
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	value, err := strictjson.Parse(text)
	if err != nil {
		return errors.New("the flags must be text without control characters")
	}
	request, faults := strictjson.For[api.APIKeyRequest]().Decode(value)
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		add, more := account.ReadAPIKeyRequest(request, db.Now())
		if faults = faults.With(more); len(faults) > 0 {
			return faultsError{file: "the API key", faults: faults}
		}
		served, err := invoices.ServedEnvironment(env.ctx, db)
		if err != nil {
			return err
		}
		if served == "" {
			return errors.New(
				"this database was never served, so the environment of its API keys is not known: start quittance serve once")
		}
		tenant, err := db.Tenant(env.ctx, id)
		if err != nil {
			return unknownAccount(err)
		}
		created, key, err := (&account.Service{DB: db, Random: rand.Reader, Environment: served}).CreateAPIKey(env.ctx,
			tenant, base.Session{}, add)
		if errors.Is(err, base.ErrLimit) {
			return fmt.Errorf("the account has %d API keys: revoke one that is not used any more", identity.MaxAPIKeys)
		}
		if err != nil {
			return err
		}
		return c.print(env, append(apiKeyRecord(created, db.Now()), field{"key", key.Reveal()}))
	})
}

// apiKeyRecord describes an API key without the key.
func apiKeyRecord(k identity.APIKey, now time.Time) []field {
	state := api.APIKeyActive
	switch {
	case k.RevokedAt != nil:
		state = api.APIKeyRevoked
	case k.Ended(now):
		state = api.APIKeyExpired
	}
	var scopes, networks list
	for _, scope := range k.Scopes {
		scopes = append(scopes, string(scope))
	}
	for _, network := range k.Networks {
		networks = append(networks, network.String())
	}
	at := func(t *time.Time) any {
		if t == nil {
			return nil
		}
		return t.Format(time.RFC3339)
	}
	var creator any
	if k.CreatedBy != nil {
		creator = *k.CreatedBy
	}
	return []field{{"key_id", k.ID}, {"state", state}, {"name", k.Name}, {"hint", k.Prefix + "…" + k.LastFour},
		{"scopes", scopes}, {"networks", networks}, {"created_at", at(&k.CreatedAt)}, {"created_by", creator},
		{"expires_at", at(k.ExpiresAt)}, {"last_used_at", at(k.LastUsedAt)}, {"revoked_at", at(k.RevokedAt)}}
}

type apiKeyListCmd struct {
	admin
	ID string `arg:"" help:"Identifier of the account."`
}

// Help is shown by --help.
func (apiKeyListCmd) Help() string {
	return "Example:\n  quittance account key list 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run lists the API keys of an account.
func (c apiKeyListCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		tenant, err := db.Tenant(env.ctx, id)
		if err != nil {
			return unknownAccount(err)
		}
		keys, err := identity.APIKeys(env.ctx, tenant)
		if err != nil {
			return err
		}
		return printRows(env, c.admin, keys, func(k identity.APIKey) []field { return apiKeyRecord(k, db.Now()) })
	})
}

type apiKeyRevokeCmd struct {
	one
	Key string `arg:"" help:"Identifier of the API key."`
}

// Help is shown by --help.
func (apiKeyRevokeCmd) Help() string {
	return "Example:\n  quittance account key revoke 01890a5d-ac96-774b-bcce-b302099a8057 01890a5d-ac96-774b-bcce-b302099a8058 --data ./sandbox --reason \"found in a repository\""
}

// Run revokes an API key.
func (c apiKeyRevokeCmd) Run(env environment) error {
	key, err := parseID(c.Key)
	if err != nil {
		return err
	}
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		tenant, err := db.Tenant(env.ctx, id)
		if err != nil {
			return unknownAccount(err)
		}
		revoked, err := identity.RevokeAPIKey(env.ctx, tenant, key)
		if errors.Is(err, base.ErrNotFound) {
			return errors.New("the account has no API key with this identifier")
		}
		if err != nil {
			return err
		}
		return c.print(env, apiKeyRecord(revoked, db.Now()))
	})
}

// keyRevocation is the flag of commands after which a user makes no API keys any more.
type keyRevocation struct {
	RevokeKeys bool `env:"-" help:"Also revoke the API keys that the user has made. Otherwise they go on working."`
}

// revokeKeys comes after the change of the user, so that no key is made in between.
func (r keyRevocation) revokeKeys(ctx context.Context, db *base.DB, account, user base.ID) error {
	if !r.RevokeKeys {
		return nil
	}
	_, err := identity.RevokeAPIKeysOf(ctx, db, account, user)
	return err
}
