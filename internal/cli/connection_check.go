package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
)

type connectionKindsCmd struct {
	JSON bool `env:"-" help:"Print JSON, with the options and the word tables of each adapter."`
}

// Help is shown by --help.
func (connectionKindsCmd) Help() string {
	return "Example:\n  quittance connection kinds"
}

// Run prints what each adapter publishes about itself.
func (c connectionKindsCmd) Run(env environment) error {
	var published []provider.Published
	for _, description := range adapters.Descriptions() {
		published = append(published, description.Publish())
	}
	if c.JSON {
		return printJSON(env, published)
	}
	header := []field{{"kind", nil}, {"profiles", nil}, {"options", nil}, {"credit_notes", nil},
		{"incoming_invoices", nil}, {"recipient_lookup", nil}, {"summary", nil}}
	var records [][]field
	for _, p := range published {
		var options []string
		for _, option := range p.Options {
			options = append(options, option.Name)
		}
		records = append(records, []field{{"kind", p.Kind}, {"profiles", strings.Join(p.Profiles, ",")},
			{"options", strings.Join(options, ",")}, {"credit_notes", p.CreditNotes}, {"incoming_invoices", p.IncomingInvoices},
			{"recipient_lookup", p.RecipientLookup}, {"summary", p.Summary}})
	}
	return printTable(env, header, records)
}

type connectionCheckCmd struct {
	admin
	ID      string        `arg:"" help:"Identifier of the connection."`
	Timeout time.Duration `default:"20s" help:"How long to wait for the provider."`
}

// Help is shown by --help.
func (connectionCheckCmd) Help() string {
	return `Makes one harmless call to the provider and prints what came of it. The exit status is 1 if the provider does not respond as it
describes, for instance because it refuses the credential.

Example:
  quittance connection check 01890a5d-ac96-774b-bcce-b302099a8057 --data ./sandbox`
}

var errCheckFailed = errors.New("the provider did not respond as it describes")

// Run checks a connection.
func (c connectionCheckCmd) Run(env environment) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		connection, err := invoices.FindConnection(env.ctx, db, id)
		if errors.Is(err, base.ErrNotFound) {
			return errors.New("no connection has this identifier")
		}
		if err != nil {
			return err
		}
		credential, err := invoices.Credential(db, connection)
		if err != nil {
			return fmt.Errorf("connection %s cannot be used: %w", id, err)
		}
		kind, known := adapters.Describe(connection.Kind)
		if !known {
			return fmt.Errorf("there is no adapter %q in this version", connection.Kind)
		}
		adapter, err := kind.Open(provider.Config{BaseURL: connection.BaseURL, Credential: credential,
			Options: connection.Options, Timeout: c.Timeout, MaxConns: 1, Clock: time.Now})
		if err != nil {
			return err
		}
		response := adapter.Check(env.ctx)
		record := []field{{"connection_id", id}, {"kind", connection.Kind}, {"ok", response.Kind == provider.Complete},
			{"response", response.Kind.String()}, {"http_status", response.HTTPStatus},
			{"error_class", string(response.ErrorClass)}, {"duration_ms", response.Duration.Milliseconds()}}
		if err := c.print(env, record); err != nil || response.Kind == provider.Complete {
			return err
		}
		return errCheckFailed
	})
}
