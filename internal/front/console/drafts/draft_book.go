package drafts

import (
	"errors"
	"math"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// saveToBook saves the recipient of a saved draft as a customer, and lines of it as items, where the form asks for it.
// An entry that is there already gets the fields of the draft. full reports that the company may have no more entries;
// the draft is saved all the same.
func saveToBook(req *console.Request, checked *CheckedForm) (full bool, err error) {
	if checked.Form.SaveCustomer {
		err = saveCustomer(req, &checked.Draft, checked.Form.Customer)
	}
	for n := 0; n < len(checked.Draft.Items) && err == nil; n++ {
		if checked.Form.Items[n].Fields[saveItem] != "" {
			err = saveCatalogueItem(req, api.CatalogueItemOf(&checked.Draft.Items[n], checked.Draft.Currency))
		}
	}
	if errors.Is(err, base.ErrLimit) {
		return true, nil
	}
	return false, err
}

// saveCustomer saves the recipient of a draft: in the customer that it was filled in from, if that still has the name,
// or else in the one of the same name, or in a new one with the defaults of the draft. from is the identifier of the
// former, or "".
func saveCustomer(req *console.Request, draft *api.Draft, from string) error {
	ctx, customers := req.R.Context(), invoices.Customers(req.Session.Tenant)
	recipient := api.CustomerOf(draft)
	same, err := CustomerOf(req, recipient.Name(), from)
	if err != nil {
		return err
	}
	if same.IsZero() {
		_, err := customers.Create(ctx, NewCustomer(draft))
		return err
	}
	_, err = customers.Update(ctx, same, func(int64) bool { return true },
		func(current []byte) (api.CustomerFields, error) {
			kept, err := Unmarshal[api.CustomerFields](current)
			return UpdatedCustomer(recipient, &kept), err
		})
	return err
}

// NewCustomer returns the recipient of a draft as a customer with the defaults of the draft.
func NewCustomer(draft *api.Draft) api.CustomerFields {
	c := api.CustomerOf(draft)
	c.Currency, c.PaymentMeansCode, c.PaymentTermsDays = draft.Currency, draft.PaymentMeansCode, termsOf(draft)
	return c
}

// UpdatedCustomer returns a customer with the fields of a recipient. Its display name and its defaults stay.
func UpdatedCustomer(recipient api.CustomerFields, kept *api.CustomerFields) api.CustomerFields {
	recipient.DisplayName, recipient.Currency, recipient.PaymentMeansCode = kept.DisplayName, kept.Currency,
		kept.PaymentMeansCode
	recipient.PaymentTermsDays, recipient.Note = kept.PaymentTermsDays, kept.Note
	return recipient
}

// CustomerOf returns the identifier of the customer with a name, or zero. The customer that the form was filled in from
// has precedence.
func CustomerOf(req *console.Request, name, from string) (base.ID, error) {
	if id, err := base.ParseID(from); err == nil && !id.IsZero() {
		chosen, err := invoices.Customers(req.Session.Tenant).Entry(req.R.Context(), id)
		if err == nil && invoices.BookKey(console.Deref(chosen.Fields.RecipientName)) == invoices.BookKey(name) {
			return id, nil
		}
		if err != nil && !errors.Is(err, base.ErrNotFound) { // it may have been deleted meanwhile
			return base.ID{}, err
		}
	}
	named, err := view.Of(req.Session.Tenant).CustomerNamed(req.R.Context(), name)
	if err != nil || named == nil {
		return base.ID{}, err
	}
	return named.ID, nil
}

// saveCatalogueItem saves an item: in the one of the same name, or in a new one.
func saveCatalogueItem(req *console.Request, item api.CatalogueItemFields) error {
	ctx, items := req.R.Context(), invoices.Items(req.Session.Tenant)
	same, err := view.Of(req.Session.Tenant).CatalogueItemNamed(ctx, console.Deref(item.Name))
	if err != nil {
		return err
	}
	if same == nil {
		_, err = items.Create(ctx, item)
		return err
	}
	_, err = items.Update(ctx, same.ID, func(int64) bool { return true },
		func([]byte) (api.CatalogueItemFields, error) { return item, nil })
	return err
}

// termsOf returns the days from the issue date to the due date of a draft, nil if a customer cannot have them.
func termsOf(draft *api.Draft) *int {
	issued, errIssued := time.Parse(time.DateOnly, console.Deref(draft.IssueDate))
	due, errDue := time.Parse(time.DateOnly, console.Deref(draft.DueDate))
	if days := int(math.Round(due.Sub(issued).Hours() / 24)); errIssued == nil && errDue == nil && days >= 0 &&
		days <= maxTermsDays {
		return &days
	}
	return nil
}

// maxTermsDays is the largest number of days that a customer may have to pay (api.CustomerFields).
const maxTermsDays = 3650
