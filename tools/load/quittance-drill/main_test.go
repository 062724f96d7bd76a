//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// drillLimit bounds one drill on a busy machine. A submission that was cut off before the provider had it takes over a
// minute.
const drillLimit = 15 * time.Minute

// stopGrace is how long a drill that is cancelled may take to end its processes.
const stopGrace = 2 * time.Minute

// drills is how many drills run at a time. They wait most of the time.
const drills = 2

// root is the root of the repository, whose module has the server, and script is what makes the disaster.
const (
	root   = "../../.."
	script = root + "/scripts/disaster-drill"
)

// TestDisasterDrill runs the script in every set-up, with a short load. Where the set-up promises it, nothing may be
// lost. With a standby that is behind, the same drill must find losses. A drill that is cancelled leaves nothing.
func TestDisasterDrill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	bin := t.TempDir()
	kit.Must(t, kit.BuildIn(t.Context(), root, bin+"/", "./cmd/quittance"))
	kit.Must(t, kit.Build(t.Context(), bin+"/", "quittance/tools/load/quittance-drill"))
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		checkCancelled(t, bin)
	})
	places := make(chan struct{}, drills)
	setups := []string{"sqlite"}
	if pgtest.Enabled() {
		setups = append(setups, "standby", "archive", "lagging")
	}
	for _, setup := range setups {
		t.Run(setup, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(t.Context(), drillLimit)
			defer cancel()
			out, err := scripted(ctx, t, "--bin", bin, "--seconds", "5", "--companies", "2", setup).CombinedOutput()
			status, failed := errors.AsType[*exec.ExitError](err)
			switch {
			case setup != "lagging" && (err != nil || !bytes.Contains(out, []byte("drill passed: "+setup))):
				t.Errorf("%v\n%s", err, out)
			case setup == "lagging" && (!failed || status.ExitCode() != 1 || !bytes.Contains(out, []byte("LOST company")) ||
				bytes.Contains(out, []byte("drill passed"))):
				t.Errorf("losses were not found: %v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// scripted returns the script as a command, which ends what it has started when ctx ends. The signal is for its process
// group: bash obeys it only when the program that it waits for has ended.
func scripted(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, script, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopGrace
	return command
}

// checkCancelled checks that a drill that is cancelled while it waits leaves no process and no file.
func checkCancelled(t *testing.T, bin string) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := scripted(ctx, t, "--bin", bin, "--seconds", "3600", "--companies", "1", "sqlite")
	command.Env = append(os.Environ(), "TMPDIR="+dir)
	ended := make(chan error, 1)
	go func() { ended <- command.Run() }()
	journal := filepath.Join(dir, "quittance-drill-*", "journal.jsonl")
	kit.Until(t, "the load begins", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the drill has ended: %v", err)
		default:
		}
		found, err := filepath.Glob(journal)
		kit.Must(t, err)
		return len(found) > 0
	})
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled drill succeeds")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if line, _ := os.ReadFile(process); bytes.Contains(line, []byte(dir)) { // it may have ended
			t.Errorf("%s still runs: %q", process, line)
		}
	}
}

// TestDrillUsage checks that a wrong command line of the script ends with status 2 and says how to use it.
func TestDrillUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"elsewhere"}, {"standby", "sqlite"}, {"--seconds", "0", "sqlite"},
		{"--seconds", "x", "sqlite"}} {
		out, err := exec.CommandContext(t.Context(), script, args...).CombinedOutput()
		if status, ok := errors.AsType[*exec.ExitError](err); !ok || status.ExitCode() != 2 ||
			!strings.HasPrefix(string(out), "usage: ") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}
