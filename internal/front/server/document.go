package server

import (
	"context"
	"net/http"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
)

// documentLineBytes is about how much memory writing one line of a document takes, besides its texts. A thousand lines
// must fit into the share of one company.
const documentLineBytes = 8 << 10

// profile returns the document format that the query names; that of the company's connection if it names none, and ""
// if that has none either.
func (c *call) profile() (document.Profile, error) {
	query := c.request.URL.Query()
	if !query.Has("profile") {
		return document.Profile(c.session.Account.Format), nil
	}
	profile, ok := document.ParseProfile(query.Get("profile"))
	if !ok {
		return "", malformedQuery("profile", "enum", "must be pint-ae or bis3")
	}
	return profile, nil
}

// reserveDocument checks that an invoice exists and reserves the memory that its document takes, and each of its lines.
func (c *call) reserveDocument(ctx context.Context, invoice base.ID, lineBytes int) error {
	extent, err := invoices.ReadExtent(ctx, c.session.Tenant, invoice)
	if err != nil {
		return err
	}
	return c.reserveResponse(2*decodedFactor*extent.Bytes + extent.Lines*lineBytes)
}

// errNoProfile returns the error of a request for a document without a format.
func errNoProfile() error {
	faults := api.Faults{}
	faults.Add("profile", "required", "name the document format in the query parameter profile: pint-ae or bis3")
	return problem.For(api.CodeValidationFailed).In(faults)
}

// outgoingInvoice returns the invoice that the path names, in the document format of the request.
func (c *call) outgoingInvoice(ctx context.Context, lineBytes int) (view.Outgoing, error) {
	profile, err := c.profile()
	if err != nil {
		return view.Outgoing{}, err
	}
	id, err := c.id("invoice_id")
	if err != nil {
		return view.Outgoing{}, err
	}
	if err := c.reserveDocument(ctx, id, lineBytes); err != nil {
		return view.Outgoing{}, err
	}
	return view.OutgoingInvoice(ctx, &c.session, id, profile, c.request.URL.Query().Has("profile"))
}

// outgoingCreditNote is outgoingInvoice for a credit note.
func (c *call) outgoingCreditNote(ctx context.Context, lineBytes int) (view.Outgoing, error) {
	profile, err := c.profile()
	if err != nil {
		return view.Outgoing{}, err
	}
	id, err := c.id("credit_note_id")
	if err != nil {
		return view.Outgoing{}, err
	}
	note, err := invoices.FindCreditNote(ctx, c.session.Tenant, id)
	if err != nil {
		return view.Outgoing{}, err
	}
	if err := c.reserveDocument(ctx, note.Invoice, lineBytes); err != nil {
		return view.Outgoing{}, err
	}
	return view.OutgoingCreditNote(ctx, &c.session, &note, profile, c.request.URL.Query().Has("profile"))
}

// invoiceDocument returns an invoice as an XML document.
func (c *call) invoiceDocument(ctx context.Context) (int, fileResponse, error) {
	return xmlDocument(c.outgoingInvoice(ctx, documentLineBytes))
}

// creditNoteDocument returns a credit note as an XML document.
func (c *call) creditNoteDocument(ctx context.Context) (int, fileResponse, error) {
	return xmlDocument(c.outgoingCreditNote(ctx, documentLineBytes))
}

// xmlDocument returns the document as a file that is named after its number.
func xmlDocument(o view.Outgoing, err error) (int, fileResponse, error) {
	if err != nil {
		return 0, fileResponse{}, err
	}
	if o.XML == nil {
		return 0, fileResponse{}, errNoProfile()
	}
	return http.StatusOK, fileResponse{view.XMLFile(o.Number(), o.XML)}, nil
}

// invoicePDF returns an invoice as pages for people.
func (c *call) invoicePDF(ctx context.Context) (int, fileResponse, error) {
	o, err := c.outgoingInvoice(ctx, view.PrintedLineBytes)
	if err != nil {
		return 0, fileResponse{}, err
	}
	file, err := c.Printer.Outgoing(ctx, &c.session, &o)
	return http.StatusOK, fileResponse{file}, err
}

// creditNotePDF returns a credit note as pages for people.
func (c *call) creditNotePDF(ctx context.Context) (int, fileResponse, error) {
	o, err := c.outgoingCreditNote(ctx, view.PrintedLineBytes)
	if err != nil {
		return 0, fileResponse{}, err
	}
	file, err := c.Printer.Outgoing(ctx, &c.session, &o)
	return http.StatusOK, fileResponse{file}, err
}
