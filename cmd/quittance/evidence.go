package main

import (
	"encoding/hex"
	"errors"
	"fmt"

	"quittance/internal/store"
)

type evidenceCmd struct {
	Verify evidenceVerifyCmd `cmd:"" help:"Recompute every digest of the retained evidence."`
	Export evidenceExportCmd `cmd:"" help:"Export the evidence of one invoice, or of one incoming e-invoice, as a file that verifies by itself."`
}

// Help is shown by --help.
func (evidenceCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox`
}

type evidenceVerifyCmd struct {
	admin
	File      string `placeholder:"FILE" help:"Verify an exported file instead of a database; - is standard input."`
	AllSealed bool   `help:"A chain without a seal is a fault too. Right for every database that did not begin before there were seals."`
}

// Help is shown by --help.
func (evidenceVerifyCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox
  quittance evidence verify --file evidence.json

Exit status 1 and the first bad entry of every chain when something is not what was retained.`
}

// Run verifies evidence.
func (c evidenceVerifyCmd) Run(env environment) error {
	if c.File != "" {
		text, err := readInput(env, c.File)
		if err != nil {
			return err
		}
		entries, digest, err := store.VerifyExport(text)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"entries", entries}, {"digest", hex.EncodeToString(digest[:])}, {"faults", 0}})
	}
	return c.with(env, func(db *store.DB) error {
		found, err := db.VerifyEvidence(env.ctx)
		if err != nil {
			return err
		}
		for _, fault := range found.Faults {
			env.log.ErrorContext(env.ctx, "evidence is not what was retained", "tenant", fault.Tenant, "kind", fault.Kind, "id", fault.Of, "entry", fault.Ordinal, "what", fault.What)
		}
		if err := c.print(env, []field{{"chains", found.Chains}, {"entries", found.Entries}, {"unsealed", found.Unsealed}, {"faults", len(found.Faults)}}); err != nil {
			return err
		}
		switch {
		case len(found.Faults) > 0:
			return fmt.Errorf("%w (and %d more chains)", found.Faults[0], len(found.Faults)-1)
		case c.AllSealed && found.Unsealed > 0:
			return fmt.Errorf("%d chains have no seal", found.Unsealed)
		}
		return nil
	})
}

type evidenceExportCmd struct {
	act
	ID string `arg:"" help:"Identifier of the invoice, or of the incoming e-invoice."`
}

// Help is shown by --help.
func (evidenceExportCmd) Help() string {
	return "Example:\n  quittance evidence export 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox > evidence.json"
}

// Run exports evidence. The digest goes to the log, apart from the file that it is to be compared with.
func (c evidenceExportCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(env environment, db *store.DB) error {
		text, digest, err := db.ExportEvidence(env.ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return errors.New("there is no invoice and no incoming e-invoice with this identifier")
		}
		if err != nil {
			return err
		}
		if err := db.RecordAudit(env.ctx, store.Act{Name: "evidence.export", SubjectType: "invoice", Subject: id.String(),
			Details: map[string]string{"digest": hex.EncodeToString(digest[:])}}); err != nil {
			return err
		}
		env.log.InfoContext(env.ctx, "evidence exported", "id", id, "digest", hex.EncodeToString(digest[:]))
		_, err = fmt.Fprintln(env.stdout, string(text))
		return err
	})
}
