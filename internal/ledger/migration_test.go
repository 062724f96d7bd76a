package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"golang.org/x/sync/errgroup"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/schema"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

var (
	comment       = regexp.MustCompile(`--[^\n]*`)
	newTable      = regexp.MustCompile(`\bcreate table (?:if not exists )?(\w+)`)
	uniqueIndex   = regexp.MustCompile(`^create unique index .*\bon (\w+)`)
	alteration    = regexp.MustCompile(`^alter table (?:if exists )?(?:only )?(\w+) (.*)$`)
	list          = regexp.MustCompile(`\([^()]*\)`)
	addsColumn    = regexp.MustCompile(`^add column `)
	builtAnew     = regexp.MustCompile(`drop table (\w+);\s*create table (\w+) \(`)
	temporary     = regexp.MustCompile(`create table (\w+)_before as select \* from (\w+);|drop table (\w+)_before;`)
	droppedUnique = regexp.MustCompile(`drop constraint (\w+)_(\w+)_key$`)
)

// notAdditive names what in a migration the version before it could not live with: its statements would fail, or its
// rows would be refused, or what it has stored would be gone.
func notAdditive(text string) (faults []string) {
	text = strings.ToLower(comment.ReplaceAllString(text, ""))
	fresh, loosened := map[string]bool{}, map[string]string{}
	for _, found := range newTable.FindAllStringSubmatch(text, -1) {
		fresh[found[1]] = true
	}
	for statement := range strings.SplitSeq(text, ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		first, _, _ := strings.Cut(statement, " ")
		switch first {
		case "drop", "truncate", "delete":
			faults = append(faults, "it takes away: "+statement)
		case "create":
			if found := uniqueIndex.FindStringSubmatch(statement); found != nil && !fresh[found[1]] &&
				(loosened[found[1]] == "" || !strings.Contains(statement, loosened[found[1]]+")")) {
				faults = append(faults, "it refuses rows that the version before may write: "+statement)
			}
		case "alter":
			found := alteration.FindStringSubmatch(statement)
			if found == nil {
				faults = append(faults, "it alters what is no table: "+statement)
				continue
			}
			if fresh[found[1]] {
				continue
			}
			actions := list.ReplaceAllString(found[2], "()") // the values of a check are separated by commas too
			for action := range strings.SplitSeq(actions, ", ") {
				if unique := droppedUnique.FindStringSubmatch(action); unique != nil && unique[1] == found[1] {
					// nor one that a unique column would have, and an index that has this column refuses less
					loosened[found[1]] = unique[2]
					continue
				}
				if !addsColumn.MatchString(action) || strings.Contains(action, "not null") && !strings.Contains(action, "default") {
					faults = append(faults, "it does more than to add what the version before need not know: "+statement)
				}
			}
		}
	}
	return faults
}

// TestAdditiveMigrations: after the baseline, a migration only adds, so that the version before it keeps running on the
// schema after it. One that refuses earlier releases, by the setting least_migration, may take away what only those
// use; TestReleasedStatements has the statements of the others. On SQLite, whose file has one server, a table or a
// column may be built anew under its old name. The words of an operation on a table that is not new in the same file
// give away what does not.
func TestAdditiveMigrations(t *testing.T) {
	files, err := fs.Glob(schema.Files(), "*.sql")
	kit.Must(t, err)
	looked := 0
	for _, file := range files {
		if numberOf(t, file) <= schema.Baseline {
			continue
		}
		read, err := fs.ReadFile(schema.Files(), file)
		kit.Must(t, err)
		looked++
		text := string(read)
		if strings.Contains(text, "'least_migration'") {
			continue
		}
		if found := builtAnew.FindStringSubmatch(text); found != nil && strings.HasSuffix(file, "_sqlite.sql") &&
			found[1] == found[2] {
			// a table of the same name and, by the tests that use it, the same columns
			text = temporary.ReplaceAllString(strings.Replace(text, "drop table "+found[1]+";", "", 1), "")
		}
		for _, fault := range notAdditive(text) {
			t.Errorf("%s: %s", file, fault)
		}
	}
	if looked == 0 {
		t.Error("no migration was looked at")
	}
	for _, bad := range []string{
		"drop table invoices;", "drop index if exists invoices_number;", "alter table invoices drop column number;",
		"alter table invoices rename column a to b;", "ALTER TABLE invoices\n  RENAME TO bills;",
		"alter table invoices add column a text not null;", "alter table invoices alter column a type bigint;",
		"alter table invoices alter column a set not null;", "alter table invoices add constraint c check (a > 0);",
		"alter table invoices drop constraint invoices_pkey;", "create unique index i on invoices (a);", "truncate events;",
		"delete from events;",
		"alter table invoices add column a text, add column b text not null;",
		"alter table invoices add column a text check (a in ('b', 'c')), drop column d;",
		"-- +goose StatementBegin\nalter table x drop column y;\n-- +goose StatementEnd",
	} {
		if len(notAdditive(bad)) == 0 {
			t.Errorf("not noticed: %s", bad)
		}
	}
	for _, good := range []string{
		"alter table invoices add column a text not null default 'b' check (a in ('b', 'c'));",
		"-- drop table is a word of a comment\nalter table invoices add column a text;",
		"alter table invoices add column a bigint not null default 0;",
		"create table t (a bigint not null, check (a > 0));\ncreate unique index i on t (a);",
		"create index i on invoices (a);", "update invoices set a = 1;",
	} {
		if faults := notAdditive(good); len(faults) > 0 {
			t.Errorf("%s: %v", good, faults)
		}
	}
}

// laterMigration is what the version after this one does to the schema. It takes its time, with its locks held.
const laterMigration = `-- +goose Up
create table later (id bigint not null primary key, tenant_id bytea references tenants (id));
alter table invoices add column later text;
alter table submissions add column later bigint not null default 7;
insert into later (id) values (1);
select pg_sleep(1);`

// TestMigrateBesideServing: two replicas of the version after this one start at once; one migrates, the other waits.
// This version serves meanwhile and afterwards, and starts on the schema that it does not know. While a long
// transaction keeps the migration from a table, nobody else is kept from it for long.
func TestMigrateBesideServing(t *testing.T) {
	if !slices.Contains(ledgertest.Engines(), ledgertest.Postgres) {
		return // a file has one server
	}
	t.Parallel()
	later := fstest.MapFS{"90001_later.sql": {Data: []byte(laterMigration)}}
	kit.Must(t, fs.WalkDir(schema.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schema.Files(), name)
		later[name] = &fstest.MapFile{Data: text}
		return err
	}))
	f := &fixture.Fixture{Store: ledgertest.Open(t, ledgertest.Postgres)}
	f.Raw = fixture.OpenRaw(t, f.Store)
	f.Company = f.NewCompany(t, "owner@example.com")
	ctx, stop := context.WithCancel(t.Context())
	long, err := f.Raw.BeginTx(t.Context(), nil)
	kit.Must(t, err)
	_, err = long.ExecContext(t.Context(), `lock table invoices in row exclusive mode`)
	kit.Must(t, err)
	var facts atomic.Int64
	migrated := make(chan int64, 1)
	fixture.Race(7, func(n int) {
		if n == 6 {
			defer func() { fixture.Must2(t, long.Commit()) }()
			fixture.Must2(t, f.WaitsForLock(t.Context(), "alter table invoices"))
			before := facts.Load()
			fixture.Must2(t, kit.Poll(func() error {
				if now := facts.Load(); now < before+20 && !t.Failed() {
					return fmt.Errorf("%d facts while the migration waits", now-before)
				}
				return nil
			}))
			return
		}
		if n < 2 {
			db, err := base.OpenUnmigrated(t.Context(), f.Address, f.Options)
			if err != nil {
				t.Error(err)
				return
			}
			fixture.Must2(t, errors.Join(fixture.MigrateTo(t.Context(), db, later), db.Ping(t.Context()), db.Close()))
			select {
			case migrated <- facts.Load():
			default:
				stop() // both have
			}
			return
		}
		for ctx.Err() == nil {
			created, err := invoices.Create(t.Context(), f.Tenant, fixture.Draft("INV-"+string(rune('A'+n))))
			if err == nil {
				_, err = invoices.Find(t.Context(), f.Tenant, created.ID)
			}
			if err == nil {
				_, err = invoices.DueSubmissionQueues(t.Context(), f.DB, base.ScanCursor{})
			}
			fixture.Must2(t, err)
			facts.Add(1)
		}
	})
	if before := <-migrated; facts.Load() <= before {
		t.Errorf("%d facts before the migration and none after", before)
	}
	if n := f.Number(t, `select count(*) from goose_db_version where version_id = 90001`); n != 1 {
		t.Errorf("it was migrated %d times", n)
	}
	f.DB = f.Again(t)
	f.Submit(t, "INV-AFTER")
	if n := f.Number(t, `select later from submissions`); n != 7 {
		t.Errorf("the new column holds %d", n)
	}
}

// TestHalfMadeBaseline checks that a database whose first start ended between the files of the baseline is finished at
// the next.
func TestHalfMadeBaseline(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := ledgertest.Unmigrated(t, engine)
			kit.Must(t, errors.Join(fixture.MigrateTo(t.Context(), s.DB, migrationsOf(t, 47)), s.DB.Close()))
			db, err := ledger.Open(t.Context(), s.Address, s.Options)
			kit.Must(t, err)
			newest, err := schema.Newest(engine)
			kit.Must(t, err)
			if version, err := db.SchemaVersion(t.Context()); err != nil || version != newest {
				t.Errorf("version %d, %v", version, err)
			}
			kit.Must(t, db.Close())
		})
	}
}

// TestOpenTogether checks that processes which open a new database at the same time all open it.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				s := ledgertest.Unmigrated(t, engine)
				kit.Must(t, s.DB.Close())
				var all errgroup.Group
				for range 4 {
					all.Go(func() error {
						db, err := ledger.Open(t.Context(), s.Address, s.Options)
						if err != nil {
							return err
						}
						return db.Close()
					})
				}
				if err := all.Wait(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestOldBackup checks that a backup of a release before the baseline is refused before anything is written.
func TestOldBackup(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		copied := ledger.Copied{Engine: engine, SchemaVersion: schema.Baseline - 1}
		address := "sqlite:" + filepath.Join(t.TempDir(), "absent", "q.db")
		_, err := ledger.Restore(t.Context(), address, base.Options{}, copied, "b",
			func(string) (io.Reader, error) { return nil, errors.ErrUnsupported })
		fixture.WantErr(t, err, ledger.ErrOldRelease)
	}
}
