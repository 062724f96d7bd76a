package pgtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// envOrphan makes the test binary a process that starts a cluster and waits to be killed.
const envOrphan = "QUITTANCE_PGTEST_ORPHAN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envOrphan); dir != "" {
		os.Exit(waitToBeKilled(dir))
	}
	os.Exit(pgtest.Run(m))
}

// TestCluster contains the tests that need PostgreSQL, so that they can be left out together.
func TestCluster(t *testing.T) {
	if !pgtest.Enabled() {
		return
	}
	t.Run("private and durable by default", testPrivateAndDurable)
	t.Run("databases are separate and go away", testDatabases)
	t.Run("committed rows survive a kill", testKill)
	t.Run("restart of a running server keeps rows", testRestart)
	t.Run("the server dies with its process", testOrphan)
	t.Run("a server that cannot start says why and leaves nothing", testCannotStart)
	t.Run("a directory too long for a socket is refused", testLongDirectory)
	t.Run("each test has a database of its own", testURL)
	t.Run("PgBouncer starts again when it ends by itself, and not when it is killed", testPoolerIsKept)
}

func testPrivateAndDurable(t *testing.T) {
	dir := shared(t)
	c := start(t, dir)
	for setting, want := range map[string]string{"listen_addresses": "", "fsync": "on", "synchronous_commit": "on",
		"server_encoding": "UTF8"} {
		if got := queryOne(t, c.URL(), "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := list(t, dir); len(left) > 0 {
		t.Errorf("Stop left %v behind", left)
	}
	if conn, err := pgx.Connect(t.Context(), c.URL()); err == nil {
		t.Error("the server answers after Stop")
		closeConn(t, conn)
	}
}

func testDatabases(t *testing.T) {
	c := start(t, shared(t), "fsync=off")
	first, dropFirst, err := c.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, dropSecond, err := c.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, first, "CREATE TABLE only_here (n bigint)")
	if got := queryOne(t, second, "SELECT count(*)::text FROM pg_tables WHERE tablename = 'only_here'"); got != "0" {
		t.Error("a table of the first database is in the second")
	}
	open := connect(t, first)
	defer closeConn(t, open)
	if err := errors.Join(dropFirst(), dropSecond()); err != nil {
		t.Fatalf("drop with an open connection: %v", err)
	}
	if got := queryOne(t, c.URL(), "SELECT count(*)::text FROM pg_database WHERE datname LIKE 'test\\_%'"); got != "0" {
		t.Errorf("%s databases are left", got)
	}
	if dropFirst() == nil {
		t.Error("dropping a database a second time reports no error")
	}
}

func testKill(t *testing.T) {
	c := start(t, shared(t))
	run(t, c.URL(), "CREATE TABLE kept (n bigint)", "INSERT INTO kept VALUES (42)")
	open := connect(t, c.URL())
	defer closeConn(t, open)
	if _, err := open.Exec(t.Context(), "BEGIN; INSERT INTO kept VALUES (43)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := open.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the server")
	}
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := queryOne(t, c.URL(), "SELECT string_agg(n::text, ',') FROM kept"); got != "42" {
		t.Errorf("after recovery the rows are %s, want 42", got)
	}
}

func testRestart(t *testing.T) {
	c := start(t, shared(t), "fsync=off")
	run(t, c.URL(), "CREATE TABLE kept (n bigint)", "INSERT INTO kept VALUES (42)")
	before := queryOne(t, c.URL(), "SELECT pg_postmaster_start_time()::text")
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	if after := queryOne(t, c.URL(), "SELECT pg_postmaster_start_time()::text"); after == before {
		t.Error("the server was not restarted")
	}
	if got := queryOne(t, c.URL(), "SELECT n::text FROM kept"); got != "42" {
		t.Errorf("the row is %s, want 42", got)
	}
}

// testOrphan kills a process that has a cluster, with SIGKILL, and waits for the server and its directory to disappear.
func testOrphan(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := shared(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envOrphan+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, readErr := bufio.NewReader(out).ReadString('\n')
	if readErr == nil {
		run(t, strings.TrimSpace(url), "SELECT 1")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || readErr != nil {
		t.Fatalf("the process ended with %v; reading its address: %v", err, readErr)
	}
	kit.Eventually(t, func() error {
		if left := list(t, dir); len(left) > 0 {
			return fmt.Errorf("the cluster of a killed process still has %v", left)
		}
		return nil
	})
	if conn, err := pgx.Connect(t.Context(), strings.TrimSpace(url)); err == nil {
		t.Error("the server answers after its process was killed")
		closeConn(t, conn)
	}
}

// waitToBeKilled starts a cluster, prints its address and waits until it is killed.
func waitToBeKilled(dir string) int {
	c, err := pgtest.Start(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.URL())
	for {
		time.Sleep(time.Hour)
	}
}

func testCannotStart(t *testing.T) {
	dir := shared(t)
	c, err := pgtest.Start(dir, "no_such_setting=1")
	if err == nil {
		t.Fatal("an unknown setting was accepted", c.Stop())
	}
	if !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("the error does not say why: %v", err)
	}
	if left := list(t, dir); len(left) > 0 {
		t.Errorf("a failed start left %v behind", left)
	}
}

func testLongDirectory(t *testing.T) {
	dir := filepath.Join(shared(t), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := pgtest.Start(dir)
	if err == nil {
		t.Fatal("the directory was accepted", c.Stop())
	}
	if !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	if _, err := pgtest.Start(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory gives %v", err)
	}
}

func testURL(t *testing.T) {
	var seen []string
	for range 2 {
		t.Run("one", func(t *testing.T) {
			url := pgtest.URL(t)
			run(t, url, "CREATE TABLE mine (n bigint)")
			seen = append(seen, url)
		})
	}
	if seen[0] == seen[1] {
		t.Errorf("two tests shared %s", seen[0])
	}
	t.Run("copy", func(t *testing.T) {
		original := pgtest.URL(t)
		run(t, original, "CREATE TABLE mine (n bigint)")
		for range 2 {
			run(t, pgtest.Copy(t, original), "INSERT INTO mine VALUES (1); ALTER TABLE mine ADD UNIQUE (n)")
		}
	})
	for _, url := range seen {
		if conn, err := pgx.Connect(t.Context(), url); err == nil {
			t.Errorf("%s is still there after its test", url)
			closeConn(t, conn)
		}
	}
}

func TestEnabled(t *testing.T) {
	for engines, want := range map[string]bool{"": true, "postgres": true, "sqlite,postgres": true, "sqlite": false,
		"postgresql": false} {
		t.Setenv(pgtest.EnvEngines, engines)
		if got := pgtest.Enabled(); got != want {
			t.Errorf("%s=%q gives %t", pgtest.EnvEngines, engines, got)
		}
	}
}

// start starts a cluster that is stopped when the test ends.
func start(t *testing.T, dir string, settings ...string) *pgtest.Cluster {
	t.Helper()
	c, err := pgtest.Start(dir, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// shared returns a directory that is short enough for a socket and in which every account may create and remove files.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t-") //nolint:usetesting // t.TempDir is too long, and closed to other accounts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// closeConn closes a connection that may already be broken.
func closeConn(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Logf("close: %v", err)
	}
}

func run(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn := connect(t, url)
	defer closeConn(t, conn)
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func queryOne(t *testing.T, url, query string) (value string) {
	t.Helper()
	conn := connect(t, url)
	defer closeConn(t, conn)
	if err := conn.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// list returns the names in a directory.
func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func testPoolerIsKept(t *testing.T) {
	configuration, err := os.ReadFile(filepath.Join("..", "..", "deploy", "pgbouncer", "pgbouncer.ini"))
	kit.Must(t, err)
	p := pgtest.NewPooler(t, string(configuration), pgtest.URL(t), "admin_users = postgres")
	for range 3 {
		// It answers by ending.
		if conn, err := pgx.Connect(t.Context(), strings.Replace(p.URL(), "/quittance?",
			"/pgbouncer?default_query_exec_mode=simple_protocol&", 1)); err != nil {
			t.Error(err)
		} else if _, err := conn.Exec(t.Context(), "SHUTDOWN"); err == nil {
			t.Error("PgBouncer was to shut down, and did not")
		}
		kit.Eventually(t, func() error {
			conn, err := pgx.Connect(t.Context(), p.URL())
			if err != nil {
				return err
			}
			_, err = conn.Exec(t.Context(), "select 1")
			return errors.Join(err, conn.Close(t.Context()))
		})
	}
	kit.Must(t, p.Kill())
	if _, err := pgx.Connect(t.Context(), p.URL()); err == nil {
		t.Error("PgBouncer runs after Kill")
	}
}
