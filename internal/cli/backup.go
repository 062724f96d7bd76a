package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ops/backup"
	"quittance/internal/platform/secret"
)

type backupCmd struct {
	Run    backupRunCmd    `cmd:"" default:"withargs" help:"Back up a database, even while servers run on it."`
	List   backupListCmd   `cmd:"" help:"List the backups in a directory or a bucket."`
	Verify backupVerifyCmd `cmd:"" help:"Read every byte of a backup and check it."`
}

// Help is shown by --help.
func (backupCmd) Help() string {
	return `Example:
  quittance backup --to /backups --database postgres://quittance@db/quittance --key-file key.json
  quittance backup list --from /backups

For the flags, see "quittance backup run --help"; run is the default command.`
}

type backupRunCmd struct {
	admin
	place
	To   string `xor:"to" placeholder:"PLACE" help:"Directory, or s3://BUCKET/PREFIX, to write a backup with a name of its own to."`
	Keep int    `placeholder:"N" help:"Then remove all but the latest N complete backups of this database, and what interrupted backups have left for a day; by default nothing is removed."`
	Out  string `xor:"to" placeholder:"FILE" help:"Copy a SQLite database to this file instead; an existing file is never overwritten."`
}

// Help is shown by --help.
func (backupRunCmd) Help() string {
	return `Example:
  quittance backup --to /backups --keep 14 --database postgres://quittance@db/quittance --key-file key.json
  quittance backup --to s3://company-backups/quittance --s3-endpoint https://s3.example --database sqlite:quittance.db --key-file key.json
  quittance backup --data ./sandbox --out backup.db

Servers may be running. The backup shows the database as of one moment. Its manifest is written last and sealed with the key
file, which is not in the backup: keep a separate copy of it. Credentials for S3 are those of AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, or of AWS_SHARED_CREDENTIALS_FILE. To restore, use quittance restore.

--out needs no key file. It writes one SQLite file, after whose restore you must run quittance restored before a server starts.`
}

// Validate returns an error if the flags contradict each other.
func (c backupRunCmd) Validate() error {
	switch {
	case c.To == "" && c.Out == "":
		return errors.New("specify --to PLACE, or --out FILE for a copy of a SQLite database")
	case c.Keep < 0 || c.Keep > 0 && c.To == "":
		return errors.New("--keep is the number of backups to keep, at least 1, and needs --to")
	}
	return c.admin.Validate()
}

// Run writes the backup. It does not migrate the schema, because backups are made before upgrades.
func (c backupRunCmd) Run(env environment) error {
	if c.Out != "" {
		return c.copyTo(env)
	}
	database, keys, err := c.inputs()
	if err != nil {
		return err
	}
	to, err := c.openPlace("--to", c.To)
	if err != nil {
		return err
	}
	observe, err := checkpoint()
	if err != nil {
		return err
	}
	db, err := base.OpenUnmigrated(env.ctx, database,
		base.Options{Direct: c.Direct, Keys: keys, Log: env.log, Checkpoint: observe})
	if err != nil {
		return err
	}
	err = c.writeTo(env, db, database, keys, to)
	return errors.Join(err, db.Close())
}

// inputs returns the database, which exists, and the keys that the flags name.
func (c backupRunCmd) inputs() (database string, keys *secret.Keyring, err error) {
	database, keyFile, err := c.address()
	if err != nil {
		return "", nil, err
	}
	if database == "" || keyFile == "" {
		return "", nil, errNoDatabase
	}
	if err := existing(database); err != nil {
		return "", nil, err
	}
	keys, err = secret.ReadKeyFile(keyFile)
	return database, keys, err
}

func (c backupRunCmd) writeTo(env environment, db *base.DB, database string, keys *secret.Keyring,
	to backup.Place) error {
	if err := requireVerified(env, db, database, c.Direct); err != nil {
		return err
	}
	if err := db.CheckKeys(env.ctx); err != nil {
		return err
	}
	made, err := backup.Write(env.ctx, db, to, backup.Options{Program: env.build.Version, Keys: keys, Random: rand.Reader})
	if err != nil {
		return err
	}
	audited, err := ledger.RecordBackup(env.ctx, db, made.At, made.Name, to.String())
	if err != nil {
		return fmt.Errorf("the backup %s is complete, but this is not recorded in the database: %w", made.Name, err)
	}
	if !audited {
		env.log.WarnContext(env.ctx,
			"the audit log has no entry of this backup: the schema of the database is older than this program",
			"backup", made.Name)
	}
	var done backup.Retained
	if c.Keep > 0 {
		if done, err = backup.Retain(env.ctx, to, backup.Opener{Keys: keys}, made, c.Keep, db.Now()); err != nil {
			return fmt.Errorf("the backup %s is complete, but earlier ones could not be removed: %w", made.Name, err)
		}
	}
	for _, name := range done.Unread {
		env.log.WarnContext(env.ctx,
			"a backup is not counted and never removed: it is damaged, or the key file does not have the key that sealed it",
			"backup", name)
	}
	for _, name := range done.Later {
		env.log.WarnContext(env.ctx,
			"a backup has a later time than the one just made: the clock of the database was ahead, and restore would take that one unless you name another", "backup", name)
	}
	return c.print(env, append(described(to, made), field{"removed", len(done.Removed)}))
}

// described returns the record of a complete backup.
func described(place backup.Place, m *backup.Manifest) []field {
	return []field{{"backup", m.Name}, {"place", place.String()}, {"database_id", m.Database},
		{"at", m.At.Format(time.RFC3339)}, {"program", m.Program}, {"engine", m.Content.Engine},
		{"schema_version", m.Content.SchemaVersion}, {"tables", len(m.Content.Tables)}, {"rows", m.Content.Rows()},
		{"bytes", m.Plain()}, {"stored_bytes", m.Size()}}
}

// copyTo copies a SQLite database to a file.
func (c backupRunCmd) copyTo(env environment) (err error) {
	database, _, err := c.address()
	if err != nil {
		return err
	}
	if err := existing(database); err != nil {
		return err
	}
	if base.IsPostgres(database) {
		return base.ErrBackup // no connection is needed to report this
	}
	db, err := base.OpenUnmigrated(env.ctx, database, base.Options{Log: env.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	at := db.Now()
	if err := db.Backup(env.ctx, c.Out); err != nil {
		return err
	}
	if _, err := ledger.RecordBackup(env.ctx, db, at, "", c.Out); err != nil {
		return fmt.Errorf("the copy is complete, but this is not recorded in the database: %w", err)
	}
	written, err := os.Stat(c.Out)
	if err != nil {
		return err
	}
	return c.print(env, []field{{"file", c.Out}, {"bytes", written.Size()}})
}
