package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// ask authenticates with a key from 192.0.2.7.
func ask(ctx context.Context, f *fixture.Fixture, add identity.NewAPIKey) (base.Session, error) {
	return f.AuthenticateAPIKey(ctx, secret.Digest(add.Key), netip.MustParseAddr("192.0.2.7"))
}

// TestAPIKey: a key is shown by its prefix and its last four characters, it is the identity of its company, and it ends
// for good when it is revoked.
func TestAPIKey(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		add := fixture.NewKey(t, "ERP")
		add.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
		add.ExpiresAt = new(f.Clock.Now().Add(time.Hour))
		created := f.CreateKey(t, f, add)
		text := add.Key.Reveal()
		want := identity.APIKey{ID: created.ID, Prefix: "qk_sandbox_", LastFour: text[len(text)-4:], Name: "ERP",
			Scopes: add.Scopes, Networks: add.Networks, CreatedAt: created.CreatedAt, ExpiresAt: add.ExpiresAt}
		fixture.WantEqual(t, "created key", created, want)
		session, err := ask(ctx, f, add)
		kit.Must(t, err)
		if session.Tenant.ID() != f.Tenant.ID() || session.Account.ID != f.Account.ID || !session.User.IsZero() ||
			session.Key.ID != created.ID || session.Account.Kind != "http" {
			t.Errorf("session %+v", session)
		}
		listed, err := identity.APIKeys(ctx, f.Tenant)
		kit.Must(t, err)
		fixture.WantEqual(t, "list", listed, []identity.APIKey{want})

		revoked, err := identity.RevokeAPIKey(ctx, f.Tenant, created.ID)
		kit.Must(t, err)
		if revoked.RevokedAt == nil {
			t.Error("the revoked key has no time of its revocation")
		}
		_, err = ask(ctx, f, add)
		fixture.WantErr(t, err, base.ErrNotFound)
		f.Clock.Advance(time.Minute)
		again, err := identity.RevokeAPIKey(ctx, f.Tenant, created.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "revoked twice", again, revoked)
		_, err = identity.RevokeAPIKey(ctx, f.Tenant, f.Account.ID)
		fixture.WantErr(t, err, base.ErrNotFound)

		acts, err := f.Audit(ctx, base.AuditFilter{Account: &f.Account.ID, Act: "api_key", Limit: 10})
		kit.Must(t, err)
		if len(acts) != 2 || acts[0].Act != "api_key.create" || acts[1].Act != "api_key.revoke" ||
			acts[1].Subject != created.ID.String() {
			t.Errorf("acts %+v", acts)
		}
		for _, stored := range []string{fmt.Sprint(acts), f.Dump(t, f.Company)} {
			if strings.Contains(stored, text[len("qk_sandbox_"):len(text)-6]) {
				t.Error("the key is stored")
			}
		}
	})
}

// TestAPIKeyIsRefused: a key is refused from the microsecond of its expiry, by a suspended account, and from another
// network, but not because its user is disabled or its sandbox reset.
func TestAPIKeyIsRefused(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		unknown, bound, short, plain := fixture.NewKey(t, "unknown"), fixture.NewKey(t, "bound"), fixture.NewKey(t,
			"short"), fixture.NewKey(t, "plain")
		bound.Networks = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/48")}
		short.ExpiresAt = new(f.Clock.Now().Add(time.Hour))
		_, err := identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(9),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		plain.Creator, err = f.Authenticate(ctx, fixture.Digest(9))
		kit.Must(t, err)
		boundKey := f.CreateKey(t, f, bound)
		f.CreateKey(t, f, short)
		if made := f.CreateKey(t, f, plain); made.CreatedBy == nil || *made.CreatedBy != f.User.Email {
			t.Errorf("created by %v", made.CreatedBy)
		}

		_, err = ask(ctx, f, unknown)
		fixture.WantErr(t, err, base.ErrNotFound)
		for from, accepted := range map[string]bool{"198.51.100.9": true, "::ffff:198.51.100.9": true, "2001:db8:1::9": true,
			"fe80::1%eth0": false, "198.51.101.9": false, "2001:db8:2::9": false, "": false} {
			address, _ := netip.ParseAddr(from)
			_, err := f.AuthenticateAPIKey(ctx, secret.Digest(bound.Key), address)
			var refused *base.SourceNetworkError
			if (err == nil) != accepted || !accepted && (!errors.As(err, &refused) || refused.Key != boundKey.ID ||
				refused.Account != f.Account.ID) {
				t.Errorf("from %q: %v", from, err)
			}
		}

		f.Clock.Advance(time.Hour - time.Microsecond)
		_, err = ask(ctx, f, short)
		kit.Must(t, err)
		f.Clock.Advance(time.Microsecond)
		_, err = ask(ctx, f, short)
		fixture.WantErr(t, err, base.ErrNotFound)

		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, true))
		_, err = ask(ctx, f, plain)
		kit.Must(t, err)
		fresh, err := invoices.ResetTenant(ctx, f.DB, f.Account.ID)
		kit.Must(t, err)
		session, err := ask(ctx, f, plain)
		kit.Must(t, err)
		if session.Tenant.ID() != fresh.ID() {
			t.Error("the key is not one of the fresh tenant")
		}
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
		_, err = ask(ctx, f, plain)
		fixture.WantErr(t, err, base.ErrNotFound)
		kit.Must(t, identity.ReactivateAccount(ctx, f.DB, f.Account.ID))
		_, err = ask(ctx, f, plain)
		kit.Must(t, err)
		_, err = identity.RevokeAPIKey(ctx, fresh, session.Key.ID)
		kit.Must(t, err)
		_, err = ask(ctx, f, plain)
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

// TestAPIKeyOfAnEndedSession: a session that ended after its call began creates no key.
func TestAPIKeyOfAnEndedSession(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(9),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		add := fixture.NewKey(t, "late")
		add.Creator, err = f.Authenticate(ctx, fixture.Digest(9))
		kit.Must(t, err)
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, true))
		_, err = identity.CreateAPIKey(ctx, f.Tenant, add)
		fixture.WantErr(t, err, identity.ErrSessionEnded)
		add.Creator = base.Session{}
		f.CreateKey(t, f, add)
	})
}

// TestAPIKeyUse: the first use of a minute is recorded, and only by the operation that the server repeats.
func TestAPIKeyUse(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		add, other := fixture.NewKey(t, "used"), fixture.NewKey(t, "not used")
		key := f.CreateKey(t, f, add)
		f.CreateKey(t, f, other)
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
		_, err := identity.RevokeAPIKey(ctx, f.Tenant, key.ID)
		kit.Must(t, err)
		kit.Must(t, f.RecordUses(ctx)) // nothing waits
	})
}

// TestAPIKeyUseConcurrently: many calls with many keys record one use of each, while keys are revoked.
func TestAPIKeyUseConcurrently(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		keys, made := make([]identity.NewAPIKey, 8), make([]identity.APIKey, 8)
		for n := range keys {
			keys[n] = fixture.NewKey(t, fmt.Sprint("key ", n))
			made[n] = f.CreateKey(t, f, keys[n])
		}
		fixture.Race(64, func(i int) {
			switch n := i % len(keys); {
			case i == 7:
				if _, err := identity.RevokeAPIKey(ctx, f.Tenant, made[7].ID); err != nil {
					t.Error(err)
				}
			case i%10 == 9:
				if err := f.RecordUses(ctx); err != nil {
					t.Error(err)
				}
			default:
				if session, err := ask(ctx, f, keys[n]); err != nil && n != 7 || err == nil && session.Key.ID != made[n].ID {
					t.Errorf("key %d: %v", n, err)
				}
			}
		})
		kit.Must(t, f.RecordUses(ctx))
		listed, err := identity.APIKeys(ctx, f.Tenant)
		kit.Must(t, err)
		for _, key := range listed {
			if key.LastUsedAt == nil && key.ID != made[7].ID {
				t.Errorf("%s was never used", key.Name)
			}
		}
	})
}

// TestAPIKeyQuota: a company has at most [MaxAPIKeys] usable keys, also if it creates several at the same time,
// and those that have ended are removed when there are too many.
func TestAPIKeyQuota(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		ending := fixture.NewKey(t, "ending")
		ending.ExpiresAt = new(f.Clock.Now().Add(time.Hour))
		f.CreateKey(t, f, ending)
		revoked := f.CreateKey(t, f, fixture.NewKey(t, "revoked"))
		for n := range identity.MaxAPIKeys - 2 {
			f.CreateKey(t, f, fixture.NewKey(t, fmt.Sprint("key ", n)))
		}
		var quota *base.QuotaError
		if _, err := identity.CreateAPIKey(ctx, f.Tenant, fixture.NewKey(t, "one more")); !errors.As(err, &quota) ||
			quota.Quota != base.QuotaAPIKeys || quota.Limit != identity.MaxAPIKeys {
			t.Errorf("error %v", err)
		}
		used, err := invoices.Quotas(ctx, f.Tenant, f.User.ID)
		kit.Must(t, err)
		if used[base.QuotaAPIKeys].Used != identity.MaxAPIKeys {
			t.Errorf("quota %+v", used[base.QuotaAPIKeys])
		}
		_, err = identity.RevokeAPIKey(ctx, f.Tenant, revoked.ID)
		kit.Must(t, err)
		f.Clock.Advance(time.Hour)
		adds := make([]identity.NewAPIKey, 6)
		for n := range adds {
			adds[n] = fixture.NewKey(t, "concurrent")
		}
		made := make([]error, len(adds))
		fixture.Race(len(adds), func(n int) { _, made[n] = identity.CreateAPIKey(ctx, f.Tenant, adds[n]) })
		var succeeded int
		for _, err := range made {
			if err == nil {
				succeeded++
			} else {
				fixture.WantErr(t, err, base.ErrLimit)
			}
		}
		if succeeded != 2 {
			t.Errorf("%d of the keys were created, want 2", succeeded)
		}

		for n := range 900 {
			_, err := f.Raw.ExecContext(ctx,
				`insert into api_keys (account_id, id, digest, prefix, last_four, name, scopes, networks, created_at, revoked_at)
				select account_id, $3, $2, prefix, last_four, 'ended', scopes, networks, created_at, 1 from api_keys where id = $1`, revoked.ID, fmt.Appendf(nil, "%032d", n), fmt.Appendf(nil, "\x00%015d", n))
			kit.Must(t, err)
		}
		_, err = identity.RevokeAPIKey(ctx, f.Tenant, listedKey(t, f, "concurrent").ID)
		kit.Must(t, err)
		f.Clock.Advance(time.Second)
		f.CreateKey(t, f, fixture.NewKey(t, "the last"))
		keys, err := identity.APIKeys(ctx, f.Tenant)
		kit.Must(t, err)
		if len(keys) != 1000 || keys[0].Name != "the last" {
			t.Errorf("%d keys are kept, the newest is %q", len(keys), keys[0].Name)
		}
	})
}

// listedKey returns the newest key with a name.
func listedKey(t *testing.T, f *fixture.Fixture, name string) identity.APIKey {
	t.Helper()
	keys, err := identity.APIKeys(t.Context(), f.Tenant)
	kit.Must(t, err)
	for _, key := range keys {
		if key.Name == name {
			return key
		}
	}
	t.Fatalf("no key is named %q", name)
	return identity.APIKey{}
}
