package console

import (
	"net/http"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

// printPage is the view model of an invoice on paper: the stored data and the state that the provider has reported, with
// the current time.
type printPage struct {
	ID      string
	Invoice api.Invoice
	Seller  api.Profile
	Lines   []printLine
	Totals  invoice.Totals
	Outcome string
	States  []stateView
	Means   string
	At      time.Time
}

// printLine is one line with its amount, which is "" when it cannot be calculated.
type printLine struct {
	api.Item
	Net  string
	Unit string
}

func (req *request) printInvoice() error {
	found, err := req.invoiceOfPath("invoice")
	if err != nil {
		return err
	}
	checked := checkedForm{draft: found.Draft}
	p := printPage{ID: found.ID.String(), Invoice: view.Invoice(found, req.profile()), Seller: *req.profile(), Totals: invoice.Compute(&found.Draft), Outcome: outcomeOf(found),
		States: stateViews(found.States()), Means: codeLists["payment-means"].name(deref(found.Draft.PaymentMeansCode)), At: req.Now()}
	for n, item := range found.Draft.Items {
		p.Lines = append(p.Lines, printLine{Item: item, Net: checked.lineNet(n), Unit: unitName(item.UnitCode)})
	}
	return req.page(http.StatusOK, "print", pageData{Title: deref(found.Draft.InvoiceNumber), Section: "invoices", Body: p})
}

// printCreditPage is the view model of a credit note on paper.
type printCreditPage struct {
	creditPage
	// Invoice is the credited invoice.
	Invoice api.Invoice
	Seller  api.Profile
	At      time.Time
}

func (req *request) printCredit() error {
	page, credited, err := req.creditPage()
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "print_credit", pageData{Title: page.CreditNoteNumber, Section: "credits",
		Body: printCreditPage{creditPage: page, Invoice: view.Invoice(credited, req.profile()), Seller: *req.profile(), At: req.Now()}})
}
