package mail_test

import (
	"os"
	"testing"

	"quittance/internal/pgtest"
	"quittance/test/kit"
)

func TestMain(m *testing.M) { os.Exit(kit.RunWithoutLeaks(onCluster{m})) }

// onCluster runs the tests of this package with a PostgreSQL cluster, if they need one.
type onCluster struct{ m *testing.M }

func (c onCluster) Run() int { return pgtest.Run(c.m) }
