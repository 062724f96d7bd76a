package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/sandbox"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadyFile checks that the ready file is a new private file, even if another user has put a file at its path or
// next to it.
func TestReadyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim, ready := filepath.Join(dir, "victim"), filepath.Join(dir, "ready.json")
	check(t, os.WriteFile(victim, []byte("untouched"), 0o600))
	for _, link := range []string{ready, ready + ".new"} {
		check(t, os.Symlink(victim, link))
	}
	write := func() {
		t.Helper()
		check(t, sandbox.WriteReadyFile(ready, sandbox.Info{Password: "canary"}))
		if text, err := os.ReadFile(victim); err != nil || string(text) != "untouched" {
			t.Errorf("the other file holds %q, %v", text, err)
		}
		info, err := os.Lstat(ready)
		check(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	write()
	check(t, os.Remove(ready))
	check(t, os.Remove(ready+".new"))
	for _, open := range []string{ready, ready + ".new"} {
		check(t, os.WriteFile(open, nil, 0o600))
		check(t, os.Chmod(open, 0o666))
	}
	write()
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	check(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDataDirectory checks that a sandbox reports the absolute path of its data directory, and others have no access to
// it.
func TestDataDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.Mkdir("data", 0o777))
	check(t, os.Chmod("data", 0o777))
	started, _ := run(t, "data", func(c *sandbox.Config) { c.Empty = true })
	if info := started.Info; info.DataDir != filepath.Join(dir, "data") ||
		!strings.HasPrefix(info.ReceiverCA, info.DataDir) {
		t.Errorf("data directory %s, authority %s", info.DataDir, info.ReceiverCA)
	}
	if info, err := os.Stat("data"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
