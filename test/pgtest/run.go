package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const (
	// EnvPostgres is the environment variable with the address of a running cluster's administration database. Its role
	// must be allowed to create databases.
	EnvPostgres = "QUITTANCE_TEST_POSTGRES"
	// EnvEngines is the environment variable that chooses the database engines of the tests: "sqlite", "postgres" or
	// "sqlite,postgres"; unset means both.
	EnvEngines = "QUITTANCE_TEST_ENGINES"
	// envTemplate is the environment variable in which [Run] passes the name of the database of [Template] on.
	envTemplate = "QUITTANCE_TEST_TEMPLATE"
)

// errNoCluster means that a test asks for a database outside [Run].
var errNoCluster = errors.New("no cluster: let TestMain call pgtest.Run, and use PostgreSQL only if pgtest.Enabled()")

// Enabled reports whether to run tests on PostgreSQL.
func Enabled() bool {
	engines := os.Getenv(EnvEngines)
	return engines == "" || slices.Contains(strings.Split(engines, ","), "postgres")
}

// Run runs the tests of a package with a cluster for [URL] and returns the exit code, for TestMain. It uses the cluster
// of [EnvPostgres], or, if tests on PostgreSQL are enabled, starts one for the duration of the tests. It sets that
// variable, so that the worker processes of a fuzz test use the same cluster.
func Run(m *testing.M) int {
	switch admin := os.Getenv(EnvPostgres); {
	case !Enabled():
		return m.Run()
	case admin != "":
		return runWithTemplate(m, admin)
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
		code = runWithTemplate(m, cluster.URL())
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// runWithTemplate runs the tests and removes the database that [Template] may have created.
func runWithTemplate(m *testing.M, admin string) int {
	name, err := newName()
	if err == nil {
		err = os.Setenv(envTemplate, name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return 1
	}
	code := m.Run()
	if err := dropDatabase(admin, "IF EXISTS "+name); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// StartShared starts a cluster for many concurrent tests: it allows their connections and does not flush to disk, which
// would only matter in a crash of the whole machine. Commits still survive [Cluster.Kill].
func StartShared() (*Cluster, error) {
	return Start(memoryDirectory(), "fsync=off", "full_page_writes=off", "max_connections=300", "max_wal_size=256MB")
}

// sharedSpace is how many bytes a shared cluster may need: about eight times what the tests of all packages have at a
// time.
const sharedSpace = 4 << 30

// memoryDirectory returns Linux's directory in memory if it has space for a shared cluster, else "". The tests create
// and remove some hundred files for each database, which takes ext4 a quarter of the time of the tests.
func memoryDirectory() string {
	const dir = "/dev/shm"
	var system syscall.Statfs_t
	if err := syscall.Statfs(dir, &system); err != nil || int64(system.Bavail)*int64(system.Bsize) < sharedSpace { //nolint:unconvert,gosec // the types differ between systems, and the values are small
		return ""
	}
	return dir
}

// URL creates an empty database for one test, removes it when the test ends, and returns its address for pgx. The
// test's package calls [Run] in its TestMain.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, "")
}

// Template creates an empty database for [Copy], which [Run] removes after all tests, and returns its address. A
// process can have one.
func Template(ctx context.Context) (string, error) {
	admin, name := os.Getenv(EnvPostgres), os.Getenv(envTemplate)
	if admin == "" || name == "" {
		return "", errNoCluster
	}
	return createDatabase(ctx, admin, name, "")
}

// Copy is [URL] for a copy of a database that URL or Template created and that has no connections.
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
		t.Fatalf("pgtest: %v", errNoCluster)
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
