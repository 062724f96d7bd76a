package integration_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/passkeytest"
	"quittance/test/pgtest"
)

// releasedFacts is what people and programs know of a database that a release has served, and what the release answered
// about it.
type releasedFacts struct {
	// At is when it was last served. The provider's clock continues from there.
	At time.Time
	// Provider and Hooks are the addresses of the provider and of the receiver, to which the rows are bound.
	Provider, Hooks string
	Companies       []releasedCompany
	Operator        releasedOperator
	// Open are the invoices of the first company whose submissions are open.
	Open []string
	// Audit is the output of "audit list --json".
	Audit json.RawMessage
}

// releasedCompany is what a company knows.
type releasedCompany struct {
	Account, Email, Password string
	// Token, Cookie and APIKey are a session of the API, one of the console, and an API key ("" for none).
	Token, Cookie, APIKey string
	// Invitation is the secret in the link of an invitation that is not used yet.
	Invitation string
	// TOTP is the secret of an authenticator app, and Recovery a recovery code.
	TOTP, Recovery string
	// Hook and Secret are the path and the signing secret of a subscription.
	Hook, Secret string
	// PasskeyEmail and PasskeyPassword are those of a user who has a passkey.
	PasskeyEmail, PasskeyPassword string
	Passkey                       *passkeytest.Authenticator
	// Answers are the responses to all GET requests, by path.
	Answers map[string]releasedAnswer
}

// releasedAnswer is a response: a JSON document, or the media type and the SHA-256 of another one.
type releasedAnswer struct {
	Status int
	JSON   json.RawMessage `json:",omitempty"`
	Type   string          `json:",omitempty"`
	SHA256 string          `json:",omitempty"`
	body   []byte          // of this version, with a digest
}

// releasedOperator is what an operator knows.
type releasedOperator struct{ Email, Password, TOTP, Cookie string }

// releasedSite is a site whose provider and receiver have the addresses that are in the database.
type releasedSite struct {
	*site
	providerAt, hooksAt string
	password            string // of the last company that was created
	now                 func() time.Time
	frozen              atomic.Int64 // when the provider's clock stopped, in microseconds; 0 while it runs
	authority           string
}

// releasedHosts are the hosts of the parties in the databases of releases, and their ports are the exception from the
// rule that a test listens on a free one: evidence and audit log are chains of digests, so the addresses in them cannot
// change. Nobody else listens there. Whoever needs the same ones, because the same test runs twice, waits.
var releasedHosts = map[string]string{ledgertest.SQLite: "127.30.1.1", ledgertest.Postgres: "127.30.1.2"}

// newReleasedSite returns a site in a directory that has the key file and the provider's ledger, if there are any yet.
func newReleasedSite(t *testing.T, program, engine, dir, address string, now func() time.Time) *releasedSite {
	t.Helper()
	host := releasedHosts[engine]
	s := &releasedSite{providerAt: net.JoinHostPort(host, "9480"), hooksAt: net.JoinHostPort(host, "9443"), now: now,
		site: &site{original: original{program: program, engine: engine, dir: dir, address: address},
			keyFile: filepath.Join(dir, "key.json")}}
	s.hooks = "https://" + s.hooksAt
	s.providerURL = "http://" + s.providerAt
	s.site.connect(t, address)
	var err error
	if s.caller, err = newCaller(""); err != nil {
		t.Fatal(err)
	}
	listener := listenWhenFree(t, s.providerAt)
	if s.provider, err = fakeprovider.New(fakeprovider.Options{Dir: filepath.Join(dir, "provider"),
		Credential: secret.New(siteCredential), Clock: s.providerClock, Pace: statePace}); err != nil {
		t.Fatal(err)
	}
	provider := &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: s.provider, ReadHeaderTimeout: time.Minute}}
	provider.Start()
	receiver := s.receive(t)
	t.Cleanup(func() {
		s.stop(t)
		provider.Close()
		receiver.Close()
		if err := errors.Join(s.provider.Close(), s.raw.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// listenWhenFree listens at an address as soon as nobody else does.
func listenWhenFree(t *testing.T, address string) (listener net.Listener) {
	t.Helper()
	kit.Eventually(t, func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		return err
	})
	return listener
}

// providerClock is the clock of the provider.
func (s *releasedSite) providerClock() time.Time {
	if frozen := s.frozen.Load(); frozen != 0 {
		return time.UnixMicro(frozen)
	}
	return s.now()
}

// freeze stops the provider's clock, and the receiver from accepting anything.
func (s *releasedSite) freeze() { s.frozen.Store(s.now().UnixMicro()) }

// receive runs the receiver over HTTPS: it accepts everything while the clock runs, except at /redirect and /broken.
func (s *releasedSite) receive(t *testing.T) *httptest.Server {
	t.Helper()
	host, _, err := net.SplitHostPort(s.hooksAt)
	if err != nil {
		t.Fatal(err)
	}
	s.authority = writeCertificate(t, s.dir, net.ParseIP(host))
	pair, err := tls.LoadX509KeyPair(s.authority, filepath.Join(s.dir, "cert-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	s.receiver = &recorder{taken: []fakeprovider.Callback{}, next: func() int {
		if s.frozen.Load() != 0 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}}
	server := &httptest.Server{Listener: listenWhenFree(t, s.hooksAt),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		Config: &http.Server{ReadHeaderTimeout: time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/redirect":
					http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				case "/broken":
					http.Error(w, "broken", http.StatusInternalServerError)
				default:
					s.receiver.ServeHTTP(w, r)
				}
			})}}
	server.StartTLS()
	return server
}

// open starts the server with more flags.
func (s *releasedSite) open(t *testing.T, flags ...string) {
	t.Helper()
	host, _, err := net.SplitHostPort(s.hooksAt)
	if err != nil {
		t.Fatal(err)
	}
	s.flags = slices.Concat([]string{"--key-file", s.keyFile, "--webhook-ca", s.authority}, siteFlags,
		[]string{"--webhook-allow-cidr", host + "/32", "--public-url", "http://localhost", "--operator-listen",
			"127.0.0.1:0"}, flags)
	s.serve(t)
}

// connectProvider gives an account an active connection to the provider.
func (s *releasedSite) connectProvider(t *testing.T, account string) {
	t.Helper()
	var added struct {
		ID string `json:"connection_id"`
	}
	s.record(t, &added, siteCredential, "connection", "add", "--account", account, "--environment", "sandbox",
		"--base-url", s.providerURL, "--credential-file", "-")
	s.command(t, "", "connection", "confirm-credit-notes", added.ID, "--contract", "C-2026-7", "--mapping",
		"provider protocol")
	s.command(t, "", "connection", "activate", added.ID)
}

// The names of the files of an archive.
const (
	archivedFacts    = "facts.json"
	archivedDatabase = "quittance.db"
	archivedDump     = "dump.sql"
)

// archive writes the database, the key file, the provider's ledger and the facts to a file.
func (s *releasedSite) archive(t *testing.T, facts releasedFacts, path string) {
	t.Helper()
	if s.engine == ledgertest.Postgres {
		if err := os.WriteFile(filepath.Join(s.dir, archivedDump), dump(t, s.address), 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		compact := filepath.Join(s.dir, "compact.db")
		s.exec(t, "vacuum into $1", compact)
		if err := errors.Join(s.raw.Close(), os.Rename(compact, filepath.Join(s.dir, archivedDatabase))); err != nil {
			t.Fatal(err)
		}
		s.site.connect(t, s.address)
	}
	text, err := json.Marshal(facts)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, archivedFacts), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(compressed)
	for _, name := range []string{archivedFacts, "key.json", "provider/provider-ledger.jsonl", archivedDatabase,
		archivedDump} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) && (name == archivedDatabase || name == archivedDump) {
			continue // that of the other engine
		}
		if err == nil {
			err = files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})
		}
		if err == nil {
			_, err = files.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), compressed.Close(), os.WriteFile(path, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s has %d bytes", path, packed.Len())
}

// dump returns the schema and the rows of a PostgreSQL database as statements that every version from 15 on executes.
func dump(t *testing.T, address string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pg_dump", "--no-owner", "--no-privileges", "--no-comments", "--inserts",
		"--rows-per-insert=200", address).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(out) {
		// Settings and commands of psql differ between versions, and the statements need none of them.
		if s := string(line); !strings.HasPrefix(s, "SET ") && !strings.HasPrefix(s, "SELECT pg_catalog.set_config") &&
			!strings.HasPrefix(s, `\`) && !strings.HasPrefix(s, "--") && s != "\n" {
			kept.Write(line)
		}
	}
	return kept.Bytes()
}

// unpack writes the files of a release's archive to a new directory and returns it with the address of the database and
// the facts.
func unpack(t *testing.T, version, engine string) (dir, address string, facts releasedFacts) {
	t.Helper()
	dir = t.TempDir()
	compressed, err := gzip.NewReader(bytes.NewReader(ledgertest.ReleaseFile(t, version, engine+".tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "provider"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(compressed)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(files)
		}
		if err == nil && header.Name == archivedFacts {
			err = json.Unmarshal(text, &facts)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.FromSlash(header.Name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if engine == ledgertest.SQLite {
		return dir, "sqlite:" + filepath.Join(dir, archivedDatabase), facts
	}
	address = pgtest.URL(t)
	text, err := os.ReadFile(filepath.Join(dir, archivedDump))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err == nil {
		_, err = conn.Exec(t.Context(), string(text))
		err = errors.Join(err, conn.Close(context.Background()))
	}
	if err != nil {
		t.Fatalf("load the database of %s: %v", version, err)
	}
	return dir, address, facts
}

// engineAddress returns the address of a new database.
func engineAddress(t *testing.T, engine, dir string) string {
	if engine == ledgertest.SQLite {
		return "sqlite:" + filepath.Join(dir, archivedDatabase)
	}
	return pgtest.URL(t)
}

// outputOf returns the output of a command that must succeed.
func (s *releasedSite) outputOf(t *testing.T, args ...string) []byte {
	t.Helper()
	out, _, err := s.attempt(t, "", args...)
	if err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, out))
	}
	return out
}
