package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/pdf"
	"quittance/internal/document/ubl"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/problem"
)

// Outgoing is an invoice or a credit note of a company.
type Outgoing struct {
	document.Document
	// XML is the document in a format, nil if no format is in effect.
	XML []byte
	// format is that of XML, and mark a word about its state, for its pages.
	format document.Profile
	mark   string
}

// Number is that of the invoice or credit note.
func (o *Outgoing) Number() string {
	if o.Credit != nil {
		return o.Credit.CreditNoteNumber
	}
	return *o.Draft.InvoiceNumber
}

// OutgoingInvoice returns an invoice in a document format, "" for none. A draft has the present company profile. An
// invoice that was submitted has the data of its submission, which do not change, and in the format in which it was
// sent it is what was sent. So it is in any other case unless the format is named by the caller. The error is a
// [document.IncompleteError] if the format needs more.
func OutgoingInvoice(ctx context.Context, s *base.Session, id base.ID, profile document.Profile,
	named bool) (Outgoing, error) {
	found, err := invoices.Find(ctx, s.Tenant, id)
	if err != nil {
		return Outgoing{}, err
	}
	o := Outgoing{Document: document.Document{ID: id.String(), Draft: &found.Draft, Seller: &s.Account.Profile}}
	return o.asSubmitted(ctx, s.Tenant, found.Submission, profile, named)
}

// Preview returns the document that a draft would become in a document format, "" for none, with the present company
// profile. Nothing is stored: id is the identifier that its XML has. The error is a [document.IncompleteError] if the
// format needs more.
func Preview(s *base.Session, draft *api.Draft, id string, profile document.Profile) (Outgoing, error) {
	o := Outgoing{Document: document.Document{ID: id, Draft: draft, Seller: &s.Account.Profile}, mark: "Preview"}
	return o, o.write(profile)
}

// asSubmitted returns the document of a draft in a format if current is nil, and otherwise what was submitted.
func (o Outgoing) asSubmitted(ctx context.Context, t *base.Tenant, current *invoices.Submission,
	profile document.Profile, named bool) (Outgoing, error) {
	if current == nil {
		if o.mark == "" {
			o.mark = "Draft"
		}
		return o, o.write(profile)
	}
	text, err := invoices.SubmittedDocument(ctx, t, current.ID)
	if err != nil {
		return Outgoing{}, err
	}
	sent, err := envelope.ReadSent(text)
	if err != nil {
		return Outgoing{}, fmt.Errorf("submission %s: %w", current.ID, err)
	}
	o.Draft, o.Seller, o.Credit = sent.Invoice, sent.Seller, sent.Credit
	if asSent := !named || sent.Format == string(profile); asSent && sent.Text != nil {
		o.XML, o.format = sent.Text, document.Profile(sent.Format)
		return o, nil
	}
	return o, o.write(profile)
}

// OutgoingCreditNote is like [OutgoingInvoice] for a credit note. The invoice of a draft cannot change while it exists.
func OutgoingCreditNote(ctx context.Context, s *base.Session, note *invoices.CreditNote, profile document.Profile,
	named bool) (Outgoing, error) {
	credited, err := invoices.Find(ctx, s.Tenant, note.Invoice)
	if err != nil {
		return Outgoing{}, err
	}
	credit := CreditNote(*note)
	o := Outgoing{Document: document.Document{ID: note.ID.String(), Draft: &credited.Draft, Seller: &s.Account.Profile,
		Credit: &credit}}
	if note.VoidedAt != nil {
		o.mark = "Void"
	}
	return o.asSubmitted(ctx, s.Tenant, note.Submission, profile, named)
}

// SubmittedSeller returns the seller as the document of a submission names it.
func SubmittedSeller(ctx context.Context, t *base.Tenant, id base.ID) (*api.Profile, error) {
	text, err := invoices.SubmittedDocument(ctx, t, id)
	if err != nil {
		return nil, err
	}
	sent, err := envelope.ReadSent(text)
	if err != nil {
		return nil, fmt.Errorf("submission %s: %w", id, err)
	}
	return sent.Seller, nil
}

func (o *Outgoing) write(profile document.Profile) (err error) {
	if o.format = profile; profile != "" {
		o.XML, err = document.Write(profile, o.Document)
	}
	return err
}

// The limits of printing.
const (
	// printers is how many files are made at a time.
	printers = 2
	// printWait is how long a file waits for its turn.
	printWait = 10 * time.Second
	// PrintedLineBytes is about how much memory one line takes in the finished file, besides its texts. What making the
	// file takes, up to about 130 MiB for the most hostile document, is bounded by the number of printers.
	PrintedLineBytes = 4 << 10
)

// Printer makes the PDF files of documents: two at a time, one for each company, and companies take turns.
type Printer struct {
	turns *fairlimit.Limiter[base.ID]
	// wait is how long a file waits for its turn, and timeout how long making it takes at most.
	wait, timeout time.Duration
}

// NewPrinter returns a printer whose files take at most that long each. The most hostile document takes about three
// seconds.
func NewPrinter(timeout time.Duration) *Printer {
	return &Printer{turns: fairlimit.New[base.ID](printers, fairlimit.Policy{Divisor: 1, Max: 1}), wait: printWait,
		timeout: timeout}
}

// Outgoing prints an invoice or a credit note from what its XML document says, with the document attached; without one
// from the data that the company has given.
func (p *Printer) Outgoing(ctx context.Context, s *base.Session, o *Outgoing) (Attachment, error) {
	logo, err := identity.Logo(ctx, s.Tenant)
	if err != nil {
		return Attachment{}, err
	}
	d := &pdf.Document{Mark: o.mark, Logo: text(logo)}
	if o.XML != nil {
		d.File = attached(o.Number(), o.XML, pdf.Alternative)
		if read, err := ubl.Read(o.XML); err == nil { // some documents of long texts are larger than the reader allows
			d.Content = &read.ParsedDocument
		}
	}
	if d.Content == nil {
		d.Content = document.Statement(o.format, o.Document)
	}
	return p.print(ctx, s.Account.ID, o.Number(), d)
}

// ErrTooLong says that a document has more than a thousand pages, for which there is no file.
var ErrTooLong = pdf.ErrTooLong

// UnreadableError says why a received document cannot be read.
type UnreadableError struct{ Fault api.Fault }

// Error names the rule.
func (e *UnreadableError) Error() string { return "received document cannot be read: " + e.Fault.Rule }

// errUnreadable is the kind of an [UnreadableError].
var errUnreadable = problem.Named("unreadable_document", api.CodeDocumentUnreadable,
	"the received document cannot be read")

// Describe returns the problem with the broken rule.
func (e *UnreadableError) Describe() *problem.Problem {
	return errUnreadable.With(map[string]any{"document": []api.Fault{e.Fault}})
}

// Received prints a received document from what it says, with the document attached. The error is [base.ErrNotFound]
// if it is not retained or is withheld, and an [UnreadableError] if it cannot be read.
func (p *Printer) Received(ctx context.Context, s *base.Session, r *incoming.Revision) (Attachment, error) {
	if !r.Retained || r.Withheld {
		return Attachment{}, base.ErrNotFound
	}
	stored, err := incoming.RevisionDocument(ctx, s.Tenant, r.Incoming, r.Revision)
	if err != nil {
		return Attachment{}, err
	}
	read, err := ubl.Read(stored.Body)
	if refused, ok := errors.AsType[*ubl.Error](err); ok {
		return Attachment{}, &UnreadableError{api.Fault{Rule: refused.Rule, Message: refused.Message}}
	}
	if err != nil {
		return Attachment{}, err
	}
	number := text(read.Number)
	return p.print(ctx, s.Account.ID, number, &pdf.Document{Content: &read.ParsedDocument,
		File: attached(number, stored.Body, pdf.Source)})
}

func attached(number string, content []byte, relationship pdf.Relationship) *pdf.File {
	file := XMLFile(number, content)
	return &pdf.File{Name: file.Name, Description: "The document in UBL", MediaType: file.MediaType, Content: content,
		Relationship: relationship}
}

// print makes the file when the company has its turn. The error is [ErrTooLong] if it would have too many pages.
func (p *Printer) print(ctx context.Context, company base.ID, number string, d *pdf.Document) (Attachment, error) {
	waiting, stop := context.WithTimeout(ctx, p.wait)
	defer stop()
	if !p.turns.Acquire(waiting, company) {
		if err := ctx.Err(); err != nil {
			return Attachment{}, fmt.Errorf("wait to print: %w", err)
		}
		return Attachment{}, fairlimit.ErrFull
	}
	defer p.turns.Release(company, 1)
	ctx, end := context.WithTimeout(ctx, p.timeout)
	defer end()
	content, err := pdf.Render(ctx, d)
	if err != nil {
		return Attachment{}, err
	}
	return Attachment{Name: fileOf(number, ".pdf"), MediaType: "application/pdf", Size: int64(len(content)),
		Content: bytes.NewReader(content)}, nil
}
