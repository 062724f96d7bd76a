package integration_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

const (
	siteCredential = "synthetic-credential"
	// statePace is the speed of the provider's states: a document is final after half a second.
	statePace = 100 * time.Millisecond
)

// siteFlags shorten the delays of a server, so that a story takes seconds.
var siteFlags = []string{"--environment", "sandbox", "--listen", "127.0.0.1:0", "--poll-first", "50ms", "--poll-max",
	"200ms", "--provider-timeout", "1s", "--attempt-timeout", "2s", "--retry-first", "50ms", "--login-rate", "1000",
	"--rate-limit", "0", "--webhook-allow-cidr", "127.0.0.1/32"}

// victim is a checkpoint at which one process of a story is killed, once.
type victim struct {
	command string // "serve", or the administration command that is killed, by its first words
	at      string // as QUITTANCE_KILL_AT; "" kills nothing
}

// original is the template of an engine's sites: a database with one account and its active connection.
type original struct {
	program, engine, dir, address       string
	account, email, password, connected string
}

// site is one installation under test: a database, a server, commands that run beside it, and the other parties, which
// run in this process and survive every kill.
type site struct {
	original
	keyFile     string
	raw         *sql.DB
	provider    *fakeprovider.Server
	providerURL string
	receiver    *recorder
	hooks       string
	flags       []string

	victims []victim // those that no process has reached yet; of each command in turn
	fired   bool     // a process was killed
	trace   string   // directory of the traces, a file a command; "" for none
	gap     string   // as QUITTANCE_MISSING_GAP; "" for a second

	server *process
	base   string
	lives  int
	caller caller
}

// newOriginal prepares an engine with the commands that an administrator would run.
func newOriginal(t *testing.T, program, engine string) original {
	o := original{program: program, engine: engine, dir: t.TempDir()}
	o.address = "sqlite:" + filepath.Join(o.dir, "quittance.db")
	if engine == ledgertest.Postgres {
		o.address = pgtest.URL(t)
	}
	s := &site{original: o, keyFile: filepath.Join(o.dir, "key.json")}
	s.command(t, "", "key", "generate", "--out", s.keyFile)
	s.command(t, "", "migrate", "--create")
	var account struct {
		AccountID string `json:"account_id"`
		Email     string
		Password  string
	}
	s.record(t, &account, "", "account", "create", "--company", "Palm Trading LLC", "--email", "owner@palm.example")
	o.account, o.email, o.password = account.AccountID, account.Email, account.Password
	var connection struct {
		ID string `json:"connection_id"`
	}
	s.record(t, &connection, siteCredential, "connection", "add", "--account", o.account, "--environment", "sandbox",
		"--base-url", "http://127.0.0.1:1", "--credential-file", "-")
	o.connected = connection.ID
	s.record(t, &connection, "", "connection", "activate", o.connected)
	return o
}

// newSite copies an original and adds a provider and a receiver. The database of the copy does not know the provider's
// address yet. A process is killed at each of the victims, those of one command in turn.
func newSite(t *testing.T, o original, flags []string, victims ...victim) *site {
	ordered := slices.DeleteFunc(slices.Clone(victims), func(v victim) bool { return v.at == "" })
	s := &site{original: o, victims: ordered}
	s.dir = t.TempDir()
	copyFiles(t, s.dir, o.dir)
	s.keyFile = filepath.Join(s.dir, "key.json")
	if o.engine == ledgertest.Postgres {
		s.connect(t, pgtest.Copy(t, o.address))
	} else {
		s.connect(t, "sqlite:"+filepath.Join(s.dir, "quittance.db"))
	}
	var err error
	if s.provider, err = fakeprovider.New(fakeprovider.Options{Dir: filepath.Join(s.dir, "provider"),
		Credential: secret.New(siteCredential),
		Clock:      time.Now, Pace: statePace}); err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(s.provider)
	s.providerURL = listening.URL
	receiver, hooks, authority := unwellReceiver(t, s.dir)
	s.receiver, s.hooks = receiver, hooks
	s.flags = slices.Concat([]string{"--key-file", s.keyFile, "--webhook-ca", authority}, siteFlags, flags)
	if s.caller, err = newCaller(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop(t)
		if err := s.raw.Close(); err != nil {
			t.Error(err)
		}
		listening.Close()
		if err := s.provider.Close(); err != nil {
			t.Error(err)
		}
	})
	s.reach(t)
	return s
}

// reach gives the company of the copy a connection to the site's own provider.
func (s *site) reach(t *testing.T) {
	t.Helper()
	keys, err := secret.ReadKeyFile(s.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	db, err := ledger.Open(t.Context(), s.address, base.Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	id, err := base.ParseID(s.connected)
	var before invoices.Connection
	if err == nil {
		before, err = invoices.FindConnection(t.Context(), db, id)
	}
	if err == nil {
		_, err = invoices.DisableConnection(t.Context(), db, before.ID)
	}
	var added invoices.Connection
	if err == nil {
		added, err = invoices.AddConnection(t.Context(), db, before.Account,
			invoices.NewConnection{Kind: "http", Environment: before.Environment,
				BaseURL: s.providerURL, Credential: secret.New(siteCredential)})
	}
	if err == nil {
		_, err = invoices.ConfirmCreditNotes(t.Context(), db, added.ID, "contract", "mapping")
	}
	if err == nil {
		_, err = invoices.ActivateConnection(t.Context(), db, added.ID)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s.connected = added.ID.String()
}

// connect sets the database of the site.
func (s *site) connect(t *testing.T, address string) {
	t.Helper()
	s.address = address
	driver, source := "pgx", address
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, source = "sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(15000)"}).String()
	}
	var err error
	if s.raw, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	s.raw.SetMaxOpenConns(1)
}

// backup stops the server and returns a copy of the database, for [site.connect].
func (s *site) backup(t *testing.T) (address string) {
	t.Helper()
	s.stop(t)
	if err := s.raw.Close(); err != nil {
		t.Fatal(err)
	}
	defer func() { s.connect(t, s.address) }()
	if s.engine == ledgertest.Postgres {
		return pgtest.Copy(t, s.address)
	}
	copied := t.TempDir()
	copyFiles(t, copied, s.dir)
	return "sqlite:" + filepath.Join(copied, "quittance.db")
}

// restore stops the server and continues with a copy of the database.
func (s *site) restore(t *testing.T, address string) {
	t.Helper()
	s.stop(t)
	if err := s.raw.Close(); err != nil {
		t.Fatal(err)
	}
	s.connect(t, address)
	s.command(t, "", "restored", "--yes")
}

// unwellReceiver runs a receiver that fails occasionally. It returns its address and the PEM file of its certificate
// authority.
func unwellReceiver(t *testing.T, dir string) (r *recorder, url, authority string) {
	t.Helper()
	var turn atomic.Int64
	r, server, authority, err := startReceiver(dir, func() int {
		if turn.Add(1)%5 == 0 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return r, server.URL, authority
}

// copyFiles copies the files of a directory so that only their owner may read them.
func copyFiles(t *testing.T, to, from string) {
	t.Helper()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !file.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, file.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file.Name()), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// exec changes rows directly in the database.
func (s *site) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := s.raw.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// environment returns the environment variables with which a command is traced and killed as ordered.
func (s *site) environment(command string) []string {
	out := []string{"QUITTANCE_MISSING_GAP=" + cmp.Or(s.gap, "1s")}
	if s.trace != "" {
		out = append(out, "QUITTANCE_TRACE_CHECKPOINTS="+filepath.Join(s.trace, command))
	}
	if n := s.next(command); n >= 0 {
		out = append(out, "QUITTANCE_KILL_AT="+s.victims[n].at)
	}
	return out
}

// next returns the index of the victim for the next process of a command, or -1. Only one process of a command runs at
// a time.
func (s *site) next(command string) int {
	return slices.IndexFunc(s.victims, func(v victim) bool { return v.command == command })
}

var listenPattern = regexp.MustCompile(`msg=serving .*listen=(\S+)`)

// serve starts the server. If it is killed during the start as ordered, serve starts it again.
func (s *site) serve(t *testing.T) {
	t.Helper()
	for {
		s.lives++
		command := exec.Command(s.program, append([]string{"serve", "--database", s.address}, s.flags...)...)
		command.Env = s.environment("serve")
		var err error
		if s.server, err = startCommand(s.dir, fmt.Sprintf("serve-%d", s.lives), command); err != nil {
			t.Fatal(err)
		}
		address, err := s.server.says(listenPattern)
		if err == nil {
			s.base = "http://" + address
			return
		}
		if !s.server.killed() {
			t.Fatal(err)
		}
		s.die(t, "serve")
	}
}

// die records the death of a process of a command and checks that it was ordered.
func (s *site) die(t *testing.T, command string) {
	t.Helper()
	n := s.next(command)
	if n < 0 {
		t.Fatal("a process was killed without an order")
	}
	s.fired = true
	s.victims = slices.Delete(s.victims, n, n+1)
	if s.engine != ledgertest.Postgres {
		return // the next server is the only one: it frees what this one held
	}
	// Expire all leases of the dead process, as if two minutes had passed.
	for _, table := range []string{"submissions", "deliveries", "purchase_syncs", "mails"} {
		s.exec(t, `update `+table+` set due_at = due_at - $1 where due_at is not null`, (2 * time.Minute).Microseconds())
	}
}

// running starts the server if it is not running.
func (s *site) running(t *testing.T) {
	t.Helper()
	if s.server == nil {
		s.serve(t)
		return
	}
	err := s.server.alive()
	if err == nil {
		return
	}
	if !s.server.killed() {
		t.Fatal(err)
	}
	if sound := s.server.sound(); sound != nil {
		t.Fatal(sound)
	}
	s.die(t, "serve")
	s.serve(t)
}

// stop stops the server, if there is one, by a signal or by the kill that was ordered.
func (s *site) stop(t *testing.T) {
	t.Helper()
	if s.server == nil {
		return
	}
	ending := s.server
	s.server = nil
	err := ending.stop()
	if ending.killed() {
		s.die(t, "serve")
		err = ending.sound()
	}
	if err != nil {
		t.Error(err)
	}
}

// call makes a call of a customer who repeats it until there is a response.
func (s *site) call(t *testing.T, method, path, token, key, body string) response {
	t.Helper()
	var got response
	if err := kit.Poll(func() error {
		s.running(t)
		var err error
		if got, err = s.caller.keyed(method, s.base+path, token, key, body); err != nil {
			return err
		}
		if got.status == http.StatusServiceUnavailable {
			return fmt.Errorf("unavailable: %s", got.body)
		}
		return nil
	}); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// attempt runs an administration command. again reports that it was killed and run again.
func (s *site) attempt(t *testing.T, stdin string, args ...string) (out []byte, again bool, err error) {
	t.Helper()
	words := min(2, len(args))
	if words == 2 && strings.HasPrefix(args[1], "-") {
		words = 1
	}
	if words == 2 && args[1] == "user" {
		words = 3
	}
	name := strings.Join(args[:words], " ")
	if name != "key generate" {
		args = append(slices.Clone(args), "--database", s.address, "--key-file", s.keyFile)
	}
	for {
		command := exec.CommandContext(t.Context(), beside(t, s.program), args...)
		command.Dir, command.Stdin = s.dir, strings.NewReader(stdin)
		command.Env = append(bareEnvironment(s.dir), s.environment(name)...)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err = command.Output()
		if err == nil || !bySIGKILL(err) {
			if err != nil {
				err = fmt.Errorf("%s: %w: %s", name, err, stderr.Bytes())
			}
			return out, again, err
		}
		s.die(t, name)
		again = true
	}
}

// command runs an administration command that must succeed.
func (s *site) command(t *testing.T, stdin string, args ...string) {
	t.Helper()
	if _, _, err := s.attempt(t, stdin, args...); err != nil {
		t.Fatal(err)
	}
}

// record is command for one that prints a record.
func (s *site) record(t *testing.T, into any, stdin string, args ...string) {
	t.Helper()
	out, _, err := s.attempt(t, stdin, append(args, "--json")...)
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
