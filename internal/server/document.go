package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"quittance/internal/document"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

// documentLineBytes is an upper bound of the memory that writing one line of a document takes, besides its texts.
const documentLineBytes = 16 << 10

// profile returns the document format that the query names, "" if it names none.
func (c *call) profile() (document.Profile, error) {
	query := c.request.URL.Query()
	if !query.Has("profile") {
		return "", nil
	}
	profile, ok := document.ParseProfile(query.Get("profile"))
	if !ok {
		return "", malformedQuery("profile", "enum", "must be pint-ae or bis3")
	}
	return profile, nil
}

// prepareDocument returns the format that a document needs, after it has checked that the invoice exists and reserved the memory.
func (c *call) prepareDocument(ctx context.Context, profile document.Profile, invoice store.ID) error {
	extent, err := c.session.Tenant.InvoiceExtent(ctx, invoice)
	if err != nil {
		return err
	}
	if profile == "" {
		faults := api.Faults{}
		faults.Add("profile", "required", "name the document format in the query parameter profile: pint-ae or bis3")
		return faultsError(api.CodeValidationFailed, faults)
	}
	return c.reserveResponse(2*decodedFactor*extent.Bytes + extent.Lines*documentLineBytes)
}

// invoiceDocument writes an invoice in a document format. An invoice that was submitted is written from the bytes of its submission,
// which do not change.
func (c *call) invoiceDocument(ctx context.Context) (int, fileResponse, error) {
	profile, err := c.profile()
	if err != nil {
		return 0, fileResponse{}, err
	}
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, fileResponse{}, err
	}
	if err := c.prepareDocument(ctx, profile, id); err != nil {
		return 0, fileResponse{}, err
	}
	found, err := c.session.Tenant.Invoice(ctx, id)
	if err != nil {
		return 0, fileResponse{}, err
	}
	d := document.Document{ID: id.String(), Draft: &found.Draft, Seller: &c.session.Account.Profile}
	if found.Submission != nil {
		text, err := c.session.Tenant.SubmittedDocument(ctx, found.Submission.ID)
		if err != nil {
			return 0, fileResponse{}, err
		}
		draft, seller, err := submission.Sent(text)
		if err != nil {
			return 0, fileResponse{}, fmt.Errorf("submission %s: %w", found.Submission.ID, err)
		}
		d.Draft, d.Seller = &draft, &seller
	}
	return writeDocument(profile, d, *d.Draft.InvoiceNumber)
}

// creditNoteDocument writes a credit note in a document format. Its invoice cannot change while it exists.
func (c *call) creditNoteDocument(ctx context.Context) (int, fileResponse, error) {
	profile, err := c.profile()
	if err != nil {
		return 0, fileResponse{}, err
	}
	id, err := c.id("credit_note_id")
	if err != nil {
		return 0, fileResponse{}, err
	}
	note, err := c.session.Tenant.CreditNote(ctx, id)
	if err != nil {
		return 0, fileResponse{}, err
	}
	if err := c.prepareDocument(ctx, profile, note.Invoice); err != nil {
		return 0, fileResponse{}, err
	}
	credited, err := c.session.Tenant.Invoice(ctx, note.Invoice)
	if err != nil {
		return 0, fileResponse{}, err
	}
	credit := view.CreditNote(note)
	return writeDocument(profile, document.Document{ID: id.String(), Draft: &credited.Draft, Seller: &c.session.Account.Profile, Credit: &credit}, credit.CreditNoteNumber)
}

// writeDocument returns the document as a file that is named after its number.
func writeDocument(profile document.Profile, d document.Document, number string) (int, fileResponse, error) {
	text, err := document.Write(profile, d)
	if incomplete, ok := errors.AsType[*document.IncompleteError](err); ok {
		return 0, fileResponse{}, faultsError(api.CodeInvoiceIncomplete, incomplete.Findings.Faults())
	}
	return http.StatusOK, fileResponse{view.XMLFile(number, text)}, err
}

// addProfile adds what a document format needs to the result of a preflight, and the totals of the document. Its findings replace advice
// of the same rule, which names the rules of several formats.
func (c *call) addProfile(out *api.Preflight, profile document.Profile, draft *api.Draft) {
	d := document.Document{Draft: draft, Seller: &c.session.Account.Profile}
	findings := document.Check(profile, d)
	out.Complete, out.Missing, out.Computed = len(findings) == 0, findings.Paths(), document.Totals(profile, d)
	for _, finding := range findings {
		others := slices.DeleteFunc(out.Warnings[finding.Path], func(known api.Fault) bool { return known.Rule == finding.Rule })
		out.Warnings[finding.Path] = append(others, finding.Fault)
	}
}
