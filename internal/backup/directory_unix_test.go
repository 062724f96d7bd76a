//go:build unix

package backup_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"quittance/internal/backup"
)

// TestBackupOfRootBelongsToOthers checks that a backup that root makes in a directory of another user belongs to that user, who may
// have to read, copy or remove it, and that what an interrupted backup has left does not matter.
func TestBackupOfRootBelongsToOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	t.Parallel()
	const uid, gid = 4711, 4712
	home := t.TempDir()
	if err := os.Chown(home, uid, gid); err != nil {
		t.Fatal(err)
	}
	place, err := backup.OpenDirectory(filepath.Join(home, "backups"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "20260131T220000.250Z-4f1c22ab"
	put := func(part string) {
		t.Helper()
		if err := place.Put(t.Context(), name, part, []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	put("part-000001")
	if err := os.WriteFile(filepath.Join(home, "backups", name, "part-000002.tmp"), []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	put("part-000002")
	found := 0
	err = filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		found++
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != uid || owner.Gid != gid || path != home && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %d:%d with mode %v", path, owner.Uid, owner.Gid, info.Mode())
		}
		return nil
	})
	if err != nil || found != 5 {
		t.Errorf("%d entries, %v", found, err)
	}
}
