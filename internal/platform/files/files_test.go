package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"quittance/internal/platform/files"
)

// TestLock checks that a file has one lock, which ends when its handle is closed, and that a locked file can be read.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	first, second := open(), open()
	if err := files.TryLock(first); err != nil {
		t.Fatal(err)
	}
	if err := files.TryLock(second); !errors.Is(err, files.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "content" {
		t.Errorf("read a locked file: %q, %v", text, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := files.Lock(second); err != nil {
		t.Errorf("the lock after its end: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := files.TryLock(second); err == nil || errors.Is(err, files.ErrLocked) {
		t.Errorf("the lock of a closed file: %v", err)
	}
}

// TestMakePrivate checks that only the owner has access afterwards.
func TestMakePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if tightened, err := files.MakePrivate(path); err != nil || tightened != want {
			t.Errorf("tightened: %t, %v; want %t", tightened, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || files.Grants(info, 0o077) || !files.Grants(info, 0o600) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
