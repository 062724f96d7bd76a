package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"quittance/internal/provider"
	"quittance/internal/service"
	"quittance/internal/store"
)

type connectionCmd struct {
	Add               connectionAddCmd      `cmd:"" help:"Add a pending connection with its credential."`
	Activate          connectionActivateCmd `cmd:"" help:"Make a connection the active one of its account."`
	Approve           connectionApproveCmd  `cmd:"" help:"Record the approval that allows a production connection to submit."`
	Disable           connectionDisableCmd  `cmd:"" help:"Stop new submissions over a connection."`
	ReplaceCredential connectionReplaceCmd  `cmd:"" help:"Replace the credential and keep the connection and its open submissions."`
	List              connectionListCmd     `cmd:"" help:"List the connections."`
}

// Help is shown by --help.
func (connectionCmd) Help() string {
	return `Example:
  quittance connection list --data ./sandbox`
}

type connectionAddCmd struct {
	act
	Account        string `required:"" placeholder:"ID" help:"Identifier of the account."`
	Kind           string `enum:"http,simulator" default:"http" help:"Adapter for the provider: ${enum}. The simulator is available only in the environment local."`
	BaseURL        string `name:"base-url" placeholder:"URL" help:"Address of the provider: https, or http on a loopback address."`
	Environment    string `enum:"sandbox,production" required:"" env:"-" help:"Environment of the provider: ${enum}."`
	CredentialFile string `placeholder:"FILE" help:"File with the provider's credential; - reads standard input. The credential is sealed at once and never shown."`
}

// Help is shown by --help.
func (connectionAddCmd) Help() string {
	return `Example:
  quittance connection add --data ./sandbox --account 01890a5d-ac96-774b-bcce-b302099a8057 --kind http \
    --base-url https://gateway.example --environment sandbox --credential-file -`
}

// Run adds a connection.
func (c connectionAddCmd) Run(env environment) error {
	id, err := parseID(c.Account)
	if err != nil {
		return err
	}
	add := store.NewConnection{Kind: c.Kind, Environment: c.Environment, BaseURL: c.BaseURL}
	if c.CredentialFile != "" {
		if add.Credential, err = readSecret(env, c.CredentialFile); err != nil {
			return err
		}
	}
	if c.Kind == "http" {
		if c.CredentialFile == "" {
			return errors.New("an http connection requires --credential-file")
		}
		if err := provider.CheckCredential(add.Credential); err != nil {
			return err
		}
		if _, err := provider.ParseBaseURL(c.BaseURL); err != nil {
			return err
		}
	} else if c.Environment == "production" {
		return errors.New("the transport simulator cannot be a production connection")
	}
	if c.Environment == service.Production {
		database, _, err := c.address()
		if err != nil {
			return err
		}
		if err := verified(database); err != nil { // with checks this only for a database that was served in production
			return err
		}
	}
	return c.with(env, func(env environment, db *store.DB) error {
		added, err := db.AddConnection(env.ctx, id, add)
		if err != nil {
			return unknownAccount(err)
		}
		return c.print(env, connectionRecord(added))
	})
}

func connectionRecord(c store.Connection) []field {
	record := []field{{"connection_id", c.ID}, {"state", c.State}, {"fingerprint", c.Fingerprint}, {"account_id", c.Account},
		{"kind", c.Kind}, {"environment", c.Environment}, {"base_url", c.BaseURL}}
	if c.Approval != nil {
		record = append(record, field{"approved_at", c.Approval.At.Format(time.RFC3339)}, field{"approved_by", c.Approval.By},
			field{"approval_contract", c.Approval.Contract}, field{"approval_release", strings.ReplaceAll(c.Approval.Release, " ", ",")})
	}
	record = append(record, field{"failures", c.Failures})
	if c.FailingSince != nil {
		record = append(record, field{"failing_since", c.FailingSince.Format(time.RFC3339)}, field{"trouble", c.FailureReason})
	}
	if c.RetryAt != nil {
		record = append(record, field{"retry_at", c.RetryAt.Format(time.RFC3339)})
	}
	return record
}

// connectionOne holds the flags of a command about one connection.
type connectionOne struct {
	act
	ID string `arg:"" help:"Identifier of the connection."`
}

// change applies do to the connection that the command names.
func (c connectionOne) change(env environment, do func(ctx context.Context, db *store.DB, id store.ID) (store.Connection, error)) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(env environment, db *store.DB) error {
		changed, err := do(env.ctx, db, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return errors.New("no connection has this identifier")
		case errors.Is(err, store.ErrExists):
			return errors.New("the account already has an active connection: disable it first")
		case errors.Is(err, store.ErrChangedRow):
			return fmt.Errorf("connection %s cannot be used: %w; restore the row from a backup, or disable the connection and add another", id, store.ErrChangedRow)
		case errors.Is(err, store.ErrNotProduction):
			return errors.New("only a production connection can be approved, and the environment of a connection cannot be changed")
		case err != nil:
			return err
		}
		return c.print(env, connectionRecord(changed))
	})
}

type connectionActivateCmd struct{ connectionOne }

// Help is shown by --help.
func (connectionActivateCmd) Help() string {
	return "Example:\n  quittance connection activate 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run activates a connection.
func (c connectionActivateCmd) Run(env environment) error {
	return c.change(env, func(ctx context.Context, db *store.DB, id store.ID) (store.Connection, error) {
		return db.ActivateConnection(ctx, id)
	})
}

type connectionDisableCmd struct{ connectionOne }

// Help is shown by --help.
func (connectionDisableCmd) Help() string {
	return "Example:\n  quittance connection disable 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run disables a connection.
func (c connectionDisableCmd) Run(env environment) error {
	return c.change(env, func(ctx context.Context, db *store.DB, id store.ID) (store.Connection, error) {
		return db.DisableConnection(ctx, id)
	})
}

type connectionApproveCmd struct {
	connectionOne
	By       string   `required:"" help:"Name of the approver."`
	Contract string   `required:"" help:"Production contract that the approval is based on."`
	Release  []string `placeholder:"VERSION" help:"Approved release, as printed by quittance version; defaults to the release of this binary. During an upgrade, specify the old and the new release, separated by a comma."`
}

// Help is shown by --help.
func (connectionApproveCmd) Help() string {
	return `Example:
  quittance connection approve 01890a5d-ac96-774b-bcce-b302099a8057 --database postgres://db/quittance --key-file key.json \
    --by "A. Approver" --contract C-2026-7 --release 1.0.0`
}

// Run records an approval.
func (c connectionApproveCmd) Run(env environment) error {
	releases := c.Release
	if len(releases) == 0 {
		releases = []string{version()}
	}
	texts := [][2]string{{"--by", c.By}, {"--contract", c.Contract}}
	for _, release := range releases {
		if strings.ContainsAny(release, " \t") {
			return fmt.Errorf("--release: %q contains a blank", release)
		}
		texts = append(texts, [2]string{"--release", release})
	}
	for _, text := range texts {
		if err := checkLine(text[0], text[1]); err != nil {
			return err
		}
	}
	if !slices.Contains(releases, version()) {
		env.log.WarnContext(env.ctx, "the approval does not cover the release of this binary: a server of this version does not submit over the connection", "release", releases, "version", version())
	}
	return c.change(env, func(ctx context.Context, db *store.DB, id store.ID) (store.Connection, error) {
		return db.ApproveConnection(ctx, id, c.By, c.Contract, strings.Join(releases, " "))
	})
}

type connectionReplaceCmd struct {
	connectionOne
	CredentialFile string `required:"" placeholder:"FILE" help:"File with the new credential; - reads standard input."`
}

// Help is shown by --help.
func (connectionReplaceCmd) Help() string {
	return "Example:\n  quittance connection replace-credential 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --credential-file -"
}

// Run replaces a credential.
func (c connectionReplaceCmd) Run(env environment) error {
	credential, err := readSecret(env, c.CredentialFile)
	if err != nil {
		return err
	}
	if err := provider.CheckCredential(credential); err != nil {
		return err
	}
	return c.change(env, func(ctx context.Context, db *store.DB, id store.ID) (store.Connection, error) {
		return db.ReplaceCredential(ctx, id, credential)
	})
}

type connectionListCmd struct {
	admin
	Account string `placeholder:"ID" help:"Show only this account."`
}

// Help is shown by --help.
func (connectionListCmd) Help() string {
	return "Example:\n  quittance connection list --data ./sandbox"
}

// Run lists connections.
func (c connectionListCmd) Run(env environment) error {
	var account *store.ID
	if c.Account != "" {
		id, err := parseID(c.Account)
		if err != nil {
			return err
		}
		account = &id
	}
	return c.with(env, func(db *store.DB) error {
		connections, err := db.Connections(env.ctx, account)
		if err != nil {
			return fmt.Errorf("list connections: %w", err)
		}
		var records [][]field
		for _, connection := range connections {
			record := connectionRecord(connection)
			if _, err := db.Credential(connection); errors.Is(err, store.ErrChangedRow) {
				record = append(record, field{"fault", store.ErrChangedRow.Error()})
			} else if err != nil {
				record = append(record, field{"fault", "this key file cannot open the credential"})
			}
			records = append(records, record)
		}
		return c.printAll(env, connectionRecord(store.Connection{}), records)
	})
}
