// Package integration_test tests the program quittance as processes: what its users run, and what operators, networks,
// disks and databases do to it. Scenarios in testdata tell what single users see; the other tests kill, restart,
// replace and crowd servers.
//
// Its invariant: a test looks at what the program prints, answers, sends and stores, never at its inside, and it waits
// for these and for nothing else. Start reading at the scenarios, whose commands script_test.go describes, then at
// process.
package integration_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/internal/cli"
	"quittance/test/pgtest"
)

// raceOptions is the environment variable with the options of the race detector. By default a program sleeps for a
// second before it exits, and the tests run hundreds of commands.
const raceOptions = "GORACE"

// withPostgres runs the tests beside a PostgreSQL cluster, if one is required.
type withPostgres struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (w withPostgres) Run() int { return pgtest.Run(w.m) }

// TestMain makes this binary serve as the command quittance, so that the tests run what users run, with the race
// detector if enabled.
func TestMain(m *testing.M) {
	if err := os.Setenv(raceOptions, "atexit_sleep_ms=0 "+os.Getenv(raceOptions)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testscript.Main(withPostgres{m}, map[string]func(){"quittance": func() { os.Exit(cli.Main("")) }})
}
