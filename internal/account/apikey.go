package account

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

// ReadAPIKeyRequest returns the values of a new API key, without the key, and the faults that the tags of the request
// cannot express. now is the time that an expiry must follow.
func ReadAPIKeyRequest(request api.APIKeyRequest, now time.Time) (identity.NewAPIKey, api.Faults) {
	var add identity.NewAPIKey
	faults := api.Faults{}
	if request.Name != nil {
		if add.Name = strings.TrimSpace(*request.Name); add.Name == "" && *request.Name != "" {
			faults.Add("name", "required", "must not be blank")
		}
	}
	for _, scope := range access.Scopes { // in one order, each once
		if slices.Contains(request.Scopes, string(scope)) {
			add.Scopes = append(add.Scopes, scope)
		}
	}
	for n, text := range request.Networks {
		network, ok := parseNetwork(text)
		if !ok {
			faults.Add(fmt.Sprintf("networks[%d]", n), "network", "must be an IP address, or a network in CIDR notation")
		} else if !slices.Contains(add.Networks, network) {
			add.Networks = append(add.Networks, network)
		}
	}
	if request.ExpiresAt != nil {
		at, err := time.Parse(time.RFC3339, *request.ExpiresAt)
		if at = at.UTC().Truncate(time.Microsecond); err != nil {
			faults.Add("expires_at", "date_time", "must be a time such as 2027-03-01T00:00:00Z (RFC 3339)")
		} else if !at.After(now) {
			faults.Add("expires_at", "future", "must be in the future")
		}
		add.ExpiresAt = &at
	}
	return add, faults
}

// parseNetwork reads an address or a network, and returns it without the bits of a host. IPv4 networks are written as
// such, because addresses that are mapped to IPv6 are compared as IPv4 addresses.
func parseNetwork(text string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	return network.Masked(), err == nil && !network.Addr().Is4In6()
}

// CreateAPIKey creates an API key and returns it, which nothing else does. creator is the session of the user who
// creates it, zero for an administrator. See [identity.CreateAPIKey] for the errors.
func (s *Service) CreateAPIKey(ctx context.Context, tenant *base.Tenant, creator base.Session,
	add identity.NewAPIKey) (identity.APIKey, secret.Text, error) {
	var err error
	add.Creator = creator
	if add.Key, err = secret.NewAPIKey(s.APIKeyEnvironment(), s.Random); err != nil {
		return identity.APIKey{}, secret.Text{}, err
	}
	created, err := identity.CreateAPIKey(ctx, tenant, add)
	return created, add.Key, err
}

// APIKeyEnvironment returns the environment that the keys of this service name: local servers have those of a sandbox.
func (s *Service) APIKeyEnvironment() string {
	if s.Environment == secret.APIKeyProduction {
		return secret.APIKeyProduction
	}
	return secret.APIKeySandbox
}
