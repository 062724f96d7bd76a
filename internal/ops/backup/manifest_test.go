package backup_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/internal/ops/backup"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestKeysOfABackup: the keys of another database do not accept a backup, and a key file without a needed key is
// refused before anything is loaded. A backup of before a rotation is accepted by the key file of after it.
func TestKeysOfABackup(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, dir := directory(t)
		made := write(t, s, place)
		others, err := secret.Generate()
		kit.Must(t, err)
		if err := verify(t.Context(), place, others); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("with other keys: %v", err)
		}
		rotated := s.Rotated(t)
		kit.Must(t, verify(t.Context(), place, rotated))
		kit.Must(t, verify(t.Context(), place, nil)) // finds accidental damage only
		lacksKey(t, s, rotated)
		for _, entry := range []string{"manifest.json", "part-000001"} {
			info, err := os.Stat(filepath.Join(dir, made.Name, entry))
			kit.Must(t, err)
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", entry, info.Mode())
			}
		}
	})
}

// lacksKey restores a backup whose manifest is sealed with the new key of a rotation, and which has secrets that are
// sealed with the old one. The key file of the restore has the new one only.
func lacksKey(t *testing.T, s *ledgertest.Store, rotated *secret.Keyring) {
	t.Helper()
	place, _ := directory(t)
	_, err := backup.Write(t.Context(), s.DB, place, backup.Options{Keys: rotated, Random: rand.Reader})
	kit.Must(t, err)
	options := s.Options
	options.Now = nil
	options.Keys, err = rotated.Disable(s.Options.Keys.PrimaryID())
	kit.Must(t, err)
	source, err := backup.Find(t.Context(), place, "", backup.Opener{Keys: options.Keys})
	kit.Must(t, err)
	unread := interrupted{place, "part-000001", errors.New("a part is read")}
	source, err = backup.Find(t.Context(), unread, source.Manifest().Name, backup.Opener{Keys: options.Keys})
	kit.Must(t, err)
	address := empty(t, s.Engine())
	if _, err := source.Restore(t.Context(), address, options); err == nil || !strings.Contains(err.Error(), "lacks key") {
		t.Errorf("with a key file without a needed key: %v", err)
	}
	options.Keys = rotated
	source, err = backup.Find(t.Context(), place, "", backup.Opener{Keys: rotated})
	kit.Must(t, err)
	if _, err := source.Restore(t.Context(), address, options); err != nil {
		t.Errorf("with the complete key file: %v", err)
	}
}

// resealed changes the manifest of a backup and writes it without a valid seal, as one that has no key can do.
func resealed(t *testing.T, dir, name string, change func(m *backup.Manifest)) {
	t.Helper()
	path := filepath.Join(dir, name, "manifest.json")
	text, err := os.ReadFile(path)
	kit.Must(t, err)
	var file struct {
		Manifest backup.Manifest `json:"manifest"`
		Seal     []byte          `json:"seal"`
	}
	kit.Must(t, json.Unmarshal(text, &file))
	change(&file.Manifest)
	text, err = json.Marshal(file)
	kit.Must(t, err)
	kit.Must(t, os.WriteFile(path, text, 0o600))
}

// TestForgedManifest: a manifest that is read without the keys is checked nevertheless, and its errors say what is
// wrong.
func TestForgedManifest(t *testing.T) {
	t.Parallel()
	s := ledgertest.Open(t, ledgertest.SQLite)
	for want, change := range map[string]func(m *backup.Manifest){
		"decompresses to": func(m *backup.Manifest) { m.Streams[0].Parts[0].Plain--; m.Streams[0].Bytes-- },
		"bytes instead of 1": func(m *backup.Manifest) {
			m.Streams[0].Bytes -= m.Streams[0].Parts[0].Plain - 1
			m.Streams[0].Parts[0].Plain = 1
		},
		"control characters": func(m *backup.Manifest) { m.Program = "\x1b[2J" },
		"impossible size":    func(m *backup.Manifest) { m.Streams[0].Parts[0].Plain = 1 << 40 },
	} {
		place, dir := directory(t)
		made := write(t, s, place)
		resealed(t, dir, made.Name, change)
		err := verify(t.Context(), place, nil)
		if !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
