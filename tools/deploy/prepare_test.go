package deploy

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// secret is a file that prepare has made.
type secret struct {
	text  string
	owner string // numeric user and group, as compose files name them
	mode  fs.FileMode
}

// secretsIn returns the files in the directory of secrets beside a copy of prepare.
func secretsIn(t *testing.T, dir string) map[string]secret {
	t.Helper()
	found := map[string]secret{}
	files, err := os.ReadDir(filepath.Join(dir, "secrets"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "secrets", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		found[file.Name()] = secret{string(text), fmt.Sprintf("%d:%d", owner.Uid, owner.Gid), info.Mode()}
	}
	return found
}

// prepare runs the script in a directory that has a copy of it, and returns the secrets.
func prepare(t *testing.T, dir string) map[string]secret {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "prepare")).CombinedOutput(); err != nil ||
		len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	return secretsIn(t, dir)
}

// copyOfPrepare returns a directory with a copy of the script.
func copyOfPrepare(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(composeDir, "prepare"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prepare"), text, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPrepare: the script makes each secret for the user of the containers that read it and for nobody else, and the
// server logs in with the password that the database gets.
func TestPrepare(t *testing.T) {
	dir := copyOfPrepare(t)
	made := prepare(t, dir)
	if names := slices.Sorted(maps.Keys(made)); !slices.Equal(names,
		[]string{"database-password", "grafana-password", "pgpass"}) {
		t.Fatalf("prepare made %q", names)
	}
	if info, err := os.Stat(filepath.Join(dir, "secrets")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
	for _, name := range []string{"database-password", "grafana-password"} {
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(made[name].text) {
			t.Errorf("%s has %d bytes that are not 32 random bytes in hexadecimal", name, len(made[name].text))
		}
	}
	if made["database-password"].text == made["grafana-password"].text {
		t.Error("the two passwords are one")
	}
	readers := 0
	for _, service := range projects(t)["behind a proxy"].Services {
		for _, mounted := range service.Secrets {
			if file, found := made[mounted.Source]; found {
				readers++
				if file.owner != service.User || file.mode != 0o600 {
					t.Errorf("%s belongs to %s with the mode %v, and %s runs as %s", mounted.Source, file.owner, file.mode,
						service.Name, service.User)
				}
			}
		}
	}
	if readers != 5 {
		t.Errorf("%d containers read the secrets", readers)
	}
	address := strings.ReplaceAll(*projects(t)["behind a proxy"].Services["server"].Environment["QUITTANCE_DATABASE"],
		"/run/secrets", filepath.Join(dir, "secrets"))
	if config, err := pgconn.ParseConfig(address); err != nil || config.Password != made["database-password"].text {
		t.Errorf("the server does not log in with the password of the database: %v", err)
	}
}

// TestPrepareAgain: a further run changes no secret, and makes only what is missing.
func TestPrepareAgain(t *testing.T) {
	dir := copyOfPrepare(t)
	first := prepare(t, dir)
	if again := prepare(t, dir); !maps.Equal(again, first) {
		t.Error("a second run changed secrets")
	}
	for _, name := range []string{"pgpass", "grafana-password"} {
		if err := os.Remove(filepath.Join(dir, "secrets", name)); err != nil {
			t.Fatal(err)
		}
	}
	repaired := prepare(t, dir)
	if repaired["database-password"] != first["database-password"] || repaired["pgpass"] != first["pgpass"] {
		t.Error("the password of the database changed")
	}
	if again := repaired["grafana-password"]; len(repaired) != 3 || again.text == first["grafana-password"].text ||
		len(again.text) != 64 {
		t.Errorf("%d secrets; that of Grafana has %d bytes and must be a new one", len(repaired), len(again.text))
	}
}

// TestPrepareInterrupted: what an interrupted run has left half-written never becomes a secret.
func TestPrepareInterrupted(t *testing.T) {
	dir := copyOfPrepare(t)
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets", "database-password.new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if made := prepare(t, dir); len(made) != 3 || len(made["database-password"].text) != 64 {
		t.Errorf("%d files; the password has %d bytes", len(made), len(made["database-password"].text))
	}
}

// TestPrepareNeedsRoot: another user is told why nothing is made.
func TestPrepareNeedsRoot(t *testing.T) {
	script, err := os.Open(filepath.Join(composeDir, "prepare"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = script.Close() }()                   // was only read
	command := exec.CommandContext(t.Context(), "sh", "-s") // this user may not be able to enter the directory
	command.Dir, command.Stdin = "/", script
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "run it as root") {
		t.Errorf("%v\n%s", err, out)
	}
}
