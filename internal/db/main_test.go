package db

import (
	"os"
	"testing"

	"quittance/internal/pgtest"
	"quittance/test/kit"
)

func TestMain(m *testing.M) { os.Exit(kit.RunWithoutLeaks(onCluster{m})) }

// onCluster runs the tests of this package beside a PostgreSQL cluster, if one is wanted.
type onCluster struct{ m *testing.M }

func (c onCluster) Run() int { return pgtest.Run(c.m) }
