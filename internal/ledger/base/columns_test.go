package base_test

import (
	"reflect"
	"testing"

	"quittance/internal/ledger/base"
)

// TestRowStatements checks the statements that are made from a struct, and that each value is the argument of its
// column.
func TestRowStatements(t *testing.T) {
	row := struct {
		Tenant base.ID `db:"tenant_id,key"`
		ID     base.ID `db:"id,key"`
		Name   string  `db:"name"`
		Count  *int64  `db:"count"`
	}{Tenant: base.ID{1}, ID: base.ID{2}, Name: "x"}
	want := []any{base.ID{1}, base.ID{2}, "x", (*int64)(nil)}
	for range 2 { // the second time from memory
		statement, args := base.Insert("things", row)
		if statement != "insert into things (tenant_id, id, name, count) values ($1, $2, $3, $4)" ||
			!reflect.DeepEqual(args, want) {
			t.Errorf("insert: %s %v", statement, args)
		}
		statement, args = base.Update("things", row)
		if statement != "update things set name = $3, count = $4 where tenant_id = $1 and id = $2" ||
			!reflect.DeepEqual(args, want) {
			t.Errorf("update: %s %v", statement, args)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a field without a column makes a statement")
		}
	}()
	base.Insert("things", struct{ Name string }{})
}
