package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// atOnce is how many tests run at once: they wait for servers far more than they compute.
const atOnce = "6"

// root is the root of the repository, whose module has the program to measure.
const root = "../../.."

// TestMain makes this test binary the command quittance-bench and builds the command quittance, the program to measure,
// into a directory in PATH.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testscript.Main(withServer{m}, map[string]func(){name: main})
}

// withServer runs the tests next to the program to measure and, when the tests use one, a PostgreSQL cluster.
type withServer struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (w withServer) Run() int {
	dir, err := os.MkdirTemp("", "quittance-bench-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if err := kit.BuildIn(context.Background(), root, filepath.Join(dir, "quittance"), "./cmd/quittance"); err != nil {
		fmt.Fprintf(os.Stderr, "build the program to measure: %v\n", err)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return pgtest.Run(w.m)
}
