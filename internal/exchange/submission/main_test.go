package submission_test

import (
	"os"
	"testing"

	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
