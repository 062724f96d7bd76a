package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// newKey returns the values of a new API key that an administrator creates.
func newKey(t testing.TB, name string) store.NewAPIKey {
	t.Helper()
	key, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
	kit.Must(t, err)
	return store.NewAPIKey{Key: key, Name: name, Scopes: []access.Scope{access.ScopeRead, access.ScopeSubmit}}
}

func (c company) createKey(t testing.TB, f *fixture, add store.NewAPIKey) store.APIKey {
	t.Helper()
	key, err := c.tenant.CreateAPIKey(t.Context(), add)
	kit.Must(t, err)
	return key
}

// ask authenticates with a key from 192.0.2.7.
func (f *fixture) ask(ctx context.Context, add store.NewAPIKey) (store.Session, error) {
	return f.AuthenticateAPIKey(ctx, secret.Digest(add.Key), netip.MustParseAddr("192.0.2.7"))
}

// TestAPIKey: a key is shown by its prefix and its last four characters, it is the identity of its company, and it ends
// for good when it is revoked.
func TestAPIKey(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		add := newKey(t, "ERP")
		add.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
		add.ExpiresAt = new(f.Clock.Now().Add(time.Hour))
		created := f.createKey(t, f, add)
		text := add.Key.Reveal()
		want := store.APIKey{ID: created.ID, Prefix: "qk_sandbox_", LastFour: text[len(text)-4:], Name: "ERP",
			Scopes: add.Scopes, Networks: add.Networks, CreatedAt: created.CreatedAt, ExpiresAt: add.ExpiresAt}
		wantEqual(t, "created key", created, want)
		session, err := f.ask(ctx, add)
		kit.Must(t, err)
		if session.Tenant.Key() != f.tenant.Key() || session.Account.ID != f.account.ID || !session.User.IsZero() ||
			session.Key.ID != created.ID || session.Account.Kind != "http" {
			t.Errorf("session %+v", session)
		}
		listed, err := f.tenant.APIKeys(ctx)
		kit.Must(t, err)
		wantEqual(t, "list", listed, []store.APIKey{want})

		revoked, err := f.tenant.RevokeAPIKey(ctx, created.ID)
		kit.Must(t, err)
		if revoked.RevokedAt == nil {
			t.Error("the revoked key has no time of its revocation")
		}
		_, err = f.ask(ctx, add)
		wantErr(t, err, store.ErrNotFound)
		f.Clock.Advance(time.Minute)
		again, err := f.tenant.RevokeAPIKey(ctx, created.ID)
		kit.Must(t, err)
		wantEqual(t, "revoked twice", again, revoked)
		_, err = f.tenant.RevokeAPIKey(ctx, f.account.ID)
		wantErr(t, err, store.ErrNotFound)

		acts, err := f.Audit(ctx, store.AuditFilter{Account: &f.account.ID, Act: "api_key", Limit: 10})
		kit.Must(t, err)
		if len(acts) != 2 || acts[0].Act != "api_key.create" || acts[1].Act != "api_key.revoke" ||
			acts[1].Subject != created.ID.String() {
			t.Errorf("acts %+v", acts)
		}
		for _, stored := range []string{fmt.Sprint(acts), f.dump(t, f.company)} {
			if strings.Contains(stored, text[len("qk_sandbox_"):len(text)-6]) {
				t.Error("the key is stored")
			}
		}
	})
}

// TestAPIKeyIsRefused: a key is refused from the microsecond of its expiry, by a suspended account, and from another
// network, but not because its user is disabled or its sandbox reset.
func TestAPIKeyIsRefused(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		unknown, bound, short, plain := newKey(t, "unknown"), newKey(t, "bound"), newKey(t, "short"), newKey(t, "plain")
		bound.Networks = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/48")}
		short.ExpiresAt = new(f.Clock.Now().Add(time.Hour))
		_, err := f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(9), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		plain.Creator, err = f.Authenticate(ctx, digest(9))
		kit.Must(t, err)
		boundKey := f.createKey(t, f, bound)
		f.createKey(t, f, short)
		if made := f.createKey(t, f, plain); made.CreatedBy == nil || *made.CreatedBy != f.user.Email {
			t.Errorf("created by %v", made.CreatedBy)
		}

		_, err = f.ask(ctx, unknown)
		wantErr(t, err, store.ErrNotFound)
		for from, accepted := range map[string]bool{"198.51.100.9": true, "::ffff:198.51.100.9": true, "2001:db8:1::9": true,
			"fe80::1%eth0": false, "198.51.101.9": false, "2001:db8:2::9": false, "": false} {
			address, _ := netip.ParseAddr(from)
			_, err := f.AuthenticateAPIKey(ctx, secret.Digest(bound.Key), address)
			var refused *store.SourceNetworkError
			if (err == nil) != accepted || !accepted && (!errors.As(err, &refused) || refused.Key != boundKey.ID ||
				refused.Account != f.account.ID) {
				t.Errorf("from %q: %v", from, err)
			}
		}

		f.Clock.Advance(time.Hour - time.Microsecond)
		_, err = f.ask(ctx, short)
		kit.Must(t, err)
		f.Clock.Advance(time.Microsecond)
		_, err = f.ask(ctx, short)
		wantErr(t, err, store.ErrNotFound)

		kit.Must(t, f.DisableUser(ctx, f.account.ID, f.user.ID, true))
		_, err = f.ask(ctx, plain)
		kit.Must(t, err)
		fresh, err := f.ResetTenant(ctx, f.account.ID)
		kit.Must(t, err)
		session, err := f.ask(ctx, plain)
		kit.Must(t, err)
		if session.Tenant.Key() != fresh.Key() {
			t.Error("the key is not one of the fresh tenant")
		}
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
		_, err = f.ask(ctx, plain)
		wantErr(t, err, store.ErrNotFound)
		kit.Must(t, f.ReactivateAccount(ctx, f.account.ID))
		_, err = f.ask(ctx, plain)
		kit.Must(t, err)
		_, err = fresh.RevokeAPIKey(ctx, session.Key.ID)
		kit.Must(t, err)
		_, err = f.ask(ctx, plain)
		wantErr(t, err, store.ErrNotFound)
	})
}

// TestAPIKeyOfAnEndedSession: a session that ended after its call began creates no key.
func TestAPIKeyOfAnEndedSession(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(9), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		add := newKey(t, "late")
		add.Creator, err = f.Authenticate(ctx, digest(9))
		kit.Must(t, err)
		kit.Must(t, f.DisableUser(ctx, f.account.ID, f.user.ID, true))
		_, err = f.tenant.CreateAPIKey(ctx, add)
		wantErr(t, err, store.ErrSessionEnded)
		add.Creator = store.Session{}
		f.createKey(t, f, add)
	})
}

// TestAPIKeyUse: the first use of a minute is recorded, and only by the operation that the server repeats.
func TestAPIKeyUse(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		add, other := newKey(t, "used"), newKey(t, "not used")
		key := f.createKey(t, f, add)
		f.createKey(t, f, other)
		last := func() (at *time.Time, from string) {
			if listedKey(t, f, "not used").LastUsedAt != nil {
				t.Error("the other key was used")
			}
			used := listedKey(t, f, "used")
			if used.LastUsedFrom != nil {
				from = *used.LastUsedFrom
			}
			return used.LastUsedAt, from
		}
		use := func(from string) {
			t.Helper()
			_, err := f.AuthenticateAPIKey(ctx, secret.Digest(add.Key), netip.MustParseAddr(from))
			kit.Must(t, err)
		}
		first := f.Clock.Now()
		use("192.0.2.1")
		use("192.0.2.2")
		if at, _ := last(); at != nil {
			t.Error("the use was recorded while it was authenticated")
		}
		kit.Must(t, f.RecordUses(ctx))
		if at, from := last(); at == nil || !at.Equal(first) || from != "192.0.2.1" {
			t.Errorf("recorded %v from %q, want %v", at, from, first)
		}
		f.Clock.Advance(time.Minute - time.Microsecond)
		use("192.0.2.3")
		kit.Must(t, f.RecordUses(ctx))
		if at, _ := last(); !at.Equal(first) {
			t.Errorf("recorded again after less than a minute: %v", at)
		}
		f.Clock.Advance(time.Microsecond)
		use("192.0.2.4")
		kit.Must(t, f.RecordUses(ctx))
		if at, from := last(); !at.Equal(first.Add(time.Minute)) || from != "192.0.2.4" {
			t.Errorf("recorded %v from %q", at, from)
		}
		_, err := f.tenant.RevokeAPIKey(ctx, key.ID)
		kit.Must(t, err)
		kit.Must(t, f.RecordUses(ctx)) // nothing waits
	})
}

// TestAPIKeyUseConcurrently: many calls with many keys record one use of each, while keys are revoked.
func TestAPIKeyUseConcurrently(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		keys, made := make([]store.NewAPIKey, 8), make([]store.APIKey, 8)
		for n := range keys {
			keys[n] = newKey(t, fmt.Sprint("key ", n))
			made[n] = f.createKey(t, f, keys[n])
		}
		race(64, func(i int) {
			switch n := i % len(keys); {
			case i == 7:
				if _, err := f.tenant.RevokeAPIKey(ctx, made[7].ID); err != nil {
					t.Error(err)
				}
			case i%10 == 9:
				if err := f.RecordUses(ctx); err != nil {
					t.Error(err)
				}
			default:
				if session, err := f.ask(ctx, keys[n]); err != nil && n != 7 || err == nil && session.Key.ID != made[n].ID {
					t.Errorf("key %d: %v", n, err)
				}
			}
		})
		kit.Must(t, f.RecordUses(ctx))
		listed, err := f.tenant.APIKeys(ctx)
		kit.Must(t, err)
		for _, key := range listed {
			if key.LastUsedAt == nil && key.ID != made[7].ID {
				t.Errorf("%s was never used", key.Name)
			}
		}
	})
}

// TestAPIKeyQuota: a company has at most [store.MaxAPIKeys] usable keys, also if it creates several at the same time,
// and those that have ended are removed when there are too many.
func TestAPIKeyQuota(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ending := newKey(t, "ending")
		ending.ExpiresAt = new(f.Clock.Now().Add(time.Hour))
		f.createKey(t, f, ending)
		revoked := f.createKey(t, f, newKey(t, "revoked"))
		for n := range store.MaxAPIKeys - 2 {
			f.createKey(t, f, newKey(t, fmt.Sprint("key ", n)))
		}
		var quota *store.QuotaError
		if _, err := f.tenant.CreateAPIKey(ctx, newKey(t, "one more")); !errors.As(err, &quota) ||
			quota.Quota != store.QuotaAPIKeys || quota.Limit != store.MaxAPIKeys {
			t.Errorf("error %v", err)
		}
		used, err := f.tenant.Quotas(ctx, f.user.ID)
		kit.Must(t, err)
		if used[store.QuotaAPIKeys].Used != store.MaxAPIKeys {
			t.Errorf("quota %+v", used[store.QuotaAPIKeys])
		}
		_, err = f.tenant.RevokeAPIKey(ctx, revoked.ID)
		kit.Must(t, err)
		f.Clock.Advance(time.Hour)
		adds := make([]store.NewAPIKey, 6)
		for n := range adds {
			adds[n] = newKey(t, "concurrent")
		}
		made := make([]error, len(adds))
		race(len(adds), func(n int) { _, made[n] = f.tenant.CreateAPIKey(ctx, adds[n]) })
		var succeeded int
		for _, err := range made {
			if err == nil {
				succeeded++
			} else {
				wantErr(t, err, store.ErrLimit)
			}
		}
		if succeeded != 2 {
			t.Errorf("%d of the keys were created, want 2", succeeded)
		}

		for n := range 900 {
			_, err := f.raw.ExecContext(ctx,
				`insert into api_keys (account_id, id, digest, prefix, last_four, name, scopes, networks, created_at, revoked_at)
				select account_id, $3, $2, prefix, last_four, 'ended', scopes, networks, created_at, 1 from api_keys where id = $1`, revoked.ID, fmt.Appendf(nil, "%032d", n), fmt.Appendf(nil, "\x00%015d", n))
			kit.Must(t, err)
		}
		_, err = f.tenant.RevokeAPIKey(ctx, listedKey(t, f, "concurrent").ID)
		kit.Must(t, err)
		f.Clock.Advance(time.Second)
		f.createKey(t, f, newKey(t, "the last"))
		keys, err := f.tenant.APIKeys(ctx)
		kit.Must(t, err)
		if len(keys) != 1000 || keys[0].Name != "the last" {
			t.Errorf("%d keys are kept, the newest is %q", len(keys), keys[0].Name)
		}
	})
}

// listedKey returns the newest key with a name.
func listedKey(t *testing.T, f *fixture, name string) store.APIKey {
	t.Helper()
	keys, err := f.tenant.APIKeys(t.Context())
	kit.Must(t, err)
	for _, key := range keys {
		if key.Name == name {
			return key
		}
	}
	t.Fatalf("no key is named %q", name)
	return store.APIKey{}
}
