package documents

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/view"
)

// The parameters of the list of invoices in its address. Those that the API has too have its names.
const (
	stageParameter      = "stage"
	recipientParameter  = "recipient_name"
	amountFromParameter = "amount_from"
	amountToParameter   = "amount_to"
	currencyParameter   = "currency"
	sortParameter       = "sort"
)

// stages lists the choices of the submission's stage in display order.
var stages = []string{"draft", "submitted", "in_progress", "acknowledged", "rejected", "resolved_rejected", "unknown"} //nolint:gochecknoglobals // a constant list

// panelParameters lists the parameters of the filter panel in display order, without the four dimensions.
var panelParameters = []string{console.IssuedFromParameter, console.IssuedToParameter, recipientParameter, amountFromParameter, amountToParameter, //nolint:gochecknoglobals // a constant list
	currencyParameter, stageParameter, console.UpdatedSinceParameter}

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

// maxChosenValue is the size in bytes of the longest filter value. State values have up to 256 characters.
const maxChosenValue = len(chosenValue) + 256*utf8.UTFMax

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

// readInvoiceFilters reads the filters from the query.
func readInvoiceFilters(req *console.Request) invoiceFilters {
	f := invoiceFilters{query: view.InvoiceFilter{States: map[invoice.Dimension]string{}}}
	f.Values, f.Ignored = req.ReadFilters(f.set)
	return f
}

// set adds a filter, and reports whether its name and value are valid.
func (f *invoiceFilters) set(name, value string) bool {
	q := &f.query
	switch name {
	case console.SearchParameter:
		return console.Assign(&q.Search, value, len(value) <= console.MaxSearch)
	case recipientParameter:
		return console.Assign(&q.Recipient, value, len(value) <= console.MaxSearch)
	case console.TabParameter:
		return console.Assign(&q.Tab, view.Tab(value), slices.Contains(view.Tabs[:], view.Tab(value)))
	case stageParameter:
		return f.setStage(value)
	case sortParameter:
		name, descending := strings.CutPrefix(value, "-")
		order, known := sortOrders[name]
		return console.Assign(&q.Order, order, known) && console.Assign(&q.Ascending, !descending, true)
	case console.IssuedFromParameter, console.IssuedToParameter:
		return console.SetIssueDate(&q.IssueDates, name, value)
	case console.UpdatedSinceParameter:
		var at time.Time
		return console.SetDay(&at, value) && console.Assign(&q.UpdatedSince, &at, true)
	case amountFromParameter:
		return setAmount(&q.AmountFrom, value)
	case amountToParameter:
		return setAmount(&q.AmountTo, value)
	case currencyParameter:
		_, known := codelist.Currencies().Lookup(value)
		return console.Assign(&q.Currency, value, known)
	}
	return f.setState(name, value)
}

// setAmount reads an amount, which may have grouped digits as the pages show them.
func setAmount(amount **api.Decimal, value string) bool {
	read, err := api.ParseDecimal(strings.NewReplacer(",", "", " ", "", "−", "-").Replace(value))
	return console.Assign(amount, &read, err == nil)
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

// Tab returns the name of the current tab.
func (f invoiceFilters) Tab() string { return f.Values[console.TabParameter] }

// Active reports whether anything but a tab narrows the list.
func (f invoiceFilters) Active() bool { return len(f.Chosen()) > 0 }

// InPanel returns the number of filters that are set in the panel.
func (f invoiceFilters) InPanel() int {
	n := 0
	for _, chosen := range f.Chosen() {
		if chosen.Name != console.SearchParameter {
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
	for _, name := range []string{console.TabParameter, sortParameter} {
		if value, ok := f.Values[name]; ok {
			kept.Values[name] = value
		}
	}
	return kept.Link("", "")
}

// chosenFilter is one filter that is set; a state is without "is:". None stands for unreported states.
type chosenFilter struct {
	console.ChosenFilter
	None bool
}

// IsState reports whether the filter is one of a dimension.
func (f chosenFilter) IsState() bool {
	return slices.Contains(invoice.Dimensions[:], invoice.Dimension(f.Name))
}

// Label returns a state value as people write words.
func (f chosenFilter) Label() string { return StateView{Value: f.Value}.Label() }

// Chosen returns the filters that are set, in display order.
func (f invoiceFilters) Chosen() []chosenFilter {
	names := append([]string{console.SearchParameter}, panelParameters...)
	for _, dimension := range invoice.Dimensions {
		names = append(names, string(dimension))
	}
	var out []chosenFilter
	for _, name := range names {
		if value, ok := f.Values[name]; ok {
			c := chosenFilter{ChosenFilter: console.ChosenFilter{Name: name, Value: value, Remove: f.Link(name, "")}}
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
			c.Options = append(c.Options, option{Value: chosenValue + v, Label: StateView{Value: v}.Label()})
		}
		out = append(out, c)
	}
	return out
}

// Hidden returns the parameters that the form of the filters keeps.
func (f invoiceFilters) Hidden() []console.ChosenFilter {
	var out []console.ChosenFilter
	for _, name := range []string{console.TabParameter, sortParameter} {
		if value, ok := f.Values[name]; ok {
			out = append(out, console.ChosenFilter{Name: name, Value: value})
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
