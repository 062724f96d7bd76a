package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quittance/test/pgtest"
)

// startPooler starts PgBouncer in front of a database, configured as the guide says, with more lines.
func startPooler(t *testing.T, direct string, more ...string) *pgtest.Pooler {
	t.Helper()
	configuration, err := os.ReadFile(filepath.Join("..", "..", "deploy", "pgbouncer", "pgbouncer.ini"))
	if err != nil {
		t.Fatal(err)
	}
	return pgtest.NewPooler(t, string(configuration), direct, more...)
}

// TestPgBouncerInTrouble kills PgBouncer, its connections to the database, and the database, while clients work through
// it, in both of its modes. Quittance must answer 503 and nothing wrong, keep everything that it has acknowledged, and
// recover without help. In session mode it needs no direct address.
func TestPgBouncerInTrouble(t *testing.T) {
	if !pgtest.Enabled() {
		return // there is no such server
	}
	t.Parallel()
	for _, mode := range []string{"transaction", "session"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cluster, direct := ownCluster(t)
			// In session mode every connection of a client has one of its own: those of the server, and of each command.
			pool := startPooler(t, direct, "pool_mode = "+mode, "default_pool_size = 60")
			if mode == "session" {
				direct = ""
			}
			s := newPooledStricken(t, pool.URL(), direct)
			for range 3 {
				s.trouble(t, "PgBouncer killed and restarted", func() {
					if err := pool.Kill(); err != nil {
						t.Error(err)
					}
					s.down(t)
					if err := pool.Restart(); err != nil {
						t.Fatal(err)
					}
				})
			}
			s.trouble(t, "connections of PgBouncer ended", func() { terminate(t, cluster.URL()) })
			s.trouble(t, "database killed and restarted", func() {
				if err := cluster.Kill(); err != nil {
					t.Error(err)
				}
				s.down(t)
				if err := cluster.Restart(); err != nil {
					t.Fatal(err)
				}
			})
			s.reckon(t)
		})
	}
}

// TestRollingRestartThroughPgBouncer is [TestRollingRestart] with three replicas that share a few sessions in
// transaction mode.
func TestRollingRestartThroughPgBouncer(t *testing.T) {
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	t.Parallel()
	direct := pgtest.URL(t)
	pool := startPooler(t, direct, "default_pool_size = 12")
	newPooledFleet(t, product, pool.URL(), direct, "--shutdown-delay", drainFor.String(), "--provider-timeout",
		"20s").roll(t)
}

// TestPoolWithoutDirectAddress checks that a server refuses a pool in transaction mode unless it has the address of the
// database too, that the error names the flag and contains no password, and that both addresses have to be verified in
// production.
func TestPoolWithoutDirectAddress(t *testing.T) {
	if !pgtest.Enabled() {
		return // SQLite has no sessions
	}
	t.Parallel()
	dir, direct := t.TempDir(), pgtest.URL(t)
	pool := startPooler(t, direct)
	key := filepath.Join(dir, "key.json")
	if problem, ok := tryCommand(t, dir, "key", "generate", "--out", key); !ok {
		t.Fatal(problem)
	}
	withPassword := strings.Replace(pool.URL(), "postgres@", "postgres:hunter2@", 1)
	const elsewhere = "postgres://quittance:hunter2@db.example/quittance?sslmode=require"
	for name, test := range map[string]struct {
		want string
		args []string
	}{
		"serve": {"--database-direct", []string{"serve", "--environment", "sandbox", "--listen", "127.0.0.1:0",
			"--database", withPassword, "--key-file", key}},
		"migrate": {"--database-direct", []string{"migrate", "--create", "--database", withPassword, "--key-file", key}},
		"production": {"--database-direct: production connects to PostgreSQL only over TLS", []string{"serve",
			"--environment", "production", "--database", withPassword, "--database-direct", elsewhere, "--key-file", key}},
		"sqlite": {"--database-direct", []string{"migrate", "--create", "--database",
			"sqlite:" + filepath.Join(dir, "a.db"), "--database-direct", direct, "--key-file", key}},
	} {
		problem, ok := tryCommand(t, dir, test.args...)
		if ok || !strings.Contains(problem, test.want) || strings.Contains(problem, "hunter2") {
			t.Errorf("%s: success is %v, and it says %s", name, ok, problem)
		}
	}
	if problem, ok := tryCommand(t, dir, "migrate", "--create", "--database", withPassword, "--database-direct", direct,
		"--key-file", key); !ok {
		t.Errorf("with the direct address: %s", problem)
	}
}

// tryCommand runs a command to completion, and returns what it printed and whether it succeeded.
func tryCommand(t *testing.T, dir string, args ...string) (printed string, ok bool) {
	t.Helper()
	command := exec.CommandContext(t.Context(), built(t, commandProduct), args...)
	command.Dir, command.Env = dir, bareEnvironment(dir)
	out, err := command.CombinedOutput()
	return string(out), err == nil
}
