//go:build unix

package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"quittance/internal/files"
)

// TestOwner checks that what root creates belongs to the owner of the directory, except through a link, and that an existing file keeps
// its owner.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 4711, 4712
	dir := t.TempDir()
	existing := filepath.Join(dir, "existing")
	if err := os.WriteFile(existing, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]uint32{existing: {0, 0}, filepath.Join(dir, "new"): {uid, gid}} {
		file, err := files.OpenOrCreate(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != want[0] || owner.Gid != want[1] || info.Mode() != 0o600 {
			t.Errorf("%s: %d:%d with mode %v, want %v", path, owner.Uid, owner.Gid, info.Mode(), want)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	owned := func(path string, mode fs.FileMode) {
		t.Helper()
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != uid || owner.Gid != gid || info.Mode() != mode {
			t.Errorf("%s: %d:%d with mode %v, want %d:%d with %v", path, owner.Uid, owner.Gid, info.Mode(), uid, gid, mode)
		}
	}
	inner := filepath.Join(dir, "inner")
	if err := files.CreateDirectory(inner); err != nil {
		t.Fatal(err)
	}
	owned(inner, fs.ModeDir|0o700)
	if err := files.CreateDirectory(inner); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory that exists: %v", err)
	}
	beside := filepath.Join(t.TempDir(), "beside")
	file, err := files.CreateFor(beside, filepath.Join(dir, "new"))
	if err != nil {
		t.Fatal(err)
	}
	owned(beside, 0o600)
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if _, err := files.CreateFor(beside+"2", filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the owner of nothing: %v", err)
	}
	if _, err := os.Lstat(beside + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file without its owner is left: %v", err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	if _, err := files.OpenOrCreate(link); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if _, err := os.Lstat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made where a link leads: %v", err)
	}
}
