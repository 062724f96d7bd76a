package console

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
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

// listPace is how often a list asks what is new.
const listPollInterval = 3 * time.Second

// invoicesPage is what the list of invoices shows.
type invoicesPage struct {
	Filters invoiceFilters
	Rows    live
	Legend  []stateView
	// Meanings are what a colour says.
	Meanings []api.Meaning
}

// invoiceRows are the rows and where they stand.
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
	// Outcome is ours: draft, or that of the submission.
	Outcome string
	// Missing is how many fields a draft still needs.
	Missing int
	States  []stateView
	// Told is how the systems of the company were told.
	Webhooks store.NotificationSummary
}

// Draft tells that nothing is submitted, or nothing that still counts.
func (r invoiceRow) Draft() bool { return r.Outcome == "draft" }

func (req *request) listInvoices() error {
	ctx := req.r.Context()
	tenant := req.session.Tenant
	filters := req.invoiceFilters()
	paging := req.paging()
	found, err := tenant.Invoices(ctx, filters.filter(), paging.Page, paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := req.invoiceRows(found.Invoices)
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
		return req.answerLive("invoices", part)
	}
	if filters.StateValues, err = tenant.StateValues(ctx); err != nil {
		return err
	}
	title, err := req.pages.messages.text("invoices.title")
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "invoices", pageData{Title: title, Section: "invoices", Body: invoicesPage{Filters: filters, Rows: part,
		Legend: []stateView{{}, {Value: "open"}, {Value: "final", Final: true}}, Meanings: api.Meanings[:]}})
}

// invoiceRows makes the rows of a page: two queries for all of them.
func (req *request) invoiceRows(invoices []store.InvoiceRow) ([]invoiceRow, error) {
	var submissions []store.ID
	for _, i := range invoices {
		if i.Submission != nil {
			submissions = append(submissions, i.Submission.ID)
		}
	}
	told, err := req.session.Tenant.NotificationSummaries(req.r.Context(), submissions)
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
			row.Webhooks = told[i.Submission.ID]
		} else {
			row.Missing = i.MissingCount
		}
		rows[n] = row
	}
	return rows, nil
}

// outcomeOf is what we know of an invoice's submission; "draft" when there is none.
func outcomeOf(i store.Invoice) string {
	if i.Submission == nil {
		return "draft"
	}
	return string(i.Submission.Outcome)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// invoiceFilters are the filters of the list as they stand in the address.
type invoiceFilters struct {
	Search string
	// Stage is draft, submitted, or an outcome; "" for any.
	Stage string
	// States are the chosen words by dimension.
	States map[invoice.Dimension]string
	// Words are those that can be chosen.
	StateValues map[invoice.Dimension][]string
}

// A choice of a dimension is "none" for what is not reported, or this prefix and the provider's word.
const (
	chosenNone  = "none"
	chosenValue = "is:"
)

// stages are the choices of the stage, in the order in which they are shown.
var stages = []string{"draft", "submitted", "in_progress", "acknowledged", "rejected", "resolved_rejected", "unknown"} //nolint:gochecknoglobals // a constant list

// Stages are the stages that can be chosen.
func (f invoiceFilters) Stages() []string { return stages }

// choice is one dimension's filter as it is shown.
type choice struct {
	Dimension string
	// Value is what is chosen.
	Value   string
	Options []option
}

// option is one thing to choose; None marks that nothing was reported.
type option struct {
	Value, StateValue string
	None              bool
}

// Choices are the filters of the four dimensions. A word that is chosen can be chosen, whether the provider has said it
// yet or not.
func (f invoiceFilters) Choices() []choice {
	out := make([]choice, 0, len(invoice.Dimensions))
	for _, dimension := range invoice.Dimensions {
		c := choice{Dimension: string(dimension), Value: f.States[dimension], Options: []option{{Value: chosenNone, None: true}}}
		words := f.StateValues[dimension]
		if word, ok := strings.CutPrefix(c.Value, chosenValue); ok && !slices.Contains(words, word) {
			words = append(slices.Clone(words), word)
		}
		for _, word := range words {
			c.Options = append(c.Options, option{Value: chosenValue + word, StateValue: word})
		}
		out = append(out, c)
	}
	return out
}

// The longest text that is searched for, and the longest choice of a word, in bytes: words have up to 256 characters.
const (
	maxSearch      = 256
	maxChosenValue = len(chosenValue) + 256*utf8.UTFMax
)

// search is the text that a list is searched for. What cannot be looked for is left out: an address may be typed.
func (req *request) search() string {
	if text := strings.TrimSpace(req.r.URL.Query().Get("q")); storable(text) && len(text) <= maxSearch {
		return text
	}
	return ""
}

// invoiceFilters reads the filters. What is no choice is left out: an address may be typed.
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

// storable tells whether a text can be compared with one in the database.
func storable(text string) bool {
	return strings.ToValidUTF8(text, "") == text && !strings.ContainsRune(text, 0)
}

// Active tells whether anything is filtered.
func (f invoiceFilters) Active() bool { return f.Search != "" || f.Stage != "" || len(f.States) > 0 }

// filter is what the store is asked.
func (f invoiceFilters) filter() store.InvoiceFilter {
	out := store.InvoiceFilter{Search: f.Search, States: map[invoice.Dimension]string{}}
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
		switch word, is := strings.CutPrefix(value, chosenValue); {
		case !ok:
		case is:
			out.States[dimension] = word
		default:
			out.Unreported = append(out.Unreported, dimension)
		}
	}
	return out
}
