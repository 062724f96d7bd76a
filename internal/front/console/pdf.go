package console

import (
	"errors"
	"net/http"

	"quittance/internal/document"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
)

// sendPDF sends a file, or responds with the error that prevented it.
func (req *request) sendPDF(file view.Attachment, err error) error {
	if err != nil {
		return err
	}
	return req.sendFile(&file)
}

// outgoingInvoice returns the invoice of the path in a document format, "" for none. named reports that the user chose
// it.
func (req *request) outgoingInvoice(profile document.Profile, named bool) (view.Outgoing, error) {
	id, err := req.ID("invoice")
	if err != nil {
		return view.Outgoing{}, err
	}
	if err := req.acquireForInvoice(id); err != nil {
		return view.Outgoing{}, err
	}
	return view.OutgoingInvoice(req.R.Context(), &req.session, id, profile, named)
}

// downloadInvoicePDF responds with an invoice as a PDF file, in the document format of the company's connection.
func (req *request) downloadInvoicePDF() error {
	profile := document.Profile(req.session.Account.Format)
	o, err := req.outgoingInvoice(profile, false)
	if incomplete, ok := errors.AsType[*document.IncompleteError](err); ok {
		return req.respondNeeds(profile, incomplete.Findings)
	}
	if err != nil {
		return err
	}
	return req.sendPDF(req.Printer.Outgoing(req.R.Context(), &req.session, &o))
}

// profileParameter is the query parameter that names a document format.
const profileParameter = "profile"

// xmlLinks are the links to a document as an XML file.
type xmlLinks struct {
	Path string
	// Format is the document format of the connection, or "" if it has none. Then the user chooses one of Formats.
	Format  string
	Formats []document.Profile
}

// xmlLinks returns the links for the document whose page is at a path.
func (req *request) xmlLinks(path string) xmlLinks {
	return xmlLinks{Path: path + "/document.xml", Format: req.session.Account.Format, Formats: document.Profiles[:]}
}

// requestedProfile returns the document format that the query names, or else that of the company's connection, which
// may be "".
func (req *request) requestedProfile() (profile document.Profile, named bool, err error) {
	if named = req.R.URL.Query().Has(profileParameter); !named {
		return document.Profile(req.session.Account.Format), false, nil
	}
	profile, known := document.ParseProfile(req.R.URL.Query().Get(profileParameter))
	if !known {
		return "", true, errProfile
	}
	return profile, true, nil
}

// downloadInvoiceXML responds with an invoice in the document format that the query names, or in that of the company's
// connection: after submission, what was sent. For an invoice that is not complete it responds with a page that says
// what the format needs.
func (req *request) downloadInvoiceXML() error {
	profile, named, err := req.requestedProfile()
	if err != nil {
		return err
	}
	o, err := req.outgoingInvoice(profile, named)
	if incomplete, ok := errors.AsType[*document.IncompleteError](err); ok {
		return req.respondNeeds(profile, incomplete.Findings)
	}
	return req.sendXML(&o, err)
}

// sendXML sends a document, or responds with the error that prevented it.
func (req *request) sendXML(o *view.Outgoing, err error) error {
	if err != nil {
		return err
	}
	if o.XML == nil {
		return base.ErrNotFound
	}
	file := view.XMLFile(o.Number(), o.XML)
	return req.sendFile(&file)
}

// needsPage is the view model of the page of an invoice that is not complete for a document format.
type needsPage struct {
	ID, Number string
	Profile    document.Profile
	Needs      []advice
	// MayWrite reports that the user can change the invoice.
	MayWrite bool
}

// respondNeeds responds with what the invoice of the path needs for a document format.
func (req *request) respondNeeds(profile document.Profile, findings document.Findings) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	found, err := invoices.Find(req.R.Context(), req.session.Tenant, id)
	if err != nil {
		return err
	}
	p := needsPage{ID: id.String(), Number: deref(found.Draft.InvoiceNumber), Profile: profile,
		MayWrite: req.session.Permissions.Has(access.Write) && (found.Submission == nil || found.Submission.Correctable())}
	p.Needs, _ = divideAdvice(findings.Paths(), findings.Faults())
	return req.Show(http.StatusUnprocessableEntity, "needs", "needs.title", page.Layout{Section: "invoices", Body: p},
		p.Number)
}

// outgoingCredit is outgoingInvoice for the credit note of the path.
func (req *request) outgoingCredit(profile document.Profile, named bool) (view.Outgoing, error) {
	id, err := req.ID("credit")
	if err != nil {
		return view.Outgoing{}, err
	}
	note, err := invoices.FindCreditNote(req.R.Context(), req.session.Tenant, id)
	if err != nil {
		return view.Outgoing{}, err
	}
	if err := req.acquireForInvoice(note.Invoice); err != nil {
		return view.Outgoing{}, err
	}
	return view.OutgoingCreditNote(req.R.Context(), &req.session, &note, profile, named)
}

// downloadCreditPDF responds with a credit note as a PDF file, in the document format of the company's connection.
func (req *request) downloadCreditPDF() error {
	o, err := req.outgoingCredit(document.Profile(req.session.Account.Format), false)
	if err != nil {
		return err
	}
	return req.sendPDF(req.Printer.Outgoing(req.R.Context(), &req.session, &o))
}

// downloadCreditXML is downloadInvoiceXML for a credit note, whose lines cannot be changed: if it is not complete, the
// error says so.
func (req *request) downloadCreditXML() error {
	profile, named, err := req.requestedProfile()
	if err != nil {
		return err
	}
	o, err := req.outgoingCredit(profile, named)
	return req.sendXML(&o, err)
}

// downloadIncomingPDF responds with the latest revision of an incoming e-invoice as a PDF file.
func (req *request) downloadIncomingPDF() error {
	id, err := req.ID("incoming")
	if err != nil {
		return err
	}
	found, err := incoming.Find(req.R.Context(), req.session.Tenant, id)
	if err != nil {
		return err
	}
	return req.printRevision(&found.Revision)
}

// downloadRevisionPDF is downloadIncomingPDF for a revision.
func (req *request) downloadRevisionPDF() error {
	r, _, err := req.revision()
	if err != nil {
		return err
	}
	return req.printRevision(&r)
}

func (req *request) printRevision(r *incoming.Revision) error {
	if err := req.reserve(view.DocumentBytes(r)); err != nil {
		return err
	}
	return req.sendPDF(req.Printer.Received(req.R.Context(), &req.session, r))
}
