package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quittance/internal/pgtest"
)

// drillLimit bounds one drill on a busy machine. A submission that was cut off before the provider had it takes over a minute.
const drillLimit = 8 * time.Minute

// stopGrace is how long a drill that is cancelled may take to end its processes.
const stopGrace = 30 * time.Second

// TestDisasterDrill runs the script in every set-up, with a short load. Where the set-up promises it, nothing may be lost. With a standby
// that is behind, the same drill must find losses.
func TestDisasterDrill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "quittance/cmd/quittance", "quittance/cmd/quittance-drill")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	setups := []string{"sqlite"}
	if pgtest.Enabled() {
		setups = append(setups, "standby", "archive", "lagging")
	}
	for _, setup := range setups {
		t.Run(setup, func(t *testing.T) {
			out, err := runDrill(t, bin, setup)
			status, failed := errors.AsType[*exec.ExitError](err)
			switch {
			case setup != "lagging" && (err != nil || !strings.Contains(out, "drill passed: "+setup)):
				t.Errorf("%v\n%s", err, out)
			case setup == "lagging" && (!failed || status.ExitCode() != 1 || !strings.Contains(out, "LOST company") || strings.Contains(out, "drill passed")):
				t.Errorf("losses were not found: %v\n%s", err, out)
			}
			t.Log(out)
		})
	}
}

// runDrill runs the script and returns what it prints.
func runDrill(t *testing.T, bin, setup string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../../scripts/disaster-drill")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), drillLimit)
	defer cancel()
	command := exec.CommandContext(ctx, script, "--bin", bin, "--seconds", "5", "--companies", "2", setup)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // it ends its processes
	command.WaitDelay = stopGrace
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestDrillUsage checks that a wrong command line of the script ends with status 2 and says how to use it.
func TestDrillUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"elsewhere"}, {"standby", "sqlite"}, {"--seconds", "0", "sqlite"}, {"--seconds", "x", "sqlite"}} {
		out, err := exec.CommandContext(t.Context(), "../../scripts/disaster-drill", args...).CombinedOutput()
		if status, ok := errors.AsType[*exec.ExitError](err); !ok || status.ExitCode() != 2 || !strings.HasPrefix(string(out), "usage: ") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}
