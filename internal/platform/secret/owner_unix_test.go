//go:build unix

package secret_test

import (
	"path/filepath"
	"testing"

	"quittance/test/filestest"
)

// TestReplacedKeyFileKeepsItsOwner checks that root can rotate the keys of a service that runs as another user.
func TestReplacedKeyFileKeepsItsOwner(t *testing.T) {
	ring, path := newKeyFile(t)
	filestest.GiveAway(t, path)
	if err := rotate(t, ring).ReplaceKeyFile(path); err != nil {
		t.Fatal(err)
	}
	filestest.WantGivenAway(t, path, 0o600)
	dir := t.TempDir()
	filestest.GiveAway(t, dir)
	path = filepath.Join(dir, "new.key")
	if err := ring.WriteKeyFile(path); err != nil {
		t.Fatal(err)
	}
	filestest.WantGivenAway(t, path, 0o600)
}
