package store_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"quittance/test/kit"
)

// TestAppendOnly checks that the database itself refuses every form of statement that would change or remove evidence.
func TestAppendOnly(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-1")
		record(t, call, allFour("one", false))
		record(t, call, allFour("two", true))
		claim, _ := retain(t, f.mustClaim(t), onward("c"), incoming("x", "one"), incoming("x", "two"))
		before := f.dump(t, f.company)
		statements := []string{
			`update evidence set http_status = 201`, `update evidence set words = words where ordinal = 1`,
			`delete from evidence`, `delete from evidence where ordinal = 2`,
			`insert into evidence select * from evidence where ordinal = 1 on conflict (tenant_id, id) do update set http_status = 201`,
			`update revisions set supplier_name = 'Mallory'`, `update revisions set body = body where revision = 1`,
			`delete from revisions`, `delete from revisions where revision = 2`,
			`insert into revisions select * from revisions where revision = 1 on conflict (tenant_id, incoming_id, revision) do update set supplier_name = 'Mallory'`,
			`with gone as (delete from evidence returning 1) select * from gone`, `truncate evidence cascade`,
			`truncate revisions`, `truncate evidence, states`,
		}
		if f.Path != "" {
			statements = append(statements[:len(statements)-4],
				`insert or replace into evidence select * from evidence where ordinal = 1`,
				`replace into revisions select * from revisions`,
				`insert or replace into evidence (rowid, `+strings.Join(columnsOf(t, "evidence"), ", ")+
					`) select rowid, tenant_id, zeroblob(16), submission_id, 77, `+
					strings.Join(columnsOf(t, "evidence")[4:], ", ")+` from evidence where ordinal = 1`,
				`insert or replace into revisions (rowid, `+strings.Join(columnsOf(t, "revisions"), ", ")+
					`) select rowid, tenant_id, incoming_id, 77, `+
					strings.Join(columnsOf(t, "revisions")[3:], ", ")+` from revisions where revision = 1`,
				`update or replace evidence set ordinal = 1 where ordinal = 2`)
		}
		for _, statement := range statements {
			if _, err := f.raw.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: error %v", statement, err)
			}
		}
		if after := f.dump(t, f.company); after != before {
			t.Errorf("rows were changed.\nBefore:\n%s\nAfter:\n%s", before, after)
		}
		record(t, call, allFour("three", true)) // entries can still be added
		retain(t, claim, onward("d"), incoming("x", "three"))
		f.clean(t, 2, 6)
	})
}

// clean checks that a verification finds no fault and counts the given chains and entries.
func (f *fixture) clean(t *testing.T, chains, entries int) {
	t.Helper()
	found, err := f.tenant.VerifyEvidence(t.Context(), replay())
	kit.Must(t, err)
	if len(found.Faults) != 0 || found.Chains != chains || found.Entries != entries {
		t.Errorf("verification of an intact database with %d chains and %d entries: %+v", chains, entries, found)
	}
}

// columnsOf returns the columns of a table in their order.
func columnsOf(t *testing.T, name string) []string {
	t.Helper()
	for _, tab := range tables(t) {
		if tab.name == name {
			return tab.columns
		}
	}
	t.Fatalf("there is no table %s", name)
	return nil
}

// disarm removes the protection against changes of the evidence, as an owner of the database can.
func (f *fixture) disarm(t *testing.T) {
	t.Helper()
	statements := []string{`drop trigger evidence_append_only on evidence`,
		`drop trigger revisions_append_only on revisions`, `drop trigger audit_append_only on audit`}
	if f.Path != "" {
		statements = nil
		for _, row := range f.rows(t, `select name from sqlite_master where type = 'trigger'`) {
			statements = append(statements, `drop trigger `+strings.TrimPrefix(row, "name="))
		}
	}
	for _, statement := range statements {
		_, err := f.raw.ExecContext(t.Context(), statement)
		kit.Must(t, err)
	}
}

// attacker is an owner of the database, for whom it refuses nothing, not even dangling references.
type attacker struct {
	conn   *sql.Conn
	sqlite bool
}

func (f *fixture) attacker(t *testing.T) attacker {
	t.Helper()
	f.disarm(t)
	conn, err := f.raw.Conn(t.Context())
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, conn.Close()) })
	setting := `pragma foreign_keys = 0`
	if f.Path == "" {
		setting = `set session_replication_role = replica`
	}
	_, err = conn.ExecContext(t.Context(), setting)
	kit.Must(t, err)
	return attacker{conn, f.Path != ""}
}

// do runs a statement with as many of the arguments as it has parameters, after translating byte literals to
// PostgreSQL. The statement must change something.
func (a attacker) do(t *testing.T, statement string, args ...any) {
	t.Helper()
	for len(args) > 0 && !strings.Contains(statement, fmt.Sprintf("$%d", len(args))) {
		args = args[:len(args)-1]
	}
	if a.sqlite {
		statement = strings.ReplaceAll(statement, `'\x`, `x'`)
	}
	result, err := a.conn.ExecContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		t.Fatalf("%s changed nothing: %v", statement, err)
	}
}
