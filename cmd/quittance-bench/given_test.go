package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/internal/sandbox"
)

// TestGivenDeployment runs the scripts in testdata against a sandbox that somebody else started. It exports BASE_URL,
// EMAIL, PASSWORD and DATA_DIR to them.
func TestGivenDeployment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireUniqueNames: true, Setup: func(env *testscript.Env) error {
		info := runSandbox(t)
		for name, value := range map[string]string{"BASE_URL": info.BaseURL, "EMAIL": info.Email, "PASSWORD": info.Password, "DATA_DIR": info.DataDir} {
			env.Setenv(name, value)
		}
		return nil
	}})
}

// readyTimeout is how long a sandbox may take to become ready, on a busy machine.
const readyTimeout = time.Minute

// runSandbox runs a sandbox without limits of its own until the test ends.
func runSandbox(t *testing.T) (info sandbox.Info) {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	command := exec.Command("quittance", "sandbox", "--chaos", "off", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--ready-file", ready,
		"--rate-limit", "0", "--webhook-allow-cidr", "127.0.0.0/8")
	command.Stderr = t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended already
		if err := <-ended; err != nil {
			t.Errorf("the sandbox ended with %v", err)
		}
	})
	for deadline := time.Now().Add(readyTimeout); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(ready)
		if err == nil {
			if err := json.Unmarshal(text, &info); err != nil {
				t.Fatal(err)
			}
			return info
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sandbox is not ready: %v", err)
		}
	}
}
