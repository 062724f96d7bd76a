package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
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
	Document shownDocument
}

// newCreditAmounts calculates the tax of a credit note as that of an invoice with one unit at each credited amount.
func (w *words) newCreditAmounts(note *api.CreditNote) (out creditAmounts, err error) {
	total, err := api.ParseDecimal(string(note.TotalAmount))
	if err != nil {
		return out, fmt.Errorf("console: credit note %s: %w", note.ID, err)
	}
	one, err := api.ParseDecimal("1")
	if err != nil {
		return out, fmt.Errorf("console: %w", err)
	}
	d := api.Draft{Currency: &note.Currency, TotalAmount: &total}
	for _, item := range note.Items {
		line := api.Item{Name: &item.Name, Quantity: &one, VATCategory: item.VATCategory, VATRate: item.VATRate}
		if item.NetAmount != nil {
			net, err := api.ParseDecimal(string(*item.NetAmount))
			if err != nil {
				return out, fmt.Errorf("console: credit note %s: %w", note.ID, err)
			}
			line.NetUnitPrice = &net
		}
		d.Items = append(d.Items, line)
	}
	out = creditAmounts{Invoice: d, Document: w.newShownDocument(&d)}
	out.Document.Credit = true
	return out, nil
}

// creditPage reads the credit note that the path identifies and the invoice that it credits, without its history.
func (req *request) creditPage() (p creditPage, found invoices.CreditNote, err error) {
	id, err := req.ID("credit")
	if err != nil {
		return p, found, err
	}
	if found, err = invoices.FindCreditNote(req.R.Context(), req.session.Tenant, id); err != nil {
		return p, found, err
	}
	credited, remaining, err := req.remaining(found.Invoice)
	if err != nil {
		return p, found, err
	}
	row, err := req.words.messages.newCreditRow(found)
	if err != nil {
		return p, found, err
	}
	row.InvoiceNumber = deref(credited.Draft.InvoiceNumber)
	p = creditPage{creditRow: row, Invoice: view.Invoice(credited, req.seller()), Seller: req.profile(),
		Left: page.MoneyText(remaining.Total, found.Currency), XML: req.xmlLinks("/credit-notes/" + id.String()),
		MayWrite: req.session.Permissions.Has(access.Write)}
	if found.Submission != nil {
		seller, err := view.SubmittedSeller(req.R.Context(), req.session.Tenant, found.Submission.ID)
		if err != nil {
			return p, found, err
		}
		p.Seller = cmp.Or(seller, p.Seller)
	}
	p.Enabled, p.Voidable = req.session.Account.CreditNotes,
		p.MayWrite && p.Live() && (found.Submission == nil || found.Submission.Correctable())
	p.Submittable = req.session.Permissions.Has(access.Submit) && p.Enabled && p.Live() && found.Submission == nil &&
		credited.Submission != nil && credited.Submission.Outcome == api.OutcomeAcknowledged
	for _, item := range p.Items {
		line := creditedLine{CreditNoteItem: item}
		if item.NetAmount != nil {
			line.Net = page.Grouped(page.InMinorUnit(string(*item.NetAmount), found.Currency))
		}
		p.Lines = append(p.Lines, line)
	}
	p.Amounts, err = req.words.newCreditAmounts(&p.CreditNote)
	return p, found, err
}

// readHistory adds what has happened to the credit note.
func (p *creditPage) readHistory(req *request, found *invoices.CreditNote) (err error) {
	ctx, path := req.R.Context(), "/credit-notes/"+p.ID
	if p.documentHistory, err = req.history(ctx, view.OfCreditNote(found.ID), found.Submission); err != nil {
		return err
	}
	p.EvidencePath = path + "?" + url.Values{tabParameter: {tabEvidence}}.Encode()
	if p.Live() {
		p.Situation = situationOf("credit.", found.Submission, p.Dimensions, req.Now())
	}
	p.Tabs = req.pageTabs(path, pageTab{Name: tabTimeline}, pageTab{Name: tabEvidence, Count: len(p.Evidence)},
		p.webhooksTab(), pageTab{Name: tabActivity})
	if p.Tabs.Current == tabActivity {
		subjects := []string{p.ID}
		for _, s := range p.Submissions {
			subjects = append(subjects, s.ID)
		}
		p.Activity, err = req.activity(ctx, subjects...)
	}
	return err
}

func (req *request) showCredit() error { return req.respondCreditNote(http.StatusOK, nil) }

// respondCreditNote responds with the page of the credit note that the path identifies and an optional notice.
func (req *request) respondCreditNote(status int, flash *page.Notice) error {
	p, found, err := req.creditPage()
	if err != nil {
		return err
	}
	if err := p.readHistory(req, &found); err != nil {
		return err
	}
	announcement, err := req.announcement(p.Outcome(), p.Timeline)
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
func (req *request) submitCredit() error {
	id, err := req.ID("credit")
	if err != nil {
		return err
	}
	submitted, err := req.Submissions.SubmitCreditNote(req.R.Context(), req.session.Tenant, id)
	if err != nil {
		status, flash, err := req.submitError(err)
		if err != nil {
			return err
		}
		return req.respondCreditNote(status, flash)
	}
	return req.Redirect(page.WithNotice("/credit-notes/"+id.String(), submittedKey(submitted.Submission)))
}

// voidCredit voids a credit note. It succeeds when the credit note is void already, because the page may have been
// outdated.
func (req *request) voidCredit() error {
	id, err := req.ID("credit")
	if err != nil {
		return err
	}
	if _, err := invoices.VoidCreditNote(req.R.Context(), req.session.Tenant, id); errors.Is(err,
		invoices.ErrCreditNoteNotEditable) {
		return req.respondCreditNote(http.StatusConflict, req.Pages.Texts.Notice("bad.credit_submitted"))
	} else if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/credit-notes/"+url.PathEscape(id.String()), "good.voided"))
}
