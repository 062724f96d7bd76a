package documents

import (
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

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
	console.ListFilters
	query view.CreditNoteFilter
}

// creditInvoiceParameter is the parameter of the list of credit notes for those of one invoice.
const creditInvoiceParameter = "invoice"

// creditStates lists the states of a credit note in display order.
var creditStates = []string{"live", "void"} //nolint:gochecknoglobals // a constant list

// readCreditFilters reads the filters from the query, but for the invoice.
func readCreditFilters(req *console.Request) creditFilters {
	f := creditFilters{ListFilters: console.ListFilters{Path: "/credit-notes",
		Names: []string{console.SearchParameter, console.IssuedFromParameter, console.IssuedToParameter,
			console.StateParameter}}}
	f.Values, f.Ignored = req.ReadFilters(func(name, value string) bool {
		switch name {
		case console.SearchParameter:
			return console.Assign(&f.query.Text, value, len(value) <= console.MaxSearch)
		case console.StateParameter:
			return console.Assign(&f.query.Void, new(value == "void"), slices.Contains(creditStates, value))
		case creditInvoiceParameter: // creditFilter checks it
			return true
		}
		return console.SetIssueDate(&f.query.IssueDates, name, value)
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
	Dimensions []StateView
	// Undelivered is the number of its webhook deliveries that failed or were blocked.
	Undelivered int
}

// newCreditRow returns a credit note with its status.
func newCreditRow(c console.Catalogue, note invoices.CreditNote) (row creditRow, err error) {
	row = creditRow{CreditNote: view.CreditNote(note), Dimensions: StateViews(note.States())}
	if row.Live() {
		row.Overall, err = overall(c, row.Outcome(), row.Dimensions)
	} else {
		row.Overall, err = overallPill(c, "void", "unknown", "blocked")
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
func creditFilter(req *console.Request, f creditFilters) (filter view.CreditNoteFilter, of string, err error) {
	filter = f.query
	requested := f.Values[creditInvoiceParameter]
	if requested == "" {
		return filter, "", nil
	}
	id, err := base.ParseID(requested)
	if err != nil || id.IsZero() {
		return filter, "", base.ErrNotFound
	}
	numbers, err := view.Of(req.Session.Tenant).InvoiceNumbers(req.R.Context(), []base.ID{id})
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

func listCredits(req *console.Request) error {
	ctx := req.R.Context()
	paging := req.Paging()
	p := creditsPage{Filters: readCreditFilters(req), Enabled: req.Session.Account.CreditNotes}
	filter, of, err := creditFilter(req, p.Filters)
	if err != nil {
		return err
	}
	if filter.Invoice != nil {
		p.Of, p.Invoice = of, filter.Invoice.String()
	}
	found, err := view.Of(req.Session.Tenant).CreditNotes(ctx, filter, paging.Page, paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := readCreditRows(req, found.Entries)
	if err != nil {
		return err
	}
	count, err := req.Words.Messages.Plural("credits.count", found.Total)
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
		Export: console.NewExportMenu("/credit-notes", p.Filters.Values)})
}

// readCreditRows returns the rows of a list. It reads the numbers of all their invoices in one query, and their
// deliveries in another.
func readCreditRows(req *console.Request, notes []invoices.CreditNoteRow) ([]creditRow, error) {
	var ids, submissions []base.ID
	for _, n := range notes {
		ids = append(ids, n.Invoice)
		if n.Submission != nil {
			submissions = append(submissions, n.Submission.ID)
		}
	}
	numbers, err := view.Of(req.Session.Tenant).InvoiceNumbers(req.R.Context(), ids)
	if err != nil {
		return nil, err
	}
	summaries, err := view.Of(req.Session.Tenant).NotificationSummaries(req.R.Context(), submissions)
	if err != nil {
		return nil, err
	}
	rows := make([]creditRow, len(notes))
	for n, note := range notes {
		if rows[n], err = newCreditRow(req.Words.Messages, note.CreditNote); err != nil {
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
