package main

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/internal/pgtest"
)

// atOnce is how many tests run at once: they wait for servers far more than they compute.
const atOnce = "6"

// withPostgres runs the tests beside a PostgreSQL cluster, if one is wanted.
type withPostgres struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (w withPostgres) Run() int { return pgtest.Run(w.m) }

// TestMain makes this very binary the command quittance: what the tests run is what users run, race detector included.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testscript.Main(withPostgres{m}, map[string]func(){"quittance": main})
}
