package proof_test

import (
	"strings"
	"testing"

	"quittance/test/ledgertest/fixture"
)

// TestAppendOnly checks that the database itself refuses every form of statement that would change or remove evidence.
func TestAppendOnly(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		fixture.Record(t, call, fixture.AllFour("one", false))
		fixture.Record(t, call, fixture.AllFour("two", true))
		claim, _ := fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("x", "one"),
			fixture.Incoming("x", "two"))
		before := f.Dump(t, f.Company)
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
				`insert or replace into evidence (rowid, `+strings.Join(fixture.ColumnsOf(t, "evidence"), ", ")+
					`) select rowid, tenant_id, zeroblob(16), submission_id, 77, `+
					strings.Join(fixture.ColumnsOf(t, "evidence")[4:], ", ")+` from evidence where ordinal = 1`,
				`insert or replace into revisions (rowid, `+strings.Join(fixture.ColumnsOf(t, "revisions"), ", ")+
					`) select rowid, tenant_id, incoming_id, 77, `+
					strings.Join(fixture.ColumnsOf(t, "revisions")[3:], ", ")+` from revisions where revision = 1`,
				`update or replace evidence set ordinal = 1 where ordinal = 2`)
		}
		for _, statement := range statements {
			if _, err := f.Raw.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: error %v", statement, err)
			}
		}
		if after := f.Dump(t, f.Company); after != before {
			t.Errorf("rows were changed.\nBefore:\n%s\nAfter:\n%s", before, after)
		}
		fixture.Record(t, call, fixture.AllFour("three", true)) // entries can still be added
		fixture.Retain(t, claim, fixture.Onward("d"), fixture.Incoming("x", "three"))
		clean(t, f, 2, 6)
	})
}
