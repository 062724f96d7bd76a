package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/test/kit"
)

// customerProgram is a program on this machine that keeps what it receives, with the header.
type customerProgram struct {
	mu       sync.Mutex
	received []http.Header
	bodies   [][]byte
}

func (p *customerProgram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.received, p.bodies = append(p.received, r.Header.Clone()), append(p.bodies, body)
}

// verified returns the events that have arrived and how many of them are final, repetitions not counted, and an error
// unless each is signed with one of the secrets.
func (p *customerProgram) verified(secrets []string) (ids []string, terminal int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, header := range p.received {
		event, failed := receiver.Verifier{Secrets: secrets}.Verify(header, p.bodies[n])
		err = errors.Join(err, failed)
		if event.Event == api.EventTerminal && !slices.Contains(ids, event.ID) {
			terminal++
		}
		ids = append(ids, event.ID)
	}
	return ids, terminal, err
}

// TestListen is the first hour of a developer: a sandbox, a program without a certificate, listen and trigger, without
// a login. Listener and server are killed and started again in between. Every event of the feed arrives with a valid
// signature, in order, and one that arrives again is announced.
func TestListen(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t)
	program := &customerProgram{}
	local := httptest.NewServer(program)
	t.Cleanup(local.Close)
	if _, err := w.runSandbox(dir, nil); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		command := exec.CommandContext(t.Context(), "quittance", args...)
		command.Env = bareEnvironment(dir)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &stderr)
		}
		return string(out)
	}
	var before []api.Event[json.RawMessage]
	if err := json.Unmarshal([]byte(run("events", "list", "--limit", "1000", "--json")), &before); err != nil {
		t.Fatal(err)
	}
	var secrets []string
	listen := func(began string) *process {
		name := fmt.Sprintf("listen-%d", len(secrets))
		p, err := start(dir, name, "listen", "--forward-to", local.URL+"/hooks")
		if err != nil {
			t.Fatal(err)
		}
		w.running[name] = p
		secret, err := p.says(regexp.MustCompile(`Signing secret of this run: (whsec_\S+)`))
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
		if _, err := p.says(regexp.MustCompile(`(` + began + `)`)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	arrived := func(terminal int) {
		t.Helper()
		kit.Eventually(t, func() error {
			if _, n, err := program.verified(secrets); err != nil || n != terminal {
				return fmt.Errorf("%d final invoices have arrived, want %d: %w", n, terminal, err)
			}
			return nil
		})
	}

	first := listen("Beginning with the next event")
	if out := run("trigger", "accepted"); !strings.Contains(out, "receiver_state         accepted (final)") {
		t.Errorf("trigger says\n%s", out)
	}
	arrived(1)
	delete(w.running, "listen-0")
	if err := first.kill(); err != nil {
		t.Fatal(err)
	}
	run("trigger", "accepted") // nobody listens
	second := listen("Continuing where the last run has stopped")
	arrived(2)
	if err := w.running[sandboxName].kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.says(regexp.MustCompile(`(The server does not answer)`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runSandbox(dir, nil); err != nil {
		t.Fatal(err)
	}
	run("trigger", "accepted")
	arrived(3)
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "listen-1.log"))
	if err != nil || strings.Count(string(text), "The server does not answer") != 1 {
		t.Errorf("%v: the server that was down is reported with more than one line:\n%s", err, text)
	}

	var after []api.Event[json.RawMessage]
	if err := json.Unmarshal([]byte(run("events", "list", "--limit", "1000", "--json")), &after); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range after[len(before):] {
		want = append(want, e.ID)
	}
	got, _, err := program.verified(secrets)
	if err != nil {
		t.Error(err)
	}
	var once []string
	for n, id := range got {
		if !slices.Contains(once, id) {
			once = append(once, id)
			continue
		}
		if said, err := os.ReadFile(filepath.Join(dir, "listen-1.out")); err != nil ||
			!regexp.MustCompile(id+`.*\(repeated`).Match(said) {
			t.Errorf("request %d repeats %s without saying so: %v", n, id, err)
		}
	}
	if !slices.Equal(once, want) {
		t.Errorf("arrived: %v\nin the feed: %v", once, want)
	}
}

// TestListenBesideOthers checks that a listener loses nothing when another sandbox starts and ends, and when the
// profile is removed. The commands then find the sandbox that still runs. The secret stays the same with --secret-file,
// and a damaged position is reported before anything else is said.
func TestListenBesideOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t)
	program := &customerProgram{}
	local := httptest.NewServer(program)
	t.Cleanup(local.Close)
	info, err := w.runSandbox(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "quittance", args...)
		command.Env, command.Stdin = bareEnvironment(dir), strings.NewReader(stdin)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	secretFile := filepath.Join(dir, "secret.txt")
	listenFlags := []string{"listen", "--forward-to", local.URL, "--secret-file", secretFile}
	listen := func(name, began string) *process {
		t.Helper()
		p, err := start(dir, name, listenFlags...)
		if err != nil {
			t.Fatal(err)
		}
		w.running[name] = p
		if _, err := p.says(regexp.MustCompile(`(` + began + `)`)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	arrived := func(terminal int) {
		t.Helper()
		key, err := os.ReadFile(secretFile)
		if err != nil {
			t.Fatal(err)
		}
		kit.Eventually(t, func() error {
			if _, n, err := program.verified([]string{strings.TrimSpace(string(key))}); err != nil || n != terminal {
				return fmt.Errorf("%d final invoices have arrived, want %d: %w", n, terminal, err)
			}
			return nil
		})
	}
	first := listen("first", "Beginning with the next event")

	// Another sandbox, whose data is temporary.
	ready := filepath.Join(dir, "other.json")
	other, err := start(dir, "other", "sandbox", "--chaos", "off", "--no-example", "--listen", "127.0.0.1:0",
		"--ready-file", ready)
	if err != nil {
		t.Fatal(err)
	}
	w.running["other"] = other
	if _, err := other.ready(ready); err != nil {
		t.Fatal(err)
	}
	if out := run("", "whoami"); strings.Contains(out, info.AccountID) {
		t.Errorf("the sandbox that has started last is not used:\n%s", out)
	}
	delete(w.running, "other")
	if err := other.stop(); err != nil {
		t.Fatal(err)
	}
	if out := run("", "whoami"); !strings.Contains(out, info.AccountID) {
		t.Errorf("the sandbox that still runs is not used:\n%s", out)
	}
	run("", "trigger", "accepted")
	arrived(1)

	// The listener ends, and continues later with the same secret.
	delete(w.running, "first")
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	run("", "trigger", "accepted")
	second := listen("second", "Continuing where the last run has stopped")
	arrived(2)

	// One event is sent again on request.
	key, err := os.ReadFile(secretFile)
	if err != nil {
		t.Fatal(err)
	}
	ids, _, err := program.verified([]string{strings.TrimSpace(string(key))})
	if err != nil {
		t.Fatal(err)
	}
	run("", "events", "resend", ids[0], "--forward-to", local.URL, "--secret-file", secretFile)
	if again, _, err := program.verified([]string{strings.TrimSpace(string(key))}); err != nil ||
		len(again) != len(ids)+1 || again[len(ids)] != ids[0] {
		t.Errorf("%s was not sent again: %v, %v", ids[0], again[len(ids):], err)
	}

	// The profile is removed under the listener, with its position.
	run(info.APIKey+"\n", "login", "--url", info.BaseURL+"/api/v1/", "--profile", "again")
	run("", "logout", "--profile", "sandbox")
	run("", "trigger", "accepted", "--profile", "again")
	arrived(3)
	delete(w.running, "second")
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}

	positions, err := filepath.Glob(filepath.Join(dir, ".config", "quittance", "listen", "sandbox", "*.json"))
	if err != nil || len(positions) != 1 {
		t.Fatalf("%v, %v", positions, err)
	}
	damaged := filepath.Join(dir, ".config", "quittance", "listen", "again", filepath.Base(positions[0]))
	if err := errors.Join(os.MkdirAll(filepath.Dir(damaged), 0o700),
		os.WriteFile(damaged, []byte(`{"run":7}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "quittance", "listen", "--forward-to", local.URL, "--profile", "again")
	command.Env = bareEnvironment(dir)
	out, err := command.CombinedOutput()
	if want := "quittance: position of the last run: " + damaged +
		" is damaged: --from start or --from TIME begins anew\n"; err == nil || string(out) != want {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}
