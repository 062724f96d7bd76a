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
	Out string `required:"" placeholder:"FILE" help:"File to create; an existing one is never overwritten."`
}

// Help is shown by --help.
func (backupCmd) Help() string {
	return `Example:
  quittance backup --data ./sandbox --out backup.db

Works beside a running server, and needs no key file. That is not in it: keep a copy of it apart. A PostgreSQL database is
backed up by pg_dump or continuous archiving. After a restore, run quittance restored before anything is served.`
}

// Run writes the copy. It leaves the schema as it is: a backup is what one makes before an upgrade.
func (c backupCmd) Run(env environment) (err error) {
	database, _, err := c.address()
	if err != nil {
		return err
	}
	if err := existing(database); err != nil {
		return err
	}
	if store.IsPostgres(database) {
		return store.ErrBackup // without a connection, which it would not use
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
	Yes bool `env:"-" help:"Declare it although servers are running on the database."`
}

// Help is shown by --help.
func (restoredCmd) Help() string {
	return `Example:
  quittance restored --data ./sandbox

Run it after a restore, before anything is served: it is refused while a server runs, unless --yes confirms it. Every open
submission is asked about at once; no invoice that exists now is sent before the provider was asked whether it has it; every
token is revoked.`
}

// Run records the restore.
func (c restoredCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *store.DB) error {
		if err := c.confirm(env, db); err != nil {
			return err
		}
		open, err := db.Restored(env.ctx)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"open_submissions", open}, {"next", "asked about as soon as a server runs"}})
	})
}

// confirm refuses while servers run, unless that is wanted. On SQLite their lock says so for certain; elsewhere a server that
// died counts as running until its last announcement is [store.ServerTimeout] old.
func (c restoredCmd) confirm(env environment, db *store.DB) error {
	if c.Yes {
		return nil
	}
	var names []string
	if db.Exclusive() {
		release, err := db.Serve()
		switch {
		case errors.Is(err, store.ErrServed):
			return errors.New("a server is running on this database: stop it first, because every token is revoked and every open submission is asked about. " +
				"--yes declares the restore all the same")
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
	return fmt.Errorf("servers are running on this database (%s): stop them first, because every token is revoked and every open submission is asked about. "+
		"A server that died counts for %s. --yes declares the restore all the same", strings.Join(names, ", "), store.ServerTimeout)
}

// makeOne says where a database comes from.
const makeOne = "to make one: quittance migrate --create, or start a server"

// existing refuses a SQLite database that is not there: opening it would make an empty one.
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
			return fmt.Errorf("the database: %w (%s)", err, makeOne)
		}
		return fmt.Errorf("the database: %w", err)
	}
	return nil
}
