package archtest_test

import (
	"log"
	"os"
	"path/filepath"
	"testing"
)

// TestMain runs the tests in the root of the repository, so that paths in them and in their messages are those that
// everybody writes.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
