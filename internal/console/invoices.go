package console

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

func invoiceRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/invoices", serve: (*request).listInvoices},
		{method: http.MethodGet, path: "/invoices/{invoice}", serve: (*request).showInvoice},
		{method: http.MethodPost, path: "/invoices/{invoice}/submit", serve: (*request).submit},
		{method: http.MethodPost, path: "/invoices/{invoice}/delete", serve: (*request).deleteDraft},
		{method: http.MethodGet, path: "/evidence/{evidence}", serve: (*request).downloadEvidence},
	}
}

// listPollInterval is the poll interval of lists.
const listPollInterval = 3 * time.Second

// invoicesPage is the view model of the list of invoices.
type invoicesPage struct {
	Filters invoiceFilters
	Rows    live
	Legend  []stateView
	// Meanings are the published meanings, for the legend of the colours.
	Meanings []api.Meaning
}

// invoiceRows is a page of the list.
type invoiceRows struct {
	Rows       []invoiceRow
	Dimensions []invoice.Dimension
	Paging     paging
	Filtered   bool
}

// invoiceRow is one invoice in the list.
type invoiceRow struct {
	ID               string
	Number           string
	Recipient        string
	IssueDate, Total string
	Currency         string
	// Outcome is the outcome of the submission, or "draft".
	Outcome string
	// Missing is the number of fields that a draft still needs.
	Missing int
	States  []stateView
	// Webhooks summarizes the webhook deliveries.
	Webhooks view.NotificationSummary
}

// Draft reports that there is no submission that still counts.
func (r invoiceRow) Draft() bool { return r.Outcome == "draft" }

func (req *request) listInvoices() error {
	ctx := req.r.Context()
	tenant := req.session.Tenant
	filters := req.invoiceFilters()
	paging := req.paging()
	found, err := view.Of(tenant).Invoices(ctx, filters.filter(), paging.Page, paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := req.invoiceRows(found.Entries)
	if err != nil {
		return err
	}
	count, err := req.pages.messages.plural("invoices.count", found.Total)
	if err != nil {
		return err
	}
	part, err := req.livePart("invoices", "rows", invoiceRows{Rows: rows, Dimensions: invoice.Dimensions[:], Paging: paging, Filtered: filters.Active()}, listPollInterval, count)
	if err != nil {
		return err
	}
	if req.isFragment() {
		return req.respondLive("invoices", part)
	}
	if filters.StateValues, err = view.Of(tenant).StateValues(ctx); err != nil {
		return err
	}
	title, err := req.pages.messages.text("invoices.title")
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "invoices", pageData{Title: title, Section: "invoices", Body: invoicesPage{Filters: filters, Rows: part,
		Legend: []stateView{{}, {Value: "open"}, {Value: "final", Final: true}}, Meanings: api.Meanings[:]}})
}

// invoiceRows returns the rows of a page. It reads the deliveries of all of them in one query.
func (req *request) invoiceRows(invoices []store.InvoiceRow) ([]invoiceRow, error) {
	var submissions []store.ID
	for _, i := range invoices {
		if i.Submission != nil {
			submissions = append(submissions, i.Submission.ID)
		}
	}
	summaries, err := view.Of(req.session.Tenant).NotificationSummaries(req.r.Context(), submissions)
	if err != nil {
		return nil, err
	}
	rows := make([]invoiceRow, len(invoices))
	for n, i := range invoices {
		d := &i.Draft
		row := invoiceRow{ID: i.ID.String(), Number: deref(d.InvoiceNumber), Recipient: deref(d.RecipientName),
			IssueDate: deref(d.IssueDate), Currency: deref(d.Currency), Outcome: outcomeOf(i.Invoice), States: stateViews(i.States())}
		if d.TotalAmount != nil {
			row.Total = grouped(d.TotalAmount.String())
		}
		if i.Submission != nil {
			row.Webhooks = summaries[i.Submission.ID]
		} else {
			row.Missing = i.MissingCount
		}
		rows[n] = row
	}
	return rows, nil
}

// outcomeOf returns the outcome of an invoice's submission, or "draft".
func outcomeOf(i store.Invoice) string {
	if i.Submission == nil {
		return "draft"
	}
	return string(i.Submission.Outcome)
}

// deref returns the text, or "" for nil.
func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// invoiceFilters holds the filters of the list.
type invoiceFilters struct {
	Search string
	// Stage is draft, submitted or an outcome, or "" for all.
	Stage string
	// States holds the selected values by dimension.
	States map[invoice.Dimension]string
	// StateValues holds the values that can be selected.
	StateValues map[invoice.Dimension][]string
}

// The filter of a dimension is "none" for unreported states, or this prefix and a state value.
const (
	chosenNone  = "none"
	chosenValue = "is:"
)

// stages lists the choices of the stage in display order.
var stages = []string{"draft", "submitted", "in_progress", "acknowledged", "rejected", "resolved_rejected", "unknown"} //nolint:gochecknoglobals // a constant list

// Stages returns the stages that can be selected.
func (f invoiceFilters) Stages() []string { return stages }

// choice is the filter of one dimension.
type choice struct {
	Dimension string
	// Value is the selected value.
	Value   string
	Options []option
}

// option is one value that can be selected. None stands for unreported states.
type option struct {
	Value, StateValue string
	None              bool
}

// Choices returns the filters of the four dimensions. They include a selected value that the provider has not reported yet.
func (f invoiceFilters) Choices() []choice {
	out := make([]choice, 0, len(invoice.Dimensions))
	for _, dimension := range invoice.Dimensions {
		c := choice{Dimension: string(dimension), Value: f.States[dimension], Options: []option{{Value: chosenNone, None: true}}}
		values := f.StateValues[dimension]
		if chosen, ok := strings.CutPrefix(c.Value, chosenValue); ok && !slices.Contains(values, chosen) {
			values = append(slices.Clone(values), chosen)
		}
		for _, v := range values {
			c.Options = append(c.Options, option{Value: chosenValue + v, StateValue: v})
		}
		out = append(out, c)
	}
	return out
}

// The longest search text and the longest filter value, in bytes. State values have up to 256 characters.
const (
	maxSearch      = 256
	maxChosenValue = len(chosenValue) + 256*utf8.UTFMax
)

// search reads the search text from the query. It ignores invalid texts, because people may type an address.
func (req *request) search() string {
	if text := strings.TrimSpace(req.r.URL.Query().Get("q")); storable(text) && len(text) <= maxSearch {
		return text
	}
	return ""
}

// invoiceFilters reads the filters from the query. It ignores invalid values, because people may type an address.
func (req *request) invoiceFilters() invoiceFilters {
	query := req.r.URL.Query()
	f := invoiceFilters{Search: req.search(), States: map[invoice.Dimension]string{}}
	if stage := query.Get("stage"); slices.Contains(stages, stage) {
		f.Stage = stage
	}
	for _, dimension := range invoice.Dimensions {
		value := query.Get(string(dimension))
		if value == chosenNone || strings.HasPrefix(value, chosenValue) && storable(value) && len(value) <= maxChosenValue {
			f.States[dimension] = value
		}
	}
	return f
}

// storable reports whether a text can occur in the database.
func storable(text string) bool {
	return strings.ToValidUTF8(text, "") == text && !strings.ContainsRune(text, 0)
}

// Active reports whether any filter is set.
func (f invoiceFilters) Active() bool { return f.Search != "" || f.Stage != "" || len(f.States) > 0 }

// filter returns the filter of the store.
func (f invoiceFilters) filter() view.InvoiceFilter {
	out := view.InvoiceFilter{Search: f.Search, States: map[invoice.Dimension]string{}}
	switch f.Stage {
	case "":
	case "draft":
		out.Submitted = new(false)
	case "submitted":
		out.Submitted = new(true)
	default:
		out.Outcome = new(api.Outcome(f.Stage))
	}
	for _, dimension := range invoice.Dimensions {
		value, ok := f.States[dimension]
		switch chosen, is := strings.CutPrefix(value, chosenValue); {
		case !ok:
		case is:
			out.States[dimension] = chosen
		default:
			out.Unreported = append(out.Unreported, dimension)
		}
	}
	return out
}
