package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// invoicePage is the view model of one invoice. All of it is live.
type invoicePage struct {
	ID string
	// CreditNotes reports that the company can submit credit notes.
	CreditNotes bool

	Invoice api.Invoice
	// Seller is the company, as the submitted document names it if there is one.
	Seller *api.Profile
	// Version is the version that is shown.
	Version int64
	// Outcome is the outcome of the submission, or "draft".
	Outcome string
	Overall page.Pill
	// Situation says what happened and what to do, or is nil when nothing needs a person.
	Situation *situation
	// Correctable reports that the document was rejected and may be corrected.
	Correctable bool
	Document    ShownDocument
	// Needs are the fields that submission needs, with what the document format says about each. Warnings is the other
	// advice.
	Needs, Warnings []Advice
	XML             xmlLinks
	documentHistory
	// Credits are the credit notes, newest first.
	Credits []creditRow
	Tabs    pageTabs
	// Activity is read for its tab alone.
	Activity []activityRow
	// MayWrite and MaySubmit report what the user may do.
	MayWrite, MaySubmit bool
}

// ShownDocument is an invoice as a document: the amounts of its lines, its tax and its totals.
type ShownDocument struct {
	Lines  []shownLine
	Taxes  []shownTax
	Totals invoice.Totals
	// Allowances are the allowances and charges on the whole document.
	Allowances []shownAllowance
	// Due is what is asked for of the total, if something was paid before or is rounded.
	Due *invoice.Amount
	// Credit reports that it is a credit note.
	Credit bool
	// Differs reports that the total of the invoice is not the calculated one.
	Differs bool
	// Means is the name of the payment means, or "".
	Means string
	// Details are the fields with a value that the layout does not place.
	Details []detail
	// Printed are the details that a print has.
	Printed []detail
}

// shownLine is a line with its amount, which is nil when it cannot be calculated.
type shownLine struct {
	api.Item
	Net *invoice.Amount
	// Category is the name of the tax category, or "".
	Category string
	// Allowed are the allowances and charges on the line.
	Allowed []shownAllowance
}

// shownTax is a line of the tax summary with the name of its category.
type shownTax struct {
	invoice.TaxSubtotal
	Name string
}

// NewShownDocument calculates the amounts of a draft.
func NewShownDocument(w *console.Words, d *api.Draft, arithmetic invoice.Arithmetic) ShownDocument {
	out := ShownDocument{Means: w.Codes["payment-means"].Names[console.Deref(d.PaymentMeansCode)],
		Details:    nonEmpty(append(detailsOf(w, invoiceFields, d), precedingDetail(w, d.PrecedingInvoices))),
		Allowances: newAllowances(w, d, arithmetic)}
	out.Printed = slices.DeleteFunc(slices.Clone(out.Details),
		func(d detail) bool { return slices.Contains(unprinted, d.Name) })
	for n, item := range d.Items {
		out.Lines = append(out.Lines, shownLine{Item: item, Net: arithmetic.LineNet(d, n),
			Category: categoryName(w, console.Deref(item.VATCategory)), Allowed: lineAllowances(w, d, &item, arithmetic)})
	}
	if d.TotalAmount != nil && (d.PrepaidAmount != nil || d.RoundingAmount != nil) {
		out.Due = invoice.AmountDue(d.TotalAmount.String(), d)
	}
	if sums, ok := arithmetic.SumDraft(d); ok {
		out.calculated(w, &sums, d)
	}
	return out
}

// calculated adds the sums of a draft.
func (out *ShownDocument) calculated(w *console.Words, sums *invoice.Sums, d *api.Draft) {
	out.Totals = sums.Totals()
	for _, tax := range sums.Breakdown() {
		out.Taxes = append(out.Taxes, shownTax{TaxSubtotal: tax, Name: categoryName(w, tax.Category)})
	}
	if total, currency := out.Totals.Total, console.Deref(d.Currency); total != nil && d.TotalAmount != nil {
		out.Differs = page.InMinorUnit(total.String(), currency) != page.InMinorUnit(d.TotalAmount.String(), currency)
	}
}

// categoryName is the name of a tax category, or "".
func categoryName(w *console.Words, code string) string { return w.Codes["tax-categories"].Names[code] }

// Draft reports that there is no submission that still counts.
func (p invoicePage) Draft() bool { return p.Outcome == "draft" }

// Editable reports that the document can be changed.
func (p invoicePage) Editable() bool {
	return (p.Draft() || p.Correctable) && !slices.ContainsFunc(p.Credits, creditRow.Live)
}

// Deletable reports that nothing on the page refers to the draft.
func (p invoicePage) Deletable() bool {
	return p.Draft() && p.History.Total == 0 && len(p.Credits) == 0
}

// Advice is the advice on one field.
type Advice struct {
	Path   string
	Faults []api.Fault
}

// DivideAdvice returns the fields that submission needs, in the order of the document, with the advice on each; and the
// advice on all other fields, sorted by path.
func DivideAdvice(missing []string, faults api.Faults) (needs, others []Advice) {
	needed := map[string]bool{}
	for _, path := range missing {
		needed[path] = true
		needs = append(needs, Advice{Path: path, Faults: faults[path]})
	}
	for _, path := range slices.Sorted(maps.Keys(faults)) {
		if !needed[path] {
			others = append(others, Advice{Path: path, Faults: faults[path]})
		}
	}
	return needs, others
}

func showInvoice(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	err = RespondInvoice(req, http.StatusOK, id, nil)
	if errors.Is(err, base.ErrNotFound) && !req.IsFragment() {
		return respondDeleted(req, id)
	}
	return err
}

// RespondInvoice responds with the page of an invoice and an optional notice.
func RespondInvoice(req *console.Request, status int, id base.ID, flash *page.Notice) error {
	ctx := req.R.Context()
	if err := req.AcquireForInvoice(id); err != nil {
		return err
	}
	found, err := invoices.Find(ctx, req.Session.Tenant, id)
	if err != nil {
		return err
	}
	p, err := readInvoicePage(ctx, req, found)
	if err != nil {
		return err
	}
	announcement, err := announcement(req, p.Outcome, p.Timeline)
	if err != nil {
		return err
	}
	part, err := req.LivePart("invoice", "invoice", p, p.pollInterval(!p.Draft() && !found.States().AllTerminal()),
		announcement)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("invoice", part)
	}
	return req.Show(status, "invoice", "", page.Layout{Title: console.Deref(found.Draft.InvoiceNumber),
		Section: "invoices", Notice: flash, Body: part})
}

// readInvoicePage reads everything that belongs to an invoice, with one query for each kind of record.
func readInvoicePage(ctx context.Context, req *console.Request, found invoices.Invoice) (invoicePage, error) {
	tenant := req.Session.Tenant
	p := invoicePage{ID: found.ID.String(), CreditNotes: req.Session.Account.CreditNotes, Version: found.Version,
		Invoice: view.Invoice(found, req.Seller()), Outcome: OutcomeOf(found), Seller: req.Profile(),
		Document: NewShownDocument(req.Words, &found.Draft, req.Arithmetic()), XML: newXMLLinks(req,
			"/invoices/"+found.ID.String()),
		MayWrite: req.Session.Permissions.Has(access.Write), MaySubmit: req.Session.Permissions.Has(access.Submit)}
	p.Correctable = found.Submission != nil && found.Submission.Correctable()
	p.Needs, p.Warnings = DivideAdvice(p.Invoice.Missing, p.Invoice.Warnings)
	credits, err := view.Of(tenant).CreditNotes(ctx, view.CreditNoteFilter{Invoice: &found.ID}, 1, page.MaxPerPage)
	if err != nil {
		return p, err
	}
	for _, n := range credits.Entries {
		row, err := newCreditRow(req.Words.Messages, n.CreditNote)
		if err != nil {
			return p, err
		}
		p.Credits = append(p.Credits, row)
	}
	if found.Submission != nil {
		seller, err := view.SubmittedSeller(ctx, tenant, found.Submission.ID)
		if err != nil {
			return p, err
		}
		p.Seller = cmp.Or(seller, p.Seller)
	}
	if p.documentHistory, err = readHistory(ctx, req, view.OfInvoice(found.ID), found.Submission); err != nil {
		return p, err
	}
	p.EvidencePath = "/invoices/" + p.ID + "?" + url.Values{console.TabParameter: {tabEvidence}}.Encode()
	states := StateViews(found.States())
	if p.Overall, err = overall(req.Words.Messages, p.Outcome, states); err != nil {
		return p, err
	}
	p.Situation = situationOf("", found.Submission, states, req.Now())
	p.Situation.offer(&p)
	p.Tabs = newPageTabs(req, "/invoices/"+p.ID, pageTab{Name: tabTimeline},
		pageTab{Name: tabEvidence, Count: len(p.Evidence)}, p.webhooksTab(), pageTab{Name: tabActivity})
	if p.Tabs.Current == tabActivity {
		subjects := []string{p.ID}
		for _, s := range p.Submissions {
			subjects = append(subjects, s.ID)
		}
		p.Activity, err = activity(ctx, req, subjects...)
	}
	return p, err
}

// submit submits an invoice and shows the result.
func submit(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	submitted, err := req.Submissions.Submit(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return respondSubmitError(req, id, err)
	}
	return req.Redirect(page.WithNotice("/invoices/"+id.String(), SubmittedKey(submitted.Submission)))
}

// SubmittedKey returns the key of the notice about a submission.
func SubmittedKey(s *invoices.Submission) string {
	if s == nil || s.Outcome == api.OutcomeUnknown || s.Outcome == api.OutcomeInProgress {
		return "good.unknown"
	}
	return "good.submitted"
}

// respondSubmitError responds to a rejected submission with the page of the invoice.
func respondSubmitError(req *console.Request, id base.ID, err error) error {
	status, flash, err := submitError(req, err)
	if err != nil {
		return err
	}
	return RespondInvoice(req, status, id, flash)
}

// submitError returns the status and the notice for an error of a submission, or the error if it has none.
func submitError(req *console.Request, err error) (status int, flash *page.Notice, _ error) {
	duplicate, isDuplicate := errors.AsType[*invoices.DuplicateNumberError](err)
	key, status, err := SubmitErrorKey(err)
	if err != nil {
		return 0, nil, err
	}
	if flash = req.Pages.Texts.Notice(key); flash == nil {
		return 0, nil, fmt.Errorf("console: no message flash.%s", key)
	}
	switch {
	case isDuplicate && !duplicate.CreditNote.IsZero():
		flash.Link = "/credit-notes/" + duplicate.CreditNote.String()
	case isDuplicate:
		flash.Link = "/invoices/" + duplicate.Invoice.String()
	}
	return status, flash, nil
}

// SubmitErrorKey returns the key of the notice and the status for an error of a submission, or the error if it has
// none.
func SubmitErrorKey(err error) (key string, status int, _ error) {
	_, incomplete := errors.AsType[*invoices.IncompleteError](err)
	duplicate, isDuplicate := errors.AsType[*invoices.DuplicateNumberError](err)
	switch {
	case incomplete:
		return "bad.incomplete", http.StatusUnprocessableEntity, nil
	case isDuplicate && !duplicate.CreditNote.IsZero():
		return "bad.duplicate_credit", http.StatusConflict, nil
	case isDuplicate:
		return "bad.duplicate", http.StatusConflict, nil
	case errors.Is(err, invoices.ErrCreditNotesDisabled):
		return "bad.credits_disabled", http.StatusConflict, nil
	case errors.Is(err, invoices.ErrCreditNoteVoid):
		return "bad.credit_void", http.StatusConflict, nil
	case errors.Is(err, invoices.ErrNotAcknowledged):
		return "bad.not_acknowledged", http.StatusConflict, nil
	case errors.Is(err, invoices.ErrSubmissionInProgress):
		return "bad.in_progress", http.StatusConflict, nil
	case errors.Is(err, invoices.ErrConnectionRequired):
		return "bad.connection", http.StatusConflict, nil
	case errors.Is(err, invoices.ErrNotApproved):
		return "bad.not_approved", http.StatusConflict, nil
	case errors.Is(err, submission.ErrNotSubmitted):
		return "bad.not_taken", http.StatusBadGateway, nil
	case errors.Is(err, submission.ErrBusy):
		return "bad.busy", http.StatusServiceUnavailable, nil
	}
	return "", 0, err
}

// downloadEvidence responds with the retained bytes of a response, as an attachment.
func downloadEvidence(req *console.Request) error {
	id, err := req.ID("evidence")
	if err != nil {
		return err
	}
	e, size, err := invoices.EvidenceSize(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return err
	}
	if e.Withheld {
		return console.ErrWithheld
	}
	if err := req.Reserve(int(size)); err != nil {
		return err
	}
	if e, err = invoices.EvidenceBody(req.R.Context(), req.Session.Tenant, id); err != nil {
		return err
	}
	ending := ".bin"
	if json.Valid(e.Body) { // so that a double click opens it as text
		ending = ".json"
	}
	return req.Attachment("evidence-"+strconv.FormatInt(e.Ordinal, 10)+"-"+id.String()+ending, e.Body)
}

// InvoiceOfPath reads the invoice that the path identifies.
func InvoiceOfPath(req *console.Request) (invoices.Invoice, error) {
	id, err := req.ID("invoice")
	if err != nil {
		return invoices.Invoice{}, err
	}
	if err := req.AcquireForInvoice(id); err != nil {
		return invoices.Invoice{}, err
	}
	return invoices.Find(req.R.Context(), req.Session.Tenant, id)
}
