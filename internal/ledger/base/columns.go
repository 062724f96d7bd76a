package base

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	sqldb "quittance/internal/platform/db"
)

// A long statement is made from a struct, so that each value stands beside the name of its column: the fields have the
// tag db, which is the name of a column, and "db:column,key" for those of the primary key. The fields of a struct are
// all written; their order is that of the columns.

// Insert returns the statement that inserts a row, and its arguments.
func Insert(table string, row any) (statement string, args []any) {
	s := statementsOf(table, row)
	return s.insert, valuesOf(row)
}

// Update returns the statement that writes a row with the same primary key, and its arguments.
func Update(table string, row any) (statement string, args []any) {
	s := statementsOf(table, row)
	return s.update, valuesOf(row)
}

// InsertSealedRow is [Tx.InsertSealed] with the statement of [Insert].
func (t *Tx) InsertSealedRow(ctx context.Context, table *SealedTable, key []any, row any) (int64, error) {
	statement, args := Insert(table.Name, row)
	return t.InsertSealed(ctx, table.Row(key...), statement, args...)
}

// rowStatements are the statements for a table and a type of rows.
type rowStatements struct{ insert, update string }

// rowType is a type of rows of a table.
type rowType struct {
	table string
	row   reflect.Type
}

//nolint:gochecknoglobals // texts that depend on nothing but types
var rowTypes sync.Map // rowType to rowStatements

func statementsOf(table string, row any) rowStatements {
	of := rowType{table, reflect.TypeOf(row)}
	if known, ok := rowTypes.Load(of); ok {
		if s, ok := known.(rowStatements); ok {
			return s
		}
	}
	s := makeStatements(of)
	rowTypes.Store(of, s)
	return s
}

// makeStatements makes the statements of a type. It panics if a field has no tag, which the first test finds.
func makeStatements(of rowType) rowStatements {
	var columns, parameters, keys, changes []string
	for n := range of.row.NumField() {
		field := of.row.Field(n)
		column, key := strings.CutSuffix(field.Tag.Get("db"), ",key")
		if column == "" {
			panic(fmt.Sprintf("ledger: the field %s of %s names no column", field.Name, of.row))
		}
		parameter := sqldb.Parameter(n + 1)
		columns, parameters = append(columns, column), append(parameters, parameter)
		if key {
			keys = append(keys, column+" = "+parameter)
		} else {
			changes = append(changes, column+" = "+parameter)
		}
	}
	return rowStatements{
		insert: "insert into " + of.table + " (" + strings.Join(columns, ", ") + ") values (" +
			strings.Join(parameters, ", ") + ")",
		update: "update " + of.table + " set " + strings.Join(changes, ", ") + " where " + strings.Join(keys, " and "),
	}
}

func valuesOf(row any) []any {
	value := reflect.ValueOf(row)
	args := make([]any, value.NumField())
	for n := range args {
		args[n] = value.Field(n).Interface()
	}
	return args
}
