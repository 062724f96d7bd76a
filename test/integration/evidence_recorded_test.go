package integration_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

// TestVerificationIsRecorded checks that evidence verify records when it has verified the database and how many faults
// it has found, and that it verifies a database that can only be read, of which it records nothing.
func TestVerificationIsRecorded(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			a := &administrator{t: t, dir: dir, at: "sqlite:" + filepath.Join(dir, "q.db")}
			if engine == ledgertest.Postgres {
				a.at = pgtest.URL(t)
			}
			generate := exec.CommandContext(t.Context(), built(t, commandProduct), "key", "generate", "--out", "key.json")
			generate.Dir = dir
			if out, err := generate.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			a.run("", "migrate", "--create")
			last := func() (identity.Verification, error) {
				db, err := base.OpenUnmigrated(t.Context(), a.at, base.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				return identity.LastVerification(t.Context(), db)
			}
			if engine == ledgertest.Postgres {
				readOnly := *a
				readOnly.at += map[bool]string{false: "?", true: "&"}[strings.Contains(a.at, "?")] +
					"default_transaction_read_only=on"
				readOnly.run("", "evidence", "verify")
			}
			if found, err := last(); !errors.Is(err, base.ErrNotFound) {
				t.Errorf("before the first verification: %+v, %v", found, err)
			}
			before := time.Now().Add(-time.Minute)
			a.run("", "evidence", "verify")
			if found, err := last(); err != nil || found.Faults != 0 || found.At.Before(before) {
				t.Errorf("after a verification: %+v, %v", found, err)
			}
		})
	}
}
