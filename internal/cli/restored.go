package cli

import (
	"errors"
	"fmt"
	"strings"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
)

type restoredCmd struct {
	act
	Yes bool `env:"-" help:"Record the restore even if servers are running on the database."`
}

// Help is shown by --help.
func (restoredCmd) Help() string {
	return `Example:
  quittance restored --data ./sandbox

Run this command after a restore, before you start a server. It fails while a server is running unless you specify --yes.
The service then asks the provider about every open submission at once, and sends no existing invoice before the provider
has said whether it has it. All tokens are revoked.`
}

// Run records the restore.
func (c restoredCmd) Run(env environment) error {
	err := c.with(env, func(env environment, db *base.DB) error {
		if err := c.confirm(env, db); err != nil {
			return err
		}
		open, err := ledger.MarkRestored(env.ctx, db)
		if err != nil {
			return err
		}
		return c.print(env, []field{{"open_submissions", open},
			{"next", "the next server to start asks the provider about them"}})
	})
	if errors.Is(err, ledger.ErrOlderSchema) {
		err = fmt.Errorf("%w. After a restore, run quittance migrate and then this command, and start no server before", err)
	}
	return err
}

// confirm returns an error while servers run, unless --yes is set. On SQLite a lock shows for certain whether a server
// runs; on PostgreSQL a server that died counts as running until its last announcement is [base.ServerTimeout] old.
func (c restoredCmd) confirm(env environment, db *base.DB) error {
	if c.Yes {
		return nil
	}
	var names []string
	if db.SingleServer() {
		release, err := db.LockForServing()
		switch {
		case errors.Is(err, base.ErrAlreadyServed):
			return errors.New(
				"a server is running on this database: stop it first, because this command revokes all tokens and requeries all open submissions; " +
					"specify --yes to record the restore anyway")
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
	return fmt.Errorf(
		"servers are running on this database (%s): stop them first, because this command revokes all tokens and requeries all open submissions; "+
			"a server that died counts as running for %s; specify --yes to record the restore anyway", strings.Join(names, ", "),
		base.ServerTimeout)
}
