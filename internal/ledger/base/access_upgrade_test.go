package base_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// execAny runs a statement that changes any number of rows.
func execAny(t *testing.T, f *fixture.Fixture, statement string) {
	t.Helper()
	_, err := f.Raw.ExecContext(t.Context(), statement)
	kit.Must(t, err)
}

// unseal converts a database to the form of a release without seals of who may act.
func unseal(t *testing.T, f *fixture.Fixture) {
	t.Helper()
	decide, _ := fixture.SealedColumns()
	for table := range decide {
		execAny(t, f, `update `+table+` set seal = null`)
	}
	execAny(t, f, `delete from sealed_sets`)
	execAny(t, f, `update tenants set events_seal = null where events = 0`)
	id := f.Options.Keys.PrimaryID()
	check, err := f.Options.Keys.Seal([]byte{3}, secret.Binding{Table: "sealing_keys", Column: "check_value",
		Row: binary.BigEndian.AppendUint32(nil, id)})
	kit.Must(t, err)
	f.Exec(t, `update sealing_keys set check_value = $1`, check)
}

// TestUpgradeSealsAccess checks that the rows of an older database get their seals once, when no older server runs any
// more, and that nobody without the keys can make it look like an older database again.
func TestUpgradeSealsAccess(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		token := logIn(t, f, 60)
		f.Exec(t,
			`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) select $1, account_id, tenant_id, user_id, created_at, expires_at from tokens`, bytesOf(distinct(61)))
		const more = 1100
		for n := range more { // more than two batches
			of := fixture.Digest(200)
			binary.BigEndian.PutUint16(of[:], uint16(n))
			f.Exec(t,
				`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) select $1, account_id, tenant_id, user_id, created_at, expires_at from tokens where digest = $2`, of[:], token[:])
		}
		unseal(t, f)
		older := f.OlderServer(t)
		beside := f.Again(t)
		if proof.AccessSealed(beside) {
			t.Fatal("rows need seals while an older server writes them without")
		}
		for _, d := range [][32]byte{token, distinct(61)} {
			kit.Must(t, fixture.Second(beside.Authenticate(ctx, d)))
		}
		kit.Must(t, fixture.Second(identity.CreateAccount(ctx, beside, "Meanwhile",
			identity.NewUser{Email: "meanwhile@example.com", PasswordHash: "$"})))
		older()
		after := f.Again(t)
		if !proof.AccessSealed(after) {
			t.Fatal("the rows are not sealed")
		}
		kit.Must(t, fixture.Second(after.Authenticate(ctx, distinct(61))))
		if n := f.Number(t, `select count(*) from tokens where seal is null`); n != 0 {
			t.Errorf("%d tokens have no seal", n)
		}
		entries, err := after.Audit(ctx, base.AuditFilter{Act: "access.seal", Limit: 10})
		kit.Must(t, err)
		if len(entries) != 1 || !strings.Contains(entries[0].Details, fmt.Sprintf(`"tokens":"%d"`, more+2)) {
			t.Errorf("audited %+v", entries)
		}
		f.Again(t)
		kit.Must(t, fixture.Second(identity.CreateAccount(ctx, after, "After",
			identity.NewUser{Email: "after@example.com", PasswordHash: "$"})))
		kit.Must(t, beside.RefreshKeys(ctx))
		if !proof.AccessSealed(beside) {
			t.Error("the other process does not know that the rows are sealed")
		}
		// The raw copies of the token have no login of their own, and share the instant of the first.
		wantFaultsOf(t, f, after)
		f.Exec(t,
			`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) select $1, account_id, tenant_id, user_id, created_at, expires_at from tokens where digest = $2`, bytesOf(distinct(62)), token[:])
		for _, db := range []*base.DB{after, beside} {
			fixture.WantErr(t, fixture.Second(db.Authenticate(ctx, distinct(62))), base.ErrNotFound)
		}
		unseal(t, f)
		if db, err := ledger.Open(ctx, f.Address, f.Options); err == nil {
			kit.Must(t, db.Close())
			t.Error("a database whose seals were removed opens, as if it had never had any")
		}
		fixture.WantErr(t, fixture.Second(after.Authenticate(ctx, distinct(61))), base.ErrNotFound)
	})
}

func bytesOf(digest [32]byte) []byte { return digest[:] }

func wantFaultsOf(t *testing.T, f *fixture.Fixture, db *base.DB) {
	t.Helper()
	found, err := proof.Verify(t.Context(), db, fixture.Replay())
	kit.Must(t, err)
	if len(found.Faults) > 0 {
		t.Errorf("faults %v", found.Faults)
	}
}
