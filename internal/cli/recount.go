package cli

import (
	"fmt"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

type recountCmd struct {
	act
	Check bool `env:"-" help:"Only report the differences, and fail if there are any."`
}

// Help is shown by --help.
func (recountCmd) Help() string {
	return `Example:
  quittance recount --check --data ./sandbox
  quittance recount --data ./sandbox

Counts all invoices by reading them, compares the result with the counters of the console's overview, and corrects the counters. Servers
may run meanwhile. The counters differ only if another program has changed the database, or an older release has run on it.`
}

// Run compares the counters with the invoices.
func (c recountCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB) error {
		faults, err := invoices.Recount(env.ctx, db, !c.Check)
		if err != nil {
			return err
		}
		for _, fault := range faults {
			env.log.Warn("counted wrongly", "account", fault.Account, "difference", fault.What)
		}
		if c.Check && len(faults) > 0 {
			return fmt.Errorf("%d differences; quittance recount without --check corrects them", len(faults))
		}
		return c.print(env, []field{{"differences", len(faults)}})
	})
}
