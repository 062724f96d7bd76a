package documents

import (
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
)

// PrintPage is the view model of an invoice on paper: the stored data and the state that the provider has reported,
// with the current time.
type PrintPage struct {
	ID       string
	Invoice  api.Invoice
	Seller   api.Profile
	Document ShownDocument
	Outcome  string
	States   []StateView
	At       time.Time
	// Preview is the form of a document that is not stored, or nil.
	Preview *PreviewForm
}

func printInvoice(req *console.Request) error {
	found, err := InvoiceOfPath(req)
	if err != nil {
		return err
	}
	p := PrintPage{ID: found.ID.String(), Invoice: view.Invoice(found, req.Seller()), Seller: *req.Profile(),
		Document: NewShownDocument(req.Words, &found.Draft, req.Arithmetic()), Outcome: OutcomeOf(found),
		States: StateViews(found.States()),
		At:     req.Now()}
	return req.Show(http.StatusOK, "print", "", page.Layout{Title: console.Deref(found.Draft.InvoiceNumber),
		Section: "invoices", Body: p})
}

// printCreditPage is the view model of a credit note on paper.
type printCreditPage struct {
	creditPage
	At time.Time
}

func printCredit(req *console.Request) error {
	shown, _, err := readCreditPage(req)
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, "print_credit", "", page.Layout{Title: shown.CreditNoteNumber, Section: "credits",
		Body: printCreditPage{creditPage: shown, At: req.Now()}})
}

// PreviewForm repeats the form of a preview, so that its buttons can show the same document in other formats.
type PreviewForm struct {
	Action string
	Fields []page.Field
	// Format is the document format of the company's connection, or "".
	Format string
	// Faults and Needs are the paths of the fields that must be corrected or are required to submit.
	Faults, Needs []string
}
