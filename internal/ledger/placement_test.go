package ledger_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// placement is what docs/ops/scaling.md says about a table: the column that it is distributed by, "" for a reference
// table, and whether its keys have to change first.
type placement struct {
	column string
	later  bool
}

var (
	placedTable       = regexp.MustCompile("`([a-z_]+)`")
	distributedColumn = regexp.MustCompile("distributed by `([a-z_]+)`")
)

// placements reads the table of the section about sharding.
func placements(t *testing.T) map[string]placement {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "ops", "scaling.md"))
	kit.Must(t, err)
	_, section, _ := strings.Cut(string(text), "\n| Tables | Placement |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	found := map[string]placement{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			t.Fatalf("not a row of two cells: %s", line)
		}
		var by placement
		if named := distributedColumn.FindStringSubmatch(cells[2]); named != nil {
			by = placement{column: named[1], later: strings.Contains(cells[2], "after")}
		}
		for _, name := range placedTable.FindAllStringSubmatch(cells[1], -1) {
			if _, twice := found[name[1]]; twice {
				t.Errorf("docs/ops/scaling.md places %s twice", name[1])
			}
			found[name[1]] = by
		}
	}
	return found
}

// TestEveryTableHasAPlacement checks the design in docs/ops/scaling.md with the schema: it places every table, and the
// database could keep the keys and references of each where it is placed. A key of a distributed table must contain its
// column, and here begins with it; a reference must stay in the shard or lead to a reference table.
func TestEveryTableHasAPlacement(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		if f.SingleServer() {
			return // the schema is the same, and only PostgreSQL can be distributed
		}
		placed := placements(t)
		if tables := texts(t, f,
			`select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`); !slices.Equal(tables, slices.Sorted(maps.Keys(placed))) {
			t.Errorf("docs/ops/scaling.md places %v\nthe schema has %v", slices.Sorted(maps.Keys(placed)), tables)
		}
		for _, key := range texts(t, f,
			`select c.relname || ' ' || a.attname from pg_index i join pg_class c on c.oid = i.indrelid
			join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] where i.indisunique and c.relnamespace = 'public'::regnamespace`) {
			table, first, _ := strings.Cut(key, " ")
			if by := placed[table]; by.column != "" && first != by.column && !by.later {
				t.Errorf("%s is distributed by %s, and a key of it begins with %s", table, by.column, first)
			} else if first == "tenant_id" && by.column != first {
				t.Errorf("%s belongs to a tenant and is not distributed by it", table)
			}
		}
		for _, reference := range texts(t, f,
			`select c.conrelid::regclass || ' ' || c.confrelid::regclass || ' ' || a.attname from pg_constraint c
			join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1] where c.contype = 'f'`) {
			from := strings.Fields(reference)
			if to := placed[from[1]]; to.column != "" && (placed[from[0]] != to || from[2] != to.column) {
				t.Errorf("%s refers to %s, which is in another shard", from[0], from[1])
			}
		}
	})
}

// texts returns the only column of a query.
func texts(t *testing.T, f *fixture.Fixture, query string) (all []string) {
	t.Helper()
	rows, err := f.Raw.QueryContext(t.Context(), query)
	kit.Must(t, err)
	defer rows.Close()
	for rows.Next() {
		var one string
		kit.Must(t, rows.Scan(&one))
		all = append(all, one)
	}
	kit.Must(t, rows.Err())
	return all
}
