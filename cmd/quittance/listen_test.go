package main

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

// verified returns the events that have arrived and how many of them are final, repetitions not counted, and an error unless each is signed with one of the secrets.
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

// TestListen is the first hour of a developer: a sandbox, a program without a certificate, listen and trigger, without a login. Listener and
// server are killed and started again in between. Every event of the feed arrives with a valid signature, in order, and one that arrives
// again is announced.
func TestListen(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	w := &world{running: map[string]*process{}}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
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
		if err := eventually(patience, func() error {
			if _, n, err := program.verified(secrets); err != nil || n != terminal {
				return fmt.Errorf("%d final invoices have arrived, want %d: %w", n, terminal, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
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
		if said, err := os.ReadFile(filepath.Join(dir, "listen-1.out")); err != nil || !regexp.MustCompile(id+`.*\(repeated`).Match(said) {
			t.Errorf("request %d repeats %s without saying so: %v", n, id, err)
		}
	}
	if !slices.Equal(once, want) {
		t.Errorf("arrived: %v\nin the feed: %v", once, want)
	}
}
