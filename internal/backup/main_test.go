package backup_test

import (
	"os"
	"testing"

	"quittance/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
