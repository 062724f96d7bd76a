package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"quittance/internal/account"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

type userInviteCmd struct {
	one
	Email     string            `required:"" help:"E-mail address of the person."`
	Role      access.Role       `required:"" env:"-" enum:"owner,accountant,developer,viewer" help:"What the person may do: ${enum}."`
	PublicURL account.PublicURL `name:"public-url" placeholder:"URL" help:"Address at which people reach the console, for the link; without it the link is only a path."`
}

// Help is shown by --help.
func (userInviteCmd) Help() string {
	return `The link works once and for 72 hours; the person who opens it chooses a password. It is shown here once. If the installation
sends e-mails, the person gets it by e-mail, too.

Example:
  quittance account user invite 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example --role accountant --public-url https://invoices.palm.example`
}

// Run makes an invitation.
func (c userInviteCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		tenant, err := db.Tenant(env.ctx, id)
		if err != nil {
			return unknownAccount(err)
		}
		accounts := &account.Service{DB: db, Random: rand.Reader, Now: db.Now}
		made, err := accounts.Invite(env.ctx, tenant, nil, c.Email, c.Role)
		switch {
		case errors.Is(err, account.ErrEmail):
			return fmt.Errorf("--email: %w", err)
		case errors.Is(err, base.ErrExists):
			return errors.New("--email: the account has a user with this address")
		case err != nil:
			return err
		}
		fields := []field{{"invitation_id", made.ID}, {"email", made.Email}, {"role", made.Role},
			{"expires_at", made.ExpiresAt.Format(time.RFC3339)}, {"url", made.Link(string(c.PublicURL))}}
		switch made.Mail.State {
		case "": // the installation sends none
		case identity.MailPending:
			fields = append(fields, field{"mail", "will be sent"})
		default: // [identity.MailLimited]
			fields = append(fields, field{"mail", "is not sent: too many invitations by e-mail"})
		}
		return c.print(env, fields)
	})
}

type userRoleCmd struct {
	one
	Email string      `required:"" help:"E-mail address of the user."`
	Role  access.Role `required:"" env:"-" enum:"owner,accountant,developer,viewer" help:"What the user may do: ${enum}."`
	keyRevocation
}

// Help is shown by --help.
func (userRoleCmd) Help() string {
	return "Example:\n  quittance account user role 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example --role viewer"
}

// Run changes the role of a user.
func (c userRoleCmd) Run(env environment) error {
	return c.changeUser(env, c.Email, func(ctx context.Context, db *base.DB, account, user base.ID) error {
		if err := identity.SetRole(ctx, db, account, user, c.Role); err != nil {
			return err
		}
		return c.revokeKeys(ctx, db, account, user)
	})
}
