package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

type keyCmd struct {
	Generate keyGenerateCmd `cmd:"" help:"Create a key file."`
	List     keyListCmd     `cmd:"" help:"List the keys of a key file, without their material."`
	Add      keyAddCmd      `cmd:"" help:"Rotation, step 1: add a key to the key file, which you then copy to every machine."`
	Promote  keyPromoteCmd  `cmd:"" help:"Rotation, step 2: make a key that all running servers have loaded the primary key, which seals new values."`
	Reseal   keyResealCmd   `cmd:"" help:"Rotation, step 3: reseal all values under the primary key."`
	Rotate   keyRotateCmd   `cmd:"" help:"Run all three steps, for servers that share one key file."`
	Retire   keyRetireCmd   `cmd:"" help:"Disable a key that no value is sealed under any more; it then opens nothing."`
}

// Help is shown by --help.
func (keyCmd) Help() string {
	return `Example:
  quittance key list --key-file key.json

To rotate a key over several machines: run key add, copy the key file to every machine, run key promote, copy the key file
again, and run key reseal. If the old key must not open anything any more, run key retire.`
}

type keyGenerateCmd struct {
	Out string `required:"" placeholder:"FILE" help:"File to create; an existing file is never overwritten."`
}

// Help is shown by --help.
func (keyGenerateCmd) Help() string {
	return "Example:\n  quittance key generate --out key.json\n\nWithout this file, nothing sealed in the database can be opened: keep a copy apart from the database."
}

// Run creates a key file.
func (c keyGenerateCmd) Run(env environment) error {
	keys, err := secret.Generate()
	if err != nil {
		return err
	}
	if err := keys.WriteKeyFile(c.Out); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf(
			"%s already exists, and key files are never overwritten: choose another name or keep using this file", c.Out)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, "wrote", c.Out)
	return err
}

type keyListCmd struct{ admin }

// Help is shown by --help.
func (keyListCmd) Help() string {
	return `Example:
  quittance key list --key-file key.json
  quittance key list --data ./sandbox

The command reads only the key file. It accepts the flags of the database but does not open the database.`
}

// errNoKeyFile reports that the flags of key list name no key file.
var errNoKeyFile = errors.New("specify --key-file FILE, or --data DIR for a sandbox")

// Run lists the keys.
func (c keyListCmd) Run(env environment) error {
	_, file, err := c.address()
	if err != nil {
		return err
	}
	if file == "" {
		return errNoKeyFile
	}
	keys, err := secret.ReadKeyFile(file)
	if err != nil {
		return err
	}
	var records [][]field
	for _, key := range keys.List() {
		records = append(records, []field{{"id", key.ID}, {"status", key.Status}, {"primary", key.Primary}})
	}
	return c.printAll(env, []field{{name: "id"}, {name: "status"}, {name: "primary"}}, records)
}

// keyChange holds the flags of a command that changes the key file of a database.
type keyChange struct{ act }

// change reads the key file, opens the database with it, and calls do with both.
func (c keyChange) change(env environment, do func(env environment, db *base.DB, keys *secret.Keyring,
	file string) error) error {
	_, file, err := c.address()
	if err != nil {
		return err
	}
	if file == "" {
		return errNoDatabase
	}
	keys, err := secret.ReadKeyFile(file)
	if err != nil {
		return err
	}
	return c.with(env, func(env environment, db *base.DB) error { return do(env, db, keys, file) })
}

type keyAddCmd struct{ keyChange }

// Help is shown by --help.
func (keyAddCmd) Help() string {
	return `Example:
  quittance key add --database postgres://db/quittance --key-file key.json

The new key can open values but does not seal any yet. Copy the key file to every machine that runs a server; running servers
load it within two seconds. Then run quittance key promote ID.`
}

// Run adds a key to the key file.
func (c keyAddCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *base.DB, keys *secret.Keyring, file string) error {
		_, id, err := addKey(env.ctx, db, keys, file)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"key_id", id}, {"key_file", file},
			{"next", fmt.Sprintf("copy this key file to every machine that runs a server, then run quittance key promote %d",
				id)}})
	})
}

// addKey adds a key to the key file and then an entry to the audit log. This order ensures that the log contains no key
// that was never added.
func addKey(ctx context.Context, db *base.DB, keys *secret.Keyring, file string) (*secret.Keyring, uint32, error) {
	added, id, err := keys.Add()
	if err != nil {
		return nil, 0, err
	}
	if err := added.ReplaceKeyFile(file); err != nil {
		return nil, 0, err
	}
	if err := db.AddedKey(ctx, id); err != nil {
		return nil, 0, fmt.Errorf("key %d was added to %s, but the audit log has no entry for it: %w", id, file, err)
	}
	return added, id, nil
}

// keyWait holds the flag of commands that wait until running servers have loaded the key file.
type keyWait struct {
	Wait time.Duration `default:"40s" help:"Maximum time to wait until all running servers have loaded the key file."`
}

// waitEvery is the interval between two checks of the servers.
const waitEvery = 200 * time.Millisecond

// until calls try repeatedly while it asks to wait and the time is not over, and returns its last error.
func (w keyWait) until(ctx context.Context, try func() (wait bool, err error)) error {
	for deadline := time.Now().Add(w.Wait); ; {
		wait, err := try()
		if !wait || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(waitEvery):
		}
	}
}

type keyPromoteCmd struct {
	keyChange
	keyWait
	ID uint32 `arg:"" help:"Number of the key, as printed by key add and key list."`
}

// Help is shown by --help.
func (keyPromoteCmd) Help() string {
	return `Example:
  quittance key promote 2215823711 --database postgres://db/quittance --key-file key.json

The command fails while a running server has not loaded the key, because that server could not open what others seal. Copy the
key file to every machine again afterwards: until then, its servers seal under the previous key. Then run quittance key reseal.`
}

// Run promotes a key.
func (c keyPromoteCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *base.DB, keys *secret.Keyring, file string) error {
		if err := c.promote(env.ctx, db, keys, c.ID, file); err != nil {
			return err
		}
		return c.print(env, []field{{"primary", c.ID}, {"key_file", file},
			{"next", "copy this key file to every machine that runs a server, then run quittance key reseal"}})
	})
}

// promote makes a key the primary key, first of the database, once all running servers have loaded it, and then of the
// key file.
func (w keyWait) promote(ctx context.Context, db *base.DB, keys *secret.Keyring, id uint32, file string) error {
	promoted, err := keys.Promote(id)
	if errors.Is(err, secret.ErrNoKey) {
		return fmt.Errorf("key file %s has no enabled key %d: see quittance key list", file, id)
	}
	if err != nil {
		return err
	}
	if err := w.until(ctx, func() (bool, error) {
		err := db.RecordKey(ctx, promoted)
		return errors.As(err, new(*base.KeyNotLoadedError)), err
	}); err != nil {
		return err
	}
	return promoted.ReplaceKeyFile(file)
}

type keyResealCmd struct {
	keyChange
	keyWait
}

// Help is shown by --help.
func (keyResealCmd) Help() string {
	return `Example:
  quittance key reseal --database postgres://db/quittance --key-file key.json

Servers may be running, and you can interrupt the command and run it again. It waits for servers that have not loaded the key
file since key promote and still seal under the previous key. If servers_behind is not 0, copy the key file to them and run
the command again.`
}

// Run reseals all values under the primary key.
func (c keyResealCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *base.DB, _ *secret.Keyring, _ string) error {
		return c.reseal(env, db, c.keyWait)
	})
}

// reseal reseals all values under the primary key and prints their number.
func (c keyChange) reseal(env environment, db *base.DB, wait keyWait) error {
	behind := 0
	if err := wait.until(env.ctx, func() (bool, error) {
		servers, err := db.Servers(env.ctx)
		behind = 0
		for _, s := range servers {
			if s.PrimaryKey != db.Keys().PrimaryID() {
				behind++
			}
		}
		return behind > 0, err
	}); err != nil {
		return err
	}
	resealed, err := ledger.Reseal(env.ctx, db)
	if err != nil {
		return fmt.Errorf("resealed only %d values; run quittance key reseal again: %w", resealed, err)
	}
	return c.print(env, []field{{"primary", db.Keys().PrimaryID()}, {"resealed", resealed}, {"servers_behind", behind}})
}

type keyRotateCmd struct {
	keyChange
	keyWait
	Resume bool `help:"Add no key; only reseal values that are still sealed under an older key, as key reseal does."`
}

// Help is shown by --help.
func (keyRotateCmd) Help() string {
	return `Example:
  quittance key rotate --database postgres://db/quittance --key-file key.json

The command adds a key, waits until all running servers have loaded it, promotes it and reseals all values. Use it if all servers
read this key file. With key files on several machines, use key add, key promote and key reseal.`
}

// Run rotates the keys.
func (c keyRotateCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *base.DB, keys *secret.Keyring, file string) error {
		if c.Resume {
			return c.reseal(env, db, c.keyWait)
		}
		id, err := unpromoted(env.ctx, db, keys)
		if err != nil {
			return err
		}
		if id == 0 {
			if keys, id, err = addKey(env.ctx, db, keys, file); err != nil {
				return err
			}
		}
		if err := c.promote(env.ctx, db, keys, id, file); err != nil {
			return fmt.Errorf("key %d was added but is not in use yet; continue with quittance key promote: %w", id, err)
		}
		return c.reseal(env, db, c.keyWait)
	})
}

// unpromoted returns the key that an interrupted rotation added, or 0 if there is none.
func unpromoted(ctx context.Context, db *base.DB, keys *secret.Keyring) (uint32, error) {
	for _, key := range keys.List() {
		recorded, err := db.KeyRecorded(ctx, key.ID)
		if err != nil {
			return 0, err
		}
		if !recorded && keys.Holds(key.ID) {
			return key.ID, nil
		}
	}
	return 0, nil
}

type keyRetireCmd struct {
	keyChange
	ID uint32 `arg:"" help:"Number of the key."`
}

// Help is shown by --help.
func (keyRetireCmd) Help() string {
	return `Example:
  quittance key retire 1463520871 --database postgres://db/quittance --key-file key.json

The command fails, and says why, while a value is sealed under the key or a running server seals with it. Copy the key file to every
machine again afterwards. To restore a backup from before the last key reseal, you need a copy of the key file from that time.`
}

// Run retires a key.
func (c keyRetireCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *base.DB, keys *secret.Keyring, file string) error {
		if c.ID == keys.PrimaryID() {
			return fmt.Errorf("key %d is the primary key: promote another key first", c.ID)
		}
		before, err := ledger.RetireKey(env.ctx, db, c.ID)
		if errors.Is(err, secret.ErrNoKey) {
			return fmt.Errorf("neither key file %s nor the database has a key %d: see quittance key list", file, c.ID)
		}
		if err != nil {
			return err
		}
		if keys.Holds(c.ID) {
			disabled, err := keys.Disable(c.ID)
			if err != nil {
				return err
			}
			if err := disabled.ReplaceKeyFile(file); err != nil {
				return err
			}
		}
		next := "copy this key file to every machine that runs a server"
		if before {
			next = "the key was already retired; if you have not done so, " + next
		}
		return c.print(env, []field{{"retired", c.ID}, {"retired_before", before}, {"key_file", file}, {"next", next}})
	})
}
