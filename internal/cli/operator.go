package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

type operatorCmd struct {
	Add     operatorAddCmd     `cmd:"" help:"Add an operator, and print the link for a password and an authenticator."`
	List    operatorListCmd    `cmd:"" help:"List the operators."`
	Disable operatorDisableCmd `cmd:"" help:"End the sessions of an operator, who cannot log in any more."`
	Reset   operatorResetCmd   `cmd:"" help:"Remove the password and the authenticator of an operator, and print a new link."`
}

// Help is shown by --help.
func (operatorCmd) Help() string { return operatorAddCmd{}.Help() }

// enrolling holds the flags of the commands that print an enrolment link.
type enrolling struct {
	act
	Email       string            `required:"" help:"E-mail address of the operator."`
	OperatorURL account.PublicURL `name:"operator-url" placeholder:"URL" help:"Address at which operators reach their pages, for the link, such as https://operators.example; only a path if not given."`
}

// make applies do and prints the link.
func (c enrolling) make(env environment, do func(s *account.Service, ctx context.Context,
	email string) (account.Enrolment, error)) error {
	return c.with(env, func(env environment, db *base.DB) error {
		made, err := do(&account.Service{DB: db, Random: rand.Reader, Now: db.Now}, env.ctx, c.Email)
		switch {
		case errors.Is(err, account.ErrEmail):
			return fmt.Errorf("--email: %w", err)
		case errors.Is(err, base.ErrExists):
			return errors.New("--email: there is an operator with this address; quittance operator reset makes a new link")
		case err != nil:
			return unknownOperator(err)
		}
		return c.print(env, []field{{"operator_id", made.ID}, {"email", made.Email},
			{"expires_at", timeOrNil(made.LinkExpiresAt)}, {"url", made.Link(string(c.OperatorURL))}})
	})
}

func unknownOperator(err error) error {
	if errors.Is(err, base.ErrNotFound) {
		return errors.New("--email: no operator has this address")
	}
	return err
}

type operatorAddCmd struct{ enrolling }

// Help is shown by --help.
func (operatorAddCmd) Help() string {
	return `The link works once and for 72 hours; the person who opens it chooses a password and connects an authenticator. It is shown here
only. The pages are served with serve --operator-listen.

Example:
  quittance operator add --data ./sandbox --email ada@owner.example --operator-url https://operators.owner.example`
}

// Run adds an operator.
func (c operatorAddCmd) Run(env environment) error {
	return c.make(env, (*account.Service).AddOperator)
}

type operatorResetCmd struct{ enrolling }

// Help is shown by --help.
func (operatorResetCmd) Help() string {
	return `For an operator who has lost the authenticator or the password, or whose link has expired. A disabled operator can log in again with
the new link.

Example:
  quittance operator reset --data ./sandbox --email ada@owner.example --operator-url https://operators.owner.example`
}

// Run resets an operator.
func (c operatorResetCmd) Run(env environment) error {
	return c.make(env, (*account.Service).ResetOperator)
}

type operatorListCmd struct{ admin }

// Help is shown by --help.
func (operatorListCmd) Help() string { return "Example:\n  quittance operator list --data ./sandbox" }

// Run lists the operators.
func (c operatorListCmd) Run(env environment) error {
	return c.with(env, func(db *base.DB) error {
		all, err := identity.Operators(env.ctx, db)
		if err != nil {
			return err
		}
		return printRows(env, c.admin, all, operatorRecord)
	})
}

func operatorRecord(o identity.Operator) []field {
	state := "active"
	switch {
	case o.DisabledAt != nil:
		state = "disabled"
	case o.EnrolledAt == nil:
		state = "invited"
	}
	return []field{{"operator_id", o.ID}, {"email", o.Email}, {"state", state},
		{"created_at", o.CreatedAt.Format(time.RFC3339)}, {"enrolled_at", timeOrNil(o.EnrolledAt)},
		{"link_expires_at", timeOrNil(o.LinkExpiresAt)}, {"disabled_at", timeOrNil(o.DisabledAt)},
		{"recovery_codes", o.RecoveryCodes}}
}

type operatorDisableCmd struct {
	act
	Email string `required:"" help:"E-mail address of the operator."`
}

// Help is shown by --help.
func (operatorDisableCmd) Help() string {
	return "Example:\n  quittance operator disable --data ./sandbox --email ada@owner.example"
}

// Run disables an operator.
func (c operatorDisableCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB) error {
		email, err := account.ParseEmail(c.Email)
		if err != nil {
			return fmt.Errorf("--email: %w", err)
		}
		disabled, err := identity.DisableOperator(env.ctx, db, email)
		if err != nil {
			return unknownOperator(err)
		}
		return c.print(env, operatorRecord(disabled))
	})
}
