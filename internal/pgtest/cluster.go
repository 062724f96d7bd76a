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
	// superuser is the role that owns the cluster, whatever account of the system it runs under.
	superuser = "postgres"
	// socketName is the file of the unix socket for the port that is PostgreSQL's default.
	socketName = ".s.PGSQL.5432"
	// maxSocketPath is the longest path of a unix socket on Linux, in bytes, without the closing NUL.
	maxSocketPath = 107
	// startWithin and stopWithin bound the wait for the server, recovery after Kill included.
	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second
	// startPoll is the pause between two attempts to reach a server that is starting.
	startPoll = 10 * time.Millisecond
)

// Cluster is a private PostgreSQL server with its data. [Cluster.URL] and [Cluster.NewDatabase] may be called by many
// goroutines at once; the methods that end or start the server may not.
type Cluster struct {
	dir      string // data, log and socket; owned by the account the server runs under
	programs programs
	account  *account
	settings []string
	server   *server // nil while the server does not run
}

// server is one life of the postgres process.
type server struct {
	cmd    *exec.Cmd
	tether *os.File      // the watchdog ends the server when this closes without a word
	ended  chan struct{} // closed when the process has ended
	err    error         // how it ended; read it after ended is closed
}

// Start makes a cluster in a new directory under dir and starts it. An empty dir stands for the system's temporary
// directory. Settings are server parameters such as "fsync=off"; without any, PostgreSQL's own defaults hold, so that
// commits are as durable as in production. Run by root, the server runs as postgres or nobody, because PostgreSQL
// refuses root; that account must be able to pass through dir, which the directories of testing.T.TempDir do not allow.
// The caller ends the cluster with [Cluster.Stop].
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

// Stop ends the server at once and removes its data.
func (c *Cluster) Stop() error {
	return errors.Join(c.Kill(), os.RemoveAll(c.dir))
}

// Kill ends the server at once and keeps its data, as a crash does: connections break, there is no checkpoint, and
// [Cluster.Restart] has to recover what was committed. The signal is SIGQUIT, not SIGKILL, because a killed postmaster
// leaves its workers running for a while.
func (c *Cluster) Kill() error {
	return c.end(syscall.SIGQUIT)
}

// Restart ends the server in good order if it runs, and starts it again on the same data and under the same URL.
func (c *Cluster) Restart() error {
	if err := c.end(syscall.SIGINT); err != nil {
		return err
	}
	return c.start()
}

// create makes the data directory.
func (c *Cluster) create() error {
	socket := filepath.Join(c.dir, socketName)
	if len(socket) > maxSocketPath {
		return fmt.Errorf("the socket path %s has %d bytes and %d is the most: choose a shorter directory (TMPDIR)", socket, len(socket), maxSocketPath)
	}
	if err := c.account.own(c.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	initdb := exec.CommandContext(ctx, c.programs.initdb, "-D", c.data(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = c.dir
	initdb.Env = environment()
	initdb.SysProcAttr = c.account.attributes()
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// start starts the server on existing data and returns when it answers.
func (c *Cluster) start() (err error) {
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	held, tether, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the pipe to the watchdog: %w", err)
	}
	defer func() { err = errors.Join(err, held.Close()) }()

	cmd := exec.Command("/bin/sh", c.arguments()...) //nolint:noctx // the server outlives this call; end ends it
	cmd.Dir = c.dir
	cmd.Env = environment()
	cmd.SysProcAttr = c.account.attributes()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{held}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL: %w", err), tether.Close())
	}
	s := &server{cmd: cmd, tether: tether, ended: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	c.server = s
	return c.awaitReady(s)
}

// watchdog becomes postgres and leaves a guard behind that holds the reading end of a pipe. The guard hears a line when
// the server has ended in good order; it hears the end of the pipe when the process that started the server is gone, and
// then ends the server and removes its directory. The parent-death signal of Linux would not do: it is bound to the
// thread, not the process, that started the child.
const watchdog = `
directory=$1
shift
{
	if ! read -r word <&3; then
		kill -s QUIT $$
		n=0
		while kill -s 0 $$ 2>/dev/null && [ $n -lt 100 ]; do
			sleep 0.1
			n=$((n + 1))
		done
		rm -rf "$directory"
	fi
} &
exec "$@" 3<&-
`

// arguments returns what /bin/sh needs to run the server under its watchdog.
func (c *Cluster) arguments() []string {
	args := []string{"-c", watchdog, "sh", c.dir, c.programs.postgres, "-D", c.data(), "-c", "listen_addresses=", "-c", "unix_socket_directories=" + c.dir}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	return args
}

// awaitReady returns when the server accepts connections, or says why it never did.
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
			return fmt.Errorf("PostgreSQL ended while it was starting: %w\n%s", s.err, c.logTail())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not answer within %s: %w\n%s", startTimeout, err, c.logTail())
		case <-time.After(startPoll):
		}
	}
}

// end sends the signal, waits for the process and dismisses the watchdog. Without a running server it does nothing.
func (c *Cluster) end(signal syscall.Signal) error {
	s := c.server
	if s == nil {
		return nil
	}
	c.server = nil
	var late error
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		late = errors.Join(fmt.Errorf("PostgreSQL did not end within %s of %s", stopTimeout, signal), s.cmd.Process.Kill())
		<-s.ended
	}
	_, err := s.tether.WriteString("ended\n")
	return errors.Join(late, err, s.tether.Close())
}

// lastWords returns the end of the server's log, for an error message.
func (c *Cluster) logTail() []byte {
	const most = 4096
	text, err := os.ReadFile(c.log())
	if err != nil {
		return fmt.Appendf(nil, "(its log cannot be read: %v)", err)
	}
	return text[max(0, len(text)-most):]
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

// environment is what the server's programs see: none of the caller's PG… variables, which would change their defaults.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// programs are the paths of the two programs a cluster needs.
type programs struct{ initdb, postgres string }

// findPrograms looks in PATH first, and then where Debian keeps the programs of each major version, the highest first.
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
	return programs{}, fmt.Errorf("the programs initdb and postgres are neither in PATH nor under /usr/lib/postgresql (scripts/setup installs them; %s=sqlite leaves PostgreSQL out): %w", EnvEngines, fs.ErrNotExist)
}

// majorVersion reads 15 from /usr/lib/postgresql/15/bin; what is no number counts as the oldest.
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
