// Command pgcluster runs another command with a private PostgreSQL cluster, which ends with the command:
//
//	pgcluster -- go test ./...
//
// With -durable before the dashes the server flushes its commits to disk, as in production. Without it, it does not,
// which is faster and sufficient for tests. The command finds the cluster's address in QUITTANCE_TEST_POSTGRES, so that
// the test processes of all packages share one server. If that variable is already set, pgcluster only runs the
// command. The exit code is that of the command. Start reading at run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"quittance/test/pgtest"
)

// Exit codes of pgcluster itself, as in a shell.
const (
	exitFailure = 1
	exitUsage   = 2
)

// stopGrace is how long the command may take to end after an interrupt.
const stopGrace = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command in args, which may begin with "-durable" and "--", and returns the exit code. When ctx ends, the
// command gets SIGTERM and then stopGrace to end.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	start := pgtest.StartShared
	if len(args) > 0 && args[0] == "-durable" {
		start, args = func() (*pgtest.Cluster, error) { return pgtest.Start("") }, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: pgcluster [-durable] [--] COMMAND [ARGUMENT…]")
		return exitUsage
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	cmd.Env = os.Environ()
	if os.Getenv(pgtest.EnvPostgres) == "" {
		cluster, err := start()
		if err != nil {
			fmt.Fprintln(stderr, "pgcluster:", err)
			return exitFailure
		}
		defer func() {
			if err := cluster.Stop(); err != nil {
				fmt.Fprintln(stderr, "pgcluster:", err)
				code = max(code, exitFailure)
			}
		}()
		cmd.Env = append(cmd.Env, pgtest.EnvPostgres+"="+cluster.URL())
	}
	err := cmd.Run()
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	fmt.Fprintln(stderr, "pgcluster:", err)
	return exitFailure
}
