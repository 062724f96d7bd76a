package cli

import (
	"crypto/rand"
	"errors"
	"fmt"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// send sends the user a link, which nobody else sees.
func (c userResetCmd) send(env environment, db *base.DB, user base.User) error {
	accounts := &account.Service{DB: db, Random: rand.Reader, Now: db.Now}
	switch err := accounts.SendPasswordReset(env.ctx, user); {
	case errors.Is(err, identity.ErrNoMail):
		return fmt.Errorf("--send: %w; start its servers with --smtp-url", err)
	case errors.Is(err, identity.ErrMailLimited):
		return fmt.Errorf("--send: %w", err)
	case errors.Is(err, base.ErrNotFound):
		return errors.New(
			"--send: the user cannot log in with a password: the user is disabled, the account suspended, single sign-on required, or another user has proved the address")
	case err != nil:
		return err
	}
	return c.print(env, []field{{"account_id", user.Account}, {"email", user.Email}, {"link", "will be sent"}})
}
