package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolerTarget is the part of a configuration of PgBouncer that says where the database is.
const poolerTarget = "host=db.internal port=5432 dbname=quittance"

// Pooler is a PgBouncer in front of a database. Its methods are not safe for concurrent use.
//
// If PgBouncer ends by itself, it is started again, as a service manager would do. Debian's release 1.18 ends with "bad
// client state" if its connection to the database breaks while it passes on the request of a client to cancel a
// statement (https://github.com/pgbouncer/pgbouncer/pull/846).
type Pooler struct {
	dir     string
	account *account
	mu      sync.Mutex
	server  *server
	err     error // why it could not be started again
}

// NewPooler starts PgBouncer with a configuration in front of the database at address, which [URL] or a [Cluster]
// returned. In the configuration it replaces where the database is, where PgBouncer listens, and how both authenticate;
// more has lines that are added to the section [pgbouncer]. It ends with the test.
func NewPooler(t testing.TB, configuration, address string, more ...string) *Pooler {
	t.Helper()
	p, err := startPooler(configuration, address, more)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("PgBouncer: %s", tail(p.log()))
		}
		if err := errors.Join(p.Kill(), os.RemoveAll(p.dir)); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return p
}

func startPooler(configuration, address string, more []string) (*Pooler, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(configuration, poolerTarget) {
		return nil, fmt.Errorf("the configuration of PgBouncer lacks %q", poolerTarget)
	}
	account, err := serverAccount() // PgBouncer refuses root too
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "quittance-pool-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for PgBouncer: %w", err)
	}
	p := &Pooler{dir: dir, account: account}
	target := fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, config.User)
	own := []string{strings.Replace(configuration, poolerTarget, target, 1), "listen_addr =", "unix_socket_dir = " + dir,
		"auth_type = any", "auth_file =", "client_tls_sslmode = disable", "server_tls_sslmode = disable"}
	err = errors.Join(os.WriteFile(p.config(), []byte(strings.Join(append(own, more...), "\n")+"\n"), 0o644), account.own(dir)) //nolint:gosec // the account of the server reads it
	if err == nil {
		err = p.Restart()
	}
	if err != nil {
		return nil, errors.Join(err, p.Kill(), os.RemoveAll(dir))
	}
	return p, nil
}

// URL returns the address of the database through PgBouncer, for pgx.
func (p *Pooler) URL() string {
	return "postgres://" + superuser + "@/quittance?port=6432&host=" + url.QueryEscape(p.dir)
}

// Kill kills PgBouncer with SIGKILL.
func (p *Pooler) Kill() error {
	p.mu.Lock()
	s, err := p.server, p.err
	p.server, p.err = nil, nil
	p.mu.Unlock()
	if s == nil {
		return err
	}
	return s.end(syscall.SIGKILL)
}

// start starts PgBouncer. The caller holds the lock.
func (p *Pooler) start() (err error) {
	if p.server, err = startServer("PgBouncer", p.dir, p.log(), p.account, "pgbouncer", p.config()); err == nil {
		go p.keep(p.server)
	}
	return err
}

// keep starts PgBouncer again when it ends without having been killed.
func (p *Pooler) keep(s *server) {
	<-s.ended
	time.Sleep(startPoll) // in case that it ends each time
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == s {
		p.server = nil
		p.err = errors.Join(s.end(syscall.SIGKILL), p.start())
	}
}

// Restart kills PgBouncer if it runs, starts it again and waits until a statement passes.
func (p *Pooler) Restart() (err error) {
	if err := p.Kill(); err != nil {
		return err
	}
	p.mu.Lock()
	err = p.start()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := execute(ctx, p.URL(), "select 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PgBouncer did not answer within %s: %w\n%s", startTimeout, err, tail(p.log()))
		case <-time.After(startPoll):
		}
	}
}

func (p *Pooler) config() string { return filepath.Join(p.dir, "pgbouncer.ini") }

func (p *Pooler) log() string { return filepath.Join(p.dir, "log") }
