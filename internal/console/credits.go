package console

import (
	"net/http"
	"net/url"
	"slices"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

func creditRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/credit-notes", serve: (*request).listCredits},
		{method: http.MethodGet, path: "/credit-notes/{credit}", serve: (*request).showCredit},
		{method: http.MethodGet, path: "/credit-notes/{credit}/print", serve: (*request).printCredit},
		{method: http.MethodPost, path: "/credit-notes/{credit}/void", serve: (*request).voidCredit},
		{method: http.MethodGet, path: "/invoices/{invoice}/credit", serve: (*request).newCredit},
		{method: http.MethodPost, path: "/invoices/{invoice}/credit", serve: (*request).createCredit, large: true},
		{method: http.MethodPost, path: "/invoices/{invoice}/credit/check", serve: (*request).checkCredit, large: true},
	}
}

// creditsPage is the view model of the list of credit notes.
type creditsPage struct {
	Rows    live
	Filters creditFilters
	// Of is the number, and Invoice the identifier, of the invoice whose credit notes are shown. Both are "" for all
	// invoices.
	Of, Invoice string
}

// creditFilters holds the filters of the list.
type creditFilters struct {
	Search string
	// State is live or void, or "" for all.
	State string
}

// Active reports whether any filter is set.
func (f creditFilters) Active() bool { return f != creditFilters{} }

// States returns the states that can be selected.
func (creditFilters) States() []string { return creditStates }

// creditStates lists the states of a credit note in display order.
var creditStates = []string{"live", "void"} //nolint:gochecknoglobals // a constant list

// creditFilters reads the filters from the query. It ignores invalid values, because people may type an address.
func (req *request) creditFilters() creditFilters {
	query := req.r.URL.Query()
	f := creditFilters{Search: req.search()}
	if state := query.Get("state"); slices.Contains(creditStates, state) {
		f.State = state
	}
	return f
}

// creditRows is a page of the list.
type creditRows struct {
	Rows     []creditRow
	Paging   paging
	Filtered bool
}

// creditRow is one credit note in a list.
type creditRow struct {
	api.CreditNote
	// InvoiceNumber is the number of the credited invoice.
	InvoiceNumber string
}

// Total returns the credited amount with thousands separators.
func (r creditRow) Total() string { return grouped(string(r.TotalAmount)) }

// Live reports whether the credit note counts against its invoice.
func (r creditRow) Live() bool { return r.VoidedAt == nil }

func (req *request) listCredits() error {
	ctx := req.r.Context()
	paging := req.paging()
	var filter view.CreditNoteFilter
	var p creditsPage
	if requested := req.r.URL.Query().Get("invoice"); requested != "" {
		id, err := store.ParseID(requested)
		if err != nil || id.IsZero() {
			return store.ErrNotFound
		}
		numbers, err := view.Of(req.session.Tenant).InvoiceNumbers(ctx, []store.ID{id})
		if err != nil {
			return err
		}
		number, known := numbers[id]
		if !known {
			return store.ErrNotFound
		}
		filter.Invoice, p.Of, p.Invoice = &id, number, id.String()
	}
	p.Filters = req.creditFilters()
	filter.Text = p.Filters.Search
	if p.Filters.State != "" {
		filter.Void = new(p.Filters.State == "void")
	}
	found, err := view.Of(req.session.Tenant).CreditNotes(ctx, filter, paging.Page, paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := req.creditRows(found.Entries)
	if err != nil {
		return err
	}
	count, err := req.pages.messages.plural("credits.count", found.Total)
	if err != nil {
		return err
	}
	if p.Rows, err = req.livePart("credits", "rows", creditRows{Rows: rows, Paging: paging, Filtered: p.Filters.Active()}, listPollInterval, count); err != nil {
		return err
	}
	if req.isFragment() {
		return req.respondLive("credits", p.Rows)
	}
	title, err := req.pages.messages.text("credits.title")
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "credits", pageData{Title: title, Section: "credits", Body: p})
}

// creditRows returns the rows of a list. It reads the numbers of all their invoices in one query.
func (req *request) creditRows(notes []store.CreditNoteRow) ([]creditRow, error) {
	ids := make([]store.ID, 0, len(notes))
	for _, n := range notes {
		ids = append(ids, n.Invoice)
	}
	numbers, err := view.Of(req.session.Tenant).InvoiceNumbers(req.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]creditRow, len(notes))
	for n, note := range notes {
		rows[n] = creditRow{CreditNote: view.CreditNote(note.CreditNote), InvoiceNumber: numbers[note.Invoice]}
	}
	return rows, nil
}

// creditPage is the view model of one credit note.
type creditPage struct {
	creditRow
	Lines []creditedLine
	// Left is the amount that remains on the invoice, or "" when it is not known.
	Left string
}

// creditedLine is one credited line. Net is "" when it cannot be calculated, and Unit is the name of its unit.
type creditedLine struct {
	api.CreditNoteItem
	Net, Unit string
}

// creditPage reads the credit note that the path identifies and the invoice that it credits.
func (req *request) creditPage() (creditPage, store.Invoice, error) {
	id, err := req.id("credit")
	if err != nil {
		return creditPage{}, store.Invoice{}, err
	}
	found, err := req.session.Tenant.CreditNote(req.r.Context(), id)
	if err != nil {
		return creditPage{}, store.Invoice{}, err
	}
	credited, remaining, err := req.remaining(found.Invoice)
	if err != nil {
		return creditPage{}, store.Invoice{}, err
	}
	p := creditPage{creditRow: creditRow{CreditNote: view.CreditNote(found), InvoiceNumber: deref(credited.Draft.InvoiceNumber)}, Left: grouped(string(remaining.Total))}
	for _, item := range p.Items {
		line := creditedLine{CreditNoteItem: item, Unit: unitName(item.UnitCode)}
		if item.NetAmount != nil {
			line.Net = grouped(string(*item.NetAmount))
		}
		p.Lines = append(p.Lines, line)
	}
	return p, credited, nil
}

func (req *request) showCredit() error {
	p, _, err := req.creditPage()
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "credit", pageData{Title: p.CreditNoteNumber, Section: "credits", Body: p})
}

// voidCredit voids a credit note. It succeeds when the credit note is void already, because the page may have been
// outdated.
func (req *request) voidCredit() error {
	id, err := req.id("credit")
	if err != nil {
		return err
	}
	if _, err := req.session.Tenant.VoidCreditNote(req.r.Context(), id); err != nil {
		return err
	}
	return req.redirect(withFlash("/credit-notes/"+url.PathEscape(id.String()), "good.voided"))
}
