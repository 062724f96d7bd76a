package events_test

import (
	"os"
	"testing"

	"quittance/test/ledgertest/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }
