package dbcopy

import (
	"os"
	"testing"

	"quittance/test/kit/leaks"
	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(func() int { return pgtest.Run(m) })) }
