package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"quittance/internal/purchase"
	"quittance/internal/store"
	"quittance/internal/submission"
)

type evidenceCmd struct {
	Verify evidenceVerifyCmd `cmd:"" help:"Prove what is retained, what was sent, and what is shown of it."`
	Export evidenceExportCmd `cmd:"" help:"Export the evidence of one invoice, or of one incoming e-invoice, as a signed file that verifies by itself."`
	Anchor evidenceAnchorCmd `cmd:"" help:"Append where every chain ends to a signed file that is kept elsewhere."`
	Key    evidenceKeyCmd    `cmd:"" help:"Print the public key that exported files are verified with."`
	Seal   evidenceSealCmd   `cmd:"" help:"Seal the evidence of a database that is older than seals, once."`
}

// Help is shown by --help.
func (evidenceCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox`
}

// replay are the rules by which answers were read, to read them again.
func replay() store.Replay {
	return store.Replay{Answer: submission.Replay, Purchase: purchase.Reread, Sent: submission.Sent}
}

type evidenceVerifyCmd struct {
	admin
	File      string `placeholder:"FILE" help:"Verify an exported file instead of a database; - is standard input."`
	Anchor    string `placeholder:"FILE" help:"Compare with the last entry of this anchor file too, which finds a database that was put back to an earlier state."`
	PublicKey string `placeholder:"HEX" help:"With --file: the key that the file has to be signed with, as evidence key prints it."`
}

// Help is shown by --help.
func (evidenceVerifyCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox
  quittance evidence verify --data ./sandbox --anchor anchors.jsonl
  quittance evidence verify --file evidence.json --public-key 0b1c…

Exit status 1 and the first fault of every submission and incoming e-invoice when something is not what was retained, is not
sealed, or does not follow from what was retained.`
}

// Run verifies evidence.
func (c evidenceVerifyCmd) Run(env environment) error {
	if c.File != "" {
		return c.file(env)
	}
	return c.with(env, func(db *store.DB) error {
		anchors, err := c.anchors(env, db)
		if err != nil {
			return err
		}
		found, err := db.VerifyEvidence(env.ctx, replay())
		if err != nil {
			return err
		}
		faults, err := db.VerifyAnchor(env.ctx, anchors)
		if err != nil {
			return err
		}
		found.Faults = append(found.Faults, faults...)
		return c.report(env, found, anchors)
	})
}

// anchors reads the anchor file, if one is to be compared with; a file without an entry proves nothing, and is refused.
func (c evidenceVerifyCmd) anchors(env environment, db *store.DB) (store.Anchors, error) {
	if c.Anchor == "" {
		return store.Anchors{}, nil
	}
	file, err := os.ReadFile(c.Anchor)
	if err != nil {
		return store.Anchors{}, err
	}
	anchors, err := db.ReadAnchors(env.ctx, file)
	if err != nil {
		return anchors, fmt.Errorf("%s: %w", c.Anchor, err)
	}
	if anchors.Entries == 0 {
		return anchors, fmt.Errorf("%s: the anchor file has no entry to compare with: evidence anchor appends one", c.Anchor)
	}
	return anchors, nil
}

// report prints what a verification has found, and which anchor it has compared with; faults are an error.
func (c evidenceVerifyCmd) report(env environment, found store.Verified, anchors store.Anchors) error {
	for _, fault := range found.Faults {
		env.log.ErrorContext(env.ctx, "evidence is not what was retained", "tenant", fault.Tenant, "kind", fault.Kind, "id", fault.Of,
			"entry", fault.Ordinal, "field", fault.Field, "what", fault.What)
	}
	fields := []field{{"chains", found.Chains}, {"entries", found.Entries}, {"audit_entries", found.AuditEntries}}
	if anchors.Entries > 0 {
		fields = append(fields, field{"anchor_entries", anchors.Entries}, field{"anchored_at", anchors.At})
	}
	if err := c.print(env, append(fields, field{"faults", len(found.Faults)})); err != nil {
		return err
	}
	if len(found.Faults) > 0 {
		return fmt.Errorf("%w (and %d more)", found.Faults[0], len(found.Faults)-1)
	}
	return nil
}

// file verifies an exported file.
func (c evidenceVerifyCmd) file(env environment) error {
	var expected ed25519.PublicKey
	if c.PublicKey != "" {
		key, err := hex.DecodeString(c.PublicKey)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return errors.New("--public-key: want 64 hexadecimal digits")
		}
		expected = key
	}
	text, err := readExport(env, c.File)
	if err != nil {
		return err
	}
	verified, err := store.VerifyExport(text, replay(), expected)
	if err != nil {
		return err
	}
	return c.print(env, []field{{"entries", verified.Entries}, {"unread", verified.Unread}, {"digest", hex.EncodeToString(verified.Digest[:])},
		{"public_key", hex.EncodeToString(verified.PublicKey)}, {"faults", 0}})
}

// readExport reads an exported file, or standard input for "-".
func readExport(env environment, path string) ([]byte, error) {
	const most = 1 << 30
	source := env.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // nothing was written
		source = file
	}
	text, err := io.ReadAll(io.LimitReader(source, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s is longer than 1 GiB", inputName(path))
	}
	return text, err
}

type evidenceExportCmd struct {
	act
	ID string `arg:"" help:"Identifier of the invoice, or of the incoming e-invoice."`
}

// Help is shown by --help.
func (evidenceExportCmd) Help() string {
	return "Example:\n  quittance evidence export 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox > evidence.json"
}

// Run exports evidence.
func (c evidenceExportCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(env environment, db *store.DB) error {
		text, digest, err := db.ExportEvidence(env.ctx, id, replay())
		switch {
		case errors.Is(err, store.ErrNotFound):
			return errors.New("there is no invoice and no incoming e-invoice with this identifier")
		case errors.Is(err, store.ErrNotSealed):
			return errNotSealed
		case err != nil:
			return err
		}
		env.log.InfoContext(env.ctx, "evidence exported", "id", id, "digest", hex.EncodeToString(digest[:]))
		_, err = fmt.Fprintln(env.stdout, string(text))
		return err
	})
}

// errNotSealed says what to do about a database that is older than seals.
var errNotSealed = errors.New("the evidence of this database is not sealed yet: run evidence seal once, when every server runs this version")

type evidenceAnchorCmd struct {
	admin
	Anchor string `required:"" placeholder:"FILE" help:"The file; it is made with mode 0600 when there is none."`
}

// Help is shown by --help.
func (evidenceAnchorCmd) Help() string {
	return `Example:
  quittance evidence anchor --anchor anchors.jsonl --data ./sandbox

Keep the file, or copies of it, where nobody who may write the database can write. The database is compared with the last
entry before another one is appended: one that was put back to an earlier state is found then, and nothing is appended.`
}

// Run appends an entry.
func (c evidenceAnchorCmd) Run(env environment) error {
	return c.with(env, func(db *store.DB) (err error) {
		file, err := os.OpenFile(c.Anchor, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		text, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		anchors, err := db.ReadAnchors(env.ctx, text)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Anchor, err)
		}
		faults, err := db.VerifyAnchor(env.ctx, anchors)
		if err != nil {
			return err
		}
		if len(faults) > 0 {
			return faults[0]
		}
		line, err := db.Anchor(env.ctx, anchors)
		if errors.Is(err, store.ErrNotSealed) {
			return errNotSealed
		}
		if err != nil {
			return err
		}
		// One write of one line behind the last one: it is there as a whole, or the next reader says that it is torn.
		if _, err := file.Write(line); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		return c.print(env, []field{{"anchor", c.Anchor}, {"entries", anchors.Entries + 1}, {"bytes", len(line)}})
	})
}

type evidenceKeyCmd struct{ admin }

// Help is shown by --help.
func (evidenceKeyCmd) Help() string {
	return `Example:
  quittance evidence key --data ./sandbox

Tell it to whoever gets exported files, by another way than the files: evidence verify --file --public-key compares it.`
}

// Run prints the key.
func (c evidenceKeyCmd) Run(env environment) error {
	return c.with(env, func(db *store.DB) error {
		key, since, err := db.EvidenceKey(env.ctx)
		if errors.Is(err, store.ErrNotSealed) {
			return errNotSealed
		}
		if err != nil {
			return err
		}
		return c.print(env, []field{{"public_key", hex.EncodeToString(key)}, {"sealed_since", since.Format(time.RFC3339)}})
	})
}

type evidenceSealCmd struct{ act }

// Help is shown by --help.
func (evidenceSealCmd) Help() string {
	return `Example:
  quittance evidence seal --database postgres://db/quittance --key-file key.json

Run it once after an upgrade from a version that did not seal the rows of submissions, when every server runs this version.
What is there then is taken for what was retained, as far as its chains are whole. From then on nothing is accepted that is
not sealed. A new database needs none of it.`
}

// Run seals.
func (c evidenceSealCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *store.DB) error {
		done, err := db.SealEvidence(env.ctx, replay())
		if err != nil {
			return err
		}
		for _, fault := range done.Faults {
			env.log.ErrorContext(env.ctx, "evidence was not sealed: it is not whole", "tenant", fault.Tenant, "kind", fault.Kind, "id", fault.Of,
				"entry", fault.Ordinal, "field", fault.Field, "what", fault.What)
		}
		if err := c.print(env, []field{{"sealed", done.Sealed}, {"faults", len(done.Faults)}}); err != nil {
			return err
		}
		if len(done.Faults) > 0 {
			return fmt.Errorf("%w (and %d more)", done.Faults[0], len(done.Faults)-1)
		}
		return nil
	})
}
