package proof_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// anchored adds an entry for the store to an anchor file and returns the file.
func anchored(t *testing.T, f *fixture.Fixture, file []byte) []byte {
	t.Helper()
	anchors, err := proof.ReadAnchors(t.Context(), f.DB, file)
	kit.Must(t, err)
	f.Clock.Advance(time.Minute)
	line, err := proof.Anchor(t.Context(), f.DB, anchors)
	kit.Must(t, err)
	return append(slices.Clone(file), line...)
}

// against compares the store with the last entry of a file.
func against(t *testing.T, f *fixture.Fixture, file []byte) []proof.EvidenceError {
	t.Helper()
	anchors, err := proof.ReadAnchors(t.Context(), f.DB, file)
	kit.Must(t, err)
	faults, err := proof.VerifyAnchor(t.Context(), f.DB, anchors)
	kit.Must(t, err)
	return faults
}

// TestAnchor checks that additions do not contradict an anchor, and that an anchor detects a submission or incoming
// e-invoice that was removed with everything that belongs to it, a response that was removed together with restoring
// the earlier seal, and a decision that was undone, even if nothing else detects them.
func TestAnchor(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		silent := f.Submit(t, "INV-SILENT") // without responses and events
		call := f.Submit(t, "INV-1")
		fixture.Record(t, call, fixture.AllFour("one", false))
		lease, _ := fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("x", "one"))
		first := anchored(t, f, nil)
		before := f.Rows(t, `select evidence_seal from submissions where id = $1`, call.Submission.ID)
		if len(before) != 1 {
			t.Fatal("no seal")
		}
		a := f.Attacker(t)
		for _, statement := range []string{`create table kept_submissions as select * from submissions`,
			`create table kept_states as select * from states`} {
			_, err := a.Conn.ExecContext(t.Context(), statement)
			kit.Must(t, err)
		}
		f.Clock.Advance(time.Second)
		fixture.Record(t, call, fixture.AllFour("two", true), api.EventTerminal)
		fixture.Retain(t, lease, fixture.Onward("d"), fixture.Incoming("x", "two"), fixture.Incoming("y", "one"))
		f.Submit(t, "INV-2")
		if faults := against(t, f, first); len(faults) > 0 {
			t.Fatalf("faults after additions: %v", faults)
		}
		second := anchored(t, f, first)
		if faults := against(t, f, second); len(faults) > 0 {
			t.Fatalf("faults immediately: %v", faults)
		}
		for name, statements := range map[string][]string{
			"a silent submission is gone": {`delete from submissions where id = $2 and tenant_id = $1`},
			"an earlier state is put back": {
				`delete from evidence where tenant_id = $1 and submission_id = $3 and ordinal = 2`,
				`delete from deliveries where tenant_id = $1`, `delete from states where tenant_id = $1`,
				`insert into states select * from kept_states`, `delete from submissions where tenant_id = $1 and id = $3`,
				`insert into submissions select * from kept_submissions where id = $3 and tenant_id = $1`},
			"an e-invoice is gone": {`delete from revisions where tenant_id = $1`, `delete from incoming where tenant_id = $1`},
		} {
			tx, err := a.Conn.BeginTx(t.Context(), nil)
			kit.Must(t, err)
			for _, statement := range statements {
				args := []any{f.Tenant.ID(), silent.Submission.ID, call.Submission.ID}
				for n := len(args); n > 0 && !strings.Contains(statement, []string{"$1", "$2", "$3"}[n-1]); n-- {
					args = args[:n-1]
				}
				if len(args) == 3 && !strings.Contains(statement, "$2") {
					statement, args = strings.ReplaceAll(statement, "$3", "$2"), []any{args[0], args[2]}
				}
				_, err := tx.ExecContext(t.Context(), statement, args...)
				kit.Must(t, err)
			}
			faults, err := proof.VerifyAnchorThrough(t.Context(), f.DB, tx, second)
			kit.Must(t, err)
			if len(faults) != 1 || faults[0].Field != "anchor" {
				t.Errorf("%s: found %v", name, faults)
			}
			kit.Must(t, tx.Rollback())
		}
		tornAnchors(t, f, first, second)
	})
}

// tornAnchors checks that a file with a changed, cut, missing or moved line is rejected.
func tornAnchors(t *testing.T, f *fixture.Fixture, first, second []byte) {
	t.Helper()
	last := second[len(first):]
	for name, file := range map[string][]byte{
		"a byte": bytes.Replace(second, []byte(`"submissions":2`), []byte(`"submissions":1`), 1), "the first line": last,
		"an order": append(slices.Clone(last), first...), "the same twice": append(slices.Clone(second), last...),
		"nonsense": append(slices.Clone(first), "{}\n"...),
	} {
		if _, err := proof.ReadAnchors(t.Context(), f.DB, file); err == nil {
			t.Errorf("%s can be changed unseen", name)
		}
	}
	if _, err := proof.ReadAnchors(t.Context(), f.DB, second[:len(second)-3]); !errors.Is(err, proof.ErrAnchorTorn) {
		t.Errorf("a torn file: %v", err)
	}
}
