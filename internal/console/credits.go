package console

import (
	"net/http"
	"net/url"
	"slices"

	"quittance/api"
	"quittance/internal/store"
)

func creditRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/credit-notes", serve: (*visit).listCredits},
		{method: http.MethodGet, path: "/credit-notes/{credit}", serve: (*visit).showCredit},
		{method: http.MethodGet, path: "/credit-notes/{credit}/print", serve: (*visit).printCredit},
		{method: http.MethodPost, path: "/credit-notes/{credit}/void", serve: (*visit).voidCredit},
		{method: http.MethodGet, path: "/invoices/{invoice}/credit", serve: (*visit).newCredit},
		{method: http.MethodPost, path: "/invoices/{invoice}/credit", serve: (*visit).createCredit, large: true},
		{method: http.MethodPost, path: "/invoices/{invoice}/credit/check", serve: (*visit).checkCredit, large: true},
	}
}

// creditsPage is what the list of credit notes shows.
type creditsPage struct {
	Rows    live
	Filters creditFilters
	// Of is the number of the invoice whose credit notes are shown, "" for all; Invoice is its identifier.
	Of, Invoice string
}

// creditFilters are the filters of the list as they stand in the address.
type creditFilters struct {
	Search string
	// State is live or void, "" for any.
	State string
}

// Active tells whether anything is filtered.
func (f creditFilters) Active() bool { return f != creditFilters{} }

// States are the states that can be chosen.
func (creditFilters) States() []string { return creditStates }

// creditStates are the states of a credit note in the order in which they are shown.
var creditStates = []string{"live", "void"} //nolint:gochecknoglobals // a constant list

// creditFilters reads the filters. What is no choice is left out: an address may be typed.
func (v *visit) creditFilters() creditFilters {
	query := v.r.URL.Query()
	f := creditFilters{Search: v.search()}
	if state := query.Get("state"); slices.Contains(creditStates, state) {
		f.State = state
	}
	return f
}

// search is what the store is asked for the credit notes that pass.
func (f creditFilters) search(of store.CreditNoteFilter) store.CreditNoteSearch {
	out := store.CreditNoteSearch{CreditNoteFilter: of, Text: f.Search}
	if f.State != "" {
		out.Void = new(f.State == "void")
	}
	return out
}

// creditRows are the rows of the list and where they stand.
type creditRows struct {
	Rows     []creditRow
	Paging   paging
	Filtered bool
}

// creditRow is one credit note in a list.
type creditRow struct {
	api.CreditNote
	// InvoiceNumber is the number of the invoice that is credited.
	InvoiceNumber string
}

// Total is what is credited, with its thousands apart.
func (r creditRow) Total() string { return grouped(string(r.TotalAmount)) }

// Live tells that it counts against its invoice.
func (r creditRow) Live() bool { return r.VoidedAt == nil }

func (v *visit) listCredits() error {
	ctx := v.r.Context()
	paging := v.paging()
	var filter store.CreditNoteFilter
	var p creditsPage
	if wanted := v.r.URL.Query().Get("invoice"); wanted != "" {
		id, err := store.ParseID(wanted)
		if err != nil || id.IsZero() {
			return store.ErrNotFound
		}
		numbers, err := v.session.Tenant.InvoiceNumbers(ctx, []store.ID{id})
		if err != nil {
			return err
		}
		number, known := numbers[id]
		if !known {
			return store.ErrNotFound
		}
		filter.Invoice, p.Of, p.Invoice = &id, number, id.String()
	}
	p.Filters = v.creditFilters()
	found, err := v.creditNotes(filter, p.Filters, paging)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := v.creditRows(found.CreditNotes)
	if err != nil {
		return err
	}
	count, err := v.pages.words.count("credits.count", found.Total)
	if err != nil {
		return err
	}
	if p.Rows, err = v.livePart("credits", "rows", creditRows{Rows: rows, Paging: paging, Filtered: p.Filters.Active()}, listPace, count); err != nil {
		return err
	}
	if v.fragment() {
		return v.answerLive("credits", p.Rows)
	}
	title, err := v.pages.words.say("credits.title")
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "credits", shown{Title: title, Section: "credits", Body: p})
}

// creditNotes reads a page of the list.
func (v *visit) creditNotes(of store.CreditNoteFilter, filters creditFilters, at paging) (store.CreditNotePage, error) {
	if filters.Active() {
		return v.session.Tenant.SearchCreditNotes(v.r.Context(), filters.search(of), at.Page, at.PerPage)
	}
	return v.session.Tenant.CreditNotes(v.r.Context(), of, at.Page, at.PerPage)
}

// creditRows makes the rows of a list, with one query for the numbers of all their invoices.
func (v *visit) creditRows(notes []store.CreditNoteRow) ([]creditRow, error) {
	ids := make([]store.ID, 0, len(notes))
	for _, n := range notes {
		ids = append(ids, n.Invoice)
	}
	numbers, err := v.session.Tenant.InvoiceNumbers(v.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]creditRow, len(notes))
	for n, note := range notes {
		rows[n] = creditRow{CreditNote: note.Wire(), InvoiceNumber: numbers[note.Invoice]}
	}
	return rows, nil
}

// creditPage is what the page of one credit note shows.
type creditPage struct {
	creditRow
	Lines []creditedLine
	// Left is what is left of the invoice, "" when that is not known.
	Left string
}

// creditedLine is one line that is credited; Net is "" when it cannot be computed, Unit the name of its unit.
type creditedLine struct {
	api.CreditNoteItem
	Net, Unit string
}

// creditPage reads the credit note that the path names, and the invoice that it credits.
func (v *visit) creditPage() (creditPage, store.Invoice, error) {
	id, err := v.id("credit")
	if err != nil {
		return creditPage{}, store.Invoice{}, err
	}
	found, err := v.session.Tenant.CreditNote(v.r.Context(), id)
	if err != nil {
		return creditPage{}, store.Invoice{}, err
	}
	credited, remaining, err := v.remaining(found.Invoice)
	if err != nil {
		return creditPage{}, store.Invoice{}, err
	}
	p := creditPage{creditRow: creditRow{CreditNote: found.Wire(), InvoiceNumber: optional(credited.Draft.InvoiceNumber)}, Left: grouped(string(remaining.Total))}
	for _, item := range p.Items {
		line := creditedLine{CreditNoteItem: item, Unit: unitName(item.UnitCode)}
		if item.NetAmount != nil {
			line.Net = grouped(string(*item.NetAmount))
		}
		p.Lines = append(p.Lines, line)
	}
	return p, credited, nil
}

func (v *visit) showCredit() error {
	p, _, err := v.creditPage()
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "credit", shown{Title: p.CreditNoteNumber, Section: "credits", Body: p})
}

// voidCredit voids a credit note, which may be void already: a press on a page that is no longer true asks for nothing else.
func (v *visit) voidCredit() error {
	id, err := v.id("credit")
	if err != nil {
		return err
	}
	if _, err := v.session.Tenant.VoidCreditNote(v.r.Context(), id); err != nil {
		return err
	}
	return v.redirect(said("/credit-notes/"+url.PathEscape(id.String()), "good.voided"))
}
