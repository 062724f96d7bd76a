//go:build unix

package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"quittance/internal/ops/backup"
	"quittance/test/filestest"
	"quittance/test/kit"
)

// TestBackupOfRootBelongsToOthers checks that a backup that root makes in a directory of another user belongs to that
// user, who may have to read, copy or remove it, and that what an interrupted backup has left does not matter.
func TestBackupOfRootBelongsToOthers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	filestest.GiveAway(t, home)
	backups := filepath.Join(home, "backups")
	place, err := backup.OpenDirectory(backups)
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
	if err := os.WriteFile(filepath.Join(backups, name, "part-000002.tmp"), []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	put("part-000002")
	for path, mode := range map[string]fs.FileMode{"": fs.ModeDir | 0o700, name: fs.ModeDir | 0o700,
		name + "/part-000001": 0o600, name + "/part-000002": 0o600} {
		filestest.WantGivenAway(t, filepath.Join(backups, path), mode)
	}
	if left, err := os.ReadDir(filepath.Join(backups, name)); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestOnlyRegularFilesAreRead checks that a restore neither waits for a pipe that somebody has put into the place of a
// part, nor follows a link out of it, nor reads a device.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place, err := backup.OpenDirectory(dir)
	kit.Must(t, err)
	const name = "20260131T220000.250Z-4f1c22ab"
	kit.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	secret := filepath.Join(dir, "secret")
	kit.Must(t, os.WriteFile(secret, []byte("text"), 0o600))
	at := func(part string) string { return filepath.Join(dir, name, part) }
	kit.Must(t, syscall.Mkfifo(at("pipe"), 0o600))
	kit.Must(t, os.Symlink(secret, at("link")))
	kit.Must(t, os.Symlink("/dev/zero", at("device")))
	kit.Must(t, os.Mkdir(at("directory"), 0o700))
	for _, part := range []string{"pipe", "link", "device", "directory"} {
		if _, err := place.Get(t.Context(), name, part, 100); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: %v, want %v", part, err, backup.ErrDamaged)
		}
	}
}
