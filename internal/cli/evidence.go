package cli

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/proof"
)

type evidenceCmd struct {
	Verify evidenceVerifyCmd `cmd:"" help:"Verify the retained evidence, the documents sent, and what is shown of them."`
	Export evidenceExportCmd `cmd:"" help:"Export the evidence of an invoice or an incoming e-invoice as a signed, self-contained file."`
	Anchor evidenceAnchorCmd `cmd:"" help:"Append the ends of all chains to a signed file that you keep elsewhere."`
	Key    evidenceKeyCmd    `cmd:"" help:"Print the public key that verifies exported files."`
	Seal   evidenceSealCmd   `cmd:"" help:"Seal, once, the evidence of a database that predates seals."`
}

// Help is shown by --help.
func (evidenceCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox`
}

// replay returns the functions that read retained provider responses again.
func replay() proof.Replay {
	return proof.Replay{Response: submission.Replay, Purchase: purchase.Reread, Sent: submission.ReadSubmitted}
}

type evidenceVerifyCmd struct {
	admin
	File      string `placeholder:"FILE" help:"Verify an exported file instead of a database; - reads standard input."`
	Anchor    string `placeholder:"FILE" help:"Also compare with the last entry of this anchor file, which detects a database that was reset to an earlier state."`
	PublicKey string `placeholder:"HEX" help:"With --file: public key of the required signature, as printed by evidence key."`
}

// Help is shown by --help.
func (evidenceVerifyCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox
  quittance evidence verify --data ./sandbox --anchor anchors.jsonl
  quittance evidence verify --file evidence.json --public-key 0b1c…

The exit status is 1, and the command reports the first fault of every submission and incoming e-invoice, if something differs
from what was retained, is not sealed, or does not follow from what was retained.`
}

// Run verifies evidence.
func (c evidenceVerifyCmd) Run(env environment) error {
	if c.File != "" {
		return c.file(env)
	}
	return c.with(env, func(db *base.DB) error {
		anchors, err := c.anchors(env, db)
		if err != nil {
			return err
		}
		found, err := proof.Verify(env.ctx, db, replay())
		if err != nil {
			return err
		}
		faults, err := proof.VerifyAnchor(env.ctx, db, anchors)
		if err != nil {
			return err
		}
		found.Faults = append(found.Faults, faults...)
		// a copy that can only be read is verified all the same
		if err := identity.RecordVerification(env.ctx, db, len(found.Faults)); err != nil {
			env.log.InfoContext(env.ctx, "the time of this verification is not recorded", "error", err)
		}
		if !proof.AccessSealed(db) {
			env.log.WarnContext(env.ctx,
				"who may act is not sealed yet, because a server of an earlier release is running or the evidence is not sealed")
		}
		return c.report(env, found, anchors)
	})
}

// anchors reads the anchor file, if one was specified. A file without an entry proves nothing and is an error.
func (c evidenceVerifyCmd) anchors(env environment, db *base.DB) (proof.Anchors, error) {
	if c.Anchor == "" {
		return proof.Anchors{}, nil
	}
	file, err := os.ReadFile(c.Anchor)
	if err != nil {
		return proof.Anchors{}, err
	}
	anchors, err := proof.ReadAnchors(env.ctx, db, file)
	if err != nil {
		return anchors, fmt.Errorf("%s: %w", c.Anchor, err)
	}
	if anchors.Entries == 0 {
		return anchors, fmt.Errorf("%s: the anchor file has no entry to compare with: run evidence anchor to append one",
			c.Anchor)
	}
	return anchors, nil
}

// report prints the result of a verification and the anchor it was compared with. It returns an error if there are
// faults.
func (c evidenceVerifyCmd) report(env environment, found proof.Verified, anchors proof.Anchors) error {
	for _, fault := range found.Faults {
		env.log.ErrorContext(env.ctx, "evidence does not match what was retained", "tenant", fault.Tenant, "kind", fault.Kind,
			"id", fault.Of, "entry", fault.Ordinal, "field", fault.Field, "what", fault.What)
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
			return errors.New("--public-key: must be 64 hexadecimal digits")
		}
		expected = key
	}
	text, err := readExport(env, c.File)
	if err != nil {
		return err
	}
	verified, err := proof.VerifyExport(text, replay(), expected)
	if err != nil {
		return err
	}
	return c.print(env, []field{{"entries", verified.Entries}, {"unread", verified.Unread},
		{"digest", hex.EncodeToString(verified.Digest[:])}, {"public_key", hex.EncodeToString(verified.PublicKey)},
		{"faults", 0}})
}

// readExport reads an exported file, or standard input for "-", up to 1 GiB.
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
	return c.with(env, func(env environment, db *base.DB) error {
		text, digest, err := proof.Export(env.ctx, db, id, replay())
		switch {
		case errors.Is(err, base.ErrNotFound):
			return errors.New("no invoice or incoming e-invoice has this identifier")
		case errors.Is(err, base.ErrNotSealed):
			return errNotSealed
		case err != nil:
			return err
		}
		env.log.InfoContext(env.ctx, "evidence exported", "id", id, "digest", hex.EncodeToString(digest[:]))
		_, err = fmt.Fprintln(env.stdout, string(text))
		return err
	})
}

// errNotSealed explains what to do with a database that predates seals.
var errNotSealed = errors.New(
	"the evidence of this database is not sealed yet: run evidence seal once, when all servers run this version")

type evidenceAnchorCmd struct {
	admin
	Anchor string `required:"" placeholder:"FILE" help:"Anchor file; created with mode 0600 if it does not exist."`
}

// Help is shown by --help.
func (evidenceAnchorCmd) Help() string {
	return `Example:
  quittance evidence anchor --anchor anchors.jsonl --data ./sandbox

Keep the file, or copies of it, where nobody who can write to the database can write. Before it appends an entry, the command
compares the database with the last entry; it appends nothing if the database was reset to an earlier state.`
}

// Run appends an entry.
func (c evidenceAnchorCmd) Run(env environment) error {
	return c.with(env, func(db *base.DB) (err error) {
		file, err := os.OpenFile(c.Anchor, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		text, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		anchors, err := proof.ReadAnchors(env.ctx, db, text)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Anchor, err)
		}
		faults, err := proof.VerifyAnchor(env.ctx, db, anchors)
		if err != nil {
			return err
		}
		if len(faults) > 0 {
			return faults[0]
		}
		line, err := proof.Anchor(env.ctx, db, anchors)
		if errors.Is(err, base.ErrNotSealed) {
			return errNotSealed
		}
		if err != nil {
			return err
		}
		// Append the line with one write: if it is incomplete, the next reader reports it.
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

Give the key to recipients of exported files over a separate channel; they pass it to evidence verify --file --public-key.`
}

// Run prints the key.
func (c evidenceKeyCmd) Run(env environment) error {
	return c.with(env, func(db *base.DB) error {
		key, since, err := db.EvidenceKey(env.ctx)
		if errors.Is(err, base.ErrNotSealed) {
			return errNotSealed
		}
		if err != nil {
			return err
		}
		return c.print(env, []field{{"public_key", hex.EncodeToString(key)}, {"sealed_since", since.Format(time.RFC3339)}})
	})
}

type evidenceSealCmd struct {
	act
	Access bool `help:"Seal the rows that decide who may act as they are, after an earlier release has written some of them."`
}

// Help is shown by --help.
func (evidenceSealCmd) Help() string {
	return `Example:
  quittance evidence seal --database postgres://db/quittance --key-file key.json

Run this command once after an upgrade from a version that did not seal the rows of submissions, when all servers run this
version. It accepts the existing rows as retained where their chains are intact. From then on verification accepts only sealed
rows. A new database does not need this command.

With --access, the command accepts the users, sessions, keys, operators and companies that are there, also those that do not act
because they have no right seal. Run evidence verify first: it names them. Use it only after an earlier release has served the
database again.`
}

// Run seals the evidence.
func (c evidenceSealCmd) Run(env environment) error {
	if c.Access {
		return c.with(env, c.access)
	}
	return c.with(env, func(env environment, db *base.DB) error {
		done, err := proof.SealEvidence(env.ctx, db, replay())
		if err != nil {
			return err
		}
		for _, fault := range done.Faults {
			env.log.ErrorContext(env.ctx, "evidence was not sealed because it is not intact", "tenant", fault.Tenant,
				"kind", fault.Kind, "id", fault.Of, "entry", fault.Ordinal, "field", fault.Field, "what", fault.What)
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

// access accepts the rows that decide who may act, and names those that did not.
func (c evidenceSealCmd) access(env environment, db *base.DB) error {
	faults, err := proof.AccessFaults(env.ctx, db)
	if err != nil {
		return err
	}
	accepted, err := ledger.AcceptAccess(env.ctx, db)
	if err != nil {
		return err
	}
	for _, fault := range faults {
		env.log.WarnContext(env.ctx, "accepted as it is", "field", fault.Field, "what", fault.What)
	}
	var sealed int64
	for _, n := range accepted {
		sealed += n
	}
	return c.print(env, []field{{"sealed", sealed}})
}
