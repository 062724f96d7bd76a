package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRunsUntilStopped: a stop signal is the success of the commands that run until then, and the failure of all others.
func TestRunsUntilStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{
		"serve --environment sandbox --database sqlite:a --key-file " + file: true, "sandbox": true, "sandbox --data a": true, "sandbox reset --data a": false,
		"provider-sandbox --credential-file " + file + " --data a": true, "listen --forward-to http://localhost:3000": true, "events tail": true, "events list": false,
		"migrate --database sqlite:a": false, "evidence verify --data a": false, "restore --from a --database sqlite:a --key-file a": false,
	} {
		var root cli
		parser, err := root.parser()
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse(strings.Fields(command))
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		if got := runsUntilStopped(parsed.Command()); got != want {
			t.Errorf("%s runs until it is stopped: %v, want %v", parsed.Command(), got, want)
		}
	}
}

// TestInterruptedLogin: a command that SIGTERM ends while it waits for a server says so and ends with status 1.
func TestInterruptedLogin(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	command := exec.CommandContext(t.Context(), "quittance", "login", "--url", server.URL)
	command.Dir, command.Env, command.Stdin = t.TempDir(), bareEnvironment(t.TempDir()), strings.NewReader("qk_sandbox_"+strings.Repeat("x", 43))
	wantInterrupted(t, command, reached)
}

// wantInterrupted starts a command, sends it SIGTERM once it has reached what hangs, and checks that it says so and ends with status 1.
func wantInterrupted(t *testing.T, command *exec.Cmd, reached <-chan struct{}) {
	t.Helper()
	var problem strings.Builder
	command.Stderr = &problem
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := command.Wait()
	if status, failed := errors.AsType[*exec.ExitError](err); !failed || status.ExitCode() != 1 || !strings.Contains(problem.String(), "quittance: interrupted: ") {
		t.Errorf("%q: %v: %s", command.Args, err, &problem)
	}
}
