package db

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Dialect has the few parts of statements that differ between the two databases. Everything else is SQL that both
// understand, with parameters $1, $2 and so on.
type Dialect interface {
	// ForUpdate is appended to a select whose rows the transaction is going to change, and locks them.
	ForUpdate() string
	// ForUpdateSkipLocked is appended to a select that claims rows, so that two workers never wait for the same row. That
	// select is a materialized CTE: PostgreSQL may run a plain sub-select more than once and so claim more rows than its
	// limit.
	ForUpdateSkipLocked() string
	// Values returns SQL for a table of the members of a batch with one column of each of the types (of PostgreSQL), for
	// use in a CTE, an insert or a condition. The columns are the parameters from $1, whose arguments [Column] returns.
	Values(types ...string) string
	// InSubquery returns a condition that compares the column before it with the results of a query that returns few rows.
	// On PostgreSQL it hides the query from the planner, which cannot see the value of a limit parameter, expects many
	// rows and would read the whole table.
	InSubquery(query string) string
	// Hex returns an expression for a column of bytes as hexadecimal digits, in upper or lower case.
	Hex(column string) string
	// JSONRows returns an aggregate: a JSON array with an object for each row. fields are names, which are constants, and
	// expressions for their values, in turn. On PostgreSQL it is null if there is no row.
	JSONRows(fields ...string) string
	// ByteOrder is appended to a text column in an order by clause, to sort by bytes.
	ByteOrder() string

	// singleRow reports that the table of Values has one row. Otherwise each of its parameters is an array with one
	// element for each row.
	singleRow() bool
}

// IsBatched reports whether a table of [Dialect.Values] may have several rows.
func IsBatched(dialect Dialect) bool { return !dialect.singleRow() }

// RowArgs returns the arguments for [Dialect.Values]: row gives the values of a member, one for each column, each of
// the same Go type for every member. There is at least one member, and on SQLite exactly one.
func RowArgs[M any](dialect Dialect, members []M, row func(M) []any) []any {
	first := row(members[0])
	if dialect.singleRow() {
		if len(members) != 1 {
			panic(fmt.Sprintf("db: %d members share a statement on SQLite", len(members)))
		}
		return first
	}
	columns := make([]reflect.Value, len(first))
	for c, value := range first {
		columns[c] = reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(value)), len(members), len(members))
	}
	for n, member := range members {
		for c, value := range row(member) {
			columns[c].Index(n).Set(reflect.ValueOf(value))
		}
	}
	arrays := make([]any, len(columns))
	for c, column := range columns {
		arrays[c] = column.Interface()
	}
	return arrays
}

// Parameter returns the name of the n-th argument of a statement, from 1. Values reach a statement only as arguments.
func Parameter(n int) string { return "$" + strconv.Itoa(n) }

// jsonFields returns the arguments of the functions that make a JSON object.
func jsonFields(fields []string) string {
	var out strings.Builder
	for n := 0; n < len(fields); n += 2 {
		if n > 0 {
			out.WriteString(", ")
		}
		out.WriteString("'" + fields[n] + "', " + fields[n+1])
	}
	return out.String()
}

// sqliteDialect is the SQL of SQLite, which has one writer and therefore no locks of rows.
type sqliteDialect struct{}

func (sqliteDialect) ForUpdate() string              { return "" }
func (sqliteDialect) ForUpdateSkipLocked() string    { return "" }
func (sqliteDialect) InSubquery(query string) string { return "in (" + query + ")" }
func (sqliteDialect) Hex(column string) string       { return "hex(" + column + ")" }
func (sqliteDialect) ByteOrder() string              { return "" }
func (sqliteDialect) JSONRows(fields ...string) string {
	return "json_group_array(json_object(" + jsonFields(fields) + "))"
}
func (sqliteDialect) singleRow() bool { return true }

// Values returns a table with one row of parameters, because writes that are committed together run one after another,
// each in a savepoint of its own.
func (sqliteDialect) Values(types ...string) string {
	columns := make([]string, len(types))
	for n := range types {
		columns[n] = Parameter(n + 1)
	}
	return "values (" + strings.Join(columns, ", ") + ")"
}

// postgresDialect is the SQL of PostgreSQL. No key of a row ever changes, so "for no key update" suffices. A stronger
// lock would wait for transactions that only refer to the row, and two transactions that each refer to a row they then
// lock would wait for each other.
type postgresDialect struct{}

func (postgresDialect) ForUpdate() string              { return " for no key update" }
func (postgresDialect) ForUpdateSkipLocked() string    { return " for no key update skip locked" }
func (postgresDialect) InSubquery(query string) string { return "= any(array(" + query + "))" }
func (postgresDialect) Hex(column string) string       { return "encode(" + column + ", 'hex')" }
func (postgresDialect) ByteOrder() string              { return ` collate "C"` }
func (postgresDialect) JSONRows(fields ...string) string {
	return "json_agg(json_build_object(" + jsonFields(fields) + "))::text"
}
func (postgresDialect) singleRow() bool { return false }

// Values returns a table made of one array parameter for each column.
func (postgresDialect) Values(types ...string) string {
	columns := make([]string, len(types))
	for n, name := range types {
		columns[n] = Parameter(n+1) + "::" + name + "[]"
	}
	return "select * from unnest(" + strings.Join(columns, ", ") + ")"
}
