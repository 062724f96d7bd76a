package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/test/pgtest"
)

// TestRun contains the tests that need PostgreSQL, so that they can be left out together.
func TestRun(t *testing.T) {
	if !pgtest.Enabled() {
		return
	}
	t.Run("the command has a cluster that ends with it", func(t *testing.T) {
		t.Setenv(pgtest.EnvPostgres, "")
		t.Setenv("TMPDIR", shortTemp(t))
		var out, errs strings.Builder
		// The address ends in the escaped directory of the socket: %2F stands for each slash.
		script := `directory=$(echo "${QUITTANCE_TEST_POSTGRES##*=}" | sed s,%2F,/,g)
			test -S "$directory/.s.PGSQL.5432" && echo there
			exit 3`
		code := run(t.Context(), []string{"--", "sh", "-c", script}, &out, &errs)
		if code != 3 || out.String() != "there\n" {
			t.Errorf("code %d, output %q, errors %q; want 3 and a socket that is there", code, out.String(), errs.String())
		}
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
}

func TestInterruptEndsCommand(t *testing.T) {
	t.Setenv(pgtest.EnvPostgres, "postgres://given@/here")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs strings.Builder
	out := &cancelOnWrite{cancel: cancel}
	script := `trap "echo ending; exit 9" TERM; echo running; while :; do sleep 0.05; done`
	if code := run(ctx, []string{"sh", "-c", script}, out, &errs); code != 9 || out.String() != "running\nending\n" {
		t.Errorf("code %d, output %q, errors %q; want the command to be told and its own code 9", code, out.String(),
			errs.String())
	}
}

// cancelOnWrite keeps what is written and calls cancel.
type cancelOnWrite struct {
	strings.Builder
	cancel context.CancelFunc
}

func (w *cancelOnWrite) Write(p []byte) (int, error) {
	w.cancel()
	return w.Builder.Write(p)
}

func TestRunWithoutStarting(t *testing.T) {
	t.Setenv(pgtest.EnvPostgres, "postgres://given@/here")
	for name, c := range map[string]struct {
		args []string
		code int
		out  string
		errs string
	}{
		"a cluster that is given is passed on": {args: []string{"--", "sh", "-c", "echo $QUITTANCE_TEST_POSTGRES"},
			out: "postgres://given@/here\n"},
		"no command": {args: []string{"--"}, code: exitUsage, errs: "usage:"},
		"a command that does not exist": {args: []string{"./no-such-command"}, code: exitFailure,
			errs: "no-such-command"},
		"a command that fails": {args: []string{"false"}, code: 1},
		"a command that is killed": {args: []string{"sh", "-c", "kill -KILL $$"}, code: exitFailure,
			errs: "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(t.Context(), c.args, &out, &errs); code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			if out.String() != c.out || !strings.Contains(errs.String(), c.errs) {
				t.Errorf("output %q, errors %q", out.String(), errs.String())
			}
		})
	}
}

// shortTemp returns a temporary directory that every account may pass through; the path of t.TempDir is too long.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t-") //nolint:usetesting // t.TempDir is too long, and closed to other accounts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
