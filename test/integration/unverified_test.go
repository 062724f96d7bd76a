package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"quittance/test/pgtest"
)

// TestAdministrationRequiresVerifiedServer checks that over a connection that does not verify the server,
// administration commands refuse a database that was served in production, and a production credential before that, as
// serve does.
func TestAdministrationRequiresVerifiedServer(t *testing.T) {
	if !pgtest.Enabled() {
		return // a file has no server
	}
	t.Parallel()
	const refused = "production connects to PostgreSQL only over"
	dir, verified := t.TempDir(), pgtest.URL(t)
	// 0.0.0.0 reaches this machine but is not a loopback address: to the program it is a remote host without TLS.
	unverified := strings.Replace(pgtest.NewProxy(t, verified).URL(), "127.0.0.1", "0.0.0.0", 1)
	if unverified == verified || !strings.Contains(unverified, "0.0.0.0") {
		t.Fatalf("the address is %s", unverified)
	}
	run := func(want, database string, args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), built(t, commandProduct),
			append(args, "--database", database, "--key-file", "key.json")...)
		command.Dir = dir
		var stdout, stderr bytes.Buffer
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); (err == nil) != (want == "") || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: %v, want %q: %s", args, err, want, &stderr)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "credential"), []byte(fleetCredential), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, "key", "generate", "--out", filepath.Join(dir, "key.json"))
	run("", unverified, "migrate", "--create")
	run("", unverified, "account", "list")
	add := []string{"connection", "add", "--account", "01890a5d-ac96-774b-bcce-b302099a8057", "--base-url",
		"https://gateway.example", "--credential-file", "credential", "--environment"}
	run(refused, unverified, append(add, "production")...)
	run("no account has this identifier", unverified, append(add, "sandbox")...)
	run("no account has this identifier", verified, append(add, "production")...)

	conn, err := pgx.Connect(t.Context(), verified)
	if err == nil {
		_, err = conn.Exec(t.Context(), "insert into settings (key, value) values ('environment', 'production')")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"account", "list"}, {"migrate"}, {"connection", "list"}, {"key", "add"},
		append(add, "sandbox")} {
		run(refused, unverified, args...)
	}
	run("", verified, "account", "list")
}
