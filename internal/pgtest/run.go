package pgtest

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	// EnvPostgres names the environment variable with the address of a running cluster's administration database. The
	// role there must be allowed to create databases.
	EnvPostgres = "QUITTANCE_TEST_POSTGRES"
	// EnvEngines names the environment variable that chooses the database engines tests run on, "sqlite", "postgres" or
	// "sqlite,postgres"; unset means both.
	EnvEngines = "QUITTANCE_TEST_ENGINES"
)

// Enabled tells whether tests on PostgreSQL are wanted. A caller leaves it out of its list of engines when not.
func Enabled() bool {
	engines := os.Getenv(EnvEngines)
	return engines == "" || slices.Contains(strings.Split(engines, ","), "postgres")
}

// Run runs the tests of a package with a cluster for [URL] and returns the exit code, for TestMain. The cluster is the
// one that [EnvPostgres] names; else, if PostgreSQL is wanted, one is started before the tests and ended after them.
// It is passed on in that variable, so that the worker processes of a fuzz test find it too.
func Run(m *testing.M) int {
	if !Enabled() || os.Getenv(EnvPostgres) != "" {
		return m.Run()
	}
	cluster, err := StartShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return 1
	}
	code := 1
	if err := os.Setenv(EnvPostgres, cluster.URL()); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
	} else {
		code = m.Run()
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// StartShared starts a cluster for many tests at once: it has room for their connections and leaves out the flushing to
// disk, which only the crash of a whole machine would show. Commits survive [Cluster.Kill] all the same.
func StartShared() (*Cluster, error) {
	return Start("", "fsync=off", "full_page_writes=off", "max_connections=300")
}

// URL makes an empty database for one test, removes it when the test ends, and returns its address for pgx. The test's
// package calls [Run] in its TestMain.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, "")
}

// Copy is [URL] for a copy of a database that URL has made and that nobody is connected to.
func Copy(t testing.TB, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatalf("pgtest: read the address of the database: %v", err)
	}
	return database(t, strings.TrimPrefix(parsed.Path, "/"))
}

func database(t testing.TB, template string) string {
	t.Helper()
	admin := os.Getenv(EnvPostgres)
	if admin == "" {
		t.Fatal("pgtest: no cluster: let TestMain call pgtest.Run, and use PostgreSQL only if pgtest.Enabled()")
	}
	address, drop, err := newDatabase(t.Context(), admin, template)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return address
}
