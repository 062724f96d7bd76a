package ledger_test

import (
	"errors"
	"path/filepath"
	"testing"

	"quittance/internal/ledger/base"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
	"quittance/test/pgtest"
)

// TestUpgradeOfAddresses checks who counts as proved after the migration: who is linked, and who has completed a reset
// with a mailed link; and that users, and what refers to them, are as before.
func TestUpgradeOfAddresses(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := &ledgertest.Store{Clock: ledgertest.NewClock()}
			s.Address = emptyDatabase(t, engine, s)
			migrate := func(last int64) {
				t.Helper()
				db, err := base.OpenUnmigrated(ctx, s.Address, s.Options)
				kit.Must(t, err)
				kit.Must(t, errors.Join(fixture.MigrateTo(ctx, db, migrationsOf(t, last)), db.Close()))
			}
			migrate(57)
			raw := fixture.OpenRaw(t, s)
			id := func(n byte) []byte {
				return append([]byte{1, 0x9c, 0xab, 4, 5, 6, 0x7f, 8, 0x99, 10, 11, 12, 13, 14, 15}, n)
			}
			exec := func(query string, args ...any) {
				t.Helper()
				_, err := raw.ExecContext(ctx, query, args...)
				kit.Must(t, err)
			}
			exec(`insert into accounts (id, company, status, profile, created_at) values ($1, 'Palm', 'active', '{}', 0)`, id(1))
			exec(`insert into tenants (id, account_id, created_at) values ($1, $2, 0)`, id(2), id(1))
			for n, email := range []string{"linked", "reset", "unknown", "disabled"} {
				exec(
					`insert into users (account_id, id, email, name, password_hash, created_at, password_changed_at, role) values ($1, $2, $3, $3, $4, 5, 7, 'viewer')`, id(1), id(byte(10+n)), email, "$"+email)
				exec(
					`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) values ($1, $2, $3, $4, 0, 0)`, id(byte(20+n)), id(1), id(2), id(byte(10+n)))
			}
			exec(`update users set disabled_at = 9, password_change_required = 1 where email = 'disabled'`)
			exec(`insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ($1, $2, 'i', 's', 0)`,
				id(1), id(10))
			for n, act := range map[byte]string{11: "user.complete-password-reset", 12: "user.request-password-reset"} {
				exec(
					`insert into audit (chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest)
					values ($1, $2, $3, 0, 'user', '', '', '', '', $4, $1, 'user', $5, '', '{}', $1, $1)`, id(1), n, id(n), act, base.ID(id(n)).String())
			}
			migrate(61)
			db := &fixture.Fixture{Raw: raw}
			for email, proved := range map[string]int64{"linked": 1, "reset": 1, "unknown": 0, "disabled": 0} {
				if got := db.Number(t,
					`select count(*) from users u join tokens t on t.account_id = u.account_id and t.user_id = u.id where u.email = $1 and u.name = $1 and u.password_hash = '$' || u.email
					and u.role = 'viewer' and u.created_at = 5 and u.password_changed_at = 7 and (u.disabled_at is null) = (u.email <> 'disabled') and u.password_change_required = case when u.email = 'disabled' then 1 else 0 end
					and u.proved_at is `+map[int64]string{0: "null", 1: "not null"}[proved], email); got != 1 {
					t.Errorf("%s: %d users as expected", email, got)
				}
			}
			if engine == ledgertest.SQLite { // whose table of users was built anew
				fixture.WantEqual(t, "references without a row", db.Number(t, `select count(*) from pragma_foreign_key_check`), int64(0))
				fixture.WantEqual(t, "keys of tokens that refer to users",
					db.Number(t, `select count(*) from pragma_foreign_key_list('tokens') where "table" = 'users'`) > 0, true)
			}
		})
	}
}

// emptyDatabase returns the address of an empty database.
func emptyDatabase(t *testing.T, engine string, s *ledgertest.Store) string {
	t.Helper()
	if engine == ledgertest.Postgres {
		return pgtest.URL(t)
	}
	s.Path = filepath.Join(t.TempDir(), "before.db")
	return "sqlite:" + s.Path
}
