package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/strictjson"
)

type accountCmd struct {
	Create      accountCreateCmd      `cmd:"" help:"Create an account with its first user. The password is shown once; the user must change it in the console."`
	List        accountListCmd        `cmd:"" help:"List the accounts."`
	Show        accountShowCmd        `cmd:"" help:"Show an account with its users, its profile and its use of the quotas."`
	LoginPolicy accountLoginPolicyCmd `cmd:"" help:"Require a second factor or single sign-on of the users of an account, or allow passwords alone again."`
	Suspend     accountSuspendCmd     `cmd:"" help:"Block logins and revoke all tokens of an account."`
	Reactivate  accountReactivateCmd  `cmd:"" help:"Allow the users of a suspended account to log in again."`
	Rename      accountRenameCmd      `cmd:"" help:"Change the company name."`
	Profile     accountProfileCmd     `cmd:"" help:"Replace the company profile of an account."`
	Key         accountKeyCmd         `cmd:"" help:"Create, list and revoke the API keys of an account."`
	User        accountUserCmd        `cmd:"" help:"Add, invite, disable, enable and remove users, change their roles and addresses, and reset passwords."`
}

// Help is shown by --help.
func (accountCmd) Help() string {
	return `Example:
  quittance account create --data ./sandbox --company "Palm Trading LLC" --email owner@palm.example`
}

// one holds the flags of a command about one account.
type one struct {
	act
	ID string `arg:"" help:"Identifier of the account."`
}

type accountCreateCmd struct {
	act
	Company string `required:"" help:"Name of the company."`
	Email   string `required:"" help:"E-mail address of the first user."`
	Name    string `help:"Name of the first user; defaults to the e-mail address."`
}

// Help is shown by --help.
func (accountCreateCmd) Help() string {
	return `Example:
  quittance account create --data ./sandbox --company "Palm Trading LLC" --email owner@palm.example`
}

// Run creates an account.
func (c accountCreateCmd) Run(env environment) error {
	if err := checkLine("--company", c.Company); err != nil {
		return err
	}
	return c.with(env, func(env environment, db *base.DB) error {
		user, password, err := newUser(c.Email, c.Name)
		if err != nil {
			return err
		}
		made, err := identity.CreateAccount(env.ctx, db, c.Company, user)
		if err != nil {
			return emailTaken(err)
		}
		return c.print(env, []field{{"account_id", made.ID}, {"email", user.Email}, {"password", password.Reveal()}})
	})
}

// newUser returns a user with a newly generated password.
func newUser(email, name string) (identity.NewUser, secret.Text, error) {
	email, err := account.ParseEmail(email)
	if err != nil {
		return identity.NewUser{}, secret.Text{}, fmt.Errorf("--email: %w", err)
	}
	if name == "" {
		name = email
	}
	if err := checkLine("--name", name); err != nil {
		return identity.NewUser{}, secret.Text{}, err
	}
	password, hash, err := newPassword()
	return identity.NewUser{Email: email, Name: name, PasswordHash: hash, PasswordChangeRequired: true}, password, err
}

func newPassword() (secret.Text, string, error) {
	password, err := secret.NewPassword(rand.Reader)
	if err != nil {
		return secret.Text{}, "", err
	}
	hash, err := account.DefaultCost().Hash(password.Reveal())
	return password, hash, err
}

// checkLine returns an error unless text is one line of 1 to 256 characters.
func checkLine(flag, text string) error {
	if strings.TrimSpace(text) == "" || len([]rune(text)) > 256 ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return fmt.Errorf("%s: must be one line of 1 to 256 characters", flag)
	}
	return nil
}

// checkText returns an error unless text has 1 to 1024 characters; line feeds and tabs are allowed.
func checkText(flag, text string) error {
	if strings.TrimSpace(text) == "" || len([]rune(text)) > 1024 || strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfffd
	}) {
		return fmt.Errorf("%s: must be a text of 1 to 1024 characters", flag)
	}
	return nil
}

func emailTaken(err error) error {
	if errors.Is(err, base.ErrExists) {
		return errors.New("--email: the account has a user with this address")
	}
	return unknownAccount(err)
}

func unknownAccount(err error) error {
	if errors.Is(err, base.ErrNotFound) {
		return errors.New("no account has this identifier")
	}
	return err
}

type accountListCmd struct {
	admin
	Limit int `default:"1000" help:"Maximum number of accounts, oldest first."`
}

// Help is shown by --help.
func (accountListCmd) Help() string { return "Example:\n  quittance account list --data ./sandbox" }

// Run lists the accounts.
func (c accountListCmd) Run(env environment) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		accounts, err := identity.Accounts(env.ctx, db, c.Limit+1)
		if err != nil {
			return err
		}
		return printRows(env, c.admin, bounded(env, accounts, c.Limit), accountRecord)
	})
}

func accountRecord(a base.Account) []field {
	return []field{{"account_id", a.ID}, {"status", a.Status}, {"company", a.Company},
		{"created_at", a.CreatedAt.Format(time.RFC3339)}, {"login_policy", a.LoginPolicy}}
}

type accountShowCmd struct {
	admin
	ID string `arg:"" help:"Identifier of the account."`
}

// Help is shown by --help.
func (accountShowCmd) Help() string {
	return "Example:\n  quittance account show 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run shows an account.
func (c accountShowCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		found, err := identity.FindAccount(env.ctx, db, id)
		if err != nil {
			return unknownAccount(err)
		}
		users, err := identity.UsersOf(env.ctx, db, id)
		if err != nil {
			return err
		}
		var emails, disabled []string
		for _, user := range users {
			emails = append(emails, user.Email)
			if user.DisabledAt != nil {
				disabled = append(disabled, user.Email)
			}
		}
		used, err := usageOf(env, db, id, users)
		if err != nil {
			return err
		}
		return c.print(env, append(accountRecord(found), field{"users", list(emails)},
			field{"disabled_users", list(disabled)}, field{"profile", profileRecord(found.Profile)}, field{"used", used}))
	})
}

// list prints as a JSON array, even when it is empty, or as text separated by blanks.
type list []string

func (l list) String() string { return strings.Join(l, " ") }

// MarshalJSON writes the array.
func (l list) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, l...)) }

// profileRecord prints as JSON in both output formats.
type profileRecord api.Profile

func (p profileRecord) String() string {
	text, err := json.Marshal(api.Profile(p))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

type accountSuspendCmd struct{ one }

// Help is shown by --help.
func (accountSuspendCmd) Help() string {
	return "Example:\n  quittance account suspend 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run suspends an account.
func (c accountSuspendCmd) Run(env environment) error {
	return c.change(env, identity.SuspendAccount)
}

type accountReactivateCmd struct{ one }

// Help is shown by --help.
func (accountReactivateCmd) Help() string {
	return "Example:\n  quittance account reactivate 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run reactivates an account.
func (c accountReactivateCmd) Run(env environment) error {
	return c.change(env, identity.ReactivateAccount)
}

// with runs do on the database and the identifier of the account that the command names.
func (o one) with(env environment, do func(env environment, db *base.DB, id base.ID) error) error {
	id, err := parseID(o.ID)
	if err != nil {
		return err
	}
	return o.act.with(env, func(env environment, db *base.DB) error { return do(env, db, id) })
}

// change applies do to the account that the command names.
func (o one) change(env environment, do func(context.Context, *base.DB, base.ID) error) error {
	return o.with(env, func(env environment, db *base.DB, id base.ID) error {
		if err := do(env.ctx, db, id); err != nil {
			return unknownAccount(err)
		}
		changed, err := identity.FindAccount(env.ctx, db, id)
		if err != nil {
			return err
		}
		return o.print(env, accountRecord(changed))
	})
}

type accountRenameCmd struct {
	one
	Company string `required:"" help:"New name of the company."`
}

// Help is shown by --help.
func (accountRenameCmd) Help() string {
	return "Example:\n  quittance account rename 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --company \"Palm Trading FZE\""
}

// Run renames a company.
func (c accountRenameCmd) Run(env environment) error {
	if err := checkLine("--company", c.Company); err != nil {
		return err
	}
	return c.change(env, func(ctx context.Context, db *base.DB, id base.ID) error {
		return identity.RenameAccount(ctx, db, id, c.Company)
	})
}

type accountProfileCmd struct {
	one
	File string `required:"" placeholder:"FILE" help:"JSON file with the profile; - reads standard input."`
}

// Help is shown by --help.
func (accountProfileCmd) Help() string {
	return `Example:
  echo '{"legal_name":"Palm Trading LLC","country":"AE"}' |
    quittance account profile 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --file -`
}

// Run replaces the profile.
func (c accountProfileCmd) Run(env environment) error {
	text, err := readInput(env, c.File)
	if err != nil {
		return err
	}
	value, err := strictjson.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: not a single JSON document", inputName(c.File))
	}
	profile, faults := strictjson.For[api.Profile]().Decode(value)
	if faults = faults.With(invoice.ProfileFaults(&profile)); len(faults) > 0 {
		return faultsError{file: inputName(c.File), faults: faults}
	}
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		if err := identity.SetProfile(env.ctx, db, id, profile); err != nil {
			return unknownAccount(err)
		}
		changed, err := identity.FindAccount(env.ctx, db, id)
		if err != nil {
			return err
		}
		return c.print(env, append(accountRecord(changed), field{"profile", profileRecord(changed.Profile)}))
	})
}

// faultsError lists every fault in a file.
type faultsError struct {
	file   string
	faults api.Faults
}

func (e faultsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not valid:", e.file)
	for _, path := range slices.Sorted(maps.Keys(e.faults)) {
		for _, fault := range e.faults[path] {
			fmt.Fprintf(&b, "\n  %s: %s (%s)", path, fault.Message, fault.Rule)
		}
	}
	return b.String()
}

type accountUserCmd struct {
	Add               userAddCmd         `cmd:"" help:"Add a user. The password is shown once."`
	Invite            userInviteCmd      `cmd:"" help:"Invite a person: makes a link that works once, at which the person chooses a password."`
	Role              userRoleCmd        `cmd:"" help:"Change the role of a user, from the user's next request on."`
	Disable           userDisableCmd     `cmd:"" help:"Block a user from logging in and revoke all of the user's tokens."`
	Enable            userEnableCmd      `cmd:"" help:"Allow a disabled user to log in again."`
	Unlink            userUnlinkCmd      `cmd:"" help:"Unlink a user from a person at the OpenID provider, so that the next login by single sign-on links the user again."`
	ChangeAddress     userAddressCmd     `cmd:"" help:"Give a user another e-mail address, which the user has to prove."`
	Remove            userRemoveCmd      `cmd:"" help:"Remove a user: the address is free, and only the audit log knows the user."`
	ResetSecondFactor userResetFactorCmd `cmd:"" help:"Remove the second factor of a user who cannot use it any more, and revoke all of the user's tokens."`
	ResetPassword     userResetCmd       `cmd:"" help:"Give a user a new password and revoke all of the user's tokens. The password is shown once; the user must change it in the console."`
}

// Help is shown by --help.
func (accountUserCmd) Help() string {
	return `Example:
  quittance account user add 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example`
}

type userAddCmd struct {
	one
	Email string      `required:"" help:"E-mail address of the user."`
	Name  string      `help:"Name of the user; defaults to the e-mail address."`
	Role  access.Role `env:"-" enum:"owner,accountant,developer,viewer" default:"owner" help:"What the user may do: owner, accountant, developer or viewer; owner if absent."`
}

// Help is shown by --help.
func (userAddCmd) Help() string {
	return "Example:\n  quittance account user add 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example"
}

// Run adds a user.
func (c userAddCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		user, password, err := newUser(c.Email, c.Name)
		if err != nil {
			return err
		}
		user.Role = c.Role
		if _, err := identity.AddUser(env.ctx, db, id, user); err != nil {
			return emailTaken(err)
		}
		return c.print(env, []field{{"account_id", id}, {"email", user.Email}, {"role", user.Role},
			{"password", password.Reveal()}})
	})
}

type userDisableCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
	Force bool   `env:"-" help:"Disable the user even if the account has no other active owner."`
	keyRevocation
}

// Help is shown by --help.
func (userDisableCmd) Help() string {
	return "Example:\n  quittance account user disable 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example --reason \"has left\""
}

// Run disables a user.
func (c userDisableCmd) Run(env environment) error {
	err := c.changeUser(env, c.Email, func(ctx context.Context, db *base.DB, account, user base.ID) error {
		if err := identity.DisableUser(ctx, db, account, user, c.Force); err != nil {
			return err
		}
		return c.revokeKeys(ctx, db, account, user)
	})
	if errors.Is(err, identity.ErrLastOwner) {
		return fmt.Errorf("%w; specify --force to disable the user anyway", err)
	}
	return err
}

type userEnableCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
}

// Help is shown by --help.
func (userEnableCmd) Help() string {
	return "Example:\n  quittance account user enable 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example"
}

// Run enables a user.
func (c userEnableCmd) Run(env environment) error {
	return c.changeUser(env, c.Email, func(ctx context.Context, db *base.DB, account, user base.ID) error {
		return identity.EnableUser(ctx, db, account, user)
	})
}

// changeUser applies do to a user of the account that the command names.
func (o one) changeUser(env environment, email string,
	do func(ctx context.Context, db *base.DB, account, user base.ID) error) error {
	return o.with(env, func(env environment, db *base.DB, id base.ID) error {
		user, err := userOf(env, db, id, email)
		if err != nil {
			return err
		}
		if err := do(env.ctx, db, id, user.ID); err != nil {
			return err
		}
		if user, err = userOf(env, db, id, email); err != nil {
			return err
		}
		status := "active"
		if user.DisabledAt != nil {
			status = "disabled"
		}
		return o.print(env, []field{{"account_id", id}, {"email", user.Email}, {"role", user.Role}, {"status", status}})
	})
}

// userOf returns the user of an account who has an e-mail address.
func userOf(env environment, db *base.DB, id base.ID, email string) (base.User, error) {
	user, err := db.UserOf(env.ctx, id, account.NormalizeEmail(email))
	if errors.Is(err, base.ErrNotFound) {
		return base.User{}, errors.New("the account has no user with this e-mail address")
	}
	return user, err
}

type userResetCmd struct {
	one
	Email string `required:"" help:"E-mail address of the user."`
	Send  bool   `env:"-" help:"Send the user a link with which to choose a new password, instead of setting one. The password and the tokens stay until the link is used. Needs a server that sends e-mails."`
}

// Help is shown by --help.
func (userResetCmd) Help() string {
	return `Example:
  quittance account user reset-password 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --email books@palm.example`
}

// Run resets a password, or sends a link.
func (c userResetCmd) Run(env environment) error {
	return c.with(env, func(env environment, db *base.DB, id base.ID) error {
		user, err := userOf(env, db, id, c.Email)
		if err != nil {
			return err
		}
		if c.Send {
			return c.send(env, db, user)
		}
		password, hash, err := newPassword()
		if err != nil {
			return err
		}
		if err := identity.ResetPassword(env.ctx, db, id, user.ID, hash); err != nil {
			return err
		}
		return c.print(env, []field{{"account_id", id}, {"email", user.Email}, {"password", password.Reveal()}})
	})
}
