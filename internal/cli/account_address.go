package cli

import (
	"crypto/rand"
	"errors"
	"fmt"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

type userAddressCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
	New   string `required:"" env:"-" help:"New e-mail address of the user."`
}

// Help is shown by --help.
func (userAddressCmd) Help() string {
	return `The new address is unproved until the user has used the link that is mailed to it, if the installation sends e-mails. The old
address is told, if it was proved. Password, second factor and sessions stay; the link to a person at the OpenID provider ends.

Example:
  quittance account user change-address 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example --new ledger@palm.example`
}

// Run changes the address of a user.
func (c userAddressCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		user, err := userOf(env, db, id, c.Email)
		if err != nil {
			return err
		}
		accounts := &account.Service{DB: db, Random: rand.Reader, Now: db.Now}
		changed, err := accounts.SetAddress(env.ctx, user, c.New)
		switch {
		case errors.Is(err, account.ErrEmail):
			return fmt.Errorf("--new: %w", err)
		case errors.Is(err, base.ErrExists):
			return errors.New("--new: the account has a user with this address")
		case err != nil:
			return err
		}
		return c.print(env, []field{{"account_id", id}, {"email", changed.Email}, {"role", changed.Role},
			{"email_proved", changed.ProvedAt != nil}})
	})
}

type userRemoveCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
}

// Help is shown by --help.
func (userRemoveCmd) Help() string {
	return `Sessions, tokens, the second factor and the invitations of the user end. API keys that the user has made go on working. The last
active owner of an account cannot be removed: add another one first.

Example:
  quittance account user remove 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example --reason "has left"`
}

// Run removes a user.
func (c userRemoveCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		user, err := userOf(env, db, id, c.Email)
		if err != nil {
			return err
		}
		if err := identity.RemoveUserOf(env.ctx, db, id, user.ID); err != nil {
			return err
		}
		return c.print(env, []field{{"account_id", id}, {"email", user.Email}, {"status", "removed"}})
	})
}
