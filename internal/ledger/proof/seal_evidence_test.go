package proof_test

import (
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// faultsOf verifies the store with the service's replay functions.
func faultsOf(t *testing.T, f *fixture.Fixture) []proof.EvidenceError {
	t.Helper()
	found, err := proof.Verify(t.Context(), f.DB, rules())
	kit.Must(t, err)
	return found.Faults
}

// TestEvidenceOfBefore checks that the evidence of a version without seals is a fault until it is sealed once as it is
// found, and that chains with faults are not sealed. After that, entries can be added and changes are detected.
func TestEvidenceOfBefore(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		story(t, f)
		a := f.Attacker(t)
		a.Do(t, `update connections set kind = 'simulator'`) // the story's responses are read with its vocabulary
		kit.Must(t, fixture.Downgrade(t.Context(), f.Tenant, a.Conn))
		again := f.Again(t) // opening a database with evidence makes no record
		f.DB = again
		if faults := faultsOf(t, f); len(faults) < 8 || faults[0].Kind != proof.KindDatabase {
			t.Errorf("before sealing: %v", faults)
		}
		_, _, err := again.EvidenceKey(t.Context())
		fixture.WantErr(t, err, base.ErrNotSealed)
		a.Do(t,
			`update evidence set http_status = 299 where ordinal = 2 and submission_id = (select submission_id from evidence where ordinal = 2 order by submission_id limit 1)`)
		done, err := proof.SealEvidence(t.Context(), f.DB, rules())
		kit.Must(t, err)
		if done.Sealed < 6 || len(done.Faults) != 1 || done.Faults[0].Ordinal != 2 {
			t.Errorf("sealed %+v", done)
		}
		if faults := faultsOf(t, f); len(faults) != 1 || faults[0].Of != done.Faults[0].Of {
			t.Errorf("the chain with a fault: %v", faults)
		}
		_, err = proof.SealEvidence(t.Context(), f.DB, rules())
		fixture.WantErr(t, err, proof.ErrSealed)
		a.Do(t, `update evidence set http_status = 200 where http_status = 299`)
		if faults := faultsOf(t, f); len(faults) != 1 || !strings.Contains(faults[0].What, "no seal") {
			t.Errorf("the repaired chain without a seal: %v", faults)
		}
		for what, statement := range map[string]string{
			"an event": `update events set body = body || '\x20' where position = (select max(position) from events)`,
			"a time":   `update submissions set attempted_at = attempted_at + 1 where number = 'INV-WITHHELD'`,
			"a word":   `update states set word = 'x' where dimension = 'receiver_state' and submission_id = (select id from submissions where number = 'INV-DONE')`,
		} {
			tx, err := a.Conn.BeginTx(t.Context(), nil)
			kit.Must(t, err)
			if a.Sqlite {
				statement = strings.ReplaceAll(statement, `'\x20'`, `x'20'`)
			}
			_, err = tx.ExecContext(t.Context(), statement)
			kit.Must(t, err)
			found, err := proof.VerifyThrough(t.Context(), f.DB, tx, rules())
			kit.Must(t, err)
			if len(found.Faults) != 2 {
				t.Errorf("%s: found %v", what, found.Faults)
			}
			kit.Must(t, tx.Rollback())
		}
	})
}

// TestAlteredBeforeAResponse checks that the next response does not hide a change: the response is kept, and the fault
// stays.
func TestAlteredBeforeAResponse(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		fixture.Record(t, call, fixture.AllFour("one", false), api.EventStatusChanged)
		f.Exec(t, `update submissions set attempted_at = attempted_at - 1 where tenant_id = $1`, f.Tenant.ID())
		f.Clock.Advance(time.Second)
		fixture.Record(t, call, fixture.AllFour("two", false), api.EventStatusChanged)
		found, err := proof.VerifyTenant(t.Context(), f.Tenant, fixture.Replay())
		kit.Must(t, err)
		if found.Entries != 2 || len(found.Faults) != 1 || !strings.Contains(found.Faults[0].What,
			"it was not what was sealed when something was added") {
			t.Errorf("found %+v", found)
		}
	})
}

// TestEvidenceKeepsItsDocument checks that a document that differs from the one that the provider has
// responded to gets a new reference, even if the provider did not accept the first one, and that the same document is
// sent under the same reference.
func TestEvidenceKeepsItsDocument(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		created := f.Create(t, "INV-1")
		refuse := func(call invoices.SubmissionLease) {
			fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
				d := fixture.Outcome(s, invoices.OutcomeNotSent)
				d.Evidence, d.Responded = &invoices.NewEvidence{Call: "submit", HTTPStatus: 401, Body: []byte("{}")}, true
				return d
			})
		}
		begin := func(document string) invoices.SubmissionLease {
			as := fixture.Intent()
			as.Render = func(invoices.Source) ([]byte, api.Faults, error) { return []byte(document), nil, nil }
			call, begun, err := invoices.BeginSubmission(t.Context(), f.Tenant, created.ID, as)
			kit.Must(t, err)
			if !begun {
				t.Fatal("the submission has not begun")
			}
			return call
		}
		first := begin(`{"seller":"one"}`)
		refuse(first)
		same := begin(`{"seller":"one"}`)
		refuse(same)
		other := begin(`{"seller":"two"}`)
		if same.Submission.ID != first.Submission.ID || other.Submission.ID == first.Submission.ID ||
			other.Submission.Ordinal != 2 {
			t.Errorf("references %s, %s and %s", first.Submission.ID, same.Submission.ID, other.Submission.ID)
		}
		refuse(other)
		found, err := proof.VerifyTenant(t.Context(), f.Tenant, fixture.Replay())
		kit.Must(t, err)
		if len(found.Faults) > 0 || found.Chains != 2 {
			t.Errorf("found %+v", found)
		}
	})
}
