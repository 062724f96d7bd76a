//go:build unix

package secret_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReplacedKeyFileKeepsItsOwner checks that root can rotate the keys of a service that runs as another user.
func TestReplacedKeyFileKeepsItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 4711, 4712
	ring, path := newKeyFile(t)
	owned := func() {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != uid || owner.Gid != gid || info.Mode() != 0o600 {
			t.Errorf("%d:%d with mode %v", owner.Uid, owner.Gid, info.Mode())
		}
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := rotate(t, ring).ReplaceKeyFile(path); err != nil {
		t.Fatal(err)
	}
	owned()
	dir := t.TempDir()
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "new.key")
	if err := ring.WriteKeyFile(path); err != nil {
		t.Fatal(err)
	}
	owned()
}
