package integration_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/mailtest"
	"quittance/test/tracingtest"
)

// TestSecretsAppearNowhere checks that secrets appear only where they are sealed, and in the one response that shows
// them. It runs a complete story with recognizable secrets and every fault that could leak one: credentials echoed by
// the provider, signing secrets echoed by a receiver, passwords in the wrong place, crashes. Then it searches every
// byte of the database, every log line at debug level, and every page, metric, crash dump and command output.
func TestSecretsAppearNowhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newCanaryStory(t, engine)
			s.accounts()
			s.connection("connection", "add", "--account", s.account, "--base-url", s.providerURL, "--environment", "sandbox",
				"--json")
			s.must("connection", "activate", s.connectionID, "--json")
			s.serve("text")
			s.logins()
			s.subscriptions()
			s.apiKeys()
			s.submissions("first", echoes)
			s.must("key", "rotate", "--json")
			s.newKeys()
			s.connection("connection", "replace-credential", s.connectionID, "--json")
			s.submissions("second", []string{"plain", "header", "word", "status-500"})
			s.passwords()
			s.mails()
			s.settle()
			s.pages()
			s.commands()
			s.crash(syscall.SIGQUIT)
			s.serve("json")
			s.crash(syscall.SIGABRT)
			s.serve("text")
			s.crash(syscall.SIGSEGV)
			s.database()
			s.scanFiles(t, "log", s.logs)
			s.checkLogs()
			s.exportedTraces()
			s.sentMails()
			s.judge()
		})
	}
}

// canaryStory is a company, its provider and its receiver, all with recognizable secrets, and the scan of everything
// they leave behind.
type canaryStory struct {
	*scanner
	t                      *testing.T
	dir, logs              string // of everything; of the outputs of the servers
	engine, address        string // of the database
	keyFile                string
	provider               *echoingProvider
	providerURL            string
	receiver               *echoingReceiver
	receiverURL, authority string
	account, email         string
	password, token        string
	connectionID           string
	credentials            int
	invoices               []string
	server                 *process
	base, metrics          string
	caller                 *http.Client
	withheld               int // documents that the provider returned and that are never shown
	relay                  *mailtest.Server
	links                  []string // the secrets of links in e-mails
	traces                 *tracingtest.Receiver
	tracesURL              string
}

// marker is not a secret. It is in every draft and must be found, to prove that the scan searches the right places.
const marker = "MARKER-that-is-no-secret"

func newCanaryStory(t *testing.T, engine string) *canaryStory {
	dir := t.TempDir()
	s := &canaryStory{scanner: newScanner(), t: t, dir: dir, logs: filepath.Join(dir, "logs"), engine: engine,
		keyFile: filepath.Join(dir, "key.json"), relay: mailtest.Start(t, false),
		caller: &http.Client{Timeout: kit.Patience(), Transport: &http.Transport{DisableKeepAlives: true}}}
	for _, made := range []string{s.logs, filepath.Join(dir, "data")} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.address = "sqlite:" + filepath.Join(dir, "data", "quittance.db")
	if engine == ledgertest.Postgres {
		// The database server keeps its whole write-ahead log for the scan. It trusts its own machine, so any password will
		// do.
		_, address := ownCluster(t, "wal_keep_size=4GB")
		with, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		with.User = url.UserPassword(with.User.Username(), s.canary("password of the database", ""))
		s.address = with.String()
	}
	s.add("marker", marker)
	s.add("password of the relay", mailtest.Password)
	if _, err := s.run("", "key", "generate", "--out", s.keyFile); err != nil {
		t.Fatal(err)
	}
	s.newKeys()
	provider, server := startEchoingProvider(t)
	s.provider, s.providerURL = provider, server.URL
	s.receiver, s.receiverURL, s.authority = startEchoingReceiver(t, dir)
	s.receiveTraces()
	return s
}

// canary returns a secret with characters that each encoding writes differently.
func (s *canaryStory) canary(name, between string) string {
	value := rand.Text() + `+/=<&>"'\` + between + rand.Text()
	s.add(name, value)
	return value
}

// newKeys adds the material of the keys in the key file to the scan.
func (s *canaryStory) newKeys() {
	text, err := os.ReadFile(s.keyFile)
	if err != nil {
		s.t.Fatal(err)
	}
	var file struct {
		Key []struct{ KeyData struct{ Value []byte } }
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Key) == 0 {
		s.t.Fatalf("%d keys in the key file: %v", len(file.Key), err)
	}
	for n, key := range file.Key {
		value := key.KeyData.Value
		if len(value) < 32 {
			s.t.Fatalf("a key of %d bytes", len(value))
		}
		s.add(fmt.Sprintf("key %d", n+1), string(value[len(value)-32:]))
	}
}

// run runs a command, searches its output, and returns it.
func (s *canaryStory) run(stdin string, args ...string) (output []byte, err error) {
	command := exec.CommandContext(s.t.Context(), built(s.t, commandProduct),
		append([]string{"--log-level", "debug"}, args...)...)
	command.Dir, command.Stdin = s.dir, strings.NewReader(stdin)
	command.Env = bareEnvironment(s.dir)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err = command.Output()
	place := strings.Join(args[:min(len(args), 3)], " ")
	s.scan("errors of "+place, stderr.Bytes())
	if !slices.Contains([]string{"create", "add", "reset-password"}, args[1]) && !slices.Contains(args, "user") {
		s.scan("output of "+place, output)
	}
	return output, err
}

// admin runs an administration command on the database, or one that reads only the key file.
func (s *canaryStory) admin(stdin string, args ...string) ([]byte, error) {
	if !slices.Contains(args, "--database") && !slices.Contains(args, "list") || args[0] != "key" {
		args = append(args, "--database", s.address)
	}
	return s.run(stdin, append(args, "--key-file", s.keyFile)...)
}

// must runs an administration command that must succeed.
func (s *canaryStory) must(args ...string) []byte {
	s.t.Helper()
	output, err := s.admin("", args...)
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return output
}

// field returns a value of a JSON response.
func (s *canaryStory) field(text []byte, pointer string) string {
	s.t.Helper()
	value, err := pointed(text, pointer)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// accounts creates an account with users. Only these commands show their passwords, once.
func (s *canaryStory) accounts() {
	s.must("migrate", "--create")
	made := s.must("account", "create", "--company", marker, "--email", "owner@canary.example", "--json")
	s.account, s.email, s.password = s.field(made, "/account_id"), s.field(made, "/email"), s.field(made, "/password")
	s.add("password of the owner", s.password)
	second := s.must("account", "user", "add", s.account, "--email", "second@canary.example", "--json")
	s.add("password of the second", s.field(second, "/password"))
	reset := s.must("account", "user", "reset-password", s.account, "--email", "second@canary.example", "--json")
	s.add("new password of the second", s.field(reset, "/password"))
	if s.engine != ledgertest.Postgres {
		return
	}
	// These addresses belong to databases that cannot be reached or read: the errors must not quote a password.
	secret := url.UserPassword("u", s.canary("password of a wrong database", "")).String()
	for _, address := range []string{"postgres://" + secret + "@127.0.0.1:1/none",
		"postgres://" + secret + "@127.0.0.1:port/none", "postgres://" + secret + "%zz@[::1/none",
		"postgresql:" + secret + "@127.0.0.1", "mysql://" + secret + "@127.0.0.1/none", "sqlite3://" + secret} {
		if _, err := s.run("", "account", "list", "--database", address, "--key-file", s.keyFile); err == nil {
			s.t.Errorf("%s was accepted as a database", address)
		}
	}
}

// connection runs a command that takes a credential, after invalid ways to provide one.
func (s *canaryStory) connection(args ...string) {
	s.credentials++
	name := fmt.Sprintf("credential %d", s.credentials)
	for _, wrong := range []string{s.canary(name+" with a space", " "), s.canary(name+" with a line", "\n"),
		s.canary(name+" with a NUL", "\x00")} {
		if _, err := s.admin(wrong, append(args, "--credential-file", "-")...); err == nil {
			s.t.Errorf("%q was accepted as a credential", wrong)
		}
	}
	if at := slices.Index(args, "--base-url"); at >= 0 {
		inURL := slices.Clone(args)
		inURL[at+1] = (&url.URL{Scheme: "https", User: url.UserPassword("u", s.canary(name+" in the URL", "")),
			Host: "provider.example"}).String()
		if _, err := s.admin("harmless", append(inURL, "--credential-file", "-")...); err == nil {
			s.t.Errorf("%s was accepted as the address of a provider", inURL[at+1])
		}
	}
	// "connection add" may print more than the identifier, but not the credential.
	output, err := s.admin(s.canary(name, ""), append(args, "--credential-file", "-")...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.scan("output of "+strings.Join(args[:2], " "), output)
	s.connectionID = s.field(output, "/connection_id")
}

// logMessage matches the message of a log line in the text format.
var logMessage = regexp.MustCompile(`^time=\S+ level=[A-Z]+ msg=("(?:[^"\\]|\\.)*"|\S+)`)

// checkLogs checks that every log line of the servers has a row in docs/ops/logs.md, except those of net/http, and that
// none has an empty error or what a company has written.
func (s *canaryStory) checkLogs() {
	s.t.Helper()
	documented, err := os.ReadFile("../../docs/ops/logs.md")
	if err != nil {
		s.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.logs, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			found := logMessage.FindStringSubmatch(line)
			if found == nil {
				continue // of a crash dump, or in JSON
			}
			lines++
			message := strings.Trim(found[1], `"`)
			if !strings.HasPrefix(message, "http: ") && !bytes.Contains(documented, []byte("| `"+message+"` |")) {
				s.t.Errorf("docs/ops/logs.md does not have the line %s", line)
			}
			line = strings.Replace(line, "request_id="+marker, "", 1) // which a client chooses
			if strings.Contains(line, "<nil>") || strings.Contains(line, marker) {
				s.t.Errorf("the log has an empty error, or what a company has written: %s", line)
			}
		}
	}
	if lines < 100 {
		s.t.Errorf("%d log lines were found", lines)
	}
}

// serve starts the server and finds out its address.
func (s *canaryStory) serve(format string) {
	s.t.Helper()
	command := exec.Command(product,
		append([]string{"--log-level", "debug", "--log-format", format, "serve", "--public-url", "http://localhost",
			"--environment", "sandbox", "--key-file", s.keyFile, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
			"--webhook-ca", s.authority, "--webhook-allow-cidr", "127.0.0.1/32", "--retry-first", "50ms", "--retry-attempts",
			"2", "--poll-first", "100ms", "--poll-max", "1s", "--provider-timeout", "30s", "--purchase-interval", "1s",
			"--login-rate", "0", "--rate-limit", "0", "--otlp-endpoint", s.tracesURL,
			"--otlp-headers-file", filepath.Join(s.dir, "otlp-headers")},
			relayFlags(s.relay)...)...)
	command.Env = []string{"GOTRACEBACK=system", "QUITTANCE_DATABASE=" + s.address}
	var err error
	if s.server, err = startCommand(s.logs, "server-"+rand.Text(), command); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.server.alive() == nil {
			_ = s.server.kill() // the test has failed for another reason
		}
	})
	s.base = "http://" + s.listening(`"?listen"?[=:]"?([0-9.:]+)`)
	s.metrics = "http://" + s.listening(`"?metrics"?[=:]"?([0-9.:]+)`) + "/metrics"
}

func (s *canaryStory) listening(pattern string) string {
	s.t.Helper()
	found, err := s.server.says(regexp.MustCompile(pattern))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// do makes a call and searches the response, unless that response is meant to show a secret.
func (s *canaryStory) do(method, path, body string, header map[string]string) response {
	s.t.Helper()
	got := s.call(method, path, body, header)
	shows := got.status < 300 && method == http.MethodPost && (path == loginPath || path == subscriptionsPath ||
		path == apiKeysPath) && got.header.Get("Idempotency-Replayed") == ""
	if !shows {
		s.scan("page "+method+" "+path, got.body)
	}
	return got
}

// call makes a call and searches the head of the response.
func (s *canaryStory) call(method, path, body string, header map[string]string) response {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	received, err := s.caller.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer received.Body.Close()
	text, err := io.ReadAll(received.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var head bytes.Buffer
	if err := received.Header.Write(&head); err != nil {
		s.t.Fatal(err)
	}
	s.scan("page "+method+" "+path, head.Bytes())
	return response{status: received.StatusCode, header: received.Header, body: text}
}

const (
	loginPath         = "/api/v1/client/auth/login"
	passwordPath      = "/api/v1/client/auth/password"
	subscriptionsPath = "/api/v1/webhooks/subscriptions"
	apiKeysPath       = "/api/v1/client/api-keys"
	invoicesPath      = "/api/v1/client/invoices"
)

// jsonOf writes members as JSON; keys and values alternate.
func jsonOf(members ...string) string {
	object := map[string]string{}
	for n := 0; n < len(members); n += 2 {
		object[members[n]] = members[n+1]
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(text)
}

// want makes a call that must have the given status.
func (s *canaryStory) want(status int, method, path, body string, header map[string]string) response {
	s.t.Helper()
	got := s.do(method, path, body, header)
	if got.status != status {
		s.t.Errorf("%s %s: status %d, want %d: %.300s", method, path, got.status, status, got.body)
	}
	return got
}

// judge checks that the marker was found everywhere and the canaries nowhere.
func (s *canaryStory) judge() {
	kinds := []string{"file", "row", "page", "output", "log", "mail"}
	if s.engine == ledgertest.Postgres {
		kinds = append(kinds, "wal")
	}
	for _, kind := range kinds {
		if s.finds("marker", kind) == 0 {
			s.t.Errorf("the marker was not found in any %s: the scan of %d bytes is incomplete", kind, s.read[kind])
		}
	}
	for _, kind := range []string{"dump", "errors"} {
		if s.read[kind] == 0 {
			s.t.Errorf("nothing was read from any %s", kind)
		}
	}
	if s.finds("marker", "row attempts.answer") == 0 {
		s.t.Error("no response of the receiver is retained")
	}
	if s.withheld < len(echoes) {
		s.t.Errorf("%d documents are withheld, but the provider has echoed its credential %d times", s.withheld, len(echoes))
	}
	for found, times := range s.found {
		if !strings.HasPrefix(found, "marker as ") {
			s.t.Errorf("%s, %d times", found, times)
		}
	}
	s.t.Logf("searched: %v bytes", s.read)
}
