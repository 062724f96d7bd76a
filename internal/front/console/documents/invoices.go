package documents

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

func invoiceRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/invoices", Needs: access.Read, Serve: listInvoices},
		{Method: http.MethodGet, Path: "/invoices/submit", Needs: access.Submit, Serve: reviewBulk},
		{Method: http.MethodPost, Path: "/invoices/submit", Needs: access.Submit, Serve: submitBulk},
		{Method: http.MethodGet, Path: "/invoices/submitted", Needs: access.Read, Serve: showBulkResults},
		{Method: http.MethodGet, Path: "/invoices/{invoice}", Needs: access.Read, Serve: showInvoice},
		{Method: http.MethodGet, Path: "/invoices/{invoice}/document.xml", Needs: access.Read,
			Serve: downloadInvoiceXML},
		{Method: http.MethodPost, Path: "/invoices/{invoice}/submit", Needs: access.Submit, Serve: submit},
		{Method: http.MethodGet, Path: "/evidence/{evidence}", Needs: access.Read, Serve: downloadEvidence},
	}
}

// listPollInterval is the poll interval of lists.
const listPollInterval = 3 * time.Second

// invoicesPage is the view model of the list of invoices.
type invoicesPage struct {
	Filters invoiceFilters
	Tabs    listTabs
	// MayWrite reports that the user may create drafts.
	MayWrite bool
	// Currencies are the codes that the filter panel offers.
	Currencies []string
	Rows       page.Live
	Legend     []StateView
	// Meanings are the published meanings, for the legend of the colours.
	Meanings []api.Meaning
}

// invoiceRows is a page of the list.
type invoiceRows struct {
	listTabs
	Filters invoiceFilters
	Rows    []invoiceRow
	Paging  page.Paging
	// Submittable reports that the user may submit at least one row.
	Submittable bool
	// Truncated reports that the list covers only its newest [view.SearchDepth] candidates.
	Truncated bool
}

// listTabs are the tabs above the list. OutOfBand reports that a poll replaces them.
type listTabs struct {
	Tabs      []listTab
	OutOfBand bool
}

// listTab is a tab above the list. Its count is that of all invoices in it, so its link has no filter.
type listTab struct {
	// Name is the tab's key in the messages.
	Name, Link string
	Current    bool
	// Count is the number of its invoices, and Urgent reports that they need a person.
	Count  string
	Urgent bool
}

// invoiceRow is one invoice in the list.
type invoiceRow struct {
	ID                string
	Number, Recipient string
	IssueDate         string
	Total             *api.Decimal
	Currency          string
	UpdatedAt         time.Time
	Overall           page.Pill
	// Draft reports that there is no submission that still counts.
	Draft bool
	// Missing is the number of fields that a draft still needs.
	Missing int
	States  []StateView
	// Undelivered is the number of its webhook deliveries that failed or were blocked.
	Undelivered int
}

func listInvoices(req *console.Request) error {
	ctx := req.R.Context()
	tenant := req.Session.Tenant
	filters := readInvoiceFilters(req)
	rows := invoiceRows{Filters: filters, Paging: req.Paging()}
	found, err := view.Of(tenant).Invoices(ctx, filters.query, rows.Paging.Page, rows.Paging.PerPage)
	if err != nil {
		return err
	}
	rows.Paging.Total, rows.Truncated = found.Total, found.Truncated
	counts, err := view.Of(tenant).TabCounts(ctx)
	if err != nil {
		return err
	}
	rows.Tabs = newListTabs(filters, counts)
	if rows.Rows, err = readInvoiceRows(req, found.Entries); err != nil {
		return err
	}
	rows.Submittable = req.Session.Permissions.Has(access.Submit) &&
		slices.ContainsFunc(rows.Rows, func(r invoiceRow) bool { return r.Draft })
	count, err := req.Words.Messages.Plural("invoices.count", found.Total)
	if err != nil {
		return err
	}
	part, err := req.LivePart("invoices", "rows", rows, listPollInterval, count)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLiveBeside("invoices", part, "list-tabs", listTabs{Tabs: rows.Tabs, OutOfBand: true})
	}
	if filters.StateValues, err = view.Of(tenant).StateValues(ctx); err != nil {
		return err
	}
	exports := console.NewExportMenu("/invoices", filters.Values)
	exports.Items = true
	return req.Show(http.StatusOK, "invoices", "invoices.title", page.Layout{Section: "invoices", Export: exports,
		Body: invoicesPage{Filters: filters, Rows: part, Tabs: rows.listTabs,
			MayWrite: req.Session.Permissions.Has(access.Write), Currencies: currencyCodes(),
			Legend: []StateView{{}, {Value: "open"}, {Value: "final", Final: true}}, Meanings: api.Meanings[:]}})
}

// newListTabs returns the tabs of the list with their counts.
func newListTabs(filters invoiceFilters, counts map[view.Tab]view.TabCount) []listTab {
	all := invoiceFilters{Values: map[string]string{}}
	var out []listTab
	for _, tab := range view.Tabs {
		out = append(out, listTab{Name: cmp.Or(string(tab), "all"), Link: all.Link(console.TabParameter, string(tab)),
			Current: string(tab) == filters.Tab(), Count: page.Grouped(strconv.Itoa(counts[tab].Invoices)),
			Urgent: tab == view.TabAttention && counts[tab].Invoices > 0})
	}
	return out
}

// currencyCodes returns the codes of all currencies, in alphabetical order.
func currencyCodes() []string {
	var out []string
	for c := range codelist.Currencies().All() {
		if c.Code != "" {
			out = append(out, c.Code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readInvoiceRows returns the rows of a page. It reads the deliveries of all of them in one query.
func readInvoiceRows(req *console.Request, invoices []invoices.InvoiceRow) ([]invoiceRow, error) {
	var submissions []base.ID
	for _, i := range invoices {
		if i.Submission != nil {
			submissions = append(submissions, i.Submission.ID)
		}
	}
	summaries, err := view.Of(req.Session.Tenant).NotificationSummaries(req.R.Context(), submissions)
	if err != nil {
		return nil, err
	}
	if err := view.Of(req.Session.Tenant).AddNeeds(req.R.Context(), invoices, req.Seller(),
		func(int) error { return nil }); err != nil {
		return nil, err
	}
	rows := make([]invoiceRow, len(invoices))
	for n, i := range invoices {
		d := &i.Draft
		row := invoiceRow{ID: i.ID.String(), Number: console.Deref(d.InvoiceNumber),
			Recipient: console.Deref(d.RecipientName),
			IssueDate: console.Deref(d.IssueDate), Total: d.TotalAmount, Currency: console.Deref(d.Currency),
			UpdatedAt: i.UpdatedAt,
			Draft:     i.Submission == nil, States: StateViews(i.States())}
		if i.Submission != nil {
			summary := summaries[i.Submission.ID]
			row.Undelivered = summary.Failed + summary.Blocked
		} else {
			row.Missing = i.MissingCount
		}
		if row.Overall, err = overall(req.Words.Messages, OutcomeOf(i.Invoice), row.States); err != nil {
			return nil, err
		}
		rows[n] = row
	}
	return rows, nil
}

// OutcomeOf returns the outcome of an invoice's submission, or "draft".
func OutcomeOf(i invoices.Invoice) string {
	if i.Submission == nil {
		return "draft"
	}
	return string(i.Submission.Outcome)
}
