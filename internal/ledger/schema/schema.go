// Package schema has the migrations of the database, one file for each, in the order of their numbers. Most are for
// both engines; a file whose name ends with the name of an engine is for that engine alone. Migrations only add: the
// previous release must work on the schema of the next.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Baseline is the number of the last migration of release 0.3.0. The files up to it make the schema of that release at
// once, in place of the migrations that it had; a database of an earlier release cannot be migrated.
const Baseline = 49

//go:embed *.sql
var files embed.FS

// Files returns the migrations.
func Files() fs.FS { return files }

// Newest returns the number of the latest migration for an engine, sqlite or postgres; for "" that of all files.
func Newest(engine string) (latest int64, err error) {
	others := map[string]string{"sqlite": "_postgres.sql", "postgres": "_sqlite.sql"}[engine]
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("migrations: %w", err)
	}
	for _, name := range names {
		if others != "" && strings.HasSuffix(name, others) {
			continue
		}
		number, _, _ := strings.Cut(name, "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", name, err)
		}
		latest = max(latest, n)
	}
	return latest, nil
}
