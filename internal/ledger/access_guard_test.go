package ledger_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// sealedWrite finds statements that insert or change rows.
var sealedWrite = regexp.MustCompile(`^\s*(?:insert into (\w+)\s*\(|update (\w+) set\s)`)

// unsealedWrites returns the statements of a file that write a column that decides who may act past [base.DB]'s
// functions that seal rows: the statement has to be an argument of InsertSealed or ChangeSealed, or to end rows with
// seal = null.
func unsealedWrites(file *ast.File, decide map[string][]string, end map[string]bool) (found []ast.Node) {
	sealing := map[ast.Node]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if function, ok := call.Fun.(*ast.SelectorExpr); ok &&
			(function.Sel.Name == "InsertSealed" || function.Sel.Name == "ChangeSealed") {
			for _, argument := range call.Args {
				ast.Inspect(argument, func(inner ast.Node) bool { sealing[inner] = true; return true })
			}
		}
		return true
	})
	ast.Inspect(file, func(node ast.Node) bool {
		// A statement that is made from a struct has no text here: that of a sealed table is made by InsertSealedRow alone.
		if call, ok := node.(*ast.CallExpr); ok && len(call.Args) == 2 {
			made, isMade := call.Fun.(*ast.SelectorExpr)
			if isMade && typeName(made.X) == "base" && (made.Sel.Name == "Insert" || made.Sel.Name == "Update") &&
				decide[textOf(call.Args[0], "", nil)] != nil {
				found = append(found, node)
			}
		}
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || sealing[node] {
			return true
		}
		text := strings.Join(strings.Fields(strings.Trim(literal.Value, "`\"")), " ")
		match := sealedWrite.FindStringSubmatch(text)
		if match == nil {
			return true
		}
		if table := match[1]; decide[table] != nil {
			found = append(found, node)
			return true
		}
		set, _, _ := strings.Cut(strings.TrimPrefix(text, match[0]), " where ")
		columns, ends := decide[match[2]], end[match[2]] && strings.Contains(set, "seal = null")
		for assignment := range strings.SplitSeq(set, ",") {
			if column, _, is := strings.Cut(strings.TrimSpace(assignment), " = "); is && !ends &&
				slices.Contains(columns, column) {
				found = append(found, node)
				break
			}
		}
		if end[match[2]] && !ends && (strings.Contains(set, "revoked_at =") || strings.Contains(set, "used_at = $") &&
			!strings.Contains(set, "last_used_at")) {
			found = append(found, node)
		}
		return true
	})
	return found
}

// TestWritesAreSealed checks that no statement in the source of the ledger writes a column that decides who may act
// without sealing the row, and that every such column exists.
func TestWritesAreSealed(t *testing.T) {
	decide, end := fixture.SealedColumns()
	set := token.NewFileSet()
	for text, want := range map[string]int{
		"`insert into users (id) values ($1)`": 1, "`update users set role = $1 where id = $2`": 1,
		"`update users set name = $1 where role = $2`": 0, "`update tokens set revoked_at = $1 where digest = $2`": 1,
		"`update tokens set revoked_at = $1, seal = null where digest = $2`": 0,
		"`update tokens set last_used_at = $1 where digest = $2`":            0,
		"`update recovery_codes set used_at = $1`":                           1,
		"`update tenants set events = 1`":                                    0, "`select role from users`": 0,
		"`delete from users`": 0,
	} {
		for call, sealed := range map[string]bool{"t.Exec": false, "t.ChangeSealed": true, "t.InsertSealed": true} {
			file, err := parser.ParseFile(set, "", fmt.Sprintf("package p; func f() { %s(ctx, %s) }", call, text),
				parser.SkipObjectResolution)
			kit.Must(t, err)
			if n := len(unsealedWrites(file, decide, end)); sealed && n != 0 || !sealed && n != want {
				t.Errorf("%s(%s): %d found, want %d", call, text, n, want)
			}
		}
	}
	for text, want := range map[string]int{`base.Insert("users", row{})`: 1, `base.Update("tokens", row{})`: 1,
		`base.Insert("evidence", row{})`: 0, `t.InsertSealedRow(ctx, base.SealedUsers, nil, row{})`: 0} {
		file, err := parser.ParseFile(set, "", "package p; func f() { "+text+" }", parser.SkipObjectResolution)
		kit.Must(t, err)
		if n := len(unsealedWrites(file, decide, end)); n != want {
			t.Errorf("%s: %d found, want %d", text, n, want)
		}
	}
	for _, file := range sources(t, set) {
		for _, at := range unsealedWrites(file, decide, end) {
			t.Errorf(
				"%s: this writes who may act without a seal: use InsertSealed or ChangeSealed, or end the rows with seal = null",
				set.Position(at.Pos()))
		}
	}
	for table, columns := range decide {
		known := fixture.ColumnsOf(t, table)
		for _, column := range append(columns, "seal") {
			if !slices.Contains(known, column) {
				t.Errorf("%s has no column %s", table, column)
			}
		}
	}
}
