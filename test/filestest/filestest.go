//go:build unix

// Package filestest checks that what root creates for others belongs to them.
//
// Start reading at [GiveAway].
package filestest

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// The user and the group to whom [GiveAway] gives files. Neither has to exist.
const (
	uid = 4711
	gid = 4712
)

// GiveAway gives a file or directory to another user and group. It skips the test unless root runs it, because only
// root can.
func GiveAway(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// WantGivenAway fails the test unless a file or directory belongs to the user and the group of [GiveAway] and has a
// mode.
func WantGivenAway(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != uid || owner.Gid != gid || info.Mode() != mode {
		t.Errorf("%s: %d:%d with mode %v, want %d:%d with %v", path, owner.Uid, owner.Gid, info.Mode(), uid, gid, mode)
	}
}
