package console

import (
	"net/url"
	"slices"
	"time"

	"quittance/internal/front/view"
)

// listFilters holds the filters of a list of documents as its address has them.
type listFilters struct {
	// path is the address of the list.
	path string
	// names are the parameters of the filters in display order. A parameter that is not among them, such as the invoice of
	// credit notes, selects another list.
	names []string
	// Values holds the valid parameters by name, without empty ones.
	Values map[string]string
	// Ignored lists the parameters, as name=value, that are unknown or invalid. The page says so.
	Ignored []string
}

// Active reports whether a filter is set.
func (f listFilters) Active() bool { return len(f.Chosen()) > 0 }

// InPanel returns the number of filters that are set in the panel.
func (f listFilters) InPanel() int {
	n := len(f.Chosen())
	if f.Values[searchParameter] != "" {
		n--
	}
	return n
}

// Chosen returns the filters that are set, in display order.
func (f listFilters) Chosen() []chosenFilter {
	var out []chosenFilter
	for _, name := range f.names {
		if value, ok := f.Values[name]; ok {
			out = append(out, chosenFilter{Name: name, Value: value, Remove: f.without(name)})
		}
	}
	return out
}

// Clear returns the address of the list without its filters.
func (f listFilters) Clear() string { return f.without(f.names...) }

// without returns the address of the first page of the list without some parameters.
func (f listFilters) without(names ...string) string {
	query := url.Values{}
	for name, value := range f.Values {
		if !slices.Contains(names, name) {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return f.path
	}
	return f.path + "?" + query.Encode()
}

// setIssueDate sets the bound of the issue date that a parameter names, and reports whether it names one and the value
// is a date.
func setIssueDate(dates *view.IssueDates, name, value string) bool {
	switch name {
	case issuedFromParameter:
		return assign(&dates.IssuedFrom, value, isDate(value))
	case issuedToParameter:
		return assign(&dates.IssuedTo, value, isDate(value))
	}
	return false
}

// setDay sets a time to the beginning of a day, UTC, and reports whether the value is a date.
func setDay(at *time.Time, value string) bool {
	read, err := time.Parse(time.DateOnly, value)
	return assign(at, read, err == nil)
}
