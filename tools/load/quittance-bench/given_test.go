package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/sandbox"
	"quittance/test/kit"
)

// TestGivenDeployment runs the scripts in testdata against a sandbox that somebody else started. It exports BASE_URL,
// EMAIL, PASSWORD and DATA_DIR to them.
func TestGivenDeployment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			info := runSandbox(t)
			for name, value := range map[string]string{"BASE_URL": info.BaseURL, "EMAIL": info.Email, "PASSWORD": info.Password,
				"DATA_DIR": info.DataDir} {
				env.Setenv(name, value)
			}
			return nil
		}})
}

// runSandbox runs a sandbox without limits of its own until the test ends.
func runSandbox(t *testing.T) (info sandbox.Info) {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	command := exec.Command("quittance", "sandbox", "--chaos", "off", "--listen", "127.0.0.1:0",
		"--data", filepath.Join(dir, "data"), "--ready-file", ready, "--rate-limit", "0", "--webhook-allow-cidr",
		"127.0.0.0/8")
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
	kit.Eventually(t, func() error {
		text, err := os.ReadFile(ready)
		if err != nil {
			return fmt.Errorf("the sandbox is not ready: %w", err)
		}
		return json.Unmarshal(text, &info)
	})
	return info
}
