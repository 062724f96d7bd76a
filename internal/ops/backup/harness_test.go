package backup_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"quittance/client/api"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/backup"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
	"quittance/test/s3test"
)

// forEachEngine runs a test with a store that has a company, drafts and rows of more than one part.
func forEachEngine(t *testing.T, test func(t *testing.T, s *ledgertest.Store)) {
	t.Helper()
	t.Parallel()
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := ledgertest.Open(t, engine)
		fill(t, s)
		test(t, s)
	})
}

// fill creates a company with a session, drafts, and a table that is larger than two parts and contains every byte and
// what COPY has to quote.
func fill(t *testing.T, s *ledgertest.Store) {
	t.Helper()
	ctx := t.Context()
	account, err := identity.CreateAccount(ctx, s.DB, "Palm Trading LLC", identity.NewUser{Email: "owner@palm.example",
		Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	tenant, err := s.Tenant(ctx, account.ID)
	kit.Must(t, err)
	for n := range 20 {
		_, err := invoices.Create(ctx, tenant, &api.Draft{InvoiceNumber: new(fmt.Sprintf("INV-%d\t\\N\n\"'%%سجل", n))})
		kit.Must(t, err)
	}
	user, err := s.UserByEmail(ctx, "owner@palm.example")
	kit.Must(t, err)
	_, err = identity.CreateToken(ctx, s.DB, user, identity.NewToken{Digest: [32]byte{7},
		ExpiresAt: s.Clock.Now().Add(1e15)})
	kit.Must(t, err)
	raw := open(t, s.Address)
	block := make([]byte, 1<<20)
	_, err = rand.Read(block) // so that it does not become small
	kit.Must(t, err)
	for n := range 20 {
		block[0] = byte(n)
		_, err = raw.ExecContext(ctx, `insert into sealed_settings (id, value) values ($1, $2)`, []byte{'b', byte(n)}, block)
		kit.Must(t, err)
	}
}

// open opens a database past the store.
func open(t testing.TB, address string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if path, isSQLite := strings.CutPrefix(address, "sqlite:"); isSQLite {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(15000)"
	}
	raw, err := sql.Open(driver, address)
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, raw.Close()) })
	return raw
}

// empty returns the address of a database that a restore accepts.
func empty(t *testing.T, engine string) string {
	t.Helper()
	if engine == ledgertest.Postgres {
		return pgtest.URL(t)
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "restored.db")
}

func directory(t *testing.T) (place backup.Directory, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "backups")
	place, err := backup.OpenDirectory(path)
	kit.Must(t, err)
	return place, path
}

// write writes a backup of a store.
func write(t *testing.T, s *ledgertest.Store, place backup.Place) *backup.Manifest {
	t.Helper()
	made, err := backup.Write(t.Context(), s.DB, place,
		backup.Options{Program: "1.2.3", Keys: s.Options.Keys, Random: rand.Reader})
	kit.Must(t, err)
	return made
}

// restore restores the latest backup of a place.
func restore(ctx context.Context, place backup.Place, s *ledgertest.Store, address string) error {
	source, err := backup.Find(ctx, place, "", opener(s))
	if err != nil {
		return err
	}
	options := s.Options
	options.Now = nil
	_, err = source.Restore(ctx, address, options)
	return err
}

func opener(s *ledgertest.Store) backup.Opener { return backup.Opener{Keys: s.Options.Keys} }

// verify reads the latest backup of a place.
func verify(ctx context.Context, place backup.Place, keys *secret.Keyring) error {
	source, err := backup.Find(ctx, place, "", backup.Opener{Keys: keys})
	if err != nil {
		return err
	}
	return source.Verify(ctx)
}

// changedByRestore are the tables that marking a database as restored changes.
var changedByRestore = []string{"settings", "tenants", "tokens", "submissions", "audit", "audit_heads"}

// content returns a digest of the rows of each table.
func content(t *testing.T, address string) map[string]string {
	t.Helper()
	raw := open(t, address)
	query := `select tablename from pg_tables where schemaname = current_schema()`
	if strings.HasPrefix(address, "sqlite:") {
		query = `select name from sqlite_schema where type = 'table' and name not like 'sqlite%'`
	}
	found := map[string]string{}
	for _, table := range texts(t, raw, query) {
		rows, err := raw.QueryContext(t.Context(), `select * from "`+table+`"`)
		kit.Must(t, err)
		columns, err := rows.Columns()
		kit.Must(t, err)
		var lines []string
		for rows.Next() {
			values, targets := make([]any, len(columns)), make([]any, len(columns))
			for n := range values {
				targets[n] = &values[n]
			}
			kit.Must(t, rows.Scan(targets...))
			line := ""
			for n, value := range values {
				if octets, ok := value.([]byte); ok {
					value = sha256.Sum256(octets)
				}
				line += fmt.Sprintf("%s=%T:%v\n", columns[n], value, value)
			}
			lines = append(lines, line)
		}
		kit.Must(t, rows.Err())
		kit.Must(t, rows.Close()) //nolint:sqlclosecheck // within a loop; a failure ends the test and the database
		slices.Sort(lines)
		found[table] = fmt.Sprintf("%d rows, %x", len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))
	}
	return found
}

// texts returns the rows of a query with one column.
func texts(t *testing.T, raw *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := raw.QueryContext(t.Context(), query)
	kit.Must(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		kit.Must(t, rows.Scan(&text))
		all = append(all, text)
	}
	kit.Must(t, rows.Err())
	return all
}

// schema returns everything that a schema has beside its rows, in order.
func schema(t *testing.T, address string) []string {
	t.Helper()
	raw := open(t, address)
	if strings.HasPrefix(address, "sqlite:") {
		return texts(t, raw,
			`select type || ' ' || name || ' ' || coalesce(sql, '') from sqlite_schema where name not like 'sqlite%' order by 1`)
	}
	return texts(t, raw,
		`select 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || convalidated from pg_constraint where connamespace = current_schema()::regnamespace
		union all select 'index ' || indexdef from pg_indexes where schemaname = current_schema()
		union all select 'trigger ' || pg_get_triggerdef(oid) || tgenabled::text from pg_trigger where not tgisinternal
		union all select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace
		union all select 'column ' || table_name || '.' || column_name || ' ' || data_type || is_nullable || coalesce(column_default, '') from information_schema.columns where table_schema = current_schema()
		union all select 'sequence ' || sequencename || ' ' || coalesce(last_value, 0) from pg_sequences where schemaname = current_schema() order by 1`)
}

// bucket returns a place in the bucket of a store.
func bucket(t *testing.T, s *s3test.Store, change func(*backup.Bucket)) *backup.S3 {
	t.Helper()
	config := backup.Bucket{Name: s3test.Bucket, Prefix: "company/quittance", Endpoint: s.Endpoint, CA: s.CA}
	if change != nil {
		change(&config)
	}
	place, err := backup.OpenS3(config)
	kit.Must(t, err)
	place.Hurry()
	return place
}
