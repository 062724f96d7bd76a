package remote

import (
	"fmt"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// identified holds the flags of a command about one record.
type identified struct {
	output
	ID string `arg:"" help:"Identifier."`
}

type invoicesCmd struct {
	List     invoicesListCmd     `cmd:"" help:"List invoices."`
	Get      invoicesGetCmd      `cmd:"" help:"Show an invoice."`
	Create   invoicesCreateCmd   `cmd:"" help:"Create a draft."`
	Update   invoicesUpdateCmd   `cmd:"" help:"Change a draft, or an invoice that was rejected."`
	Complete invoicesCompleteCmd `cmd:"" help:"Say whether a draft is complete, and what it lacks."`
	Delete   invoicesDeleteCmd   `cmd:"" help:"Delete a draft."`
	Submit   invoicesSubmitCmd   `cmd:"" help:"Submit an invoice."`
	Evidence invoicesEvidenceCmd `cmd:"" help:"List what the provider has answered about an invoice."`
}

// issueDates holds the flags of a list of documents for their issue dates.
type issueDates struct {
	IssueDateFrom string `env:"-" placeholder:"DATE" help:"Only documents issued on this date, YYYY-MM-DD, or later."`
	IssueDateTo   string `env:"-" placeholder:"DATE" help:"Only documents issued on this date, YYYY-MM-DD, or earlier."`
}

// updated holds the flag of a list for the time of changes.
type updated struct {
	UpdatedSince instant `env:"-" placeholder:"TIME" help:"Only those that changed at this time, such as 2026-03-01T09:30:00Z, or later."`
}

// instant is a time in RFC 3339.
type instant time.Time

// UnmarshalText implements [encoding.TextUnmarshaler]. Its error says what to write, not how Go describes times.
func (i *instant) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time such as 2026-03-01T09:30:00Z", text)
	}
	*i = instant(at)
	return nil
}

type invoicesListCmd struct {
	listing
	issueDates
	InvoiceNumber string `env:"-" placeholder:"NUMBER" help:"Only invoices with this number."`
	RecipientName string `env:"-" placeholder:"TEXT" help:"Only invoices to recipients with this text in the name."`
	ExternalID    string `env:"-" name:"external-id" placeholder:"KEY" help:"Only invoices with this key of your own system."`
	Submitted     *bool  `env:"-" negatable:"" help:"Only submitted invoices; with --no-submitted, only drafts."`
	updated
	Attention bool   `env:"-" help:"Only invoices that need a person."`
	Sort      string `env:"-" placeholder:"FIELD" help:"created_at, issue_date, total_amount or recipient_name, with a hyphen before it for descending order."`
}

// Help is shown by --help.
func (invoicesListCmd) Help() string {
	return "Example:\n  quittance invoices list --limit 50\n  quittance invoices list --no-submitted --sort=-issue_date\n  quittance invoices list --issue-date-from 2026-03-01 --issue-date-to 2026-03-31"
}

// Run lists invoices.
func (c invoicesListCmd) Run(env Environment) error {
	query := client.InvoiceQuery{InvoiceNumber: c.InvoiceNumber, RecipientName: c.RecipientName, ExternalID: c.ExternalID,
		Submitted: c.Submitted, Sort: c.Sort, IssueDateFrom: c.IssueDateFrom, IssueDateTo: c.IssueDateTo,
		UpdatedSince: time.Time(c.UpdatedSince)}
	if c.Attention {
		query.Attention = &c.Attention
	}
	columns := []string{"id", "invoice_number", "issue_date", "recipient_name", "total_amount", "currency",
		"submission_state", "provider_invoice_state", "tax_authority_state", "receiver_state"}
	return list(env, c.listing, columns, func(s *client.Client, page client.Paging) (api.List[api.InvoiceSummary], error) {
		query.Paging = page
		return s.Invoices(env.Context, query)
	})
}

type invoicesGetCmd struct{ identified }

// Help is shown by --help.
func (invoicesGetCmd) Help() string {
	return "Example:\n  quittance invoices get 01890a5d-ac96-774b-bcce-b302099a8057 --json"
}

// Run shows an invoice.
func (c invoicesGetCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.Invoice, error) { return s.Invoice(env.Context, c.ID) })
}

type invoicesCreateCmd struct {
	output
	input
	IdempotencyKey string `env:"-" placeholder:"KEY" help:"Key under which a repeated command creates nothing more."`
}

// Help is shown by --help.
func (invoicesCreateCmd) Help() string {
	return "Example:\n  quittance invoices create --file invoice.json\n  quittance invoices create --idempotency-key order-4711 < invoice.json"
}

// Run creates a draft.
func (c invoicesCreateCmd) Run(env Environment) error {
	document, err := c.read(env)
	if err != nil {
		return err
	}
	return one(env, c.output, func(s *client.Client) (api.Invoice, error) {
		return s.CreateInvoice(env.Context, api.Draft{}, sent(document, c.IdempotencyKey)...)
	})
}

// sent returns the options of a call that sends a document, and under an Idempotency-Key, if there is one.
func sent(document []byte, key string) []client.CallOption {
	options := []client.CallOption{client.RawBody(document)}
	if key != "" {
		options = append(options, client.IdempotencyKey(key))
	}
	return options
}

type invoicesUpdateCmd struct {
	identified
	input
}

// Help is shown by --help.
func (invoicesUpdateCmd) Help() string {
	return `The document is a JSON merge patch (RFC 7396): null removes a field, and items are replaced as a whole.

Example:
  quittance invoices update 01890a5d-ac96-774b-bcce-b302099a8057 --file patch.json`
}

// Run changes a draft.
func (c invoicesUpdateCmd) Run(env Environment) error {
	patch, err := c.read(env)
	if err != nil {
		return err
	}
	return one(env, c.output, func(s *client.Client) (api.Invoice, error) {
		return s.PatchInvoice(env.Context, c.ID, nil, client.RawBody(patch))
	})
}

type invoicesCompleteCmd struct{ identified }

// Help is shown by --help.
func (invoicesCompleteCmd) Help() string {
	return `The exit status is 1 if the draft lacks something that submission requires.

Example:
  quittance invoices complete 01890a5d-ac96-774b-bcce-b302099a8057`
}

// Run shows what a draft lacks.
func (c invoicesCompleteCmd) Run(env Environment) error {
	type completeness struct {
		Complete bool       `json:"complete"`
		Missing  []string   `json:"missing"`
		Warnings api.Faults `json:"warnings"`
	}
	var found completeness
	err := one(env, c.output, func(s *client.Client) (completeness, error) {
		i, err := s.Invoice(env.Context, c.ID)
		found = completeness{i.Complete, i.Missing, i.Warnings}
		return found, err
	})
	if err == nil && !found.Complete {
		err = fmt.Errorf("the invoice lacks %d fields", len(found.Missing))
	}
	return err
}

type invoicesDeleteCmd struct{ identified }

// Help is shown by --help.
func (invoicesDeleteCmd) Help() string {
	return "Example:\n  quittance invoices delete 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run deletes a draft.
func (c invoicesDeleteCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.Deleted, error) { return s.DeleteInvoice(env.Context, c.ID) })
}

type invoicesSubmitCmd struct{ identified }

// Help is shown by --help.
func (invoicesSubmitCmd) Help() string {
	return `A repeated command submits nothing twice: it shows the recorded result.

Example:
  quittance invoices submit 01890a5d-ac96-774b-bcce-b302099a8057`
}

// Run submits an invoice.
func (c invoicesSubmitCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.Invoice, error) { return s.Submit(env.Context, c.ID) })
}

type invoicesEvidenceCmd struct {
	listing
	ID string `arg:"" help:"Identifier of the invoice."`
}

// Help is shown by --help.
func (invoicesEvidenceCmd) Help() string {
	return "Example:\n  quittance invoices evidence 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run lists the evidence of an invoice.
func (c invoicesEvidenceCmd) Run(env Environment) error {
	columns := []string{"id", "ordinal", "received_at", "call", "http_status", "words", "sha256"}
	return list(env, c.listing, columns, func(s *client.Client, page client.Paging) (api.List[api.Evidence], error) {
		return s.Evidence(env.Context, c.ID, page)
	})
}

type creditNotesCmd struct {
	List   creditNotesListCmd   `cmd:"" help:"List credit notes."`
	Get    creditNotesGetCmd    `cmd:"" help:"Show a credit note."`
	Create creditNotesCreateCmd `cmd:"" help:"Create the draft of a credit note."`
	Submit creditNotesSubmitCmd `cmd:"" help:"Submit a credit note."`
	Void   creditNotesVoidCmd   `cmd:"" help:"Void a credit note, so that another one can credit its amount."`
}

type creditNotesListCmd struct {
	listing
	issueDates
	InvoiceID string `env:"-" name:"invoice-id" placeholder:"ID" help:"Only those for this invoice."`
}

// Help is shown by --help.
func (creditNotesListCmd) Help() string {
	return "Example:\n  quittance credit-notes list --limit 50\n  quittance credit-notes list --issue-date-from 2026-03-01 --issue-date-to 2026-03-31"
}

// Run lists credit notes.
func (c creditNotesListCmd) Run(env Environment) error {
	columns := []string{"id", "credit_note_number", "issue_date", "invoice_id", "total_amount", "currency",
		"submission_state", "provider_invoice_state", "tax_authority_state", "receiver_state"}
	return list(env, c.listing, columns, func(s *client.Client, page client.Paging) (api.List[api.CreditNoteSummary],
		error) {
		return s.CreditNotes(env.Context, client.CreditNoteQuery{Paging: page, InvoiceID: c.InvoiceID,
			IssueDateFrom: c.IssueDateFrom, IssueDateTo: c.IssueDateTo})
	})
}

type creditNotesGetCmd struct{ identified }

// Help is shown by --help.
func (creditNotesGetCmd) Help() string {
	return "Example:\n  quittance credit-notes get 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run shows a credit note.
func (c creditNotesGetCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.CreditNote, error) { return s.CreditNote(env.Context, c.ID) })
}

type creditNotesCreateCmd struct {
	output
	input
	IdempotencyKey string `env:"-" placeholder:"KEY" help:"Key under which a repeated command creates nothing more."`
}

// Help is shown by --help.
func (creditNotesCreateCmd) Help() string {
	return "Example:\n  quittance credit-notes create --file credit-note.json"
}

// Run creates the draft of a credit note.
func (c creditNotesCreateCmd) Run(env Environment) error {
	document, err := c.read(env)
	if err != nil {
		return err
	}
	return one(env, c.output, func(s *client.Client) (api.CreditNote, error) {
		return s.CreateCreditNote(env.Context, api.CreditNoteRequest{}, sent(document, c.IdempotencyKey)...)
	})
}

type creditNotesSubmitCmd struct{ identified }

// Help is shown by --help.
func (creditNotesSubmitCmd) Help() string {
	return "Example:\n  quittance credit-notes submit 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run submits a credit note.
func (c creditNotesSubmitCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.CreditNote,
		error) {
		return s.SubmitCreditNote(env.Context, c.ID)
	})
}

type creditNotesVoidCmd struct{ identified }

// Help is shown by --help.
func (creditNotesVoidCmd) Help() string {
	return "Example:\n  quittance credit-notes void 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run voids a credit note.
func (c creditNotesVoidCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.CreditNote,
		error) {
		return s.VoidCreditNote(env.Context, c.ID)
	})
}

type incomingCmd struct {
	List incomingListCmd `cmd:"" help:"List incoming e-invoices."`
	Get  incomingGetCmd  `cmd:"" help:"Show an incoming e-invoice with what its document says."`
}

type incomingListCmd struct {
	listing
	issueDates
	updated
}

// Help is shown by --help.
func (incomingListCmd) Help() string {
	return "Example:\n  quittance incoming list --limit 50\n  quittance incoming list --updated-since 2026-03-01T00:00:00Z"
}

// Run lists incoming e-invoices.
func (c incomingListCmd) Run(env Environment) error {
	columns := []string{"id", "revision", "invoice_number", "supplier_name", "issue_date", "total_amount", "currency",
		"received_at"}
	return list(env, c.listing, columns, func(s *client.Client, page client.Paging) (api.List[api.IncomingInvoice],
		error) {
		return s.IncomingInvoices(env.Context, client.IncomingInvoiceQuery{Paging: page, IssueDateFrom: c.IssueDateFrom,
			IssueDateTo: c.IssueDateTo, UpdatedSince: time.Time(c.UpdatedSince)})
	})
}

type incomingGetCmd struct{ identified }

// Help is shown by --help.
func (incomingGetCmd) Help() string {
	return "Example:\n  quittance incoming get 01890a5d-ac96-774b-bcce-b302099a8057 --json"
}

// Run shows an incoming e-invoice.
func (c incomingGetCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.IncomingInvoiceDetail,
		error) {
		return s.IncomingInvoice(env.Context, c.ID)
	})
}
