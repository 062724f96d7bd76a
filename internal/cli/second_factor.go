package cli

import (
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

type userResetFactorCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
}

// Help is shown by --help.
func (userResetFactorCmd) Help() string {
	return "Example:\n  quittance account user reset-second-factor 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example"
}

// Run removes a second factor.
func (c userResetFactorCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		user, err := userOf(env, db, id, c.Email)
		if err != nil {
			return err
		}
		if err := identity.ResetSecondFactorOf(env.ctx, db, id, user.ID); err != nil {
			return err
		}
		return c.print(env, []field{{"account_id", id}, {"email", user.Email}, {"second_factor", "none"}})
	})
}
