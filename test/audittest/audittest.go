// Package audittest reads the tables of docs/audit.md, so that tests can compare them with the operations of the API,
// the pages of the console and the commands: an operation that is not in them has no decision about the audit log.
//
// Start reading at [Read].
package audittest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/test/kit"
)

// file is the document.
const file = "docs/audit.md"

// Table is the content of docs/audit.md. An operation is a method and a path, such as "POST /login", or a command, such
// as "quittance key add".
type Table struct {
	// Names has the acts, in the order of the document.
	Names []string
	// Acts has the acts that an operation may leave.
	Acts map[string][]string
	// None has the operations that leave no entry, with the reason.
	None map[string]string
}

var code = regexp.MustCompile("`([^`]+)`")

// Read reads the document.
func Read(t *testing.T) Table {
	t.Helper()
	text, err := os.ReadFile(kit.File(t, file))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Acts\n")
	acts, none, found := strings.Cut(section, "\n## What leaves no entry\n")
	table := Table{Acts: map[string][]string{}, None: map[string]string{}}
	for _, cells := range rows(acts) {
		act := strings.Trim(cells[0], "`")
		table.Names = append(table.Names, act)
		for _, operation := range code.FindAllStringSubmatch(cells[2], -1) {
			table.Acts[operation[1]] = append(table.Acts[operation[1]], act)
		}
	}
	for _, cells := range rows(none) {
		table.None[strings.Trim(cells[0], "`")] = cells[1]
	}
	if !found || len(table.Names) == 0 || len(table.None) == 0 {
		t.Fatalf("%s has no tables", file)
	}
	return table
}

// rows returns the cells of the rows of a table that name something in code.
func rows(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); strings.HasPrefix(line, "| `") {
			for n := range cells {
				cells[n] = strings.TrimSpace(cells[n])
			}
			out = append(out, cells)
		}
	}
	return out
}

// WantDecisions checks that each of the operations that change something is in exactly one of the tables, and that the
// tables have no other operation that among selects.
func (table Table) WantDecisions(t *testing.T, operations []string, among func(operation string) bool) {
	t.Helper()
	for _, operation := range operations {
		if _, none := table.None[operation]; none == (len(table.Acts[operation]) > 0) {
			t.Errorf("%s must be in one of the tables of %s: which act does it leave, or why none?", operation, file)
		}
	}
	for operation := range table.Acts {
		if among(operation) && !slices.Contains(operations, operation) {
			t.Errorf("%s has %s, which does not exist", file, operation)
		}
	}
	for operation := range table.None {
		if among(operation) && !slices.Contains(operations, operation) {
			t.Errorf("%s has %s, which does not exist", file, operation)
		}
	}
}
