package console

import (
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
)

// printPage is the view model of an invoice on paper: the stored data and the state that the provider has reported,
// with the current time.
type printPage struct {
	ID       string
	Invoice  api.Invoice
	Seller   api.Profile
	Document shownDocument
	Outcome  string
	States   []stateView
	At       time.Time
	// Preview is the form of a document that is not stored, or nil.
	Preview *previewForm
}

func (req *request) printInvoice() error {
	found, err := req.invoiceOfPath()
	if err != nil {
		return err
	}
	p := printPage{ID: found.ID.String(), Invoice: view.Invoice(found, req.seller()), Seller: *req.profile(),
		Document: req.words.newShownDocument(&found.Draft), Outcome: outcomeOf(found), States: stateViews(found.States()),
		At: req.Now()}
	return req.Show(http.StatusOK, "print", "", page.Layout{Title: deref(found.Draft.InvoiceNumber), Section: "invoices",
		Body: p})
}

// printCreditPage is the view model of a credit note on paper.
type printCreditPage struct {
	creditPage
	At time.Time
}

func (req *request) printCredit() error {
	shown, _, err := req.creditPage()
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, "print_credit", "", page.Layout{Title: shown.CreditNoteNumber, Section: "credits",
		Body: printCreditPage{creditPage: shown, At: req.Now()}})
}
