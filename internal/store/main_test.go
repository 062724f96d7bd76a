package store_test

import (
	"fmt"
	"os"
	"testing"

	"quittance/test/kit/leaks"
	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(onCluster{m}.Run)) }

// onCluster runs the tests of this package beside a PostgreSQL cluster, if one is wanted.
type onCluster struct{ m *testing.M }

// Run implements goleak.TestingM.
func (c onCluster) Run() int {
	admin := os.Getenv(pgtest.EnvPostgres) // "" for a cluster that ends with the tests
	code := pgtest.Run(c.m)
	if err := dropKept(admin); err != nil {
		fmt.Fprintln(os.Stderr, "remove the twins:", err)
		return max(code, 1)
	}
	return code
}
