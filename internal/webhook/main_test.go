package webhook_test

import (
	"os"
	"testing"

	"quittance/internal/pgtest"
	"quittance/test/kit/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(func() int { return pgtest.Run(m) })) }
