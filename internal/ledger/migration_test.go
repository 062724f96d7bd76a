package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

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
	dropsCheck    = regexp.MustCompile(`^drop constraint \w+_check$`)
	rebuiltColumn = regexp.MustCompile(
		`alter table (\w+) drop column (\w+);\s*alter table (\w+) rename column (\w+)_rebuilt to (\w+);`)
	builtAnew     = regexp.MustCompile(`drop table (\w+);\s*create table (\w+) \(`)
	temporary     = regexp.MustCompile(`create table (\w+)_before as select \* from (\w+);|drop table (\w+)_before;`)
	droppedUnique = regexp.MustCompile(`drop constraint (\w+)_(\w+)_key$`)
	rebuilt       = regexp.MustCompile(`(?s)drop table (\w+);\s*alter table (\w+)_rebuilt rename to (\w+);`)
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
				if dropsCheck.MatchString(action) {
					continue // the version before writes no row that a check would have refused
				}
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

// TestAdditiveMigrations: from the third on, a migration only adds, so that the version before it keeps running on the
// schema after it. One that refuses earlier releases, by the setting least_migration, may take away what only those
// use; TestReleasedStatements has the statements of the others. On SQLite, whose file has one server, a table or a
// column may be built anew under its old name. The words of an operation on a table that is not new in the same file
// give away what does not.
func TestAdditiveMigrations(t *testing.T) {
	files, err := fs.Glob(schema.Files(), "*.sql")
	kit.Must(t, err)
	looked := 0
	for _, file := range files {
		if name := filepath.Base(file); name < "0003" {
			continue // they were released together, with nothing before them
		}
		read, err := fs.ReadFile(schema.Files(), file)
		kit.Must(t, err)
		looked++
		text := string(read)
		if strings.Contains(text, "'least_migration'") {
			continue
		}
		if found := rebuilt.FindStringSubmatch(text); found != nil && strings.HasSuffix(file, "_sqlite.sql") &&
			found[1] == found[2] && found[2] == found[3] {
			// a table of the same name and, by the tests that use it, the same columns
			text = strings.Replace(text, found[0], "", 1)
		}
		if found := rebuiltColumn.FindStringSubmatch(text); found != nil && strings.HasSuffix(file, "_sqlite.sql") &&
			found[1] == found[3] && found[2] == found[4] && found[4] == found[5] {
			text = strings.Replace(text, found[0], "", 1)
		}
		if found := builtAnew.FindStringSubmatch(text); found != nil && strings.HasSuffix(file, "_sqlite.sql") &&
			found[1] == found[2] {
			// the same, for a table that others refer to
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
		"create index i on invoices (a);", "alter table invoices drop constraint invoices_a_check;",
		"update invoices set a = 1;",
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

// TestAttemptsRebuilt: attempts that were made before their table was built anew are all there afterwards.
func TestAttemptsRebuilt(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		if !f.SingleServer() {
			return // another migration of SQLite alone
		}
		f.Tell(t, 3)
		before := f.Rows(t, "select * from attempts order by tenant_id, delivery_id, ordinal")
		if len(before) == 0 {
			t.Fatal("there are no attempts")
		}
		_, err := f.Raw.ExecContext(t.Context(), `create table before_it as select * from attempts;
			drop table attempts;
			create table attempts (tenant_id bytea not null, delivery_id bytea not null, ordinal bigint not null, started_at bigint not null,
				duration bigint not null, http_status bigint not null, error_class text not null, answer bytea not null, primary key (tenant_id, delivery_id, ordinal),
				foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id));
			insert into attempts select * from before_it;
			drop table before_it`)
		kit.Must(t, err)
		text, err := fs.ReadFile(schema.Files(), "0007_attempts_sqlite.sql")
		kit.Must(t, err)
		db, err := base.OpenUnmigrated(t.Context(), f.Address, f.Options)
		kit.Must(t, err)
		kit.Must(t, errors.Join(fixture.MigrateTo(t.Context(), db, fstest.MapFS{"90007_attempts.sql": {Data: text}}),
			db.Close()))
		if got := f.Number(t,
			"select count(*) from sqlite_schema where name = 'attempts' and sql like '%without rowid%'"); got != 1 {
			t.Errorf("the table was built anew %d times", got)
		}
		if after := f.Rows(t, "select * from attempts order by tenant_id, delivery_id, ordinal"); !slices.Equal(before,
			after) {
			t.Errorf("before %q\nafter  %q", before, after)
		}
	})
}
