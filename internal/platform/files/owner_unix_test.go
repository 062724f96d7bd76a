//go:build unix

package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"quittance/internal/platform/files"
	"quittance/test/filestest"
)

// TestOwner checks that what root creates belongs to the owner of the directory, except through a link, and that an
// existing file keeps its owner.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	existing, created := filepath.Join(dir, "existing"), filepath.Join(dir, "new")
	if err := os.WriteFile(existing, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	filestest.GiveAway(t, dir)
	for _, path := range []string{existing, created} {
		file, err := files.OpenOrCreate(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	filestest.WantGivenAway(t, created, 0o600)
	if info, err := os.Stat(existing); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("an existing file has another owner: %v, %v", info, err)
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

// TestOwnerOfAnother checks that a file that root creates for another one has its owner, and is not left without it.
func TestOwnerOfAnother(t *testing.T) {
	dir := t.TempDir()
	filestest.GiveAway(t, dir)
	beside := filepath.Join(t.TempDir(), "beside")
	file, err := files.CreateFor(beside, dir)
	if err != nil {
		t.Fatal(err)
	}
	filestest.WantGivenAway(t, beside, 0o600)
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if _, err := files.CreateFor(beside+"2", filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the owner of nothing: %v", err)
	}
	if _, err := os.Lstat(beside + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file without its owner is left: %v", err)
	}
}

// TestOwnerOfDirectory checks that a directory that root creates belongs to the owner of the one that it is in.
func TestOwnerOfDirectory(t *testing.T) {
	dir := t.TempDir()
	filestest.GiveAway(t, dir)
	inner := filepath.Join(dir, "inner")
	if err := files.CreateDirectory(inner); err != nil {
		t.Fatal(err)
	}
	filestest.WantGivenAway(t, inner, fs.ModeDir|0o700)
	if err := files.CreateDirectory(inner); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory that exists: %v", err)
	}
}
