package console

import (
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

func creditRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/credit-notes", needs: access.Read, serve: (*request).listCredits},
		{method: http.MethodGet, path: "/credit-notes/{credit}", needs: access.Read, serve: (*request).showCredit},
		{method: http.MethodGet, path: "/credit-notes/{credit}/print", needs: access.Read, serve: (*request).printCredit},
		{method: http.MethodGet, path: "/credit-notes/{credit}/document.xml", needs: access.Read,
			serve: (*request).downloadCreditXML},
		{method: http.MethodGet, path: "/credit-notes/{credit}/document.pdf", needs: access.Read,
			serve: (*request).downloadCreditPDF},
		{method: http.MethodPost, path: "/credit-notes/{credit}/void", needs: access.Write, serve: (*request).voidCredit},
		{method: http.MethodPost, path: "/credit-notes/{credit}/submit", needs: access.Submit,
			serve: (*request).submitCredit},
		{method: http.MethodGet, path: "/invoices/{invoice}/credit", needs: access.Write, serve: (*request).newCredit},
		{method: http.MethodPost, path: "/invoices/{invoice}/credit", needs: access.Write, serve: (*request).createCredit,
			large: true},
		{method: http.MethodPost, path: "/invoices/{invoice}/credit/check", needs: access.Write,
			serve: (*request).checkCredit, large: true},
	}
}

// creditsPage is the view model of the list of credit notes.
type creditsPage struct {
	Rows    page.Live
	Filters creditFilters
	// Of is the number, and Invoice the identifier, of the invoice whose credit notes are shown. Both are "" for all
	// invoices.
	Of, Invoice string
	// Enabled reports that the company can submit credit notes.
	Enabled bool
}

// creditFilters holds the filters of the list.
type creditFilters struct {
	listFilters
	query view.CreditNoteFilter
}

// The parameters of the list of credit notes in its address.
const (
	creditStateParameter   = "state"
	creditInvoiceParameter = "invoice"
)

// creditStates lists the states of a credit note in display order.
var creditStates = []string{"live", "void"} //nolint:gochecknoglobals // a constant list

// creditFilters reads the filters from the query, but for the invoice.
func (req *request) creditFilters() creditFilters {
	f := creditFilters{listFilters: listFilters{path: "/credit-notes",
		names: []string{searchParameter, issuedFromParameter, issuedToParameter, creditStateParameter}}}
	f.Values, f.Ignored = req.readFilters(func(name, value string) bool {
		switch name {
		case searchParameter:
			return assign(&f.query.Text, value, len(value) <= maxSearch)
		case creditStateParameter:
			return assign(&f.query.Void, new(value == "void"), slices.Contains(creditStates, value))
		case creditInvoiceParameter: // creditFilter checks it
			return true
		}
		return setIssueDate(&f.query.IssueDates, name, value)
	})
	return f
}

// States returns the states that can be selected.
func (creditFilters) States() []string { return creditStates }

// creditRows is a page of the list.
type creditRows struct {
	Rows    []creditRow
	Paging  page.Paging
	Filters creditFilters
	// Truncated reports that the list has more candidates than it examines.
	Truncated bool
}

// creditRow is one credit note in a list.
type creditRow struct {
	api.CreditNote
	// InvoiceNumber is the number of the credited invoice.
	InvoiceNumber string
	Overall       page.Pill
	// Dimensions are the four states of a submitted credit note.
	Dimensions []stateView
	// Undelivered is the number of its webhook deliveries that failed or were blocked.
	Undelivered int
}

// newCreditRow returns a credit note with its status.
func (c catalogue) newCreditRow(note invoices.CreditNote) (row creditRow, err error) {
	row = creditRow{CreditNote: view.CreditNote(note), Dimensions: stateViews(note.States())}
	if row.Live() {
		row.Overall, err = c.overall(row.Outcome(), row.Dimensions)
	} else {
		row.Overall, err = c.overallPill("void", "unknown", "blocked")
	}
	return row, err
}

// Live reports whether the credit note counts against its invoice.
func (r creditRow) Live() bool { return r.VoidedAt == nil }

// Outcome returns the outcome of the submission, or "draft".
func (r creditRow) Outcome() string {
	if r.Submission == nil {
		return "draft"
	}
	return string(r.Submission.Outcome)
}

// creditFilter returns the filter of the list, and the number of the invoice whose credit notes it has, "" for all
// invoices.
func (req *request) creditFilter(f creditFilters) (filter view.CreditNoteFilter, of string, err error) {
	filter = f.query
	requested := f.Values[creditInvoiceParameter]
	if requested == "" {
		return filter, "", nil
	}
	id, err := base.ParseID(requested)
	if err != nil || id.IsZero() {
		return filter, "", base.ErrNotFound
	}
	numbers, err := view.Of(req.session.Tenant).InvoiceNumbers(req.R.Context(), []base.ID{id})
	if err != nil {
		return filter, "", err
	}
	of, known := numbers[id]
	if !known {
		return filter, "", base.ErrNotFound
	}
	filter.Invoice = &id
	return filter, of, nil
}

func (req *request) listCredits() error {
	ctx := req.R.Context()
	paging := req.Paging()
	p := creditsPage{Filters: req.creditFilters(), Enabled: req.session.Account.CreditNotes}
	filter, of, err := req.creditFilter(p.Filters)
	if err != nil {
		return err
	}
	if filter.Invoice != nil {
		p.Of, p.Invoice = of, filter.Invoice.String()
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
	count, err := req.words.messages.Plural("credits.count", found.Total)
	if err != nil {
		return err
	}
	if p.Rows, err = req.LivePart("credits", "rows", creditRows{Rows: rows, Paging: paging, Filters: p.Filters,
		Truncated: found.Truncated}, listPollInterval, count); err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("credits", p.Rows)
	}
	return req.Show(http.StatusOK, "credits", "credits.title", page.Layout{Section: "credits", Body: p,
		Export: newExportMenu("/credit-notes", p.Filters.Values)})
}

// creditRows returns the rows of a list. It reads the numbers of all their invoices in one query, and their deliveries
// in another.
func (req *request) creditRows(notes []invoices.CreditNoteRow) ([]creditRow, error) {
	var ids, submissions []base.ID
	for _, n := range notes {
		ids = append(ids, n.Invoice)
		if n.Submission != nil {
			submissions = append(submissions, n.Submission.ID)
		}
	}
	numbers, err := view.Of(req.session.Tenant).InvoiceNumbers(req.R.Context(), ids)
	if err != nil {
		return nil, err
	}
	summaries, err := view.Of(req.session.Tenant).NotificationSummaries(req.R.Context(), submissions)
	if err != nil {
		return nil, err
	}
	rows := make([]creditRow, len(notes))
	for n, note := range notes {
		if rows[n], err = req.words.messages.newCreditRow(note.CreditNote); err != nil {
			return nil, err
		}
		rows[n].InvoiceNumber = numbers[note.Invoice]
		if note.Submission != nil {
			summary := summaries[note.Submission.ID]
			rows[n].Undelivered = summary.Failed + summary.Blocked
		}
	}
	return rows, nil
}
