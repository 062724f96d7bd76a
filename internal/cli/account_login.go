package cli

import (
	"context"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

type accountLoginPolicyCmd struct {
	one
	Require base.LoginPolicy `required:"" env:"-" enum:"any,second_factor,single_sign_on" help:"How the users have to log in: ${enum}. A requirement ends the sessions that began without it."`
}

// Help is shown by --help.
func (accountLoginPolicyCmd) Help() string {
	return "Example:\n  quittance account login-policy 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --require any --reason \"the login service is lost\""
}

// Run changes the login policy of an account.
func (c accountLoginPolicyCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		if err := identity.SetLoginPolicyOf(env.ctx, db, id, c.Require); err != nil {
			return unknownAccount(err)
		}
		return c.print(env, []field{{"account_id", id}, {"login_policy", c.Require}})
	})
}

type userUnlinkCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
}

// Help is shown by --help.
func (userUnlinkCmd) Help() string {
	return "Example:\n  quittance account user unlink 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example --reason \"new person with this address\""
}

// Run unlinks a user.
func (c userUnlinkCmd) Run(env environment) error {
	return c.changeUser(env, c.Email, func(ctx context.Context, db *base.DB, account, user base.ID) error {
		return identity.UnlinkUser(ctx, db, account, user)
	})
}
