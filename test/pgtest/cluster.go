package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// superuser is the role that owns the cluster, independent of the system account.
	superuser = "postgres"
	// socketName is the file of the unix socket for PostgreSQL's default port.
	socketName = ".s.PGSQL.5432"
	// maxSocketPath is the longest path of a unix socket on Linux, in bytes, without the closing NUL.
	maxSocketPath = 107
	// startTimeout and stopTimeout bound the wait for the server, including recovery after Kill. Many tests may run at the
	// same time.
	startTimeout = 15 * time.Minute
	stopTimeout  = 5 * time.Minute
	// startPoll is the pause between two attempts to reach a server that is starting.
	startPoll = 10 * time.Millisecond
)

// Cluster is a private PostgreSQL server with its data. [Cluster.URL] and [Cluster.NewDatabase] are safe for concurrent
// use; the methods that end or start the server are not.
type Cluster struct {
	dir      string // data, log and socket; owned by the account the server runs under
	programs programs
	account  *account
	settings []string
	server   *server // nil while the server does not run
}

// Start makes a cluster in a new directory under dir, or under the system's temporary directory if dir is empty, and
// starts it. Settings are server parameters such as "fsync=off"; without any, PostgreSQL's defaults apply, so that
// commits are as durable as in production. If the caller is root, the server runs as postgres or nobody, because
// PostgreSQL refuses root; that account must be able to traverse dir, which the directories of testing.T.TempDir do not
// allow. The caller ends the cluster with [Cluster.Stop].
func Start(dir string, settings ...string) (*Cluster, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(dir, "quittance-pg-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for PostgreSQL: %w", err)
	}
	c := &Cluster{dir: home, programs: programs, account: account, settings: settings}
	err = c.create()
	if err == nil {
		err = c.start()
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// URL returns the address of the cluster's administration database, for pgx.
func (c *Cluster) URL() string {
	return "postgres://" + superuser + "@/postgres?host=" + url.QueryEscape(c.dir)
}

// Stop ends the server immediately and removes its data.
func (c *Cluster) Stop() error {
	return errors.Join(c.Kill(), os.RemoveAll(c.dir))
}

// Kill ends the server immediately and keeps its data, like a crash: connections break, there is no checkpoint, and
// [Cluster.Restart] has to recover committed transactions. The signal is SIGQUIT instead of SIGKILL, because the
// workers of a killed postmaster keep running for a while.
func (c *Cluster) Kill() error {
	return c.end(syscall.SIGQUIT)
}

// Restart shuts the server down if it runs, and starts it again with the same data and URL.
func (c *Cluster) Restart() error {
	if err := c.end(syscall.SIGINT); err != nil {
		return err
	}
	return c.start()
}

// create creates the data directory.
func (c *Cluster) create() error {
	socket := filepath.Join(c.dir, socketName)
	if len(socket) > maxSocketPath {
		return fmt.Errorf("the socket path %s has %d bytes and %d is the most: choose a shorter directory (TMPDIR)", socket,
			len(socket), maxSocketPath)
	}
	if err := c.account.own(c.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	initdb := exec.CommandContext(ctx, c.programs.initdb, "-D", c.data(), "-U", superuser, "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = c.dir
	initdb.Env = environment()
	initdb.SysProcAttr = c.account.attributes()
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// start starts the server on existing data and returns when it responds.
func (c *Cluster) start() (err error) {
	if c.server, err = startServer("PostgreSQL", c.dir, c.log(), c.account, c.arguments()...); err != nil {
		return err
	}
	return c.awaitReady(c.server)
}

// arguments returns the command that runs the server.
func (c *Cluster) arguments() []string {
	args := []string{c.programs.postgres, "-D", c.data(), "-c", "listen_addresses=",
		"-c", "unix_socket_directories=" + c.dir}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	return args
}

// awaitReady returns when the server accepts connections, or returns the reason why it does not.
func (c *Cluster) awaitReady(s *server) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.ended:
			return fmt.Errorf("PostgreSQL ended while it was starting: %w\n%s", s.err, tail(c.log()))
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not answer within %s: %w\n%s", startTimeout, err, tail(c.log()))
		case <-time.After(startPoll):
		}
	}
}

// end ends the server with the signal. If the server does not run, it does nothing.
func (c *Cluster) end(signal syscall.Signal) error {
	s := c.server
	if s == nil {
		return nil
	}
	c.server = nil
	return s.end(signal)
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

// environment returns the environment of the server's programs, without the caller's PG… variables, which would change
// their defaults.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// programs holds the paths of the two programs that a cluster needs.
type programs struct{ initdb, postgres string }

// findPrograms looks in PATH first, and then in Debian's directories for each major version, the highest first.
func findPrograms() (programs, error) {
	var dirs []string
	if found, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(found))
	}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return programs{}, fmt.Errorf("look for PostgreSQL: %w", err)
	}
	slices.SortFunc(debian, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	for _, dir := range append(dirs, debian...) {
		p := programs{initdb: filepath.Join(dir, "initdb"), postgres: filepath.Join(dir, "postgres")}
		if isFile(p.initdb) && isFile(p.postgres) {
			return p, nil
		}
	}
	return programs{},
		fmt.Errorf(
			"the programs initdb and postgres are neither in PATH nor under /usr/lib/postgresql (scripts/setup installs them; %s=sqlite leaves PostgreSQL out): %w", EnvEngines, fs.ErrNotExist)
}

// majorVersion returns 15 for /usr/lib/postgresql/15/bin. A directory without a number counts as the oldest version.
func majorVersion(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
