package integration_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

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
	command.Dir, command.Env, command.Stdin = t.TempDir(), bareEnvironment(t.TempDir()),
		strings.NewReader("qk_sandbox_"+strings.Repeat("x", 43))
	wantInterrupted(t, command, reached)
}

// wantInterrupted starts a command, sends it SIGTERM once it has reached what hangs, and checks that it says so and
// ends with status 1.
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
	if status, failed := errors.AsType[*exec.ExitError](err); !failed || status.ExitCode() != 1 ||
		!strings.Contains(problem.String(), "quittance: interrupted: ") {
		t.Errorf("%q: %v: %s", command.Args, err, &problem)
	}
}
