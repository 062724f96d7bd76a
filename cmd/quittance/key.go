package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"quittance/internal/secret"
	"quittance/internal/store"
)

type keyCmd struct {
	Generate keyGenerateCmd `cmd:"" help:"Make a key file."`
	List     keyListCmd     `cmd:"" help:"List the keys of a key file, without their material."`
	Add      keyAddCmd      `cmd:"" help:"Rotation, step 1: add a key to the key file, to be given to every machine."`
	Promote  keyPromoteCmd  `cmd:"" help:"Rotation, step 2: have new values sealed under a key that every running server has loaded."`
	Reseal   keyResealCmd   `cmd:"" help:"Rotation, step 3: seal everything anew under the primary key."`
	Rotate   keyRotateCmd   `cmd:"" help:"All three steps, where one key file serves every server."`
	Retire   keyRetireCmd   `cmd:"" help:"Disable a key that nothing is sealed under any more: it opens nothing from then on."`
}

// Help is shown by --help.
func (keyCmd) Help() string {
	return `Example:
  quittance key list --key-file key.json

A rotation over several machines: key add; give the key file to every machine; key promote; give the key file to every
machine again; key reseal; and at last, if the old key is not to open anything any more, key retire.`
}

type keyGenerateCmd struct {
	Out string `required:"" placeholder:"FILE" help:"File to create; an existing one is never overwritten."`
}

// Help is shown by --help.
func (keyGenerateCmd) Help() string {
	return "Example:\n  quittance key generate --out key.json\n\nWithout this file nothing sealed in the database can be opened again: keep a copy apart from the database."
}

// Run makes a key file.
func (c keyGenerateCmd) Run(env environment) error {
	keys, err := secret.Generate()
	if err != nil {
		return err
	}
	if err := keys.WriteKeyFile(c.Out); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and a key file is never overwritten: choose another name, or keep using this one", c.Out)
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

It reads the key file alone: the database may be named as for other commands, and is not opened.`
}

// errNoKeyFile says that key list does not know which key file it is about.
var errNoKeyFile = errors.New("specify the key file: --key-file FILE, or --data DIR of a sandbox")

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

// keyChange are the flags of a command that changes the key file of a database.
type keyChange struct{ act }

// change reads the key file, opens the database with it, and runs do on both.
func (c keyChange) change(env environment, do func(env environment, db *store.DB, keys *secret.Keyring, file string) error) error {
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
	return c.with(env, func(env environment, db *store.DB) error { return do(env, db, keys, file) })
}

type keyAddCmd struct{ keyChange }

// Help is shown by --help.
func (keyAddCmd) Help() string {
	return `Example:
  quittance key add --database postgres://db/quittance --key-file key.json

The key opens values from now on and seals none yet. Give the key file to every machine that runs a server; running servers read
it within a second or two. Then: quittance key promote ID.`
}

// Run adds a key to the key file.
func (c keyAddCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *store.DB, keys *secret.Keyring, file string) error {
		_, id, err := addKey(env.ctx, db, keys, file)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"key_id", id}, {"key_file", file},
			{"next", fmt.Sprintf("give this key file to every machine that runs a server, then: quittance key promote %d", id)}})
	})
}

// addKey adds a key to the key file, and then an entry to the audit log: the log tells of no key that was never added.
func addKey(ctx context.Context, db *store.DB, keys *secret.Keyring, file string) (*secret.Keyring, uint32, error) {
	added, id, err := keys.Add()
	if err != nil {
		return nil, 0, err
	}
	if err := added.ReplaceKeyFile(file); err != nil {
		return nil, 0, err
	}
	if err := db.AddedKey(ctx, id); err != nil {
		return nil, 0, fmt.Errorf("key %d was added to %s, and the audit log has no entry of it: %w", id, file, err)
	}
	return added, id, nil
}

// keyWait is how long a command waits until running servers have read the key file.
type keyWait struct {
	Wait time.Duration `default:"40s" help:"How long to wait until every running server has read the key file."`
}

// waitEvery is how often it looks whether they have.
const waitEvery = 200 * time.Millisecond

// until runs try until it has succeeded, fails for another reason than that servers are to be waited for, or the time is over.
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
	ID uint32 `arg:"" help:"Number of the key, as key add and key list print it."`
}

// Help is shown by --help.
func (keyPromoteCmd) Help() string {
	return `Example:
  quittance key promote 2215823711 --database postgres://db/quittance --key-file key.json

It is refused while a running server has not loaded the key, because that could not open what others seal. Give the key file to
every machine again afterwards: until then its servers go on sealing under the key before. Then: quittance key reseal.`
}

// Run promotes a key.
func (c keyPromoteCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *store.DB, keys *secret.Keyring, file string) error {
		if err := c.promote(env.ctx, db, keys, c.ID, file); err != nil {
			return err
		}
		return c.print(env, []field{{"primary", c.ID}, {"key_file", file},
			{"next", "give this key file to every machine that runs a server, then: quittance key reseal"}})
	})
}

// promote makes a key the primary one: of the database, once every running server has loaded it, and then of the key file.
func (w keyWait) promote(ctx context.Context, db *store.DB, keys *secret.Keyring, id uint32, file string) error {
	promoted, err := keys.Promote(id)
	if errors.Is(err, secret.ErrNoKey) {
		return fmt.Errorf("key file %s holds no enabled key %d: see quittance key list", file, id)
	}
	if err != nil {
		return err
	}
	if err := w.until(ctx, func() (bool, error) {
		err := db.RecordKey(ctx, promoted)
		return errors.As(err, new(*store.KeyNotLoadedError)), err
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

It works beside running servers, and can be interrupted and run again. It waits for servers that have not read the key file since
key promote and still seal under the key before. If servers_behind is not 0, give them the key file and run it once more.`
}

// Run seals everything anew under the primary key.
func (c keyResealCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *store.DB, _ *secret.Keyring, _ string) error {
		return c.reseal(env, db, c.keyWait)
	})
}

// reseal seals everything anew and prints how much there was.
func (c keyChange) reseal(env environment, db *store.DB, wait keyWait) error {
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
	resealed, err := db.Reseal(env.ctx)
	if err != nil {
		return fmt.Errorf("%d values are sealed anew; run quittance key reseal again: %w", resealed, err)
	}
	return c.print(env, []field{{"primary", db.Keys().PrimaryID()}, {"resealed", resealed}, {"servers_behind", behind}})
}

type keyRotateCmd struct {
	keyChange
	keyWait
	Resume bool `help:"Add no key: only seal anew what still stands under an older one, as key reseal does."`
}

// Help is shown by --help.
func (keyRotateCmd) Help() string {
	return `Example:
  quittance key rotate --database postgres://db/quittance --key-file key.json

It adds a key, waits until every running server has loaded it, promotes it and seals everything anew: for servers that all read
this key file. With key files on several machines use key add, key promote and key reseal.`
}

// Run rotates the keys.
func (c keyRotateCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *store.DB, keys *secret.Keyring, file string) error {
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
			return fmt.Errorf("key %d was added and is not in use yet; continue with quittance key promote: %w", id, err)
		}
		return c.reseal(env, db, c.keyWait)
	})
}

// unpromoted returns the key that an interrupted rotation has added, 0 when there is none.
func unpromoted(ctx context.Context, db *store.DB, keys *secret.Keyring) (uint32, error) {
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

It is refused while anything is sealed under the key, or a running server seals with it, and says what. Give the key file to every
machine again afterwards. Backups from before the last key reseal need the key: restore them with a copy of the key file of then.`
}

// Run retires a key.
func (c keyRetireCmd) Run(env environment) error {
	return c.change(env, func(env environment, db *store.DB, keys *secret.Keyring, file string) error {
		if c.ID == keys.PrimaryID() {
			return fmt.Errorf("key %d is the primary one: promote another key first", c.ID)
		}
		before, err := db.RetireKey(env.ctx, c.ID)
		if errors.Is(err, secret.ErrNoKey) {
			return fmt.Errorf("neither key file %s nor the database knows a key %d: see quittance key list", file, c.ID)
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
		next := "give this key file to every machine that runs a server"
		if before {
			next = "it was retired before; where that has not been done, " + next
		}
		return c.print(env, []field{{"retired", c.ID}, {"retired_before", before}, {"key_file", file}, {"next", next}})
	})
}
