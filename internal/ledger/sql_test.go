package ledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// ofAllTenants lists the functions whose statements touch a tenant's table without a tenant that the caller names, and
// why.
var ofAllTenants = map[string]string{
	"events.DueDeliveryQueues":        "a queue belongs to a destination; the scan returns no rows of tenants",
	"invoices.ApplyRetention":         "removes what is old, company by company",
	"lists.addCounts":                 "an operator's list of all accounts",
	"lists.AllDeliveries":             "as AllSubmissions",
	"lists.FailingSubscriptions":      "an operator's list of all accounts",
	"lists.UndeliveredDeliveries":     "an operator's list of all accounts",
	"view.search":                     "the conditions that are appended name the tenant",
	"lists.AllSubmissions":            "an administrator's list of all accounts",
	"lists.UnknownSubmissions":        "as AllSubmissions",
	"invoices.ClaimSubmissions":       "a queue belongs to a connection and has work of every tenant; each row is returned with its tenant",
	"invoices.DueSubmissionQueues":    "a queue belongs to a connection; the scan returns no rows of tenants",
	"ledger.ReleaseOrphanedLeases":    "makes every interrupted call due when the only process starts",
	"ledger.markRestored":             "a restored database: every open submission is looked up, and every token is revoked",
	"invoices.ReadPollLag":            "numbers for the operator",
	"lists.ReadUnknownAges":           "numbers for the operator",
	"invoices.SummarizeMissing":       "makes the missing summaries after a migration",
	"invoices.CountMissing":           "counts the invoices that recount has found wrong",
	"invoices.DeleteExpiredResponses": "removes expired idempotency keys of all tenants",
	"invoices.DeleteExpiredUploads":   "removes expired uploads of all tenants",
	"invoices.Contradicted":           "a number for the operator",
	"lists.Backlogs":                  "numbers for the operator",
	"base.BeginEvidence":              "finds out whether the database has any evidence",
	"ledger.discardMissingProofs":     "a restored database: each row is written back to its own tenant",
	"proof.verifyStrays":              "finds rows that belong to no tenant",
}

var (
	beginsStatement = regexp.MustCompile(`^\s*(select|insert|update|delete|with)\s`)
	touchesTable    = regexp.MustCompile(`\b(?:from|join|into|update)\s+(\w+)`)
	// A statement names its tenant by a comparison with a parameter, not with the tenant of another row; by the first
	// column of what it inserts or of the rows that it is given; or by the pair of a row.
	namesTenant = regexp.MustCompile(
		`\btenant_id = \$|\btenant_id = t\.id .*\bt\.id = \$|into \w+ \(tenant_id,|with \w+ \(tenant_id,|\(tenant_id, id\) in`)
)

// TestStatementsNameTheirTenant checks that every statement in the source of the ledger and of view that uses
// a tenant's table names the tenant.
func TestStatementsNameTheirTenant(t *testing.T) {
	var scoped []string
	for _, tab := range fixture.Tables(t) {
		if tab.Has("tenant_id") && tab.Name != "tokens" { // a token is looked up before its tenant is known
			scoped = append(scoped, tab.Name)
		}
	}
	used, statements := map[string]bool{}, 0
	for _, s := range statementsOf(t) {
		statements++
		var touched []string
		for _, found := range touchesTable.FindAllStringSubmatch(s.text, -1) {
			if slices.Contains(scoped, found[1]) {
				touched = append(touched, found[1])
			}
		}
		if len(touched) == 0 || namesTenant.MatchString(s.text) {
			continue
		}
		if ofAllTenants[s.function] == "" {
			t.Errorf("%s: %s touches %v without a tenant: %s", s.at, s.function, touched, s.text)
		}
		used[s.function] = true
	}
	if statements < 50 || len(scoped) < 8 {
		t.Errorf("only %d statements and %d tables were found", statements, len(scoped))
	}
	for function := range ofAllTenants {
		if !used[function] {
			t.Errorf("%s is listed without need", function)
		}
	}
}

// looksLikeSQL finds the parts of statements, complete or not.
var looksLikeSQL = regexp.MustCompile(
	`(?i)\b(select|where|limit|offset|order by|insert into|values|update \w+ set|delete from)\b`)

// TestStatementsHoldNoValues checks that no expression in the source of the ledger and of view puts a value
// into the text of a statement: values are arguments, so the number of texts is bounded. Only the names of parameters
// are numbered.
func TestStatementsHoldNoValues(t *testing.T) {
	set := token.NewFileSet()
	for _, text := range []string{
		`package p; var q = "select 1 limit " + strconv.Itoa(n)`,
		`package p; var q = fmt.Sprintf("select 1 where n = %d", n)`,
		`package p; func f() { fmt.Fprintf(&where, " offset %d", n) }`,
		`package p; func f() { q += " order by id limit " + strconv.FormatInt(n, 10) }`,
	} {
		file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
		kit.Must(t, err)
		if len(spliced(file)) != 1 {
			t.Errorf("nothing is found in %s", text)
		}
	}
	for _, file := range sqlSources(t, set) {
		for _, call := range spliced(file) {
			t.Errorf("%s: a value becomes part of the text of a statement", set.Position(call.Pos()))
		}
	}
}

// spliced returns the calls that format a value into the text of a statement.
func spliced(file *ast.File) (found []*ast.CallExpr) {
	formats := func(node ast.Node) (call *ast.CallExpr, ok bool) {
		if call, ok = node.(*ast.CallExpr); !ok {
			return nil, false
		}
		function, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil, false
		}
		of, ok := function.X.(*ast.Ident)
		return call, ok && (of.Name == "strconv" || of.Name == "fmt" && function.Sel.Name != "Errorf")
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if call, ok := formats(node); ok {
			for _, argument := range call.Args {
				if text := textOf(argument, "", nil); looksLikeSQL.MatchString(text) && strings.Contains(text, "%") {
					found = append(found, call)
				}
			}
			return true
		}
		sum, ok := node.(*ast.BinaryExpr)
		if !ok || !looksLikeSQL.MatchString(textOf(sum, "", nil)) {
			return true
		}
		ast.Inspect(sum, func(node ast.Node) bool {
			if call, ok := formats(node); ok {
				found = append(found, call)
			}
			_, inner := node.(*ast.FuncLit)
			return !inner
		})
		return false
	})
	return found
}

type statement struct {
	at, function, text string
}

// statementsOf returns every SQL statement in the source of the ledger and of view, with constants replaced
// by their texts.
func statementsOf(t *testing.T) (out []statement) {
	t.Helper()
	set, constants := token.NewFileSet(), map[string]string{}
	files := sqlSources(t, set)
	rows := rowColumns(files)
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				constants[file.Name.Name+"."+spec.Names[0].Name] = textOf(spec.Values[0], file.Name.Name, nil)
			}
			return true
		})
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(node ast.Node) bool {
				expr, ok := node.(ast.Expr)
				if !ok {
					return true
				}
				text := textOf(expr, file.Name.Name, constants)
				if call, ok := expr.(*ast.CallExpr); ok {
					text = rowStatement(t, call, function, file.Name.Name, rows)
				}
				if !beginsStatement.MatchString(text) {
					return true
				}
				out = append(out, statement{set.Position(expr.Pos()).String(), file.Name.Name + "." + function.Name.Name,
					strings.Join(strings.Fields(text), " ")})
				return false
			})
		}
	}
	return out
}

// rowColumns returns the columns of the structs that statements are made from, by "package.Type". Those of the primary
// key end with ",key".
func rowColumns(files []*ast.File) map[string][]string {
	columns := map[string][]string{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range body.Fields.List {
				if field.Tag == nil {
					continue
				}
				if column, ok := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Lookup("db"); ok {
					name := file.Name.Name + "." + spec.Name.Name
					columns[name] = append(columns[name], column)
				}
			}
			return true
		})
	}
	return columns
}

// rowStatement returns the statement that a call of base.Insert or base.Update makes, as its text would be; "" for
// other calls. [base.Tx.InsertSealedRow] is for tables without a tenant.
func rowStatement(t *testing.T, call *ast.CallExpr, within *ast.FuncDecl, in string,
	rows map[string][]string) string {
	t.Helper()
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || typeName(function.X) != "base" || function.Sel.Name != "Insert" && function.Sel.Name != "Update" {
		return ""
	}
	row, table := call.Args[1], textOf(call.Args[0], in, nil)
	ast.Inspect(within, func(node ast.Node) bool { // a variable is declared with its type
		if made, ok := node.(*ast.AssignStmt); ok && made.Tok == token.DEFINE && typeName(made.Lhs[0]) == typeName(row) {
			row = made.Rhs[0]
		}
		return true
	})
	var columns []string
	if literal, ok := row.(*ast.CompositeLit); ok {
		columns = rows[in+"."+typeName(literal.Type)]
	}
	if len(columns) == 0 || table == " " {
		t.Fatalf("the row of a statement in %s is no struct of the package with columns", in)
	}
	if function.Sel.Name == "Insert" {
		return "insert into " + table + " (" + strings.Join(columns, ", ") + ") values ()"
	}
	var sets, keys []string
	for _, column := range columns {
		if key, is := strings.CutSuffix(column, ",key"); is {
			keys = append(keys, key+" = $1")
		} else {
			sets = append(sets, column+" = $1")
		}
	}
	return "update " + table + " set " + strings.Join(sets, ", ") + " where " + strings.Join(keys, " and ")
}

// sqlSources parses the source of the packages with statements about tenants.
func sqlSources(t *testing.T, set *token.FileSet) []*ast.File {
	t.Helper()
	return slices.Concat(sources(t, set), parsed(t, set, "../front/view/*.go"))
}

// sources parses the source files of the ledger, without tests.
func sources(t *testing.T, set *token.FileSet) (files []*ast.File) {
	t.Helper()
	kit.Must(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if found, _ := filepath.Glob(filepath.Join(name, "*.go")); len(found) > 0 {
				files = append(files, parsed(t, set, filepath.Join(name, "*.go"))...)
			}
		}
		return err
	}))
	return files
}

// parsed parses the source files that a pattern matches, without tests.
func parsed(t *testing.T, set *token.FileSet, pattern string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	kit.Must(t, err)
	if len(names) == 0 {
		t.Fatalf("%s matches no file", pattern)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		kit.Must(t, err)
		files = append(files, file)
	}
	return files
}

// textOf returns the text of a string expression in a package: literals and constants, and a blank for anything else.
func textOf(expr ast.Expr, in string, constants map[string]string) string {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return textOf(e.X, in, constants) + textOf(e.Y, in, constants)
		}
	case *ast.Ident:
		if text, found := constants[in+"."+e.Name]; found {
			return text
		}
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok {
			if text, found := constants[of.Name+"."+e.Sel.Name]; found {
				return text
			}
		}
	}
	return " "
}
