package documents

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// creditPage is the view model of one credit note. All of it is live.
type creditPage struct {
	creditRow
	// Invoice is the credited invoice, and Seller the company, as the submitted document names it if there is one.
	Invoice api.Invoice
	Seller  *api.Profile
	Lines   []creditedLine
	// Amounts are the tax summary and the totals.
	Amounts creditAmounts
	// Left is the amount that remains on the invoice, or "" when it is not known.
	Left string
	// Situation says what happened and what to do, or is nil when nothing needs a person.
	Situation *situation
	// Enabled reports that the company can submit credit notes. Submittable reports that the user can submit this one, and
	// Voidable that this one can be voided.
	Enabled, Submittable, Voidable bool
	XML                            xmlLinks
	documentHistory
	Tabs pageTabs
	// Activity is read for its tab alone.
	Activity []activityRow
	// MayWrite reports that the user may change invoices.
	MayWrite bool
}

// Draft reports that nothing was sent.
func (p creditPage) Draft() bool { return p.Submission == nil }

// creditedLine is one credited line. Net is "" when it cannot be calculated.
type creditedLine struct {
	api.CreditNoteItem
	Net string
}

// creditAmounts is what the template of totals shows: a document with the credited amounts, and its calculated tax.
type creditAmounts struct {
	Invoice  api.Draft
	Document ShownDocument
}

// newCreditAmounts calculates the tax of a credit note as that of a document with lines of the credited amounts.
func newCreditAmounts(w *console.Words, note *api.CreditNote, credited *api.Draft,
	arithmetic invoice.Arithmetic) (out creditAmounts, err error) {
	total, err := api.ParseDecimal(invoice.Shortest(string(note.TotalAmount)))
	if err != nil {
		return out, fmt.Errorf("console: credit note %s: %w", note.ID, err)
	}
	out.Invoice = api.Draft{Currency: &note.Currency, TotalAmount: &total}
	out.Document.Credit = true
	lines := make([]invoice.Line, len(note.Items))
	for n := range note.Items {
		lines[n] = invoice.CreditLine(&note.Items[n])
	}
	allowances := invoice.AllowancesOf(credited)
	if note.Kind == api.CreditPartial {
		allowances = arithmetic.CreditedAllowances(credited, note.Items)
	}
	if sums, ok := arithmetic.Sum(&note.Currency, lines, allowances); ok {
		out.Document.calculated(w, &sums, &out.Invoice)
	}
	return out, nil
}

// readCreditPage reads the credit note that the path identifies and the invoice that it credits, without its history.
func readCreditPage(req *console.Request) (p creditPage, found invoices.CreditNote, err error) {
	id, err := req.ID("credit")
	if err != nil {
		return p, found, err
	}
	if found, err = invoices.FindCreditNote(req.R.Context(), req.Session.Tenant, id); err != nil {
		return p, found, err
	}
	credited, remaining, err := Remaining(req, found.Invoice)
	if err != nil {
		return p, found, err
	}
	row, err := newCreditRow(req.Words.Messages, found)
	if err != nil {
		return p, found, err
	}
	row.InvoiceNumber = console.Deref(credited.Draft.InvoiceNumber)
	p = creditPage{creditRow: row, Invoice: view.Invoice(credited, req.Seller()), Seller: req.Profile(),
		Left: page.MoneyText(remaining.Total, found.Currency), XML: newXMLLinks(req, "/credit-notes/"+id.String()),
		MayWrite: req.Session.Permissions.Has(access.Write)}
	if found.Submission != nil {
		seller, err := view.SubmittedSeller(req.R.Context(), req.Session.Tenant, found.Submission.ID)
		if err != nil {
			return p, found, err
		}
		p.Seller = cmp.Or(seller, p.Seller)
	}
	p.Enabled, p.Voidable = req.Session.Account.CreditNotes,
		p.MayWrite && p.Live() && (found.Submission == nil || found.Submission.Correctable())
	p.Submittable = req.Session.Permissions.Has(access.Submit) && p.Enabled && p.Live() && found.Submission == nil &&
		credited.Submission != nil && credited.Submission.Outcome == api.OutcomeAcknowledged
	for _, item := range p.Items {
		line := creditedLine{CreditNoteItem: item}
		if item.NetAmount != nil {
			line.Net = page.Grouped(page.InMinorUnit(string(*item.NetAmount), found.Currency))
		}
		p.Lines = append(p.Lines, line)
	}
	p.Amounts, err = newCreditAmounts(req.Words, &p.CreditNote, &credited.Draft, req.Arithmetic())
	return p, found, err
}

// readHistory adds what has happened to the credit note.
func (p *creditPage) readHistory(req *console.Request, found *invoices.CreditNote) (err error) {
	ctx, path := req.R.Context(), "/credit-notes/"+p.ID
	if p.documentHistory, err = readHistory(ctx, req, view.OfCreditNote(found.ID), found.Submission); err != nil {
		return err
	}
	p.EvidencePath = path + "?" + url.Values{console.TabParameter: {tabEvidence}}.Encode()
	if p.Live() {
		p.Situation = situationOf("credit.", found.Submission, p.Dimensions, req.Now())
	}
	p.Tabs = newPageTabs(req, path, pageTab{Name: tabTimeline}, pageTab{Name: tabEvidence, Count: len(p.Evidence)},
		p.webhooksTab(), pageTab{Name: tabActivity})
	if p.Tabs.Current == tabActivity {
		subjects := []string{p.ID}
		for _, s := range p.Submissions {
			subjects = append(subjects, s.ID)
		}
		p.Activity, err = activity(ctx, req, subjects...)
	}
	return err
}

func showCredit(req *console.Request) error { return respondCreditNote(req, http.StatusOK, nil) }

// respondCreditNote responds with the page of the credit note that the path identifies and an optional notice.
func respondCreditNote(req *console.Request, status int, flash *page.Notice) error {
	p, found, err := readCreditPage(req)
	if err != nil {
		return err
	}
	if err := p.readHistory(req, &found); err != nil {
		return err
	}
	announcement, err := announcement(req, p.Outcome(), p.Timeline)
	if err != nil {
		return err
	}
	part, err := req.LivePart("credit", "credit", p,
		p.pollInterval(found.Submission != nil && !found.States().AllTerminal()), announcement)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("credit", part)
	}
	return req.Show(status, "credit", "", page.Layout{Title: p.CreditNoteNumber, Section: "credits", Notice: flash,
		Body: part})
}

// submitCredit submits a credit note and shows the result.
func submitCredit(req *console.Request) error {
	id, err := req.ID("credit")
	if err != nil {
		return err
	}
	submitted, err := req.Submissions.SubmitCreditNote(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		status, flash, err := submitError(req, err)
		if err != nil {
			return err
		}
		return respondCreditNote(req, status, flash)
	}
	return req.Redirect(page.WithNotice("/credit-notes/"+id.String(), SubmittedKey(submitted.Submission)))
}

// voidCredit voids a credit note. It succeeds when the credit note is void already, because the page may have been
// outdated.
func voidCredit(req *console.Request) error {
	id, err := req.ID("credit")
	if err != nil {
		return err
	}
	if _, err := invoices.VoidCreditNote(req.R.Context(), req.Session.Tenant, id); errors.Is(err,
		invoices.ErrCreditNoteNotEditable) {
		return respondCreditNote(req, http.StatusConflict, req.Pages.Texts.Notice("bad.credit_submitted"))
	} else if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/credit-notes/"+url.PathEscape(id.String()), "good.voided"))
}

func creditPageRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/credit-notes", Needs: access.Read, Serve: listCredits},
		{Method: http.MethodGet, Path: "/credit-notes/{credit}", Needs: access.Read, Serve: showCredit},
		{Method: http.MethodGet, Path: "/credit-notes/{credit}/print", Needs: access.Read, Serve: printCredit},
		{Method: http.MethodGet, Path: "/credit-notes/{credit}/document.xml", Needs: access.Read,
			Serve: downloadCreditXML},
		{Method: http.MethodGet, Path: "/credit-notes/{credit}/document.pdf", Needs: access.Read,
			Serve: downloadCreditPDF},
		{Method: http.MethodPost, Path: "/credit-notes/{credit}/void", Needs: access.Write, Serve: voidCredit},
		{Method: http.MethodPost, Path: "/credit-notes/{credit}/submit", Needs: access.Submit,
			Serve: submitCredit},
		{Method: http.MethodGet, Path: "/invoices/{invoice}/print", Needs: access.Read, Serve: printInvoice},
		{Method: http.MethodGet, Path: "/invoices/{invoice}/document.pdf", Needs: access.Read,
			Serve: downloadInvoicePDF},
		{Method: http.MethodPost, Path: "/invoices/{invoice}/delete", Needs: access.Write, Serve: deleteDraft},
	}
}

// CreditedInvoice reads an invoice with its live credit notes, after acquiring the resources for its page.
func CreditedInvoice(req *console.Request, id base.ID) (invoices.Invoice, []invoice.Credit, error) {
	if err := req.AcquireForInvoice(id); err != nil {
		return invoices.Invoice{}, nil, err
	}
	return invoices.CreditedInvoice(req.R.Context(), req.Session.Tenant, id)
}

// Remaining reads an invoice and calculates what can still be credited.
func Remaining(req *console.Request, id base.ID) (invoices.Invoice, invoice.Remaining, error) {
	found, live, err := CreditedInvoice(req, id)
	if err != nil {
		return found, invoice.Remaining{}, err
	}
	return found, invoice.Remain(&found.Draft, live, req.Arithmetic()), nil
}
