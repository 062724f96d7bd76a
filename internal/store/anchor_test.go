package store_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
)

// anchored adds an entry for the store to an anchor file and returns the file.
func (f *fixture) anchored(t *testing.T, file []byte) []byte {
	t.Helper()
	anchors, err := f.ReadAnchors(t.Context(), file)
	kit.Must(t, err)
	f.Clock.Advance(time.Minute)
	line, err := f.Anchor(t.Context(), anchors)
	kit.Must(t, err)
	return append(slices.Clone(file), line...)
}

// against compares the store with the last entry of a file.
func (f *fixture) against(t *testing.T, file []byte) []store.EvidenceError {
	t.Helper()
	anchors, err := f.ReadAnchors(t.Context(), file)
	kit.Must(t, err)
	faults, err := f.VerifyAnchor(t.Context(), anchors)
	kit.Must(t, err)
	return faults
}

// TestAnchor checks that additions do not contradict an anchor, and that an anchor detects a submission or incoming
// e-invoice that was removed with everything that belongs to it, a response that was removed together with restoring
// the earlier seal, and a decision that was undone, even if nothing else detects them.
func TestAnchor(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		silent := f.submit(t, "INV-SILENT") // without responses and events
		call := f.submit(t, "INV-1")
		record(t, call, allFour("one", false))
		lease, _ := retain(t, f.mustClaim(t), onward("c"), incoming("x", "one"))
		first := f.anchored(t, nil)
		before := f.rows(t, `select evidence_seal from submissions where id = $1`, call.Submission.ID)
		if len(before) != 1 {
			t.Fatal("no seal")
		}
		a := f.attacker(t)
		for _, statement := range []string{`create table kept_submissions as select * from submissions`,
			`create table kept_states as select * from states`} {
			_, err := a.conn.ExecContext(t.Context(), statement)
			kit.Must(t, err)
		}
		f.Clock.Advance(time.Second)
		record(t, call, allFour("two", true), api.EventTerminal)
		retain(t, lease, onward("d"), incoming("x", "two"), incoming("y", "one"))
		f.submit(t, "INV-2")
		if faults := f.against(t, first); len(faults) > 0 {
			t.Fatalf("faults after additions: %v", faults)
		}
		second := f.anchored(t, first)
		if faults := f.against(t, second); len(faults) > 0 {
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
			tx, err := a.conn.BeginTx(t.Context(), nil)
			kit.Must(t, err)
			for _, statement := range statements {
				args := []any{f.tenant.Key(), silent.Submission.ID, call.Submission.ID}
				for n := len(args); n > 0 && !strings.Contains(statement, []string{"$1", "$2", "$3"}[n-1]); n-- {
					args = args[:n-1]
				}
				if len(args) == 3 && !strings.Contains(statement, "$2") {
					statement, args = strings.ReplaceAll(statement, "$3", "$2"), []any{args[0], args[2]}
				}
				_, err := tx.ExecContext(t.Context(), statement, args...)
				kit.Must(t, err)
			}
			faults, err := f.VerifyAnchorThrough(t.Context(), tx, second)
			kit.Must(t, err)
			if len(faults) != 1 || faults[0].Field != "anchor" {
				t.Errorf("%s: found %v", name, faults)
			}
			kit.Must(t, tx.Rollback())
		}
		f.tornAnchors(t, first, second)
	})
}

// tornAnchors checks that a file with a changed, cut, missing or moved line is rejected.
func (f *fixture) tornAnchors(t *testing.T, first, second []byte) {
	t.Helper()
	last := second[len(first):]
	for name, file := range map[string][]byte{
		"a byte": bytes.Replace(second, []byte(`"submissions":2`), []byte(`"submissions":1`), 1), "the first line": last,
		"an order": append(slices.Clone(last), first...), "the same twice": append(slices.Clone(second), last...),
		"nonsense": append(slices.Clone(first), "{}\n"...),
	} {
		if _, err := f.ReadAnchors(t.Context(), file); err == nil {
			t.Errorf("%s can be changed unseen", name)
		}
	}
	if _, err := f.ReadAnchors(t.Context(), second[:len(second)-3]); !errors.Is(err, store.ErrAnchorTorn) {
		t.Errorf("a torn file: %v", err)
	}
}
