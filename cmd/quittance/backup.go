package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"quittance/internal/store"
)

type backupCmd struct {
	admin
	Out string `required:"" placeholder:"FILE" help:"File to create; an existing file is never overwritten."`
}

// Help is shown by --help.
func (backupCmd) Help() string {
	return `Example:
  quittance backup --data ./sandbox --out backup.db

A server may be running. The command needs no key file, and the backup does not contain it: keep a separate copy of the key
file. Back up PostgreSQL with pg_dump or continuous archiving. After a restore, run quittance restored before you start a server.`
}

// Run writes the copy. It does not migrate the schema, because backups are made before upgrades.
func (c backupCmd) Run(env environment) (err error) {
	database, _, err := c.address()
	if err != nil {
		return err
	}
	if err := existing(database); err != nil {
		return err
	}
	if store.IsPostgres(database) {
		return store.ErrBackup // no connection is needed to report this
	}
	db, err := store.OpenUnmigrated(env.ctx, database, store.Options{Log: env.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Backup(env.ctx, c.Out); err != nil {
		return err
	}
	written, err := os.Stat(c.Out)
	if err != nil {
		return err
	}
	return c.print(env, []field{{"file", c.Out}, {"bytes", written.Size()}})
}

type restoredCmd struct {
	act
	Yes bool `env:"-" help:"Record the restore even if servers are running on the database."`
}

// Help is shown by --help.
func (restoredCmd) Help() string {
	return `Example:
  quittance restored --data ./sandbox

Run this command after a restore, before you start a server. It fails while a server is running unless you specify --yes.
The service then asks the provider about every open submission at once, and sends no existing invoice before the provider
has said whether it has it. All tokens are revoked.`
}

// Run records the restore.
func (c restoredCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *store.DB) error {
		if err := c.confirm(env, db); err != nil {
			return err
		}
		open, err := db.MarkRestored(env.ctx)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"open_submissions", open}, {"next", "the next server to start asks the provider about them"}})
	})
}

// confirm returns an error while servers run, unless --yes is set. On SQLite a lock shows for certain whether a server runs;
// on PostgreSQL a server that died counts as running until its last announcement is [store.ServerTimeout] old.
func (c restoredCmd) confirm(env environment, db *store.DB) error {
	if c.Yes {
		return nil
	}
	var names []string
	if db.SingleServer() {
		release, err := db.LockForServing()
		switch {
		case errors.Is(err, store.ErrAlreadyServed):
			return errors.New("a server is running on this database: stop it first, because this command revokes all tokens and requeries all open submissions; " +
				"specify --yes to record the restore anyway")
		case err != nil:
			return err
		default:
			return release()
		}
	} else {
		servers, err := db.Servers(env.ctx)
		if err != nil {
			return err
		}
		for _, s := range servers {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("servers are running on this database (%s): stop them first, because this command revokes all tokens and requeries all open submissions; "+
		"a server that died counts as running for %s; specify --yes to record the restore anyway", strings.Join(names, ", "), store.ServerTimeout)
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
