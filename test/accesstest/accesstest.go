// Package accesstest compares the tables in docs/permissions.md with the routes of the service.
//
// Start reading at [WantTable].
package accesstest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"quittance/internal/ledger/access"
	"quittance/test/kit"
)

// Route is an operation of the API, or a page of the console.
type Route struct {
	Method, Path string
	// Needs is the permission that a caller needs.
	Needs access.Permission
}

// file is the document.
const file = "docs/permissions.md"

// WantTable checks that the section of docs/permissions.md with a heading ends with the table of some routes: a row for
// each, and a column for each role, and for each scope of an API key if keys is true. With update it writes the table.
func WantTable(t *testing.T, heading string, routes []Route, keys, update bool) {
	t.Helper()
	var sets []access.Permissions
	table := "| Route |"
	for _, role := range access.Roles {
		table, sets = table+" "+string(role)+" |", append(sets, role.Permissions())
	}
	if keys {
		for _, scope := range access.Scopes {
			table, sets = table+" key: "+string(scope)+" |", append(sets, scope.Permissions())
		}
	}
	table += "\n|---|" + strings.Repeat("---|", len(sets)) + "\n"
	for _, route := range routes {
		if route.Needs == 0 {
			t.Errorf("%s %s names no permission", route.Method, route.Path)
		}
		table += fmt.Sprintf("| `%s %s` |", route.Method, route.Path)
		for _, set := range sets {
			switch {
			case route.Needs == access.Public:
				table += " public |"
			case set.Has(route.Needs):
				table += " yes |"
			default:
				table += " – |"
			}
		}
		table += "\n"
	}
	text, err := os.ReadFile(kit.File(t, file))
	if err != nil {
		t.Fatal(err)
	}
	before, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, after, more := strings.Cut(section, "\n## ")
	about, got, hasTable := strings.Cut(section, "| Route |")
	if got = "| Route |" + got; found && hasTable && got == table {
		return
	}
	if !update {
		t.Errorf("%s is out of date: "+
			"run go test ./internal/front/server ./internal/front/console/site -run TestAccessTable -update", file)
		return
	}
	text = []byte(before + "\n## " + heading + "\n" + about + table)
	if more {
		text = append(text, "\n## "+after...)
	}
	if err := os.WriteFile(kit.File(t, file), text, 0o600); err != nil { //nolint:gosec // a constant path
		t.Fatal(err)
	}
}
