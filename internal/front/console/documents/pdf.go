package documents

import (
	"errors"
	"net/http"

	"quittance/internal/document"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
)

// outgoingInvoice returns the invoice of the path in a document format, "" for none. named reports that the user chose
// it.
func outgoingInvoice(req *console.Request, profile document.Profile, named bool) (view.Outgoing, error) {
	id, err := req.ID("invoice")
	if err != nil {
		return view.Outgoing{}, err
	}
	if err := req.AcquireForInvoice(id); err != nil {
		return view.Outgoing{}, err
	}
	return view.OutgoingInvoice(req.R.Context(), &req.Session, id, profile, named)
}

// downloadInvoicePDF responds with an invoice as a PDF file, in the document format of the company's connection.
func downloadInvoicePDF(req *console.Request) error {
	profile := document.Profile(req.Session.Account.Format)
	o, err := outgoingInvoice(req, profile, false)
	if incomplete, ok := errors.AsType[*document.IncompleteError](err); ok {
		return respondNeeds(req, profile, incomplete.Findings)
	}
	if err != nil {
		return err
	}
	return req.SendMade(req.Printer.Outgoing(req.R.Context(), &req.Session, &o))
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
func newXMLLinks(req *console.Request, path string) xmlLinks {
	return xmlLinks{Path: path + "/document.xml", Format: req.Session.Account.Format, Formats: document.Profiles[:]}
}

// requestedProfile returns the document format that the query names, or else that of the company's connection, which
// may be "".
func requestedProfile(req *console.Request) (profile document.Profile, named bool, err error) {
	if named = req.R.URL.Query().Has(profileParameter); !named {
		return document.Profile(req.Session.Account.Format), false, nil
	}
	profile, known := document.ParseProfile(req.R.URL.Query().Get(profileParameter))
	if !known {
		return "", true, console.ErrProfile
	}
	return profile, true, nil
}

// downloadInvoiceXML responds with an invoice in the document format that the query names, or in that of the company's
// connection: after submission, what was sent. For an invoice that is not complete it responds with a page that says
// what the format needs.
func downloadInvoiceXML(req *console.Request) error {
	profile, named, err := requestedProfile(req)
	if err != nil {
		return err
	}
	o, err := outgoingInvoice(req, profile, named)
	if incomplete, ok := errors.AsType[*document.IncompleteError](err); ok {
		return respondNeeds(req, profile, incomplete.Findings)
	}
	return sendXML(req, &o, err)
}

// sendXML sends a document, or responds with the error that prevented it.
func sendXML(req *console.Request, o *view.Outgoing, err error) error {
	if err != nil {
		return err
	}
	if o.XML == nil {
		return base.ErrNotFound
	}
	file := view.XMLFile(o.Number(), o.XML)
	return req.SendFile(&file)
}

// needsPage is the view model of the page of an invoice that is not complete for a document format.
type needsPage struct {
	ID, Number string
	Profile    document.Profile
	Needs      []Advice
	// MayWrite reports that the user can change the invoice.
	MayWrite bool
}

// respondNeeds responds with what the invoice of the path needs for a document format.
func respondNeeds(req *console.Request, profile document.Profile, findings document.Findings) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	found, err := invoices.Find(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return err
	}
	p := needsPage{ID: id.String(), Number: console.Deref(found.Draft.InvoiceNumber), Profile: profile,
		MayWrite: req.Session.Permissions.Has(access.Write) && (found.Submission == nil || found.Submission.Correctable())}
	p.Needs, _ = DivideAdvice(findings.Paths(), findings.Faults())
	return req.Show(http.StatusUnprocessableEntity, "needs", "needs.title", page.Layout{Section: "invoices", Body: p},
		p.Number)
}

// outgoingCredit is outgoingInvoice for the credit note of the path.
func outgoingCredit(req *console.Request, profile document.Profile, named bool) (view.Outgoing, error) {
	id, err := req.ID("credit")
	if err != nil {
		return view.Outgoing{}, err
	}
	note, err := invoices.FindCreditNote(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return view.Outgoing{}, err
	}
	if err := req.AcquireForInvoice(note.Invoice); err != nil {
		return view.Outgoing{}, err
	}
	return view.OutgoingCreditNote(req.R.Context(), &req.Session, &note, profile, named)
}

// downloadCreditPDF responds with a credit note as a PDF file, in the document format of the company's connection.
func downloadCreditPDF(req *console.Request) error {
	o, err := outgoingCredit(req, document.Profile(req.Session.Account.Format), false)
	if err != nil {
		return err
	}
	return req.SendMade(req.Printer.Outgoing(req.R.Context(), &req.Session, &o))
}

// downloadCreditXML is downloadInvoiceXML for a credit note, whose lines cannot be changed: if it is not complete, the
// error says so.
func downloadCreditXML(req *console.Request) error {
	profile, named, err := requestedProfile(req)
	if err != nil {
		return err
	}
	o, err := outgoingCredit(req, profile, named)
	return sendXML(req, &o, err)
}

// downloadIncomingPDF responds with the latest revision of an incoming e-invoice as a PDF file.
func downloadIncomingPDF(req *console.Request) error {
	id, err := req.ID("incoming")
	if err != nil {
		return err
	}
	found, err := incoming.Find(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return err
	}
	return printRevision(req, &found.Revision)
}

// downloadRevisionPDF is downloadIncomingPDF for a revision.
func downloadRevisionPDF(req *console.Request) error {
	r, _, err := revision(req)
	if err != nil {
		return err
	}
	return printRevision(req, &r)
}

func printRevision(req *console.Request, r *incoming.Revision) error {
	if err := req.Reserve(view.DocumentBytes(r)); err != nil {
		return err
	}
	return req.SendMade(req.Printer.Received(req.R.Context(), &req.Session, r))
}
