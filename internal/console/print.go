package console

import (
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/view"
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
		Document: req.pages.newShownDocument(&found.Draft), Outcome: outcomeOf(found), States: stateViews(found.States()),
		At: req.Now()}
	return req.page(http.StatusOK, "print", pageData{Title: deref(found.Draft.InvoiceNumber), Section: "invoices",
		Body: p})
}

// printCreditPage is the view model of a credit note on paper.
type printCreditPage struct {
	creditPage
	At time.Time
}

func (req *request) printCredit() error {
	page, _, err := req.creditPage()
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "print_credit", pageData{Title: page.CreditNoteNumber, Section: "credits",
		Body: printCreditPage{creditPage: page, At: req.Now()}})
}
