package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quittance/internal/platform/files"
)

// TestFirstBackupIsDurable checks that the entries of everything that the first backup creates are on disk: without
// that of the place in its parent, a power failure would take the backup away.
func TestFirstBackupIsDurable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place, err := OpenDirectory(filepath.Join(root, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "20260131T220000.250Z-4f1c22ab"
	var synced []string
	place.sync = func(directory string) error {
		path, err := filepath.Rel(root, directory)
		synced = append(synced, path)
		if err != nil {
			return err
		}
		return files.SyncDirectory(directory)
	}
	put := func(want ...string) {
		t.Helper()
		synced = nil
		if err := place.Put(t.Context(), name, "part-000001", []byte("text")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(synced, want) {
			t.Errorf("synced %q, want %q", synced, want)
		}
	}
	put(".", "a", "a/b", "a/b/"+name)
	put("a/b/" + name)
	if text, err := os.ReadFile(filepath.Join(root, "a", "b", name, "part-000001")); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}
