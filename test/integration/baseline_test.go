package integration_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"quittance/internal/ledger/schema"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// What there is in a database, one text for each thing.
const (
	sqliteSchema = `select 'table ' || name || case wr when 1 then ' without rowid' else '' end
			from pragma_table_list where type = 'table' and schema = 'main' and name not like 'sqlite%'
		union all select 'column ' || m.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' '
			|| coalesce(c.dflt_value, 'no default') || ' key ' || c.pk
			from sqlite_schema m, pragma_table_xinfo(m.name) c where m.type = 'table' and m.name not like 'sqlite%'
		union all select 'reference ' || m.name || ' ' || f.seq || ' ' || f."from" || ' ' || f."table" || '.' || f."to" || ' '
			|| f.on_delete || ' ' || (select group_concat(g."from") from pragma_foreign_key_list(m.name) g where g.id = f.id)
			from sqlite_schema m, pragma_foreign_key_list(m.name) f where m.type = 'table'
		union all select 'constraint ' || m.name || ' ' || i.origin || ' ' || (select group_concat(x.name) from pragma_index_info(i.name) x)
			from sqlite_schema m, pragma_index_list(m.name) i where m.type = 'table' and i.origin <> 'c'
		union all select sql from sqlite_schema where type in ('index', 'trigger') and sql is not null`
	postgresSchema = `select 'column ' || a.attrelid::regclass || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' '
			|| a.attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), 'no default') || ' ' || a.attcompression::text
			from pg_attribute a join pg_class c on c.oid = a.attrelid
			left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
			where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
		union all select 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
			from pg_constraint where connamespace = 'public'::regnamespace
		union all select indexdef from pg_indexes where schemaname = 'public'
		union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
		union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace`
)

// checkClause matches a check of a table of SQLite, which has no other description of it.
var checkClause = regexp.MustCompile(`check \((?:[^()]|\([^()]*\))*\)`)

// described returns what there is in a database, sorted.
func described(t *testing.T, engine, address string) (things []string) {
	t.Helper()
	driver, query := "pgx", postgresSchema
	if engine == ledgertest.SQLite {
		driver, query, address = "sqlite", sqliteSchema, strings.TrimPrefix(address, "sqlite:")
	}
	db, err := sql.Open(driver, address)
	kit.Must(t, err)
	defer func() { kit.Must(t, db.Close()) }()
	read := func(query string) (texts []string) {
		rows, err := db.QueryContext(t.Context(), query)
		kit.Must(t, err)
		defer func() { kit.Must(t, rows.Close()) }()
		for rows.Next() {
			var text string
			kit.Must(t, rows.Scan(&text))
			texts = append(texts, strings.Join(strings.Fields(text), " "))
		}
		kit.Must(t, rows.Err())
		return texts
	}
	things = read(query)
	if engine == ledgertest.SQLite {
		for _, table := range read(`select name || ' ' || sql from sqlite_schema where type = 'table'`) {
			name, text, _ := strings.Cut(table, " ")
			for _, check := range checkClause.FindAllString(text, -1) {
				things = append(things, name+" "+check)
			}
		}
	}
	slices.Sort(things)
	if len(things) < 300 {
		t.Fatalf("only %d things are described", len(things))
	}
	return things
}

// baseline returns the migrations that make the schema of release 0.3.0.
func baseline(t *testing.T) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	files, err := fs.Glob(schema.Files(), "004*.sql")
	kit.Must(t, err)
	for _, file := range files {
		text, err := fs.ReadFile(schema.Files(), file)
		kit.Must(t, err)
		out[file] = &fstest.MapFile{Data: text}
	}
	return out
}

// TestBaseline checks that the baseline makes the schema that a database of the release has that it begins with, so
// that new databases and those of the release are alike.
func TestBaseline(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			release := ledgertest.Releases(t)[0]
			if release.Migration != schema.Baseline {
				t.Fatalf("the baseline is %d, and that of %s %d", schema.Baseline, release.Version, release.Migration)
			}
			_, address, _ := unpack(t, release.Version, engine)
			made := ledgertest.Unmigrated(t, engine)
			kit.Must(t, errors.Join(fixture.MigrateTo(t.Context(), made.DB, baseline(t)), made.DB.Close()))
			want := described(t, engine, address)
			if engine == ledgertest.SQLite { // 0.3.0 built this column anew
				rebuilt := slices.Index(want, "column connections.kind TEXT 1 '' key 0")
				if rebuilt < 0 {
					rebuilt = slices.Index(want, "column connections.kind text 1 '' key 0")
				}
				want[rebuilt] = strings.Replace(want[rebuilt], "''", "no default", 1)
				slices.Sort(want)
			}
			if d := cmp.Diff(want, described(t, engine, made.Address)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEarlierRelease checks that a database of a release before the baseline is refused as it is, by commands and
// servers alike.
func TestEarlierRelease(t *testing.T) {
	t.Parallel()
	d := newOlderDatabase(t)
	db, err := sql.Open("sqlite", d.path)
	kit.Must(t, err)
	_, err = db.ExecContext(context.WithoutCancel(t.Context()), `delete from goose_db_version where version_id > 35`)
	kit.Must(t, errors.Join(err, db.Close()))
	d.version = 35
	for _, args := range [][]string{{"migrate"}, {"serve"}, {"account", "list"}} {
		printed, ok := d.run(t, d.settings("key.json"), args...)
		if ok || !strings.Contains(printed, "release before 0.3.0") || !strings.Contains(printed, "0.3.0 first") {
			t.Errorf("%v: %v %s", args, ok, printed)
		}
		d.unchanged(t, strings.Join(args, " "))
	}
}
