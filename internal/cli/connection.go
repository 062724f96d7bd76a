package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
)

type connectionCmd struct {
	Add                connectionAddCmd                `cmd:"" help:"Add a pending connection with its credential."`
	Activate           connectionActivateCmd           `cmd:"" help:"Make a connection the active one of its account."`
	Approve            connectionApproveCmd            `cmd:"" help:"Record the approval that allows a production connection to submit."`
	ConfirmCreditNotes connectionConfirmCreditNotesCmd `cmd:"" help:"Record the contract and the mapping that allow a connection to submit credit notes."`
	Disable            connectionDisableCmd            `cmd:"" help:"Stop new submissions over a connection."`
	ReplaceCredential  connectionReplaceCmd            `cmd:"" help:"Replace the credential and keep the connection and its open submissions."`
	Check              connectionCheckCmd              `cmd:"" help:"Make one harmless call to the provider."`
	Kinds              connectionKindsCmd              `cmd:"" help:"List the adapters, with their options, document formats and words."`
	List               connectionListCmd               `cmd:"" help:"List the connections."`
	UnroutedEvents     connectionUnroutedEventsCmd     `cmd:"" help:"List the events of providers that are about nothing of their connection."`
}

// Help is shown by --help.
func (connectionCmd) Help() string {
	return `Example:
  quittance connection list --data ./sandbox`
}

type connectionAddCmd struct {
	act
	Account        string  `required:"" placeholder:"ID" help:"Identifier of the account."`
	Kind           string  `default:"http" help:"Adapter for the provider: one that quittance connection kinds lists. The simulator is available only in the environment local."`
	BaseURL        string  `name:"base-url" placeholder:"URL" help:"Address of the provider: https, or http on a loopback address."`
	Environment    string  `enum:"sandbox,production" required:"" env:"-" help:"Environment of the provider: ${enum}."`
	Profile        string  `env:"-" placeholder:"NAME" help:"Document format in which invoices are submitted, such as pint-ae. Drafts are complete only if they can be rendered in it."`
	Option         options `placeholder:"NAME=VALUE" env:"-" help:"Option of the adapter; repeat the flag for more. Options are shown in lists and in the audit log: they are no secrets."`
	CredentialFile string  `placeholder:"FILE" help:"File with the provider's credential; - reads standard input. The credential is sealed at once and never shown."`
}

// options are the values of --option by name.
type options map[string]string

// Decode implements [kong.MapperValue] for one occurrence of the flag.
func (o *options) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("value", &text); err != nil {
		return err
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("must be NAME=VALUE but got %q", text)
	}
	if _, given := (*o)[name]; given {
		return fmt.Errorf("%s is given twice", name)
	}
	if *o == nil {
		*o = options{}
	}
	(*o)[name] = value
	return nil
}

// Help is shown by --help.
func (connectionAddCmd) Help() string {
	return `Example:
  quittance connection add --data ./sandbox --account 01890a5d-ac96-774b-bcce-b302099a8057 --kind http \
    --base-url https://gateway.example --environment sandbox --profile pint-ae --credential-file -`
}

// Run adds a connection.
func (c connectionAddCmd) Run(env environment) error {
	id, err := parseID(c.Account)
	if err != nil {
		return err
	}
	add := invoices.NewConnection{Kind: c.Kind, Environment: c.Environment, BaseURL: c.BaseURL, Format: c.Profile,
		Options: c.Option}
	if c.CredentialFile != "" {
		if add.Credential, err = readSecret(env, c.CredentialFile); err != nil {
			return err
		}
	}
	if err := c.check(add); err != nil {
		return err
	}
	if c.Environment == service.Production {
		database, _, err := c.address()
		if err != nil {
			return err
		}
		// with checks this only for a database that was served in production
		if err := verified(database, c.Direct); err != nil {
			return err
		}
	}
	return c.with(env, func(env environment, db *base.DB) error {
		added, err := invoices.AddConnection(env.ctx, db, id, add)
		if err != nil {
			return unknownAccount(err)
		}
		return c.print(env, connectionRecord(added))
	})
}

// check returns an error that says what about a new connection does not suit its kind.
func (c connectionAddCmd) check(add invoices.NewConnection) error {
	kind, known := adapters.Describe(add.Kind)
	switch {
	case !known:
		return fmt.Errorf("there is no adapter %q: quittance connection kinds lists them", add.Kind)
	case kind.LocalOnly && add.Environment == "production":
		return errors.New("the transport simulator cannot be a production connection")
	case !kind.LocalOnly && c.CredentialFile == "":
		return fmt.Errorf("a connection of kind %s requires --credential-file", add.Kind)
	}
	if !kind.LocalOnly {
		if err := provider.CheckCredential(add.Credential); err != nil {
			return err
		}
		if _, err := provider.ParseBaseURL(add.BaseURL); err != nil {
			return err
		}
	}
	if err := kind.CheckProfile(add.Format); err != nil {
		return err
	}
	return kind.CheckOptions(add.Options)
}

func connectionRecord(c invoices.Connection) []field {
	record := []field{{"connection_id", c.ID}, {"state", c.State}, {"fingerprint", c.Fingerprint},
		{"account_id", c.Account}, {"kind", c.Kind}, {"environment", c.Environment}, {"base_url", c.BaseURL}}
	if c.Format != "" {
		record = append(record, field{"profile", c.Format})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		record = append(record, field{"option_" + name, c.Options[name]})
	}
	if c.Approval != nil {
		record = append(record, field{"approved_at", c.Approval.At.Format(time.RFC3339)}, field{"approved_by", c.Approval.By},
			field{"approval_contract", c.Approval.Contract},
			field{"approval_release", strings.ReplaceAll(c.Approval.Release, " ", ",")})
	}
	if n := c.CreditNotes; n != nil {
		record = append(record, field{"credit_notes_at", n.At.Format(time.RFC3339)},
			field{"credit_notes_contract", n.Contract}, field{"credit_notes_mapping", n.Mapping})
	}
	record = append(record, field{"failures", c.Failures})
	if c.FailingSince != nil {
		record = append(record, field{"failing_since", c.FailingSince.Format(time.RFC3339)},
			field{"trouble", c.FailureReason})
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
func (c connectionOne) change(env environment, do func(ctx context.Context, db *base.DB,
	id base.ID) (invoices.Connection, error)) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(env environment, db *base.DB) error {
		changed, err := do(env.ctx, db, id)
		switch {
		case errors.Is(err, base.ErrNotFound):
			return errors.New("no connection has this identifier")
		case errors.Is(err, invoices.ErrActiveExists):
			return invoices.ErrActiveExists
		case errors.Is(err, base.ErrChangedRow):
			return fmt.Errorf(
				"connection %s cannot be used: %w; restore the row from a backup, or disable the connection and add another",
				id, base.ErrChangedRow)
		case errors.Is(err, invoices.ErrNotProduction):
			return invoices.ErrNotProduction
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
	return c.change(env, func(ctx context.Context, db *base.DB, id base.ID) (invoices.Connection, error) {
		return invoices.ActivateConnection(ctx, db, id)
	})
}

type connectionDisableCmd struct{ connectionOne }

// Help is shown by --help.
func (connectionDisableCmd) Help() string {
	return "Example:\n  quittance connection disable 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox"
}

// Run disables a connection.
func (c connectionDisableCmd) Run(env environment) error {
	return c.change(env, func(ctx context.Context, db *base.DB, id base.ID) (invoices.Connection, error) {
		return invoices.DisableConnection(ctx, db, id)
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
		releases = []string{env.build.Version}
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
	if !slices.Contains(releases, env.build.Version) {
		env.log.WarnContext(env.ctx,
			"the approval does not cover the release of this binary: a server of this version does not submit over the connection", "release", releases, "version", env.build.Version)
	}
	return c.change(env, func(ctx context.Context, db *base.DB, id base.ID) (invoices.Connection, error) {
		return invoices.ApproveConnection(ctx, db, id, c.By, c.Contract, strings.Join(releases, " "))
	})
}

type connectionConfirmCreditNotesCmd struct {
	connectionOne
	Contract string `required:"" help:"Contract with the provider that covers credit notes."`
	Mapping  string `required:"" help:"Mapping of credit notes that was tested in the provider's sandbox, such as the name and version of its description."`
}

// Help is shown by --help.
func (connectionConfirmCreditNotesCmd) Help() string {
	return `Example:
  quittance connection confirm-credit-notes 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox \
    --contract C-2026-7 --mapping "UBL CreditNote, tested 2026-11-20"`
}

// Run records a confirmation.
func (c connectionConfirmCreditNotesCmd) Run(env environment) error {
	for _, text := range [][2]string{{"--contract", c.Contract}, {"--mapping", c.Mapping}} {
		if err := checkLine(text[0], text[1]); err != nil {
			return err
		}
	}
	return c.change(env, func(ctx context.Context, db *base.DB, id base.ID) (invoices.Connection, error) {
		connection, err := invoices.FindConnection(ctx, db, id)
		if err != nil {
			return connection, err
		}
		if kind, _ := adapters.Describe(connection.Kind); !kind.CreditNotes {
			return connection, fmt.Errorf("a connection of kind %s carries no credit notes", connection.Kind)
		}
		return invoices.ConfirmCreditNotes(ctx, db, id, c.Contract, c.Mapping)
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
	return c.change(env, func(ctx context.Context, db *base.DB, id base.ID) (invoices.Connection, error) {
		return invoices.ReplaceCredential(ctx, db, id, credential)
	})
}

type connectionListCmd struct {
	admin
	Account string `placeholder:"ID" help:"Show only this account."`
	Limit   int    `default:"1000" help:"Maximum number of connections."`
}

// Help is shown by --help.
func (connectionListCmd) Help() string {
	return "Example:\n  quittance connection list --data ./sandbox"
}

// Run lists connections.
func (c connectionListCmd) Run(env environment) error {
	account, err := optionalID(c.Account)
	if err != nil {
		return err
	}
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		connections, err := invoices.Connections(env.ctx, db, account)
		if err != nil {
			return fmt.Errorf("list connections: %w", err)
		}
		var records [][]field
		for _, connection := range bounded(env, connections, c.Limit) {
			record := connectionRecord(connection)
			if _, err := invoices.Credential(db, connection); errors.Is(err, base.ErrChangedRow) {
				record = append(record, field{"fault", base.ErrChangedRow.Error()})
			} else if err != nil {
				record = append(record, field{"fault", "this key file cannot open the credential"})
			}
			records = append(records, record)
		}
		return c.printAll(env, connectionRecord(invoices.Connection{}), records)
	})
}

type connectionUnroutedEventsCmd struct {
	admin
	Account string `required:"" placeholder:"ID" help:"Identifier of the account."`
	Limit   int    `default:"100" help:"Largest number of events to list, the newest ones."`
}

// Help is shown by --help.
func (connectionUnroutedEventsCmd) Help() string {
	return `An event in the queue of a provider may be about a document that was sent by another program, or for another legal entity of the same
account there. If nobody else takes it within an hour, it is retained, deleted at the provider, and listed here with its content, which is withheld if it contains the credential.

Example:
  quittance connection unrouted-events --account 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox --json`
}

// Run lists unrouted events.
func (c connectionUnroutedEventsCmd) Run(env environment) error {
	account, err := parseID(c.Account)
	if err != nil {
		return err
	}
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		events, err := incoming.UnroutedEvents(env.ctx, db, account, c.Limit+1)
		if err != nil {
			return fmt.Errorf("list unrouted events: %w", err)
		}
		record := func(e incoming.UnroutedEvent) []field {
			return []field{{"connection_id", e.Connection}, {"event_id", e.ID}, {"seen_at", e.SeenAt},
				{"released_at", e.ReleasedAt}, {"withheld", e.Withheld}, {"body", string(e.Body)}}
		}
		var records [][]field
		for _, event := range bounded(env, events, c.Limit) {
			records = append(records, record(event))
		}
		return c.printAll(env, record(incoming.UnroutedEvent{}), records)
	})
}
