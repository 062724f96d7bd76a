package integration_test

import (
	"context"
	"database/sql"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
)

// TestAccessIsAccepted checks that evidence verify names a row that decides who may act and was changed past the
// service, and that an administrator can accept it, which the audit log shows.
func TestAccessIsAccepted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "q.db")
	a := &administrator{t: t, dir: dir, at: "sqlite:" + path}
	generate := exec.CommandContext(t.Context(), built(t, commandProduct), "key", "generate", "--out", "key.json")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a.run("", "migrate", "--create")
	a.asServer(func(ctx context.Context, db *base.DB) error {
		_, err := identity.CreateAccount(ctx, db, "Palm", identity.NewUser{Email: "owner@palm.example", PasswordHash: "$"})
		return err
	})
	a.run("", "evidence", "verify")
	raw, err := sql.Open("sqlite", "file:"+path)
	kit.Must(t, err)
	_, err = raw.ExecContext(t.Context(), `update users set password_hash = '$forged'`)
	kit.Must(t, err)
	kit.Must(t, raw.Close())
	verify := exec.CommandContext(t.Context(), built(t, commandProduct), "evidence", "verify", "--database", a.at,
		"--key-file", "key.json")
	verify.Dir = dir
	if out, err := verify.CombinedOutput(); err == nil || !strings.Contains(string(out), "who may act, users ") {
		t.Errorf("verify of a changed user: %v %s", err, out)
	}
	a.seen = len(a.recorded())
	a.does("access.seal", "", "evidence", "seal", "--access")
	a.run("", "evidence", "verify")
}
