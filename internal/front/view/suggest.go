package view

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Suggestions are what the form of a new invoice suggests, from the newest invoice of the company.
type Suggestions struct {
	// Number is the number after that of the newest invoice, which no invoice has; "" if it ends with no digits.
	Number string
	// Currency, PaymentMeans, VATCategory and VATRate are those of the newest invoice, the tax that of its last line, or
	// "".
	Currency, PaymentMeans, VATCategory, VATRate string
	// Terms is the time from the issue date to the due date of the newest invoice, negative if unknown.
	Terms time.Duration
}

// suggestionDepth is the number of the newest invoices whose recipients are suggested, and numberTries how many numbers
// are tried until one is free.
const (
	suggestionDepth = 100
	numberTries     = 20
)

// maxSuggestionBytes is the size of the largest document that is read for its lines.
const maxSuggestionBytes = 64 << 10

// errLargeDocument reports that a document is not read for suggestions.
var errLargeDocument = errors.New("large document")

// Suggest returns the suggestions for a new invoice. Its cost depends neither on the number of invoices nor on their
// sizes.
func (t Tenant) Suggest(ctx context.Context) (Suggestions, error) {
	out := Suggestions{Terms: -1}
	newest, err := t.Invoices(ctx, InvoiceFilter{}, 1, 1)
	if err != nil || len(newest.Entries) == 0 {
		return out, err
	}
	last := &newest.Entries[0]
	out.Currency, out.PaymentMeans, out.Terms = text(last.Draft.Currency), text(last.Draft.PaymentMeansCode),
		terms(&last.Draft)
	err = t.eachSmallDraft(ctx, last.ID, func(draft *api.Draft) {
		if n := len(draft.Items); n > 0 {
			out.VATCategory = text(draft.Items[n-1].VATCategory)
			if rate := draft.Items[n-1].VATRate; rate != nil {
				out.VATRate = rate.String()
			}
		}
	})
	if err != nil {
		return out, err
	}
	out.Number, err = t.nextNumber(ctx, text(last.Draft.InvoiceNumber))
	return out, err
}

// nextNumber returns the first number after a number that no invoice has, or "".
func (t Tenant) nextNumber(ctx context.Context, number string) (string, error) {
	for range numberTries {
		if number = successor(number); number == "" {
			return "", nil
		}
		used, err := t.NumberUse(ctx, number, base.ID{})
		if err != nil || used.IsZero() {
			return number, err
		}
	}
	return "", nil
}

// SuggestCreditNumber returns the number after that of the newest credit note, which none of the newest has; "" if
// there is no credit note, or it ends with no digits.
func (t Tenant) SuggestCreditNumber(ctx context.Context) (string, error) {
	newest, err := t.CreditNotes(ctx, CreditNoteFilter{}, 1, suggestionDepth)
	if err != nil || len(newest.Entries) == 0 {
		return "", err
	}
	used := map[string]bool{}
	for n := range newest.Entries {
		used[newest.Entries[n].Number] = true
	}
	number := successor(newest.Entries[0].Number)
	for used[number] {
		number = successor(number)
	}
	return number, nil
}

// maxNumber is the length of the longest invoice number, in characters.
const maxNumber = 64

// successor returns a number with its last digits increased by one, or "" if it does not end with digits. It keeps
// leading zeros.
func successor(number string) string {
	stem := strings.TrimRight(number, "0123456789")
	digits := number[len(stem):]
	value, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return ""
	}
	next := value.Add(value, big.NewInt(1)).String()
	if short := len(digits) - len(next); short > 0 {
		next = strings.Repeat("0", short) + next
	}
	if len([]rune(stem+next)) > maxNumber {
		return ""
	}
	return stem + next
}

// NumberUse returns the newest invoice with a number, besides the given one, or the zero ID.
func (t Tenant) NumberUse(ctx context.Context, number string, besides base.ID) (used base.ID, err error) {
	err = base.ReadRows(t.tenant, func(r base.Reader) error {
		return r.Query(ctx, func(row base.Row) error {
			var id base.ID
			err := row.Scan(&id)
			if used.IsZero() && id != besides {
				used = id
			}
			return err
		}, `select id from invoices where tenant_id = $1 and number = $2 order by position desc limit 2`, number)
	})
	return used, err
}

// Choice is what a form offers for a name: the name, and what tells it from others.
type Choice struct {
	Name, Code string
}

// maxChoices is the largest number of choices.
const maxChoices = 40

// choices collects choices with different names, ignoring case.
type choices struct {
	list  []Choice
	known map[string]bool
}

func (c *choices) add(name, code string) {
	if c.known == nil {
		c.known = map[string]bool{}
	}
	if key := invoices.BookKey(name); key != "" && !c.known[key] && len(c.list) < maxChoices {
		c.known[key] = true
		c.list = append(c.list, Choice{name, code})
	}
}

// Recipients returns the customers of the customer book that a text finds, and then the recipients of earlier invoices
// whose names contain it, ignoring case, newest first. Without a text, they are the first customers and the recipients
// of the newest invoices.
func (t Tenant) Recipients(ctx context.Context, search string) ([]Choice, error) {
	var out choices
	customers, err := t.Customers(ctx, search, 1, maxChoices)
	if err != nil {
		return nil, err
	}
	for n := range customers.Entries {
		c := &customers.Entries[n].Fields
		out.add(c.Name(), text(c.RecipientNetworkID))
	}
	earlier, err := t.Invoices(ctx, InvoiceFilter{Recipient: search}, 1, suggestionDepth)
	for n := range earlier.Entries {
		draft := &earlier.Entries[n].Draft
		out.add(text(draft.RecipientName), text(draft.RecipientNetworkID))
	}
	return out.list, err
}

// RecipientDefaults is what is known about a recipient.
type RecipientDefaults struct {
	// Draft has the fields of the recipient, the currency and the payment means, and from the customer book also the note.
	Draft api.Draft
	// Terms is the time from the issue date to the due date, negative if unknown.
	Terms time.Duration
	// Customer is the entry of the customer book, or zero if all comes from the newest invoice to the recipient.
	Customer base.ID
}

// RecipientDefaults returns what is known about a recipient, whose name is given in any case: from the customer book,
// or else from the newest invoice to it. It returns nil if nothing is known.
func (t Tenant) RecipientDefaults(ctx context.Context, name string) (*RecipientDefaults, error) {
	customer, err := t.CustomerNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	if customer != nil {
		return CustomerDefaults(customer), nil
	}
	key := invoices.BookKey(name)
	earlier, err := t.Invoices(ctx, InvoiceFilter{Recipient: strings.TrimSpace(name)}, 1, suggestionDepth)
	for n := range earlier.Entries {
		if draft := &earlier.Entries[n].Draft; key != "" && invoices.BookKey(text(draft.RecipientName)) == key {
			out := &RecipientDefaults{Draft: api.Draft{Currency: draft.Currency, PaymentMeansCode: draft.PaymentMeansCode},
				Terms: terms(draft)}
			recipient := api.CustomerOf(draft)
			recipient.Fill(&out.Draft)
			return out, err
		}
	}
	return nil, err
}

// CustomerDefaults returns what the customer book says about a recipient.
func CustomerDefaults(c *invoices.Customer) *RecipientDefaults {
	out := &RecipientDefaults{Draft: api.Draft{Currency: c.Fields.Currency, PaymentMeansCode: c.Fields.PaymentMeansCode,
		Note: c.Fields.Note}, Terms: -1, Customer: c.ID}
	c.Fields.Fill(&out.Draft)
	if days := c.Fields.PaymentTermsDays; days != nil {
		out.Terms = time.Duration(*days) * 24 * time.Hour
	}
	return out
}

// suggestionInvoices is the number of the newest invoices whose lines are suggested.
const suggestionInvoices = 10

// Items returns the items of the catalogue that a text finds, and then the lines of the newest invoices whose names
// contain it, ignoring case. Without a text, they are the first items and all these lines.
func (t Tenant) Items(ctx context.Context, search string) ([]Choice, error) {
	var out choices
	items, err := t.CatalogueItems(ctx, search, 1, maxChoices)
	if err != nil {
		return nil, err
	}
	for n := range items.Entries {
		out.add(text(items.Entries[n].Fields.Name), text(items.Entries[n].Fields.ItemCode))
	}
	key := invoices.BookKey(search)
	err = t.earlierItems(ctx, func(item *api.CatalogueItemFields) {
		if strings.Contains(strings.ToLower(text(item.Name)), key) {
			out.add(text(item.Name), text(item.ItemCode))
		}
	})
	return out.list, err
}

// ItemDefaults returns what is known about an item, whose name is given in any case: from the item catalogue, or else
// from the newest invoices. It returns nil if nothing is known.
func (t Tenant) ItemDefaults(ctx context.Context, name string) (*api.CatalogueItemFields, error) {
	item, err := t.CatalogueItemNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	if item != nil {
		return &item.Fields, nil
	}
	var found *api.CatalogueItemFields
	key := invoices.BookKey(name)
	err = t.earlierItems(ctx, func(item *api.CatalogueItemFields) {
		if found == nil && key != "" && invoices.BookKey(text(item.Name)) == key {
			found = item
		}
	})
	return found, err
}

// earlierItems calls yield for the lines of the newest invoices, newest first. It reads no large document.
func (t Tenant) earlierItems(ctx context.Context, yield func(*api.CatalogueItemFields)) error {
	newest, err := t.Invoices(ctx, InvoiceFilter{}, 1, suggestionInvoices)
	if err != nil {
		return err
	}
	for n := range newest.Entries {
		err := t.eachSmallDraft(ctx, newest.Entries[n].ID, func(draft *api.Draft) {
			for i := range draft.Items {
				yield(new(api.CatalogueItemOf(&draft.Items[i], draft.Currency)))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachSmallDraft calls use for the document of an invoice, unless it is large or gone.
func (t Tenant) eachSmallDraft(ctx context.Context, id base.ID, use func(*api.Draft)) error {
	err := invoices.EachDraft(ctx, t.tenant, []base.ID{id}, func(bytes int) error {
		if bytes > maxSuggestionBytes {
			return errLargeDocument
		}
		return nil
	}, func(_ base.ID, draft *api.Draft) { use(draft) })
	if errors.Is(err, errLargeDocument) {
		return nil
	}
	return err
}

// terms returns the time from the issue date of a draft to its due date, or -1.
func terms(draft *api.Draft) time.Duration {
	issued, errIssued := time.Parse(time.DateOnly, text(draft.IssueDate))
	due, errDue := time.Parse(time.DateOnly, text(draft.DueDate))
	if errIssued != nil || errDue != nil || due.Before(issued) {
		return -1
	}
	return due.Sub(issued)
}
