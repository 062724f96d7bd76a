package integration_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"

	"quittance/sandbox"
)

// tamper runs a statement on the database of the sandbox, like somebody with a shell on the machine.
func (w *world) tamper(args []string) (err error) {
	if len(args) != 1 {
		return errUsage
	}
	address, err := sandbox.Layout(filepath.Join(w.dir, "data")).Database()
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(address, "sqlite:")+"?_pragma=busy_timeout(15000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(context.Background(), os.Expand(args[0], w.ts.Getenv))
	return err
}
