package main

import (
	"errors"
	"fmt"

	"quittance/api"
	"quittance/internal/store"
)

type submissionCmd struct {
	Resolve submissionResolveCmd `cmd:"" help:"Decide about a submission of unknown outcome."`
}

// Help is shown by --help.
func (submissionCmd) Help() string {
	return `Example:
  quittance submission resolve 01890a5d-ac96-774b-bcce-b302099a8057 --resend --data ./sandbox`
}

type submissionResolveCmd struct {
	admin
	ID     string `arg:"" help:"Identifier of the submission."`
	Resend bool   `xor:"decision" required:"" help:"Send it again under its reference: the provider certainly does not have it, or knows the reference."`
	Reject bool   `xor:"decision" required:"" help:"Count it as rejected: the customer may correct the invoice and submit it anew."`
}

// Help is shown by --help.
func (submissionResolveCmd) Help() string {
	return "Example:\n  quittance submission resolve 01890a5d-ac96-774b-bcce-b302099a8057 --resend --data ./sandbox"
}

// Run records the decision.
func (c submissionResolveCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(db *store.DB) error {
		resolved, err := db.ResolveSubmission(env.ctx, id, c.Resend)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return errors.New("there is no submission with this identifier")
		case errors.Is(err, store.ErrNotUnknown):
			return errors.New("the outcome of this submission is known: there is nothing to decide")
		case err != nil:
			return err
		}
		next := "kept as rejected"
		if resolved.Outcome == api.OutcomeUnknown {
			next = "sent again after one more look-up"
		}
		return c.print(env, []field{{"submission_id", resolved.ID}, {"outcome", resolved.Outcome}, {"next", next}})
	})
}

type evidenceCmd struct {
	Verify evidenceVerifyCmd `cmd:"" help:"Recompute every digest of the retained evidence."`
	Export evidenceExportCmd `cmd:"" help:"Export one invoice's evidence as a file that verifies by itself."`
}

// Help is shown by --help.
func (evidenceCmd) Help() string {
	return `Example:
  quittance evidence verify --data ./sandbox`
}

type evidenceVerifyCmd struct {
	admin
	File string `placeholder:"FILE" help:"Verify an exported file instead of a database; - is standard input."`
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
		entries, err := store.VerifyExport(text)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"entries", entries}, {"faults", 0}})
	}
	return c.with(env, func(db *store.DB) error {
		entries, faults, err := db.VerifyEvidence(env.ctx)
		if err != nil {
			return err
		}
		for _, fault := range faults {
			env.log.ErrorContext(env.ctx, "evidence is not what was retained", "chain", fault.Of, "entry", fault.Ordinal, "what", fault.What)
		}
		if err := c.print(env, []field{{"entries", entries}, {"faults", len(faults)}}); err != nil {
			return err
		}
		if len(faults) > 0 {
			return fmt.Errorf("%w (and %d more chains)", faults[0], len(faults)-1)
		}
		return nil
	})
}

type evidenceExportCmd struct {
	admin
	ID string `arg:"" help:"Identifier of the invoice."`
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
	return c.with(env, func(db *store.DB) error {
		text, err := db.ExportEvidence(env.ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return errors.New("there is no invoice with this identifier")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, string(text))
		return err
	})
}
