package backup_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/backup"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestRoundTrip restores a backup: every row and everything of the schema is as it was, except what a restore marks.
func TestRoundTrip(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, _ := directory(t)
		made := write(t, s, place)
		if made.Program != "1.2.3" || made.Content.Engine != s.Engine() || made.Content.Rows() < 60 ||
			made.Plain() < 20<<20 || len(made.Keys) != 1 {
			t.Errorf("the manifest: %+v", made)
		}
		kit.Must(t, verify(t.Context(), place, s.Options.Keys))
		address := empty(t, s.Engine())
		kit.Must(t, restore(t.Context(), place, s, address))
		before, after := content(t, s.Address), content(t, address)
		for _, table := range changedByRestore {
			delete(before, table)
			delete(after, table)
		}
		if difference := cmp.Diff(before, after); difference != "" || len(before) < 30 {
			t.Errorf("the rows of %d tables: %s", len(before), difference)
		}
		if difference := cmp.Diff(schema(t, s.Address), schema(t, address)); difference != "" {
			t.Errorf("the schema: %s", difference)
		}
		usable(t, s, address)
	})
}

// usable checks that a store opens the restored database, that it is marked as restored, and that new rows can be
// added.
func usable(t *testing.T, s *ledgertest.Store, address string) {
	t.Helper()
	ctx := t.Context()
	options := s.Options
	options.Now = nil
	db, err := ledger.Open(ctx, address, options)
	kit.Must(t, err)
	defer func() { kit.Must(t, db.Close()) }()
	if _, err := db.Authenticate(ctx, [32]byte{7}); err == nil {
		t.Error("a token of before the restore is accepted")
	}
	entries, err := db.Audit(ctx, base.AuditFilter{Limit: 100})
	kit.Must(t, err)
	if !slices.ContainsFunc(entries, func(e base.AuditEntry) bool {
		return e.Act == "database.restored" && strings.Contains(e.Details, `"backup":"2`)
	}) {
		t.Error("the audit log has no entry of the restore")
	}
	if _, err := identity.CreateAccount(ctx, db, "Another", identity.NewUser{Email: "another@palm.example", Name: "Owner",
		PasswordHash: "$hash"}); err != nil {
		t.Errorf("a new account: %v", err)
	}
	if open(t, address).QueryRowContext(ctx, `select 1 from tenants where restored_at is not null`).Scan(new(int)) != nil {
		t.Error("the database is not marked as restored")
	}
}

// TestRestoreOverwritesNothing: a restore leaves a database alone that exists, and one that is not empty.
func TestRestoreOverwritesNothing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, _ := directory(t)
		write(t, s, place)
		before := content(t, s.Address)
		if err := restore(t.Context(), place, s, s.Address); !errors.Is(err, ledger.ErrNotEmpty) {
			t.Errorf("into the database itself: %v", err)
		}
		if difference := cmp.Diff(before, content(t, s.Address)); difference != "" {
			t.Error(difference)
		}
		address := empty(t, s.Engine())
		if path, isSQLite := strings.CutPrefix(address, "sqlite:"); isSQLite {
			kit.Must(t, os.WriteFile(path+"-wal", []byte("of a lost database"), 0o600)) // SQLite would apply it
		} else {
			_, err := open(t, address).ExecContext(t.Context(),
				`create function something() returns int language sql as 'select 1'`)
			kit.Must(t, err)
		}
		if err := restore(t.Context(), place, s, address); !errors.Is(err, ledger.ErrNotEmpty) {
			t.Errorf("into a database with something in it: %v", err)
		}
	})
}

// interrupted is a place whose reads fail from a file on.
type interrupted struct {
	backup.Place
	from string
	err  error
}

func (p interrupted) Get(ctx context.Context, name, file string, most int64) ([]byte, error) {
	if file == p.from {
		return nil, p.err
	}
	return p.Place.Get(ctx, name, file, most)
}

// TestInterruptedRestore: while a restore is incomplete, no store opens the database, and a second attempt completes
// it.
func TestInterruptedRestore(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, _ := directory(t)
		write(t, s, place)
		cut := errors.New("cut off")
		address := empty(t, s.Engine())
		if err := restore(t.Context(), interrupted{place, "part-000003", cut}, s, address); !errors.Is(err, cut) {
			t.Fatalf("a restore that is interrupted: %v", err)
		}
		options := s.Options
		for _, use := range []base.SchemaUse{base.KeepSchema, base.UpdateSchema, base.MakeSchema} { // a command, a server
			options.Schema = use
			if db, err := ledger.Open(t.Context(), address, options); !errors.Is(err, ledger.ErrRestoring) {
				t.Errorf("an incomplete database opens: %v, %v", db, err)
			}
		}
		if s.Engine() == ledgertest.Postgres {
			db, err := base.OpenUnmigrated(t.Context(), address, s.Options)
			kit.Must(t, err)
			if _, err := backup.Write(t.Context(), db, place,
				backup.Options{Keys: s.Options.Keys, Random: rand.Reader}); err == nil {
				t.Error("an incomplete database is backed up")
			}
			kit.Must(t, db.Close())
		}
		kit.Must(t, restore(t.Context(), place, s, address))
		usable(t, s, address)
	})
}

// failing is a place where the write of a file fails after that of another one of the backup: parts are written at the
// same time.
type failing struct {
	backup.Place
	file string
}

var errFull = errors.New("no space left")

func (p failing) Put(ctx context.Context, name, file string, content []byte) error {
	if file == p.file {
		return errors.Join(errFull, kit.Poll(func() error {
			files, err := p.Files(ctx, name)
			if err == nil && len(files) == 0 {
				err = errors.New("no other file yet")
			}
			return err
		}))
	}
	return p.Place.Put(ctx, name, file, content)
}

// losing is a place that reports a part as written and loses it.
type losing struct{ backup.Place }

func (p losing) Put(ctx context.Context, name, file string, content []byte) error {
	if file == "part-000002" {
		return nil
	}
	return p.Place.Put(ctx, name, file, content)
}

// TestInterruptedBackup: a backup that fails at any part has no manifest and is never restored; the one before it is.
func TestInterruptedBackup(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, _ := directory(t)
		complete := write(t, s, place)
		s.Clock.Advance(time.Hour)
		for _, broken := range []backup.Place{failing{place, "part-000002"}, failing{place, "manifest.json"}, losing{place}} {
			if made, err := backup.Write(t.Context(), s.DB, broken,
				backup.Options{Keys: s.Options.Keys, Random: rand.Reader}); err == nil {
				t.Errorf("%T: the backup %s is complete", broken, made.Name)
			}
		}
		entries, err := backup.List(t.Context(), place, opener(s))
		kit.Must(t, err)
		if len(entries) != 4 {
			t.Errorf("%d backups", len(entries))
		}
		for _, entry := range entries {
			if (entry.Manifest != nil) != (entry.Name == complete.Name) {
				t.Errorf("%+v", entry)
			}
			if entry.Name != complete.Name {
				if _, err := backup.Find(t.Context(), place, entry.Name, opener(s)); !errors.Is(err, backup.ErrNone) {
					t.Errorf("an incomplete backup is found: %v", err)
				}
			}
		}
		found, err := backup.Find(t.Context(), place, "", opener(s))
		if err != nil || found.Manifest().Name != complete.Name {
			t.Errorf("the latest complete backup is %+v, %v", found, err)
		}
	})
}

// TestDamage alters a backup in every way: neither verify nor restore accepts it, and the database stays unusable.
func TestDamage(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, dir := directory(t)
		older := write(t, s, place)
		s.Clock.Advance(time.Hour)
		made := write(t, s, place)
		file := func(name string) string { return filepath.Join(dir, made.Name, name) }
		edit := func(name string, change func([]byte) []byte) func() error {
			return func() error {
				text, err := os.ReadFile(file(name))
				if err != nil {
					return err
				}
				return os.WriteFile(file(name), change(slices.Clone(text)), 0o600)
			}
		}
		replaced := func(old, with string) func([]byte) []byte {
			return func(text []byte) []byte { return []byte(strings.Replace(string(text), old, with, 1)) }
		}
		for name, damage := range map[string]func() error{
			"a bit":            edit("part-000002", func(text []byte) []byte { text[len(text)/2] ^= 1; return text }),
			"a shortened part": edit("part-000002", func(text []byte) []byte { return text[:len(text)-1] }),
			"an empty part":    edit("part-000002", func([]byte) []byte { return nil }),
			"a longer part":    edit("part-000002", func(text []byte) []byte { return append(text, 0) }),
			"a missing part":   func() error { return os.Remove(file("part-000002")) },
			"exchanged parts": func() error {
				return errors.Join(os.Rename(file("part-000001"), file("kept")),
					os.Rename(file("part-000002"), file("part-000001")), os.Rename(file("kept"), file("part-000002")))
			},
			"another release":   edit("manifest.json", replaced(`"program":"1.2.3"`, `"program":"1.2.4"`)),
			"another number":    edit("manifest.json", replaced(`"rows":20`, `"rows":21`)),
			"no seal":           edit("manifest.json", replaced(`"seal":"`, `"seal":"","x":"`)),
			"half a manifest":   edit("manifest.json", func(text []byte) []byte { return text[:len(text)/2] }),
			"an empty manifest": edit("manifest.json", func([]byte) []byte { return nil }),
			"another manifest": func() error {
				text, err := os.ReadFile(filepath.Join(dir, older.Name, "manifest.json"))
				return errors.Join(err, os.WriteFile(file("manifest.json"), text, 0o600))
			},
		} {
			before := map[string][]byte{}
			entries, err := os.ReadDir(filepath.Join(dir, made.Name))
			kit.Must(t, err)
			for _, entry := range entries {
				before[entry.Name()], err = os.ReadFile(file(entry.Name()))
				kit.Must(t, err)
			}
			kit.Must(t, damage())
			if err := verify(t.Context(), place, s.Options.Keys); !errors.Is(err, backup.ErrDamaged) {
				t.Errorf("%s: verify says %v", name, err)
			}
			if s.Engine() == ledgertest.Postgres && name != "a bit" && name != "no seal" {
				// What reads the parts is the same for both engines, and each database of PostgreSQL takes seconds to make.
				for name, text := range before {
					kit.Must(t, os.WriteFile(file(name), text, 0o600))
				}
				continue
			}
			address := empty(t, s.Engine())
			if err := restore(t.Context(), place, s, address); !errors.Is(err, backup.ErrDamaged) {
				t.Errorf("%s: restore says %v", name, err)
			}
			if path, isSQLite := strings.CutPrefix(address, "sqlite:"); isSQLite {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s: the database exists", name)
				}
			}
			for name, text := range before {
				kit.Must(t, os.WriteFile(file(name), text, 0o600))
			}
		}
		kit.Must(t, verify(t.Context(), place, s.Options.Keys))
	})
}

// slow is a place in which a part takes long.
type slow struct {
	backup.Place
	wait func()
}

func (p slow) Put(ctx context.Context, name, file string, content []byte) error {
	if file == "part-000001" {
		p.wait()
	}
	return p.Place.Put(ctx, name, file, content)
}

// TestSlowBackup: a backup that takes so long that another process may regard it as interrupted does not become
// complete.
func TestSlowBackup(t *testing.T) {
	t.Parallel()
	s := ledgertest.Open(t, ledgertest.SQLite)
	place, _ := directory(t)
	for took, complete := range map[time.Duration]bool{22 * time.Hour: true, 23*time.Hour + time.Second: false,
		25 * time.Hour: false} {
		made, err := backup.Write(t.Context(), s.DB, slow{place, func() { s.Clock.Advance(took) }},
			backup.Options{Keys: s.Options.Keys, Random: rand.Reader})
		if (err == nil) != complete {
			t.Errorf("after %v: %+v, %v", took, made, err)
		}
	}
	entries, err := backup.List(t.Context(), place, opener(s))
	kit.Must(t, err)
	if complete := slices.DeleteFunc(entries, func(e backup.Entry) bool { return e.Manifest == nil }); len(complete) != 1 {
		t.Errorf("complete: %+v", complete)
	}
}

// TestBackupIsOneMoment writes while a backup is written: all rows of a write are in it, or none.
func TestBackupIsOneMoment(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		place, _ := directory(t)
		raw := open(t, s.Address)
		_, err := raw.ExecContext(t.Context(), `insert into settings (key, value) values ('a', '0'), ('z', '0')`)
		kit.Must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		wrote := make(chan error, 1)
		var writes atomic.Int64
		another := func() { // waits for a write that begins later
			before := writes.Load()
			if err := kit.Poll(func() error {
				if writes.Load() < before+2 {
					return errors.New("nothing is written")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		go func() {
			for n := 1; ctx.Err() == nil; n++ {
				tx, err := raw.BeginTx(t.Context(), nil)
				if err == nil {
					_, err = tx.ExecContext(t.Context(), `update settings set value = $1 where key in ('a', 'z')`, strconv.Itoa(n))
				}
				if err == nil {
					_, err = tx.ExecContext(t.Context(), `insert into sealed_settings (id, value) values ($1, $1)`,
						[]byte(strconv.Itoa(n)))
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					wrote <- err
					return
				}
				writes.Add(1)
				time.Sleep(time.Millisecond) // or the copy gets no turn
			}
			wrote <- nil
		}()
		another()
		before := writes.Load()
		write(t, s, slow{place, another})
		stop()
		kit.Must(t, <-wrote)
		address := empty(t, s.Engine())
		kit.Must(t, restore(t.Context(), place, s, address))
		var a, z, n int
		kit.Must(t, open(t, address).QueryRowContext(t.Context(),
			`select (select cast(value as integer) from settings where key = 'a'),
			(select cast(value as integer) from settings where key = 'z'), (select count(*) from sealed_settings where length(value) < 20)`).Scan(&a, &z, &n))
		if a != z || a != n {
			t.Errorf("the backup shows several moments: %d, %d, %d", a, z, n)
		}
		if a < int(before) || a >= int(writes.Load()) {
			t.Errorf("the backup shows write %d, which is not between %d before and %d after it", a, before, writes.Load())
		}
	})
}
