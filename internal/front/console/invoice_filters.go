package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
)

// The parameters of the list of invoices in its address. Those that the API has too have its names.
const (
	searchParameter       = "q"
	tabParameter          = "tab"
	stageParameter        = "stage"
	issuedFromParameter   = "issue_date_from"
	issuedToParameter     = "issue_date_to"
	recipientParameter    = "recipient_name"
	amountFromParameter   = "amount_from"
	amountToParameter     = "amount_to"
	currencyParameter     = "currency"
	updatedSinceParameter = "updated_since"
	sortParameter         = "sort"
)

// stages lists the choices of the submission's stage in display order.
var stages = []string{"draft", "submitted", "in_progress", "acknowledged", "rejected", "resolved_rejected", "unknown"} //nolint:gochecknoglobals // a constant list

// panelParameters lists the parameters of the filter panel in display order, without the four dimensions.
var panelParameters = []string{issuedFromParameter, issuedToParameter, recipientParameter, amountFromParameter, amountToParameter, //nolint:gochecknoglobals // a constant list
	currencyParameter, stageParameter, updatedSinceParameter}

// sortOrders maps the values of the parameter sort to orders. A minus sign before one means descending.
var sortOrders = map[string]view.InvoiceOrder{ //nolint:gochecknoglobals // a constant table
	"created_at": view.OrderCreated, "invoice_number": view.OrderNumber, "recipient_name": view.OrderRecipient,
	"issue_date": view.OrderIssueDate, "total_amount": view.OrderTotal, "updated_at": view.OrderUpdated,
}

// The filter of a dimension is "none" for unreported states, or a state value. A value that begins with "is:" is the
// rest of it, so that any value can be chosen.
const (
	chosenNone  = "none"
	chosenValue = "is:"
)

// The longest search text and the longest filter value, in bytes. State values have up to 256 characters.
const (
	maxSearch      = 256
	maxChosenValue = len(chosenValue) + 256*utf8.UTFMax
)

// invoiceFilters holds the filters of the list as its address has them.
type invoiceFilters struct {
	// Values holds the valid parameters by name, without empty ones.
	Values map[string]string
	// Ignored lists the parameters, as name=value, that are unknown or invalid. The page says so.
	Ignored []string
	// StateValues holds the state values that can be selected.
	StateValues map[invoice.Dimension][]string
	query       view.InvoiceFilter
}

// listParameters are the parameters of any list, which are no filters.
var listParameters = []string{"page", "per", "seen", "announced", page.NoticeParameter} //nolint:gochecknoglobals // a constant list

// invoiceFilters reads the filters from the query.
func (req *request) invoiceFilters() invoiceFilters {
	f := invoiceFilters{query: view.InvoiceFilter{States: map[invoice.Dimension]string{}}}
	f.Values, f.Ignored = req.readFilters(f.set)
	return f
}

// readFilters returns the valid filters of a list in the query by name, and the others as name=value. People may type
// an address, so a parameter that is not known is no error; but it is never silently ignored. set reports whether a
// name and a value are valid.
func (req *request) readFilters(set func(name, value string) bool) (valid map[string]string, ignored []string) {
	valid = map[string]string{}
	query := req.R.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if slices.Contains(listParameters, name) {
			continue
		}
		value := strings.TrimSpace(query.Get(name))
		switch {
		case value == "":
		case storable(value) && set(name, value):
			valid[name] = value
		default:
			ignored = append(ignored, strings.ToValidUTF8(name+"="+value, "\uFFFD"))
		}
	}
	return valid, ignored
}

// set adds a filter, and reports whether its name and value are valid.
func (f *invoiceFilters) set(name, value string) bool {
	q := &f.query
	switch name {
	case searchParameter:
		return assign(&q.Search, value, len(value) <= maxSearch)
	case recipientParameter:
		return assign(&q.Recipient, value, len(value) <= maxSearch)
	case tabParameter:
		return assign(&q.Tab, view.Tab(value), slices.Contains(view.Tabs[:], view.Tab(value)))
	case stageParameter:
		return f.setStage(value)
	case sortParameter:
		name, descending := strings.CutPrefix(value, "-")
		order, known := sortOrders[name]
		return assign(&q.Order, order, known) && assign(&q.Ascending, !descending, true)
	case issuedFromParameter, issuedToParameter:
		return setIssueDate(&q.IssueDates, name, value)
	case updatedSinceParameter:
		var at time.Time
		return setDay(&at, value) && assign(&q.UpdatedSince, &at, true)
	case amountFromParameter:
		return setAmount(&q.AmountFrom, value)
	case amountToParameter:
		return setAmount(&q.AmountTo, value)
	case currencyParameter:
		_, known := codelist.Currencies().Lookup(value)
		return assign(&q.Currency, value, known)
	}
	return f.setState(name, value)
}

// assign sets a field of the filter if its value is valid, and reports whether it is.
func assign[T any](field *T, value T, valid bool) bool {
	if valid {
		*field = value
	}
	return valid
}

func isDate(value string) bool {
	_, err := time.Parse(time.DateOnly, value)
	return err == nil
}

// setAmount reads an amount, which may have grouped digits as the pages show them.
func setAmount(amount **api.Decimal, value string) bool {
	read, err := api.ParseDecimal(strings.NewReplacer(",", "", " ", "", "−", "-").Replace(value))
	return assign(amount, &read, err == nil)
}

// setStage selects the invoices of a stage of the submission.
func (f *invoiceFilters) setStage(stage string) bool {
	switch {
	case !slices.Contains(stages, stage):
		return false
	case stage == "draft" || stage == "submitted":
		f.query.Submitted = new(stage == "submitted")
	default:
		f.query.Outcome = new(api.Outcome(stage))
	}
	return true
}

// setState selects the invoices with a state value, or without one.
func (f *invoiceFilters) setState(name, value string) bool {
	dimension := invoice.Dimension(name)
	if !slices.Contains(invoice.Dimensions[:], dimension) || len(value) > maxChosenValue {
		return false
	}
	if value == chosenNone {
		f.query.Unreported = append(f.query.Unreported, dimension)
	} else {
		f.query.States[dimension] = strings.TrimPrefix(value, chosenValue)
	}
	return true
}

// storable reports whether a text can occur in the database.
func storable(text string) bool {
	return strings.ToValidUTF8(text, "") == text && !strings.ContainsRune(text, 0)
}

// Tab returns the name of the current tab.
func (f invoiceFilters) Tab() string { return f.Values[tabParameter] }

// Active reports whether anything but a tab narrows the list.
func (f invoiceFilters) Active() bool { return len(f.Chosen()) > 0 }

// InPanel returns the number of filters that are set in the panel.
func (f invoiceFilters) InPanel() int {
	n := 0
	for _, chosen := range f.Chosen() {
		if chosen.Name != searchParameter {
			n++
		}
	}
	return n
}

// Stages returns the stages that can be selected.
func (f invoiceFilters) Stages() []string { return stages }

// Link returns the address of the first page of the list with one parameter changed, or without it if the value is "".
func (f invoiceFilters) Link(name, value string) string {
	query := url.Values{}
	for known, given := range f.Values {
		query.Set(known, given)
	}
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	if len(query) == 0 {
		return "/invoices"
	}
	return "/invoices?" + query.Encode()
}

// Clear returns the address of the list with its tab and its order alone.
func (f invoiceFilters) Clear() string {
	kept := invoiceFilters{Values: map[string]string{}}
	for _, name := range []string{tabParameter, sortParameter} {
		if value, ok := f.Values[name]; ok {
			kept.Values[name] = value
		}
	}
	return kept.Link("", "")
}

// chosenFilter is one filter that is set.
type chosenFilter struct {
	// Name is the parameter, and Value its value without "is:". None stands for unreported states.
	Name, Value string
	None        bool
	// Remove is the address of the list without it.
	Remove string
}

// IsState reports whether the filter is one of a dimension.
func (f chosenFilter) IsState() bool {
	return slices.Contains(invoice.Dimensions[:], invoice.Dimension(f.Name))
}

// IsDate reports that the value is a date.
func (f chosenFilter) IsDate() bool {
	return f.Name == issuedFromParameter || f.Name == issuedToParameter || f.Name == updatedSinceParameter
}

// Label returns a state value as people write words.
func (f chosenFilter) Label() string { return stateView{Value: f.Value}.Label() }

// Chosen returns the filters that are set, in display order.
func (f invoiceFilters) Chosen() []chosenFilter {
	names := append([]string{searchParameter}, panelParameters...)
	for _, dimension := range invoice.Dimensions {
		names = append(names, string(dimension))
	}
	var out []chosenFilter
	for _, name := range names {
		if value, ok := f.Values[name]; ok {
			c := chosenFilter{Name: name, Value: value, Remove: f.Link(name, "")}
			if c.IsState() {
				c.None, c.Value = value == chosenNone, strings.TrimPrefix(value, chosenValue)
			}
			out = append(out, c)
		}
	}
	return out
}

// choice is the filter of one dimension.
type choice struct {
	Dimension string
	// Value is the selected value, with "is:" before a state value.
	Value   string
	Options []option
}

// option is one value that can be selected. None stands for unreported states.
type option struct {
	Value, Label string
	None         bool
}

// Choices returns the filters of the four dimensions. They include a selected value that the provider has not reported
// yet.
func (f invoiceFilters) Choices() []choice {
	out := make([]choice, 0, len(invoice.Dimensions))
	for _, dimension := range invoice.Dimensions {
		c := choice{Dimension: string(dimension), Value: f.Values[string(dimension)],
			Options: []option{{Value: chosenNone, None: true}}}
		values := f.StateValues[dimension]
		if c.Value != "" && c.Value != chosenNone {
			chosen := strings.TrimPrefix(c.Value, chosenValue)
			if c.Value = chosenValue + chosen; !slices.Contains(values, chosen) {
				values = append(slices.Clone(values), chosen)
			}
		}
		for _, v := range values {
			c.Options = append(c.Options, option{Value: chosenValue + v, Label: stateView{Value: v}.Label()})
		}
		out = append(out, c)
	}
	return out
}

// Hidden returns the parameters that the form of the filters keeps.
func (f invoiceFilters) Hidden() []chosenFilter {
	var out []chosenFilter
	for _, name := range []string{tabParameter, sortParameter} {
		if value, ok := f.Values[name]; ok {
			out = append(out, chosenFilter{Name: name, Value: value})
		}
	}
	return out
}

// sortColumn is the header of a column by which the list can be sorted.
type sortColumn struct {
	// Key is the value of the parameter without a sign.
	Key string
	// Direction is ascending, descending or "" if the list is not sorted by this column.
	Direction string
	// Link sorts by the column, or in the other direction.
	Link string
}

// Sort returns the header of a column. The first click sorts texts ascending, and amounts and dates descending.
func (f invoiceFilters) Sort(key string) sortColumn {
	current, descending := strings.CutPrefix(f.Values[sortParameter], "-")
	ascendingFirst := key == "invoice_number" || key == "recipient_name"
	c := sortColumn{Key: key}
	next := "-" + key
	if ascendingFirst {
		next = key
	}
	if current == key {
		c.Direction, next = "ascending", "-"+key
		if descending {
			c.Direction, next = "descending", key
		}
	}
	c.Link = f.Link(sortParameter, next)
	return c
}
