package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// admin holds the flags of every administration command. These commands work while a server is running.
type admin struct {
	Data     string `placeholder:"DIR" help:"Data directory of a sandbox."`
	Database string `placeholder:"URL" help:"Database: sqlite:PATH or postgres://…"`
	Direct   string `name:"database-direct" placeholder:"URL" help:"Address of PostgreSQL itself, if --database leads to a connection pool in transaction mode."`
	KeyFile  string `placeholder:"FILE" help:"Key file that seals secrets in the database."`
	JSON     bool   `help:"Print the record as JSON."`
}

// Validate returns an error if the flags name two databases.
func (a admin) Validate() error {
	if a.Data != "" && (a.Database != "" || a.Direct != "" || a.KeyFile != "") {
		return errors.New(
			"--data cannot be combined with --database, --database-direct or --key-file: it already selects the database and key file of a sandbox")
	}
	return nil
}

// act holds the flags of a command that changes something.
type act struct {
	admin
	Reason string `env:"-" placeholder:"TEXT" help:"Reason to record in the audit log."`
}

// by returns env with the reason of the command.
func (a act) by(env environment) (environment, error) {
	if a.Reason != "" {
		if err := checkText("--reason", a.Reason); err != nil {
			return env, err
		}
	}
	actor := base.ActorOf(env.ctx)
	actor.Reason = a.Reason
	env.ctx = base.WithActor(env.ctx, actor)
	return env, nil
}

// with runs do on the database that the flags name and records the reason of the command.
func (a act) with(env environment, do func(env environment, db *base.DB) error) error {
	env, err := a.by(env)
	if err != nil {
		return err
	}
	return a.admin.with(env, func(db *base.DB) error { return do(env, db) })
}

// address returns the database and the key file that the flags name; "" for one that they do not name.
func (a admin) address() (database, keyFile string, err error) {
	if a.Data != "" {
		return dataLayout(a.Data)
	}
	return a.Database, a.KeyFile, nil
}

// open opens the database that the flags name, and may do to its schema what use says.
func (a admin) open(env environment, use base.SchemaUse) (*base.DB, error) {
	database, keyFile, err := a.address()
	if err != nil {
		return nil, err
	}
	if database == "" || keyFile == "" {
		return nil, errNoDatabase
	}
	if use != base.MakeSchema {
		if err := existing(database); err != nil {
			return nil, err
		}
	}
	keys, err := secret.ReadKeyFile(keyFile)
	if err != nil {
		return nil, err
	}
	observe, err := checkpoint()
	if err != nil {
		return nil, err
	}
	db, err := ledger.Open(env.ctx, database, base.Options{Direct: a.Direct, Keys: keys, Log: env.log, Checkpoint: observe,
		Schema: use, Release: env.build.Version, Admit: func(_ context.Context,
			db *base.DB) error {
			return requireVerified(env, db, database, a.Direct)
		}})
	if errors.Is(err, base.ErrNoSchema) {
		return nil, fmt.Errorf("%w (%s)", err, makeOne)
	}
	return db, err
}

// requireVerified returns an error when the database was served in production and the connection to it would not be
// accepted in production.
func requireVerified(env environment, db *base.DB, database, direct string) error {
	if served, err := invoices.ServedEnvironment(env.ctx, db); err != nil || served != service.Production {
		return err
	}
	return verified(database, direct)
}

// verified returns an error for PostgreSQL addresses that do not verify the server, as serve does in production. direct
// may be "".
func verified(database, direct string) error {
	if err := base.RequireVerifiedServer(database); err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	if err := base.RequireVerifiedServer(direct); err != nil {
		return fmt.Errorf("--database-direct: %w", err)
	}
	return nil
}

// with runs do on the database that the flags name and closes it.
func (a admin) with(env environment, do func(db *base.DB) error) error {
	return a.withDatabase(env, base.KeepSchema, do)
}

func (a admin) withDatabase(env environment, use base.SchemaUse, do func(db *base.DB) error) (err error) {
	db, err := a.open(env, use)
	if err != nil {
		return err
	}
	defer func() {
		if closed := db.Close(); err == nil {
			err = closed
		}
	}()
	return do(db)
}

// print prints a record as JSON, or with one field per line and a dash for a field without a value.
func (a admin) print(env environment, record []field) error {
	if a.JSON {
		return printJSON(env, object(record))
	}
	width := 0
	for _, f := range record {
		width = max(width, len(f.name))
	}
	for _, f := range record {
		if _, err := fmt.Fprintf(env.stdout, "%-*s %s\n", width, f.name, f.text()); err != nil {
			return err
		}
	}
	return nil
}

// printAll prints records as a JSON array, or as a table. header names the columns when there are no records.
func (a admin) printAll(env environment, header []field, records [][]field) error {
	if a.JSON {
		objects := make([]json.RawMessage, len(records))
		for n, record := range records {
			text, err := json.Marshal(object(record))
			if err != nil {
				return err
			}
			objects[n] = text
		}
		return printJSON(env, objects)
	}
	return printTable(env, header, records)
}

// printRows prints what a list command found, with the fields that record makes of each row.
func printRows[T any](env environment, a admin, rows []T, record func(T) []field) error {
	records := make([][]field, len(rows))
	for n, row := range rows {
		records[n] = record(row)
	}
	var none T
	return a.printAll(env, record(none), records)
}

// listing has the flags of the commands that list rows of all accounts.
type listing struct {
	admin
	Account string `placeholder:"ID" help:"Show only this account."`
	Limit   int    `default:"100" help:"Maximum number of rows, latest first."`
}

// maxRows is the largest --limit of a list.
const maxRows = 1_000_000

// errLimit reports an invalid --limit.
var errLimit = fmt.Errorf("--limit must be 1 to %d", maxRows)

// checkLimit returns an error unless limit is a valid --limit.
func checkLimit(limit int) error {
	if limit < 1 || limit > maxRows {
		return errLimit
	}
	return nil
}

// bounded returns at most limit of the rows that a list has found, which looked for one more, and logs that there are
// more.
func bounded[T any](env environment, found []T, limit int) []T {
	if len(found) <= limit {
		return found
	}
	env.log.WarnContext(env.ctx, "there are more rows: specify a larger --limit", "limit", limit)
	return found[:limit]
}

// listRows prints what find returns for the account of the flags, or for all accounts. find returns at most limit rows.
func listRows[T any](env environment, l listing, find func(db *base.DB, account *base.ID, limit int) ([]T, error),
	record func(T) []field) error {
	account, err := optionalID(l.Account)
	if err != nil {
		return err
	}
	if err := checkLimit(l.Limit); err != nil {
		return err
	}
	return l.with(env, func(db *base.DB) error {
		found, err := find(db, account, l.Limit+1)
		if err != nil {
			return err
		}
		return printRows(env, l.admin, bounded(env, found, l.Limit), record)
	})
}

// printTable prints records as a table with a header line, and a dash for each missing or empty field. The fields of
// header name the columns when there are no records.
func printTable(env environment, header []field, records [][]field) error {
	named := records
	if len(records) == 0 {
		named = [][]field{header}
	}
	var columns []string
	for _, record := range named {
		for _, f := range record {
			if !slices.Contains(columns, f.name) {
				columns = append(columns, f.name)
			}
		}
	}
	table := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	lines := []string{strings.ToUpper(strings.Join(columns, "\t"))}
	for _, record := range records {
		cells := make([]string, len(columns))
		for n, column := range columns {
			cells[n] = "-"
			if at := slices.IndexFunc(record, func(f field) bool { return f.name == column }); at >= 0 {
				cells[n] = oneLine.Replace(record[at].text())
			}
		}
		lines = append(lines, strings.Join(cells, "\t"))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(table, line); err != nil {
			return err
		}
	}
	return table.Flush()
}

// oneLine replaces the characters that would break a table cell.
var oneLine = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ") //nolint:gochecknoglobals // a constant

// field is one named value of a record.
type field struct {
	name  string
	value any
}

// text returns the value as readable text, or a dash if there is none.
func (f field) text() string {
	if f.value == nil {
		return "-"
	}
	return cmp.Or(fmt.Sprint(f.value), "-")
}

// object is a record as a JSON object with its fields in order.
type object []field

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for n, f := range o {
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

func printJSON(env environment, value any) error {
	encoder := json.NewEncoder(env.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// readInput reads up to 1 MiB from a file, or from standard input for "-".
func readInput(env environment, path string) ([]byte, error) {
	const most = 1 << 20
	if path == "-" {
		return io.ReadAll(io.LimitReader(env.stdin, most))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the file was only read
	return io.ReadAll(io.LimitReader(file, most))
}

// parseID parses an identifier given on the command line.
func parseID(text string) (base.ID, error) {
	id, err := base.ParseID(text)
	if err != nil {
		return id, fmt.Errorf("%q is not a valid identifier", text)
	}
	return id, nil
}

// makeOne explains how to create a database.
const makeOne = "to create one, run quittance migrate --create or start a server"

// existing returns an error if a SQLite database does not exist, because opening it would create an empty one.
func existing(database string) error {
	path, isSQLite := strings.CutPrefix(database, "sqlite:")
	switch {
	case database == "":
		return errNoDatabase
	case !isSQLite:
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open the database: %w (%s)", err, makeOne)
		}
		return fmt.Errorf("open the database: %w", err)
	}
	return nil
}

type migrateCmd struct {
	act
	Create bool `help:"Create the schema in an empty database; for SQLite, create the file if it does not exist."`
}

// Help is shown by --help.
func (migrateCmd) Help() string {
	return `Example:
  quittance migrate --create --database postgres://quittance@db/quittance --key-file key.json
  quittance migrate --database postgres://quittance@db/quittance --key-file key.json

Only serve and migrate update the schema of an existing database, and only serve and migrate --create create one. Every
other command refuses a database with an older schema.`
}

// Run opens the database, which migrates it.
func (c migrateCmd) Run(env environment) error {
	env, err := c.by(env)
	if err != nil {
		return err
	}
	use := base.UpdateSchema
	if c.Create {
		use = base.MakeSchema
	}
	return c.withDatabase(env, use, func(db *base.DB) error {
		done, said := db.Migrated, "the schema is up to date"
		switch {
		case done.From == 0:
			said = "created the database"
		case done.From != done.To:
			said = fmt.Sprintf("updated the schema from version %d to %d", done.From, done.To)
		}
		_, err := fmt.Fprintln(env.stdout, said)
		return err
	})
}
