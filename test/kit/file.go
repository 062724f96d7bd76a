package kit

import (
	"os"
	"path/filepath"
	"testing"
)

// File returns the path of a file of the repository by its name from the root, whichever package the test is in.
func File(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "ARCHITECTURE.md")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no repository is above %s, error %v", dir, err)
	return ""
}
