package proof_test

import (
	"strings"
	"testing"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestSealedOnce checks that the evidence of a database that began with seals is never sealed as it is found, and gets
// no new record, after somebody has changed a row and removed the record: not after a restart, a rotation of keys, or
// the removal of the records of the keys.
func TestSealedOnce(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("one", false))
		f.Exec(t, `update submissions set attempted_at = attempted_at - 1 where tenant_id = $1`, f.Tenant.ID())
		f.Exec(t, `delete from sealed_settings`)
		refused := func(db *base.DB) {
			t.Helper()
			_, err := proof.SealEvidence(t.Context(), db, fixture.Replay())
			fixture.WantErr(t, err, base.ErrRecordGone)
			_, _, err = db.EvidenceKey(t.Context())
			fixture.WantErr(t, err, base.ErrNotSealed)
			found, err := proof.Verify(t.Context(), db, fixture.Replay())
			kit.Must(t, err)
			if len(found.Faults) != 2 || found.Faults[0].Kind != proof.KindDatabase ||
				!strings.Contains(found.Faults[1].What, "its row is not what was sealed") {
				t.Errorf("found %v", found.Faults)
			}
		}
		refused(f.DB)
		refused(f.Again(t))
		again := *f.Store
		again.Options.Keys = f.Rotated(t)
		refused(again.Again(t))
	})
}

// TestRecordIsNotMadeAgain checks that a database without any evidence does not get a second record either, because
// that would have another key.
func TestRecordIsNotMadeAgain(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		f.Exec(t, `delete from sealed_settings`)
		_, _, err := f.Again(t).EvidenceKey(t.Context())
		fixture.WantErr(t, err, base.ErrNotSealed)
	})
}

// TestRetiredKeyVouchesForNothing checks that the records of the keys in use are not made again if only a record of a
// retired key is left, which anybody can write.
func TestRetiredKeyVouchesForNothing(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		f.Exec(t, `delete from sealing_keys`)
		f.Exec(t, `insert into sealing_keys (id, check_value, recorded_at, retired_at) values (1, $1, 1, 1)`, []byte{})
		if db, err := ledger.Open(t.Context(), f.Address, f.Options); err == nil ||
			!strings.Contains(err.Error(), "the records of the keys") {
			t.Errorf("opened %v: %v", db, err)
		}
	})
}

// TestSealsOfBeforeTheRecordCount checks that in a database whose evidence was never sealed as a whole, a row with a
// seal must match it: a changed one is not sealed as it is found.
func TestSealsOfBeforeTheRecordCount(t *testing.T) {
	for name, statement := range map[string]string{
		"a submission":          `update submissions set attempted_at = attempted_at - 1 where tenant_id = $1`,
		"a document":            `update submissions set document = replace(document, 'Dubai', 'Sharjah') where tenant_id = $1`,
		"an incoming e-invoice": `update incoming set created_at = created_at - 1 where tenant_id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
				fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("one", false))
				fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("x", "one"))
				clean(t, f, 2, 2)
				kit.Must(t, fixture.ForgetSealed(t.Context(), f.DB))
				f.Exec(t, statement, f.Tenant.ID())
				done, err := proof.SealEvidence(t.Context(), f.DB, fixture.Replay())
				kit.Must(t, err)
				if done.Sealed != 0 || len(done.Faults) != 1 {
					t.Errorf("sealed %+v", done)
				}
				found, err := proof.VerifyTenant(t.Context(), f.Tenant, fixture.Replay())
				kit.Must(t, err)
				if len(found.Faults) != 1 {
					t.Errorf("found %v", found.Faults)
				}
			})
		})
	}
}
