package cli

import (
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ops/backup"
	"quittance/internal/platform/secret"
)

type backupListCmd struct {
	place
	From string `required:"" placeholder:"PLACE" help:"Directory, or s3://BUCKET/PREFIX, with backups."`
	JSON bool   `help:"Print a JSON array."`
}

// Help is shown by --help.
func (backupListCmd) Help() string {
	return `Example:
  quittance backup list --from /backups

The latest backup is the last. An incomplete one is being written, or was interrupted; it cannot be restored. The command does
not check the backups: see quittance backup verify.`
}

// Run lists the backups of a place.
func (c backupListCmd) Run(env environment) error {
	from, err := c.openPlace("--from", c.From)
	if err != nil {
		return err
	}
	entries, err := backup.List(env.ctx, from, backup.Opener{})
	if err != nil {
		return err
	}
	record := func(e backup.Entry) []field {
		fields := []field{{"backup", e.Name}, {"state", "incomplete"}, {"database_id", nil}, {"at", nil}, {"program", nil},
			{"engine", nil}, {"schema_version", nil}, {"rows", nil}, {"stored_bytes", nil}}
		switch m := e.Manifest; {
		case e.Fault != nil:
			env.log.WarnContext(env.ctx, "a backup is damaged", "backup", e.Name, "error", e.Fault)
			fields[1].value = "damaged"
		case m != nil:
			for n, value := range []any{"complete", m.Database, m.At.Format(time.RFC3339), m.Program, m.Content.Engine,
				m.Content.SchemaVersion, m.Content.Rows(), m.Size()} {
				fields[n+1].value = value
			}
		}
		return fields
	}
	return printRows(env, admin{JSON: c.JSON}, entries, record)
}

type backupVerifyCmd struct {
	place
	From    string `required:"" placeholder:"PLACE" help:"Directory, or s3://BUCKET/PREFIX, with the backup."`
	Backup  string `env:"-" placeholder:"NAME" help:"Name of the backup; by default the latest complete one, if all are of one database."`
	KeyFile string `placeholder:"FILE" help:"Key file of the database. Without it, only accidental damage is found."`
	JSON    bool   `help:"Print the record as JSON."`
}

// Help is shown by --help.
func (backupVerifyCmd) Help() string {
	return `Example:
  quittance backup verify --from /backups --key-file key.json
  quittance backup verify --from s3://company-backups/quittance --backup 20260131T220000.250Z-4f1c22ab

The command reads the whole backup. It exits with status 1 if anything is missing, shortened or altered.`
}

// Run verifies one backup.
func (c backupVerifyCmd) Run(env environment) error {
	from, err := c.openPlace("--from", c.From)
	if err != nil {
		return err
	}
	var open backup.Opener
	if c.KeyFile != "" {
		if open.Keys, err = secret.ReadKeyFile(c.KeyFile); err != nil {
			return err
		}
	}
	source, err := backup.Find(env.ctx, from, c.Backup, open)
	if err != nil {
		return err
	}
	if err := source.Verify(env.ctx); err != nil {
		return err
	}
	checked := "size and digest of every part"
	if open.Keys != nil {
		checked = "seal of the manifest, size and digest of every part"
	}
	return admin{JSON: c.JSON}.print(env, append(described(from, source.Manifest()), field{"checked", checked}))
}

type restoreCmd struct {
	act
	place
	From   string `required:"" placeholder:"PLACE" help:"Directory, or s3://BUCKET/PREFIX, with the backup."`
	Backup string `env:"-" placeholder:"NAME" help:"Name of the backup; by default the latest complete one, if all are of one database."`
}

// Help is shown by --help.
func (restoreCmd) Help() string {
	return `Example:
  quittance restore --from /backups --database postgres://quittance@db/quittance --key-file key.json
  quittance restore --from s3://company-backups/quittance --backup 20260131T220000.250Z-4f1c22ab --database sqlite:quittance.db --key-file key.json

The database must be empty (for SQLite, the file must not exist): a restore never overwrites anything. No server starts on the
database before the restore is complete; after an interruption, run the command again. It also does what quittance restored
does: the service asks the provider about every open submission, and sends no existing invoice before the provider has said
whether it has it. All tokens are revoked.`
}

// Run restores a backup and marks the database as restored.
func (c restoreCmd) Run(env environment) error {
	env, err := c.by(env)
	if err != nil {
		return err
	}
	database, keyFile, err := c.address()
	if err != nil {
		return err
	}
	if database == "" || keyFile == "" {
		return errNoDatabase
	}
	from, err := c.openPlace("--from", c.From)
	if err != nil {
		return err
	}
	keys, err := secret.ReadKeyFile(keyFile)
	if err != nil {
		return err
	}
	observe, err := checkpoint()
	if err != nil {
		return err
	}
	source, err := backup.Find(env.ctx, from, c.Backup, backup.Opener{Keys: keys})
	if err != nil {
		return err
	}
	open, err := source.Restore(env.ctx, database, base.Options{Direct: c.Direct, Keys: keys, Log: env.log,
		Checkpoint: observe})
	if errors.Is(err, ledger.ErrCopy) {
		return fmt.Errorf("%w: %w", backup.ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	return c.print(env, append(described(from, source.Manifest()), field{"open_submissions", open},
		field{"next",
			"run quittance evidence verify; the next server to start asks the provider about the open submissions"}))
}
