package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"quittance/internal/secret"
	"quittance/internal/store"
)

// admin are the flags of every administration command. They work beside a running server.
type admin struct {
	Data     string `placeholder:"DIR" help:"Data directory of a sandbox."`
	Database string `placeholder:"URL" help:"sqlite:PATH or postgres://…"`
	KeyFile  string `placeholder:"FILE" help:"Keys that seal secrets in the database."`
	JSON     bool   `help:"Print the record as JSON."`
}

// address returns the database and the key file that the flags name; "" for what they do not.
func (a admin) address() (database, keyFile string, err error) {
	if a.Data != "" {
		return dataLayout(a.Data)
	}
	return a.Database, a.KeyFile, nil
}

// open opens the store that the flags name.
func (a admin) open(env environment) (*store.DB, error) {
	database, keyFile, err := a.address()
	if err != nil {
		return nil, err
	}
	if database == "" || keyFile == "" {
		return nil, errNoDatabase
	}
	keys, err := secret.ReadKeyFile(keyFile)
	if err != nil {
		return nil, err
	}
	observe, err := checkpoint()
	if err != nil {
		return nil, err
	}
	return store.Open(env.ctx, database, store.Options{Keys: keys, Log: env.log, Checkpoint: observe})
}

// with runs do on the store that the flags name, and closes it.
func (a admin) with(env environment, do func(db *store.DB) error) (err error) {
	db, err := a.open(env)
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

// print prints a record: as JSON, or a line a field.
func (a admin) print(env environment, record []field) error {
	if a.JSON {
		return printJSON(env, object(record))
	}
	for _, f := range record {
		if _, err := fmt.Fprintf(env.stdout, "%-14s %v\n", f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}

// printAll prints records: as a JSON array, or a line each.
func (a admin) printAll(env environment, records [][]field) error {
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
	for _, record := range records {
		for n, f := range record {
			if n > 0 {
				if _, err := fmt.Fprint(env.stdout, "  "); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprint(env.stdout, f.value); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(env.stdout); err != nil {
			return err
		}
	}
	return nil
}

// field is one named value of a record.
type field struct {
	name  string
	value any
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

// readInput reads a file, or standard input for "-", up to 1 MiB.
func readInput(env environment, path string) ([]byte, error) {
	const most = 1 << 20
	if path == "-" {
		return io.ReadAll(io.LimitReader(env.stdin, most))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(file, most))
}

// parseID reads an identifier of the command line.
func parseID(text string) (store.ID, error) {
	id, err := store.ParseID(text)
	if err != nil {
		return id, fmt.Errorf("%q is not an identifier", text)
	}
	return id, nil
}

type migrateCmd struct{ admin }

// Help is shown by --help.
func (migrateCmd) Help() string {
	return "Example:\n  quittance migrate --database postgres://quittance@db/quittance --key-file key.json\n\nserve and every administration command do it too."
}

// Run opens the store, which migrates it.
func (c migrateCmd) Run(env environment) error {
	return c.with(env, func(*store.DB) error {
		_, err := fmt.Fprintln(env.stdout, "the schema is up to date")
		return err
	})
}
