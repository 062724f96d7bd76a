package book

import (
	"net/http"
	"reflect"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/console/drafts"
	"quittance/internal/front/page"
	"quittance/internal/ledger/invoices"
)

// saveRecipient saves the recipient of an invoice in the customer book. If the book has a customer of the name with
// other fields, nothing is saved: the response is the form of that customer with the fields of the invoice, which says
// what differs.
func saveRecipient(req *console.Request) error {
	found, err := documents.InvoiceOfPath(req)
	if err != nil {
		return err
	}
	ctx, book := req.R.Context(), customerBook()
	recipient := api.CustomerOf(&found.Draft)
	same, err := drafts.CustomerOf(req, recipient.Name(), "")
	if err != nil {
		return err
	}
	if same.IsZero() {
		created, err := invoices.Customers(req.Session.Tenant).Create(ctx, drafts.NewCustomer(&found.Draft))
		if err != nil {
			return err
		}
		return req.Redirect(page.WithNotice(book.path+"/"+created.ID.String(), "good.customers_created"))
	}
	customer, err := invoices.Customers(req.Session.Tenant).Entry(ctx, same)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(drafts.UpdatedCustomer(recipient, &customer.Fields), customer.Fields) {
		return req.Redirect(page.WithNotice(book.path+"/"+same.String(), "good.customer_known"))
	}
	return respondKnown(req, book, &customer, recipient)
}

// respondKnown responds with the form of a customer that has the fields of a recipient.
func respondKnown(req *console.Request, book *book[api.CustomerFields], customer *invoices.Customer,
	recipient api.CustomerFields) error {
	updated := drafts.UpdatedCustomer(recipient, &customer.Fields)
	typed := book.show(req.Words, &updated)
	checked, err := book.check(req, typed)
	if err != nil {
		return err
	}
	p := book.editPage(customer, customer.Version)
	p.Known = true
	p.Differs = book.differences(&customer.Fields, &checked)
	return book.respondForm(req, http.StatusConflict, &checked, p, nil)
}
