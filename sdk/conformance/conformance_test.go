// Package conformance holds the SDKs to one table of cases, cases.json, against the real binary. README.md describes
// the shape that the SDKs share, the protocol of their runners, and the table.
package conformance_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/test/kit"
)

// root is the root of the checkout, as seen from this package.
const root = "../.."

// runners is the number of processes for each SDK. Most cases spend their time waiting.
const runners = 3

// sdks are the commands of the runners, in the root of the checkout, by the directory of their SDK.
var sdks = map[string][]string{
	"client":         nil, // built by the test
	"sdk/typescript": {"node", "sdk/typescript/conformance/runner.mjs"},
	"sdk/python":     {"python3", "sdk/python/conformance/runner.py"},
}

// TestConformance runs every case with every SDK, and the programs of the guides.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	s := startSandbox(t)
	s.addPeople(t)
	for _, page := range guidePages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			s.testGuide(t, page)
		})
	}
	table := readTable(t)
	for dir, command := range sdks {
		if dir == "client" {
			command = []string{build(t, "quittance/sdk/conformance/gorunner")}
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			idle := make(chan *runner, runners)
			for range runners {
				idle <- startRunner(t, command)
			}
			for _, c := range table {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					r := <-idle
					defer func() { idle <- r }()
					s.play(t, r, c, filepath.Base(dir))
				})
			}
		})
	}
}

// build builds a program of the module and returns its path.
func build(t *testing.T, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(pkg))
	kit.Must(t, kit.Build(t.Context(), program, pkg))
	return program
}

// sandbox is a running sandbox of the binary.
type sandbox struct {
	BaseURL     string `json:"base_url"`
	Email       string `json:"email"`
	Password    string `json:"password"`
	ReceiverURL string `json:"receiver_url"`
	AccountID   string `json:"account_id"`
	DataDir     string `json:"data_dir"`
	APIKey      string `json:"api_key"`

	binary, key string
	ready       string // the ready file
	people      variables
}

// startSandbox starts the binary's sandbox, which ends with the test, and makes an API key.
func startSandbox(t *testing.T) *sandbox {
	t.Helper()
	binary, ready := build(t, "quittance/cmd/quittance"), filepath.Join(t.TempDir(), "ready.json")
	command := exec.Command(binary, "sandbox", "run", "--listen", "127.0.0.1:0", "--provider-listen", "127.0.0.1:0",
		"--chaos", "off", "--login-rate", "0", "--rate-limit", "0", "--poll-first", "100ms", "--poll-max", "1s",
		"--data", t.TempDir(), "--ready-file", ready)
	ended, log := startProcess(t, command)
	s := &sandbox{binary: binary, ready: ready}
	kit.Eventually(t, func() error {
		select {
		case <-ended:
			t.Fatalf("the sandbox has ended:\n%s", log.String())
		default:
		}
		text, err := os.ReadFile(ready)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, log.String())
		}
		return json.Unmarshal(text, s)
	})
	c, err := client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password})
	if err != nil {
		t.Fatal(err)
	}
	key, err := c.CreateAPIKey(t.Context(), api.APIKeyRequest{Name: new("conformance"),
		Scopes: []string{"read", "write", "submit", "webhooks"}})
	if err != nil {
		t.Fatal(err)
	}
	s.key = key.Key
	return s
}

// addPeople adds a viewer, and a colleague whose role the cases change.
func (s *sandbox) addPeople(t *testing.T) {
	t.Helper()
	viewer, colleague := s.user(t, "viewer"), s.user(t, "viewer")
	s.people = variables{"viewer_email": viewer["email"], "viewer_password": viewer["password"]}
	c := must(client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password}))(t)
	for user, err := range c.AllUsers(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if user.Email == colleague["email"] {
			s.people["colleague_id"], s.people["colleague_email"] = user.ID, user.Email
		}
	}
}

// administer runs an administration command of the binary and decodes what it prints, unless out is nil.
func (s *sandbox) administer(t *testing.T, out any, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), s.binary, append(args, "--data", s.DataDir, "--json")...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, printed)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(printed, out); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, printed)
	}
}

// user adds a user to the company, and returns the variables with which the user logs in.
func (s *sandbox) user(t *testing.T, role string) map[string]string {
	t.Helper()
	email := strings.ToLower("user-" + rand.Text() + "@example.com")
	var added struct {
		Password string `json:"password"`
	}
	s.administer(t, &added, "account", "user", "add", s.AccountID, "--email", email, "--role", role)
	return map[string]string{"email": email, "password": added.Password}
}

// startProcess starts a program, which ends with the test. Its output is in the log.
func startProcess(t *testing.T, command *exec.Cmd) (ended chan struct{}, log *buffer) {
	t.Helper()
	ended, log = make(chan struct{}), &buffer{}
	command.Stderr = log
	if command.Stdout == nil {
		command.Stdout = log
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var failed error
	go func() {
		failed = command.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		select {
		case <-ended:
		case <-time.After(kit.Patience()):
			t.Errorf("%s does not end: %v", command, command.Process.Kill())
			return
		}
		if failed != nil {
			t.Errorf("%s: %v\n%s", command, failed, log.String())
		}
	})
	return ended, log
}

// buffer is a [bytes.Buffer] that is safe for concurrent use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (b *buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// play makes the steps of a case.
func (s *sandbox) play(t *testing.T, r *runner, c testCase, sdk string) {
	if len(c.Steps) == 0 {
		t.Fatal("no steps")
	}
	v := variables{"unique": strings.ReplaceAll(fmt.Sprintf("%s-%x", sdk, time.Now().UnixNano()), " ", "-"), "sdk": sdk,
		"receiver_url": s.ReceiverURL, "email": s.Email, "password": s.Password, "api_key": s.key}
	maps.Copy(v, s.people)
	for n, step := range c.Steps {
		if err := s.take(t.Context(), r, c.Name, step, v); err != nil {
			t.Fatalf("step %d, %s: %v\n%s", n+1, step.Operation, err, r.log.String())
		}
	}
}

// take makes a step.
func (s *sandbox) take(ctx context.Context, r *runner, name string, step step, v variables) error {
	prefix := ""
	if strings.HasPrefix(step.BaseURL, "/") {
		prefix = strings.TrimRight(step.BaseURL, "/")
	}
	p := newProxy(s.BaseURL, prefix, step.Faults)
	defer p.close()
	line, err := v.instruction(name, step, p.URL)
	if err != nil {
		return err
	}
	got, err := r.ask(ctx, line)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.failure, got.check(name, step, v), p.checkRequestID(got), p.checkRequests(step, v))
}

// instruction returns the line of a step for a runner.
func (v variables) instruction(name string, step step, proxyURL string) (map[string]any, error) {
	line := map[string]any{"case": name, "operation": step.Operation}
	if !strings.HasPrefix(step.Operation, "webhooks.verify") && step.Operation != "webhooks.once" {
		line["base_url"], line["credentials"] = proxyURL+step.BaseURL, map[string]any{"api_key": v["api_key"]}
		if step.BaseURL != "" && !strings.HasPrefix(step.BaseURL, "/") {
			line["base_url"] = step.BaseURL
		}
	}
	for member, value := range map[string]any{"arguments": step.Arguments, "credentials": step.Credentials} {
		if value == nil {
			continue
		}
		expanded, err := v.expand(value)
		if err != nil {
			return nil, err
		}
		line[member] = expanded
	}
	if step.Options != nil {
		line["options"] = step.Options
	}
	return line, nil
}

// check compares an answer with the expectations of a step.
func (a answer) check(name string, step step, v variables) error {
	if a.Case != name {
		return fmt.Errorf("the answer is one of the case %q", a.Case)
	}
	switch {
	case step.Error != nil && a.Error == nil:
		return fmt.Errorf("result %s, want the error %s", show(a.Result), show(step.Error))
	case step.Error != nil:
		return v.match("error", step.Error, a.Error)
	case a.Error != nil:
		return fmt.Errorf("error %s, want a result", show(a.Error))
	case step.Result != nil:
		return v.match("result", step.Result, a.Result)
	default:
		return nil
	}
}

// checkRequestID checks that an error with a status has the request identifier of the last response.
func (p *proxy) checkRequestID(a answer) error {
	failed, ok := a.Error.(map[string]any)
	if !ok || failed["status"] == nil || len(p.arrivals) == 0 {
		return nil
	}
	want, got := p.arrivals[len(p.arrivals)-1].requestID, failed["request_id"]
	if got == nil {
		got = ""
	}
	if got != want {
		return fmt.Errorf("error.request_id is %v, want %q", got, want)
	}
	return nil
}

// checkRequests compares the requests that have arrived with those that a step expects.
func (p *proxy) checkRequests(step step, v variables) error {
	if len(p.faults) > 0 && !p.faults[0].Always {
		return fmt.Errorf("the fault %+v hit no request", p.faults[0])
	}
	if step.Requests == nil {
		return nil
	}
	var errs []error
	key := ""
	for n, a := range p.arrivals {
		if n < len(step.Requests) {
			if err := a.check(step.Requests[n], v, &key); err != nil {
				errs = append(errs, fmt.Errorf("request %d: %w", n+1, err))
			}
		}
	}
	if len(p.arrivals) != len(step.Requests) {
		arrived := ""
		for _, a := range p.arrivals {
			arrived += "\n" + a.method + " " + a.path
		}
		errs = append(errs, fmt.Errorf("%d requests, want %d:%s", len(p.arrivals), len(step.Requests), arrived))
	}
	return errors.Join(errs...)
}

// check compares a request with what is expected of it. key is that of the request before.
func (a *arrival) check(want expected, v variables, key *string) error {
	method, wantPath, _ := strings.Cut(v.fill(want.Is), " ")
	var errs []error
	if a.method != method || a.path != wantPath {
		errs = append(errs, fmt.Errorf("%s %s, want %s %s", a.method, a.path, method, wantPath))
	}
	if want.Query != nil {
		errs = append(errs, v.checkQuery(*want.Query, a.query))
	}
	for name, value := range want.Headers {
		got := a.header.Get(name)
		if beginning, ok := strings.CutPrefix(value, "^"); ok && strings.HasPrefix(got, beginning) {
			continue
		}
		if got != value {
			errs = append(errs, fmt.Errorf("header %s %q, want %q", name, got, value))
		}
	}
	if want.Body != nil {
		body, err := decode(a.body)
		errs = append(errs, err, v.match("body", want.Body, body))
	}
	if waited := a.sincePrevious.Milliseconds(); waited < want.WaitMS {
		errs = append(errs, fmt.Errorf("after %d ms, want %d ms", waited, want.WaitMS))
	}
	sent := a.header.Get("Idempotency-Key")
	switch {
	case want.Key == "none" && sent != "", want.Key == "first" && sent == "",
		want.Key == "same" && (sent == "" || sent != *key),
		want.Key == "new" && (sent == "" || sent == *key):
		errs = append(errs, fmt.Errorf("Idempotency-Key %q, want %s; the one before is %q", sent, want.Key, *key))
	}
	*key = sent
	return errors.Join(errs...)
}

// fill replaces the variables in braces, such as {id}.
func (v variables) fill(text string) string {
	for name, value := range v {
		if s, ok := value.(string); ok {
			text = strings.ReplaceAll(text, "{"+name+"}", s)
		}
	}
	return text
}

// checkQuery compares the parameters of a query in any order and encoding.
func (v variables) checkQuery(want, got string) error {
	wanted, err := url.ParseQuery(want)
	if err != nil {
		return err
	}
	for name := range wanted {
		wanted.Set(name, v.fill(wanted.Get(name)))
	}
	sent, err := url.ParseQuery(got)
	if err != nil {
		return err
	}
	if sent.Encode() != wanted.Encode() {
		return fmt.Errorf("query %s, want %s", sent.Encode(), wanted.Encode())
	}
	return nil
}
