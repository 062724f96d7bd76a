package drafts

import (
	"context"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// doFill is the button that fills in what is known about the recipient, and doItem, with the number of a line, what is
// known about its item.
const (
	doFill = "fill"
	doItem = "item"
)

// recipientFields lists the fields that belong to a recipient, which a known recipient replaces.
var recipientFields = func() (names []string) { //nolint:gochecknoglobals // a constant list
	for _, spec := range Fields {
		if (strings.HasPrefix(spec.Name, "buyer_") || strings.HasPrefix(spec.Name, "recipient_")) &&
			HasField[api.CustomerFields](spec.Name) {
			names = append(names, spec.Name)
		}
	}
	return names
}()

// suggestedDraft returns the form of a new invoice with what the last one suggests, with texts as the API takes them.
func suggestedDraft(req *console.Request) (Form, error) {
	today, err := req.Today()
	if err != nil {
		return Form{}, err
	}
	form := Form{Fields: map[string]string{"issue_date": today.Format(time.DateOnly)},
		Items: []lineInput{{Fields: map[string]string{}}}}
	s, err := view.Of(req.Session.Tenant).Suggest(req.R.Context())
	if err != nil {
		return form, err
	}
	form.Fields["invoice_number"], form.Fields["currency"], form.Fields["payment_means_code"] = s.Number, s.Currency,
		s.PaymentMeans
	form.Items[0].Fields["vat_category"], form.Items[0].Fields["vat_rate"] = s.VATCategory, s.VATRate
	form.setDue(s.Terms)
	return form, settleRate(req, &form, form.Items[0].Fields)
}

// setDue sets the due date some time after the issue date, unless the time is negative or there is no issue date.
func (f *Form) setDue(after time.Duration) {
	issued, err := time.Parse(time.DateOnly, f.Fields["issue_date"])
	if err != nil || after < 0 {
		return
	}
	if due := issued.Add(after); due.Year() <= 9999 {
		f.Fields["due_date"] = due.Format(time.DateOnly)
	}
}

// fillRecipient fills in what is known about the recipient whose name the user has chosen or typed. Nothing changes if
// nothing is known.
func fillRecipient(req *console.Request, form *Form) error {
	known, err := view.Of(req.Session.Tenant).RecipientDefaults(req.R.Context(), form.Fields["recipient_name"])
	if err != nil || known == nil {
		return err
	}
	return applyRecipient(req, form, known)
}

// applyRecipient replaces the fields of the recipient with those that are known, and the due date with the same terms.
// The customer book also says the currency, the payment method and the note; an earlier invoice only fills in those
// that are empty.
func applyRecipient(req *console.Request, form *Form, known *view.RecipientDefaults) error {
	texts := draftFormOf(&known.Draft)
	values, _, err := readInput(req.Words, *form)
	if err != nil {
		return err
	}
	values.setDue(known.Terms)
	shown := showInput(req.Words, texts)
	for _, name := range recipientFields {
		form.Fields[name] = shown.Fields[name]
	}
	for _, name := range []string{"currency", "payment_means_code", "note"} {
		replace := !known.Customer.IsZero() && name != "note"
		if shown.Fields[name] != "" && (replace || form.Fields[name] == "") {
			form.Fields[name] = shown.Fields[name]
		}
	}
	form.Fields["due_date"] = values.Fields["due_date"]
	if form.Customer = ""; !known.Customer.IsZero() {
		form.Customer = known.Customer.String()
	}
	return nil
}

// fillCustomer fills in the customer that the address of the form names, if it names one.
func fillCustomer(req *console.Request, form *Form) error {
	name := req.R.URL.Query().Get("customer")
	if name == "" {
		return nil
	}
	id, err := base.ParseID(name)
	if err != nil || id.IsZero() {
		return base.ErrNotFound
	}
	customer, err := invoices.Customers(req.Session.Tenant).Entry(req.R.Context(), id)
	if err != nil {
		return err
	}
	return applyRecipient(req, form, view.CustomerDefaults(&customer))
}

// fillItem replaces the fields of a line with what is known about the item whose name the user has chosen or typed. The
// quantity stays, and the tax if none is known. Prices in another currency than that of the invoice are left out, and
// the line says so.
func fillItem(req *console.Request, form *Form, line int) error {
	known, err := view.Of(req.Session.Tenant).ItemDefaults(req.R.Context(), form.Items[line].Fields["name"])
	if err != nil || known == nil {
		return err
	}
	filled := api.Draft{Items: make([]api.Item, 1)}
	known.Fill(&filled.Items[0])
	texts := draftFormOf(&filled)
	shown := showInput(req.Words, texts).Items[0].Fields
	item := form.Items[line].Fields
	for _, field := range invoice.FieldsOf[api.CatalogueItemFields]() {
		if tax := field.Name == "vat_category" || field.Name == "vat_rate"; field.Name != "currency" &&
			(!tax || known.VATCategory != nil) {
			item[field.Name] = shown[field.Name]
		}
	}
	currency, _ := req.Words.Codes["currencies"].Resolve(form.Fields["currency"])
	switch {
	case known.Currency == nil:
	case currency == "":
		form.Fields["currency"] = req.Words.Codes["currencies"].Show(*known.Currency)
	case currency != *known.Currency:
		item["net_unit_price"], item["gross_unit_price"], item["discount_amount"] = "", "", ""
		item[priceCurrency] = *known.Currency
	}
	return nil
}

// The keys of what a line of the form has beside its fields: the box that saves it as an item, and the currency of a
// price that was not filled in.
const (
	saveItem      = "save_item"
	priceCurrency = "other_currency"
)

// warnOtherCurrency adds advice on prices that were not filled in.
func (checked *CheckedForm) warnOtherCurrency() {
	for n, item := range checked.Form.Items {
		if item.Fields[priceCurrency] != "" {
			checked.Advice.Add(linePrefix(n)+"net_unit_price", "other_currency", "")
		}
	}
}

// listRecipients responds with the recipients whose names contain a text, as the choices of a combobox.
func listRecipients(req *console.Request) error { return listChoices(req, view.Tenant.Recipients) }

// listItems responds with the items whose names contain a text, as the choices of a combobox.
func listItems(req *console.Request) error { return listChoices(req, view.Tenant.Items) }

func listChoices(req *console.Request, find func(t view.Tenant, ctx context.Context, search string) ([]view.Choice,
	error)) error {
	search := req.R.URL.Query().Get("q")
	if !console.Storable(search) || len(search) > console.MaxSearch {
		search = ""
	}
	found, err := find(view.Of(req.Session.Tenant), req.R.Context(), strings.TrimSpace(search))
	if err != nil {
		return err
	}
	return req.Part("codes", "options", choiceOptions(found))
}

// choiceOptions returns the choices of a combobox.
func choiceOptions(choices []view.Choice) []console.CodeOption {
	out := make([]console.CodeOption, len(choices))
	for n, choice := range choices {
		out[n] = console.CodeOption{Value: choice.Name, Code: choice.Code}
	}
	return out
}

// warnUsedNumber adds advice on a number that another invoice of the company has. id is the identifier of the edited
// invoice, or "".
func warnUsedNumber(req *console.Request, checked *CheckedForm, id string) error {
	number := console.Deref(checked.Draft.InvoiceNumber)
	if number == "" || checked.Faults.Has("invoice_number") {
		return nil
	}
	besides, err := base.ParseID(id)
	if err != nil {
		besides = base.ID{} // the form is that of a new invoice
	}
	used, err := view.Of(req.Session.Tenant).NumberUse(req.R.Context(), number, besides)
	if err == nil && !used.IsZero() {
		checked.Advice.Add("invoice_number", "number_used", "")
	}
	return err
}
