package backup_test

import (
	"quittance/internal/ledger"
)

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quittance/internal/ops/backup"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestRetain keeps the latest complete backups of a database, and never counts or removes one that is damaged, being
// written, or of another database.
func TestRetain(t *testing.T) {
	t.Parallel()
	s, other := ledgertest.Open(t, ledgertest.SQLite), ledgertest.Open(t, ledgertest.SQLite)
	place, dir := directory(t)
	foreign, err := backup.Write(t.Context(), other.DB, place, backup.Options{Keys: s.Options.Keys, Random: rand.Reader})
	kit.Must(t, err)
	var made []*backup.Manifest
	var names []string
	for range 4 {
		s.Clock.Advance(time.Hour)
		made = append(made, write(t, s, place))
		names = append(names, made[len(made)-1].Name)
	}
	s.Clock.Advance(time.Hour)
	if _, err := backup.Write(t.Context(), s.DB, failing{place, "manifest.json"},
		backup.Options{Keys: s.Options.Keys, Random: rand.Reader}); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	kit.Must(t, os.WriteFile(filepath.Join(dir, names[2], "manifest.json"), []byte("{}"), 0o600))
	retain := func(written *backup.Manifest, keep int, want backup.Retained) {
		t.Helper()
		done, err := backup.Retain(t.Context(), place, opener(s), written, keep, s.Clock.Now())
		kit.Must(t, err)
		slices.Sort(done.Removed)
		if difference := cmp.Diff(want, done); difference != "" {
			t.Errorf("retained: %s", difference)
		}
	}
	unread := []string{names[2]}
	retain(made[3], 2, backup.Retained{Removed: names[:1], Unread: unread})
	retain(made[3], 1, backup.Retained{Removed: names[1:2], Unread: unread})
	retain(made[3], 1, backup.Retained{Unread: unread})
	entries, err := backup.List(t.Context(), place, opener(s))
	kit.Must(t, err)
	if len(entries) != 4 || entries[0].Name != foreign.Name {
		t.Errorf("left: %+v", entries)
	}
	// The clock was ahead when the last one was written.
	s.Clock.Advance(-2 * time.Hour)
	now := write(t, s, place)
	retain(now, 2, backup.Retained{Unread: unread, Later: names[3:]})
	retain(now, 1, backup.Retained{Unread: unread, Later: names[3:], Removed: names[3:]})
	s.Clock.Advance(27 * time.Hour)
	retain(now, 1, backup.Retained{Unread: unread, Removed: []string{entries[3].Name}})
	if found, err := os.ReadDir(dir); err != nil || len(found) != 3 {
		t.Errorf("left: %v, %v", found, err)
	}
	if _, err := backup.Retain(t.Context(), place, opener(s), now, 0, s.Clock.Now()); err == nil {
		t.Error("all backups may be removed")
	}
}

// TestSeveralDatabases: the latest backup of a place is not taken for that of another database, nor is the one of a
// database that was restored for the one of the database that was backed up.
func TestSeveralDatabases(t *testing.T) {
	t.Parallel()
	s := ledgertest.Open(t, ledgertest.SQLite)
	place, _ := directory(t)
	first := write(t, s, place)
	s.Clock.Advance(time.Hour)
	if second := write(t, s, place); second.Database != first.Database {
		t.Errorf("%s and %s are backups of one database", first.Database, second.Database)
	}
	_, err := ledger.MarkRestored(t.Context(), s.DB)
	kit.Must(t, err)
	s.Clock.Advance(time.Hour)
	restored := write(t, s, place)
	if restored.Database == first.Database {
		t.Error("a restored database has the identity of the one that was backed up")
	}
	if _, err := backup.Find(t.Context(), place, "", opener(s)); !errors.Is(err, backup.ErrSeveral) {
		t.Errorf("the latest: %v", err)
	}
	for _, m := range []*backup.Manifest{first, restored} {
		if found, err := backup.Find(t.Context(), place, m.Name, opener(s)); err != nil ||
			found.Manifest().Database != m.Database {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}
