package base

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"quittance/internal/ledger/access"
)

// SourceNetworkError says that a valid API key was used from a network that it is not accepted from.
type SourceNetworkError struct {
	Account, Key ID
	// Source is the address of the caller; invalid if it is unknown.
	Source netip.Addr
}

func (e *SourceNetworkError) Error() string {
	return fmt.Sprintf("API key %s is not accepted from %s", e.Key, e.Source)
}

// SessionKey is what a [Session] has of the API key that it was made from.
type SessionKey struct {
	ID ID
	// Scopes are what the key may do.
	Scopes []access.Scope

	networks []netip.Prefix
}

// AuthenticateAPIKey returns the session of a valid API key that is used from an address. It returns [ErrNotFound] if
// the key is unknown, expired or revoked, or its account suspended; callers do not learn which. It returns a
// [*SourceNetworkError] if the key is not accepted from the address. Like a token, a key is looked up for each call, so
// that one that was revoked is refused at once by every replica.
func (db *DB) AuthenticateAPIKey(ctx context.Context, digest [32]byte, from netip.Addr) (Session, error) {
	session, err := db.actingSession(ctx, db.keySessions, digest)
	if err != nil {
		return Session{}, err
	}
	from = from.Unmap().WithZone("")
	if len(session.Key.networks) > 0 && !slices.ContainsFunc(session.Key.networks,
		func(network netip.Prefix) bool { return network.Contains(from) }) {
		return Session{}, &SourceNetworkError{Account: session.Account.ID, Key: session.Key.ID, Source: from}
	}
	if useDue(session.lastUsedAt, db.Now()) {
		use := apiKeyUse{account: session.Account.ID, at: Micros(db.Now())}
		if from.IsValid() {
			use.from = from.String()
		}
		db.keyUses.note(session.Key.ID, use)
	}
	return session.withProfile()
}

// findKeySessions returns the sessions of those API keys that are valid.
func (db *DB) findKeySessions(ctx context.Context, digests [][32]byte) (map[[32]byte]Session, error) {
	return db.collectSessions(ctx, func(row Row) (Session, error) {
		var used int64
		key := SealedAPIKeys.Record()
		s, err := db.scanSession(row, append([]any{&used}, key.Into()...)...)
		if err != nil {
			return Session{}, err
		}
		if s.Digest, err = readDigest(key); err != nil {
			return Session{}, err
		}
		s.records = append(s.records, key)
		s.Key = &SessionKey{ID: key.id("id"), Scopes: SplitScopes(key.text("scopes"))}
		s.Permissions = access.PermissionsOf(s.Key.Scopes)
		if used > 0 {
			s.lastUsedAt = Instant(used)
		}
		s.Key.networks, err = ParseNetworks(key.text("networks"))
		return s, err
	}, `select `+sessionColumns+`, coalesce(k.last_used_at, 0), `+SealedAPIKeys.Columns("k")+`
		from api_keys k
		join accounts a on a.id = k.account_id
		join tenants n on n.account_id = k.account_id and n.frozen_at is null
		left join connections c on c.account_id = k.account_id and c.state = 'active'
		where k.digest in (`+db.dialect.Values("bytea")+`) and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2) and a.status = 'active'`, digests)
}

// SplitScopes reads the stored scopes of an API key.
func SplitScopes(text string) []access.Scope {
	var scopes []access.Scope
	for name := range strings.FieldsSeq(text) {
		scopes = append(scopes, access.Scope(name))
	}
	return scopes
}

// ParseNetworks reads the stored networks that an API key is accepted from.
func ParseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for one := range strings.FieldsSeq(text) {
		network, err := netip.ParsePrefix(one)
		if err != nil {
			return nil, fmt.Errorf("stored network of an API key: %w", err)
		}
		networks = append(networks, network)
	}
	return networks, nil
}
