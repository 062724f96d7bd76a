package ledger_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/schema"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// numberOf returns the number of a migration file.
func numberOf(t *testing.T, file string) int64 {
	t.Helper()
	number, _, _ := strings.Cut(path.Base(file), "_")
	n, err := strconv.ParseInt(number, 10, 64)
	kit.Must(t, err)
	return n
}

// migrationsOf returns the migrations of this version, up to a number; all for 0.
func migrationsOf(t *testing.T, last int64) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	files, err := fs.Glob(schema.Files(), "*.sql")
	kit.Must(t, err)
	for _, file := range files {
		if last == 0 || numberOf(t, file) <= last {
			text, err := fs.ReadFile(schema.Files(), file)
			kit.Must(t, err)
			out[file] = &fstest.MapFile{Data: text}
		}
	}
	return out
}

// thawed returns what in the migrations of a version is not as a release has them: a database of the release would
// never get it. The baseline has replaced the migrations of the releases before; TestBaseline compares it with their
// databases.
func thawed(t *testing.T, release ledgertest.Release, migrations fstest.MapFS) (faults []string) {
	t.Helper()
	if release.Migration <= schema.Baseline {
		return nil
	}
	left := maps.Clone(release.Migrations)
	for file, text := range migrations {
		name, sum := path.Base(file), sha256.Sum256(text.Data)
		switch released, known := left[name]; {
		case !known && numberOf(t, file) <= release.Migration:
			faults = append(faults, fmt.Sprintf("%s is new, but its number is not above that of the last migration of %s, %d",
				name, release.Version, release.Migration))
		case known && released != hex.EncodeToString(sum[:]):
			faults = append(faults, name+" was changed after the release of "+release.Version)
		}
		delete(left, name)
	}
	for name := range left {
		faults = append(faults, name+" is gone, but "+release.Version+" has it")
	}
	return faults
}

// TestReleasedMigrationsAreFrozen checks that no migration of a release has been changed, renamed or removed since, and
// that later ones have higher numbers.
func TestReleasedMigrationsAreFrozen(t *testing.T) {
	for _, release := range ledgertest.Releases(t) {
		for _, fault := range thawed(t, release, migrationsOf(t, 0)) {
			t.Error(fault)
		}
	}
	newest, err := schema.Newest("")
	kit.Must(t, err)
	next := ledgertest.Release{Version: "next", Migration: newest, Migrations: map[string]string{}}
	for file, text := range migrationsOf(t, 0) {
		sum := sha256.Sum256(text.Data)
		next.Migrations[file] = hex.EncodeToString(sum[:])
	}
	const first = "0047_baseline.sql"
	for name, change := range map[string]func(fstest.MapFS){
		"changed":  func(m fstest.MapFS) { m[first] = &fstest.MapFile{Data: append(slices.Clone(m[first].Data), '\n')} },
		"removed":  func(m fstest.MapFS) { delete(m, first) },
		"inserted": func(m fstest.MapFS) { m["0055_late.sql"] = &fstest.MapFile{} },
	} {
		migrations := migrationsOf(t, 0)
		if faults := thawed(t, next, migrations); len(faults) > 0 {
			t.Errorf("nothing was changed: %q", faults)
		}
		change(migrations)
		if faults := thawed(t, next, migrations); len(faults) != 1 {
			t.Errorf("a migration was %s: %q", name, faults)
		}
	}
}

// recordedStatements returns the statements that a release ran on an engine in its own tests.
func recordedStatements(t *testing.T, version, engine string) (texts []string) {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(ledgertest.ReleaseFile(t, version, "statements.jsonl.gz")))
	kit.Must(t, err)
	for lines := json.NewDecoder(unpacked); lines.More(); {
		var recorded [2]string
		kit.Must(t, lines.Decode(&recorded))
		if recorded[0] == engine {
			texts = append(texts, recorded[1])
		}
	}
	if len(texts) < 300 {
		t.Fatalf("only %d statements of %s are recorded for %s", len(texts), version, engine)
	}
	return texts
}

// TestReleasedStatements checks that every statement of the releases that may run on the schema of this version still
// can: servers of such a release run beside this one during an upgrade, and are started again if it is undone. On
// PostgreSQL, the types of parameters and columns must be the same too.
func TestReleasedStatements(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		for _, release := range ledgertest.Releases(t) {
			t.Run(engine+"/"+release.Version, func(t *testing.T) {
				t.Parallel()
				statements := recordedStatements(t, release.Version, engine)
				before := openPreparer(t, engine, migrationsOf(t, release.Migration))
				after := openPreparer(t, engine, migrationsOf(t, 0))
				if after.least(t) > release.Migration {
					return // it refuses this schema
				}
				if faults := before.faults(t, before, statements); len(faults) > 0 {
					t.Fatalf("the recorded statements do not fit the schema of %s itself: %q", release.Version,
						faults[:min(3, len(faults))])
				}
				for _, fault := range before.faults(t, after, statements) {
					t.Error(fault)
				}
				if testing.Short() {
					return // each breakage takes a database
				}
				for _, breakage := range breakages(engine) {
					broken := migrationsOf(t, 0)
					broken["90001_broken.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + breakage)}
					if len(before.faults(t, openPreparer(t, engine, broken), statements)) == 0 {
						t.Errorf("not noticed: %s", breakage)
					}
				}
			})
		}
	}
}

// breakages are migrations on which the statements of a release must not all succeed.
func breakages(engine string) []string {
	rebuilt := "drop table operator_recovery_codes; create table operator_recovery_codes (operator_id bytea not null, digest bytea not null, used_at bigint, %s);"
	out := []string{
		"alter table invoices rename to bills;",
		"alter table idempotency drop column entity_tag;",
		"alter table idempotency rename column entity_tag to tag;",
		fmt.Sprintf(rebuilt, "later text not null, primary key (operator_id, digest)"),
		"drop table limits;",
	}
	if engine == ledgertest.Postgres {
		out = append(out, "alter table operators alter column created_at type text using '';",
			"alter table settings drop constraint settings_pkey;", "alter table settings add column later text not null;")
	}
	return out
}

// preparer examines statements on a database that migrations have made.
type preparer struct {
	*ledgertest.Store
	f    *fixture.Fixture
	conn *pgx.Conn // of PostgreSQL
}

// openPreparer creates a database with the given migrations.
func openPreparer(t *testing.T, engine string, migrations fs.FS) preparer {
	t.Helper()
	s := ledgertest.Unmigrated(t, engine)
	kit.Must(t, fixture.MigrateTo(t.Context(), s.DB, migrations))
	p := preparer{Store: s, f: &fixture.Fixture{Store: s}}
	p.f.Raw = fixture.OpenRaw(t, s)
	if engine == ledgertest.Postgres {
		var err error
		p.conn, err = pgx.Connect(t.Context(), s.Address)
		kit.Must(t, err)
		t.Cleanup(func() { kit.Must(t, p.conn.Close(context.Background())) })
		_, err = p.conn.Exec(t.Context(), "set plan_cache_mode = force_generic_plan")
		kit.Must(t, err)
	}
	return p
}

// least returns the migration that programs must have to use the database.
func (p preparer) least(t *testing.T) int64 {
	t.Helper()
	return p.f.Number(t, `select coalesce(max(cast(value as bigint)), 0) from settings where key = 'least_migration'`)
}

// faults returns what keeps statements that fit the schema of p from doing the same on that of after.
func (p preparer) faults(t *testing.T, after preparer, statements []string) (faults []string) {
	t.Helper()
	for _, text := range statements {
		have, err := after.prepare(t, text)
		if err == nil {
			var want string
			want, err = p.prepare(t, text)
			if err == nil && have != want {
				err = fmt.Errorf("its types are %s, and were %s", have, want)
			}
		}
		if err == nil {
			err = after.mayInsert(t, text)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", strings.Join(strings.Fields(text), " "), err))
		}
	}
	return faults
}

var parameter = regexp.MustCompile(`\$(\d+)`)

// prepare has the database plan a statement for any values, and returns the types of its parameters and columns if it
// has types.
func (p preparer) prepare(t *testing.T, text string) (types string, err error) {
	t.Helper()
	if p.conn == nil {
		count := 0
		for _, found := range parameter.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(found[1])
			kit.Must(t, err)
			count = max(count, n)
		}
		_, err := p.f.Raw.ExecContext(t.Context(), "explain "+text, make([]any, count)...)
		return "", err
	}
	described, err := p.conn.Prepare(t.Context(), "examined", text)
	if err != nil {
		return "", err
	}
	defer func() { kit.Must(t, p.conn.Deallocate(t.Context(), "examined")) }()
	nulls := strings.TrimSuffix(strings.Repeat("null, ", len(described.ParamOIDs)), ", ")
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	// Only the plan shows that a conflict needs an index which is gone.
	if _, err := p.conn.Exec(t.Context(), "explain execute examined"+nulls, pgx.QueryExecModeSimpleProtocol); err != nil {
		return "", err
	}
	types = fmt.Sprint(described.ParamOIDs)
	for _, field := range described.Fields {
		types += fmt.Sprint(" ", field.Name, " ", field.DataTypeOID)
	}
	return types, nil
}

var insertion = regexp.MustCompile(`(?s)\binsert into (\w+)(?: as \w+)? \(([^)]*)\)`)

// mayInsert returns an error for a statement that inserts a row without a column that must not be null and has no
// default. No plan shows that.
func (p preparer) mayInsert(t *testing.T, text string) error {
	t.Helper()
	for _, found := range insertion.FindAllStringSubmatch(text, -1) {
		query := `select name from pragma_table_info('` + found[1] + `') where "notnull" = 1 and dflt_value is null`
		if p.conn != nil {
			query = `select column_name from information_schema.columns where table_schema = 'public' and table_name = '` +
				found[1] +
				`' and is_nullable = 'NO' and column_default is null and is_identity = 'NO' and is_generated = 'NEVER'`
		}
		given := strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
		for _, column := range textsOf(t, p.f, query) {
			if !slices.Contains(given, column) {
				return fmt.Errorf("it gives %s no %s, which must not be null", found[1], column)
			}
		}
	}
	return nil
}

// strings returns the values of a query with one column.
func textsOf(t *testing.T, f *fixture.Fixture, query string) (values []string) {
	t.Helper()
	rows, err := f.Raw.QueryContext(t.Context(), query)
	kit.Must(t, err)
	defer func() { kit.Must(t, rows.Close()) }()
	for rows.Next() {
		var value string
		kit.Must(t, rows.Scan(&value))
		values = append(values, value)
	}
	kit.Must(t, rows.Err())
	return values
}

// tooNew is what a later release says in a migration that takes away what this version needs.
const tooNew = `-- +goose Up
insert into settings (key, value) values ('least_migration', '90001') on conflict (key) do update set value = excluded.value;`

// TestLeastMigration: this version does not start on a database whose schema only later releases can use, changes
// nothing there, and is not ready if it runs already. A schema that needs no later release than this one does not keep
// it from starting.
func TestLeastMigration(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		later := migrationsOf(t, 0)
		later["90000_addition.sql"] = &fstest.MapFile{Data: []byte(`-- +goose Up
			insert into settings (key, value) values ('least_migration', '49') on conflict (key) do update set value = excluded.value;
			create table later (id bigint not null primary key);`)}
		kit.Must(t, fixture.MigrateTo(t.Context(), f.DB, later))
		kit.Must(t, f.Again(t).Ping(t.Context()))
		later["90001_removal.sql"] = &fstest.MapFile{Data: []byte(tooNew)}
		kit.Must(t, fixture.MigrateTo(t.Context(), f.DB, later))
		fixture.WantErr(t, f.Ping(t.Context()), base.ErrLaterRelease)
		before := f.Rows(t, "select * from settings order by key")
		_, err := ledger.Open(t.Context(), f.Address, f.Options)
		fixture.WantErr(t, err, base.ErrLaterRelease)
		if err != nil && !strings.Contains(err.Error(), "migration 90001") {
			t.Errorf("the error does not name the migration: %v", err)
		}
		if after := f.Rows(t, "select * from settings order by key"); !slices.Equal(before, after) {
			t.Errorf("the settings were %q and are %q", before, after)
		}
	})
}
