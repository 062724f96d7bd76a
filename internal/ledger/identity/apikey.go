package identity

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

const (
	// MaxAPIKeys is how many API keys of a company may be usable at the same time.
	MaxAPIKeys = 100
	// keptAPIKeys is how many keys of a company are kept, including those that have ended. The audit log keeps all acts.
	keptAPIKeys = 1000
)

// APIKey is the credential of a machine that acts for a company. It belongs to the account: it outlives the user who
// created it, and stays when a sandbox is reset.
type APIKey struct {
	ID base.ID
	// Prefix and LastFour are the parts of the key that may be shown.
	Prefix, LastFour string
	Name             string
	Scopes           []access.Scope
	// Networks are those that the key is accepted from; empty for any.
	Networks []netip.Prefix
	// CreatedBy is the e-mail address of the user who created the key; nil for an administrator.
	CreatedBy *string
	CreatedAt time.Time
	// ExpiresAt is the time from which the key is not accepted any more; nil for never.
	ExpiresAt *time.Time
	// LastUsedAt is when the key was used last, and LastUsedFrom the address that it was used from. They are written at
	// most once a minute; nil for a key that was never used.
	LastUsedAt   *time.Time
	LastUsedFrom *string
	RevokedAt    *time.Time
}

// Ended reports whether the key is not accepted any more at a time.
func (k *APIKey) Ended(now time.Time) bool {
	return k.RevokedAt != nil || k.ExpiresAt != nil && !k.ExpiresAt.After(now)
}

// NewAPIKey holds the values of a new API key.
type NewAPIKey struct {
	Key       secret.Text
	Name      string
	Scopes    []access.Scope
	Networks  []netip.Prefix
	ExpiresAt *time.Time
	// Creator is the session of the user who creates the key; zero for an administrator.
	Creator base.Session
}

// ScopeError says that a key would allow what the role of its creator does not.
type ScopeError struct{ Scope access.Scope }

func (e *ScopeError) Error() string {
	return fmt.Sprintf("the role of the creator does not cover the scope %s", e.Scope)
}

// CreateAPIKey stores the digest of a new API key. It returns a [*base.QuotaError] if the company has [MaxAPIKeys]
// usable keys, [ErrSessionEnded] if the session of the creator is no longer valid, [base.ErrForbidden] if the creator's
// role no longer allows keys, and a [*ScopeError] if it does not cover the scopes. The transaction checks all of it, so
// that nobody whose access has ended leaves a key behind.
func CreateAPIKey(ctx context.Context, t *base.Tenant, add NewAPIKey) (APIKey, error) {
	var k APIKey
	err := t.Write(ctx, "create API key", func(ctx context.Context, tx *base.Tx) error {
		creator, err := apiKeyCreator(ctx, t, tx, add)
		if err != nil {
			return err
		}
		if err := makeRoomForAPIKey(ctx, t, tx); err != nil {
			return err
		}
		id, err := base.NewID(tx.Now(), t.DB().Random())
		if err != nil {
			return err
		}
		prefix, lastFour := secret.APIKeyHint(add.Key)
		digest := secret.Digest(add.Key)
		if _, err := tx.InsertSealedRow(ctx, base.SealedAPIKeys, []any{t.Account(), id}, apiKeyRow{Account: t.Account(),
			ID: id, Digest: digest[:], Prefix: prefix, LastFour: lastFour, Name: add.Name, Scopes: joinTexts(add.Scopes),
			Networks: joinTexts(add.Networks), CreatedBy: creator, CreatedAt: base.Micros(tx.Now()),
			ExpiresAt: base.MicrosOrNil(add.ExpiresAt)}); err != nil {
			return err
		}
		if k, err = apiKey(ctx, t, tx, id, ""); err != nil {
			return err
		}
		return t.Audit(tx, apiKeyAct("api_key.create", &k))
	})
	return k, err
}

// apiKeyRow is a new API key.
type apiKeyRow struct {
	Account   base.ID `db:"account_id"`
	ID        base.ID `db:"id"`
	Digest    []byte  `db:"digest"`
	Prefix    string  `db:"prefix"`
	LastFour  string  `db:"last_four"`
	Name      string  `db:"name"`
	Scopes    string  `db:"scopes"`
	Networks  string  `db:"networks"`
	CreatedBy any     `db:"created_by"` // an identifier, or nil for an administrator
	CreatedAt int64   `db:"created_at"`
	ExpiresAt *int64  `db:"expires_at"`
}

// apiKeyCreator returns the user who creates a key, as the value of a column; nil for an administrator. It locks the
// account, so that neither the session nor the role can change before the transaction ends.
func apiKeyCreator(ctx context.Context, t *base.Tenant, tx *base.Tx, add NewAPIKey) (any, error) {
	if add.Creator.User.IsZero() {
		return nil, nil
	}
	user, err := liveUser(ctx, tx, t.Account(), add.Creator)
	if err != nil {
		return nil, err
	}
	if user.DisabledAt != nil || !user.Role.Permissions().Has(access.ManageKeys) {
		return nil, base.ErrForbidden
	}
	for _, scope := range add.Scopes {
		if !user.Role.Permissions().Covers(scope.Permissions()) {
			return nil, &ScopeError{scope}
		}
	}
	return user.ID, nil
}

// makeRoomForAPIKey checks the quota of keys, and removes the oldest keys that have ended if too many are kept. It
// locks the row of the tenant, so that two concurrent creations cannot both be the last.
func makeRoomForAPIKey(ctx context.Context, t *base.Tenant, tx *base.Tx) error {
	var tenant base.ID
	if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1 and frozen_at is null`+
		t.DB().Dialect().ForUpdate(), t.ID()).Scan(&tenant); err != nil {
		return err
	}
	now := base.Micros(tx.Now())
	var all, usable int64
	if err := tx.QueryRowContext(ctx,
		`select count(*), count(case when revoked_at is null and (expires_at is null or expires_at > $2) then 1 end)
		from api_keys where account_id = $1`, t.Account(), now).Scan(&all, &usable); err != nil {
		return err
	}
	if usable >= MaxAPIKeys {
		return &base.QuotaError{Quota: base.QuotaAPIKeys, Limit: MaxAPIKeys}
	}
	if all < keptAPIKeys {
		return nil
	}
	_, err := tx.Exec(ctx, `delete from api_keys where account_id = $1 and id in (select id from api_keys
		where account_id = $1 and (revoked_at is not null or expires_at <= $2) order by id limit $3)`, t.Account(), now, all-keptAPIKeys+1)
	return err
}

// RevokeAPIKey revokes an API key at once and for good. It does nothing if the key is revoked already.
func RevokeAPIKey(ctx context.Context, t *base.Tenant, id base.ID) (APIKey, error) {
	var k APIKey
	err := t.Write(ctx, "revoke API key", func(ctx context.Context, tx *base.Tx) (err error) {
		if k, err = apiKey(ctx, t, tx, id, t.DB().Dialect().ForUpdate()); err != nil || k.RevokedAt != nil {
			return err
		}
		k.RevokedAt = new(tx.Now())
		if _, err := tx.Exec(ctx, `update api_keys set revoked_at = $3, seal = null where account_id = $1 and id = $2`,
			t.Account(), id, base.Micros(*k.RevokedAt)); err != nil {
			return err
		}
		return t.Audit(tx, apiKeyAct("api_key.revoke", &k))
	})
	return k, err
}

// RevokeAPIKeysOf revokes the API keys that a user has made and that are usable, and returns how many. It returns
// [base.ErrNotFound] if the account has no such user. Once the user is disabled or may not manage keys any more, there
// will be no others.
func RevokeAPIKeysOf(ctx context.Context, db *base.DB, account, user base.ID) (revoked int, err error) {
	err = db.Write(ctx, "revoke API keys of a user", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err == nil {
			revoked, err = revokeAPIKeysOf(ctx, t, locked)
		}
		return err
	})
	return revoked, err
}

// revokeAPIKeysOf revokes the usable API keys that a user of a locked account has made, and returns how many.
func revokeAPIKeysOf(ctx context.Context, t *base.Tx, user base.User) (int, error) {
	now := base.Micros(t.Now())
	keys, err := base.Collect(ctx, t, scanAPIKey,
		selectAPIKeys+` where k.account_id = $1 and k.created_by = $2 and k.revoked_at is null
		and (k.expires_at is null or k.expires_at > $3) order by k.id`, user.Account, user.ID, now)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if _,
			err := t.Exec(ctx,
			`update api_keys set revoked_at = $3, seal = null where account_id = $1 and id = $2 and revoked_at is null`,
			user.Account, k.ID, now); err != nil {
			return 0, err
		}
		act := apiKeyAct("api_key.revoke", &k)
		act.Account = user.Account
		if err := t.Audit(act); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// FindAPIKey returns one API key.
func FindAPIKey(ctx context.Context, t *base.Tenant, id base.ID) (APIKey, error) {
	return base.ReadValue(t, func(q base.Querier) (APIKey, error) { return apiKey(ctx, t, q, id, "") })
}

// APIKeys returns the API keys of the company, newest first, including those that have ended. There are at most 1000.
func APIKeys(ctx context.Context, t *base.Tenant) ([]APIKey, error) {
	return base.ReadValue(t, func(q base.Querier) ([]APIKey, error) {
		return base.Collect(ctx, q, scanAPIKey, selectAPIKeys+` where k.account_id = $1 order by k.id desc`, t.Account())
	})
}

// APIKeyCounts returns how many usable API keys each user of the company has made.
func APIKeyCounts(ctx context.Context, t *base.Tenant) (map[base.ID]int, error) {
	counts := map[base.ID]int{}
	err := t.Read(func(q base.Querier) error {
		makers, err := base.Collect(ctx, q, base.ScanValue[base.ID],
			`select created_by from api_keys where account_id = $1 and created_by is not null and revoked_at is null
			and (expires_at is null or expires_at > $2)`, t.Account(), base.Micros(t.DB().Now()))
		for _, maker := range makers {
			counts[maker]++
		}
		return err
	})
	return counts, err
}

// selectAPIKeys reads api_keys k with the e-mail addresses of their creators.
const selectAPIKeys = `select k.id, k.prefix, k.last_four, k.name, k.scopes, k.networks, (select email from users u where u.account_id = k.account_id and u.id = k.created_by),
	k.created_at, k.expires_at, k.last_used_at, k.last_used_from, k.revoked_at from api_keys k`

// apiKey reads one key; lock is appended to the statement.
func apiKey(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID, lock string) (APIKey, error) {
	return scanAPIKey(q.QueryRowContext(ctx, selectAPIKeys+` where k.account_id = $1 and k.id = $2`+lock, t.Account(), id))
}

func scanAPIKey(row base.Row) (APIKey, error) {
	var k APIKey
	var scopes, networks string
	var creator, from sql.Null[string]
	var created int64
	var expires, used, revoked sql.Null[int64]
	if err := row.Scan(&k.ID, &k.Prefix, &k.LastFour, &k.Name, &scopes, &networks, &creator, &created, &expires, &used,
		&from, &revoked); err != nil {
		return APIKey{}, err
	}
	k.Scopes, k.CreatedBy, k.CreatedAt = base.SplitScopes(scopes), base.TextOrNil(creator), base.Instant(created)
	k.ExpiresAt, k.LastUsedAt, k.LastUsedFrom, k.RevokedAt = base.InstantOrNil(expires), base.InstantOrNil(used),
		base.TextOrNil(from), base.InstantOrNil(revoked)
	var err error
	k.Networks, err = base.ParseNetworks(networks)
	return k, err
}

func joinTexts[T any](list []T) string {
	texts := make([]string, len(list))
	for n, one := range list {
		texts[n] = fmt.Sprint(one)
	}
	return strings.Join(texts, " ")
}

// apiKeyAct describes an act about a key without the key.
func apiKeyAct(name string, k *APIKey) base.Act {
	details := map[string]string{"name": k.Name, "key": k.Prefix + "…" + k.LastFour, "scopes": joinTexts(k.Scopes)}
	if len(k.Networks) > 0 {
		details["networks"] = joinTexts(k.Networks)
	}
	if k.ExpiresAt != nil {
		details["expires_at"] = k.ExpiresAt.Format(time.RFC3339)
	}
	return base.Act{Name: name, SubjectType: "api_key", Subject: k.ID.String(), Details: details}
}
