package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// tableAccess is an access to a table in a plan.
type tableAccess struct {
	table, index string
	// whole says that no condition selects entries of an index; company says that the only condition is the company.
	whole, company bool
	// sorts says that it is not an access, but that rows are sorted.
	sorts bool
	// rows is how many rows it has read, if counted.
	rows    int
	counted bool
	text    string
}

// explainer explains statements. anyValues says that it makes plans for any values.
type explainer struct {
	name      string
	anyValues bool
	plan      func(s tracedStatement) []tableAccess
}

// explainers returns the ways in which the database plans a statement. PostgreSQL plans the first runs of a statement
// for their values. Then it may use a plan for any values, if it expects that to be as cheap.
func explainers(t *testing.T, f *fixture.Fixture) []explainer {
	t.Helper()
	if f.Engine() == ledgertest.SQLite {
		schema := fixture.Tables(t)
		return []explainer{{"sqlite", false, func(s tracedStatement) []tableAccess { return sqlitePlan(t, f, schema, s) }}}
	}
	conn, err := pgx.Connect(t.Context(), f.Address)
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, conn.Close(context.Background())) })
	return []explainer{
		{"postgres, for the values,", false,
			func(s tracedStatement) []tableAccess { return postgresPlan(t, conn, s, "force_custom_plan") }},
		{"postgres, for any values,", true,
			func(s tracedStatement) []tableAccess { return postgresPlan(t, conn, s, "force_generic_plan") }},
	}
}

// sqliteAccess finds the accesses in SQLite's plan: to the name that the statement gives a table, by an index and a
// condition on it.
var sqliteAccess = regexp.MustCompile(
	`^(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|INTEGER PRIMARY KEY|PRIMARY KEY))?(?: \((.*)\))?`)

// sqlitePlan returns the accesses of SQLite's plan to tables of the schema. It does not say how many rows they read. A
// condition on the company alone may be one that reads all its rows.
func sqlitePlan(t *testing.T, f *fixture.Fixture, schema []fixture.Table, s tracedStatement) (out []tableAccess) {
	t.Helper()
	text := strings.Join(strings.Fields(s.text), " ")
	for _, step := range planOf(t, f.Raw, ledgertest.SQLite, "explain query plan "+s.text, s.args...) {
		found := sqliteAccess.FindStringSubmatch(step)
		if found == nil {
			if strings.HasPrefix(step, "USE TEMP B-TREE") {
				out = append(out, tableAccess{sorts: true, text: step})
			}
			continue
		}
		for _, tab := range schema {
			if tab.Name == found[2] || strings.Contains(text, tab.Name+" "+found[2]) &&
				regexp.MustCompile(`\b`+tab.Name+` `+found[2]+`\b`).MatchString(text) {
				out = append(out, tableAccess{table: tab.Name, index: found[3], whole: found[1] == "SCAN",
					company: companyAlone.MatchString(found[4]), text: step})
			}
		}
	}
	return out
}

var companyAlone = regexp.MustCompile(`^(tenant_id|account_id)=\?$`)

// postgresNode is a node of a plan of PostgreSQL.
type postgresNode struct {
	Type      string         `json:"Node Type"`
	Table     string         `json:"Relation Name"`
	Index     string         `json:"Index Name"`
	Condition string         `json:"Index Cond"`
	Rows      float64        `json:"Actual Rows"`
	Loops     float64        `json:"Actual Loops"`
	Filtered  float64        `json:"Rows Removed by Filter"`
	Rechecked float64        `json:"Rows Removed by Index Recheck"`
	Plans     []postgresNode `json:"Plans"`
}

// accesses returns the accesses of a node and those below it.
func (n postgresNode) accesses() (out []tableAccess) {
	if strings.HasSuffix(n.Type, "Scan") && (n.Table != "" || n.Index != "") {
		rows := int((n.Rows + n.Filtered + n.Rechecked) * n.Loops)
		out = append(out, tableAccess{table: n.Table, index: n.Index,
			whole: n.Condition == "" && n.Type != "Bitmap Heap Scan", rows: rows, counted: true,
			text: fmt.Sprintf("%s of %s by %s %s: %d rows", n.Type, n.Table, n.Index, n.Condition, rows)})
	}
	for _, below := range n.Plans {
		out = append(out, below.accesses()...)
	}
	return out
}

// postgresPlan runs a statement in a transaction that is rolled back, and returns the accesses of its plan with the
// rows that they have read. An insert does not run, because its rows exist. mode is a plan_cache_mode.
func postgresPlan(t *testing.T, conn *pgx.Conn, s tracedStatement, mode string) []tableAccess {
	t.Helper()
	ctx := t.Context()
	tx, err := conn.Begin(ctx)
	kit.Must(t, err)
	defer func() { kit.Must(t, tx.Rollback(ctx)) }()
	_, err = tx.Exec(ctx, "set local jit = off; set local random_page_cost = 1.1; set local plan_cache_mode = "+mode)
	kit.Must(t, err)
	described, err := conn.Prepare(ctx, "examined", s.text)
	kit.Must(t, err)
	defer func() { kit.Must(t, conn.Deallocate(ctx, "examined")) }()
	execute := "execute examined"
	for n, arg := range s.args {
		value, err := conn.TypeMap().Encode(described.ParamOIDs[n], pgtype.TextFormatCode, arg, nil)
		kit.Must(t, err)
		literal := "null"
		if value != nil {
			literal = "'" + strings.ReplaceAll(string(value), "'", "''") + "'"
		}
		execute += map[bool]string{true: "(", false: ", "}[n == 0] + literal
	}
	if len(s.args) > 0 {
		execute += ")"
	}
	analyze := "analyze, timing off, "
	if strings.Contains(s.text, "insert into ") {
		analyze = ""
	}
	var text []byte
	kit.Must(t, tx.QueryRow(ctx, "explain ("+analyze+"format json) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&text))
	var plans []struct{ Plan postgresNode }
	kit.Must(t, json.Unmarshal(text, &plans))
	return plans[0].Plan.accesses()
}
