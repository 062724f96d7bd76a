package mail_test

import (
	"testing"

	"go.uber.org/goleak"

	"quittance/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(onCluster{m}) }

// onCluster runs the tests of this package with a PostgreSQL cluster, if they need one.
type onCluster struct{ m *testing.M }

func (c onCluster) Run() int { return pgtest.Run(c.m) }
