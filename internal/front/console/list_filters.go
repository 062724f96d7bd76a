package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"quittance/internal/front/page"
	"quittance/internal/front/view"
)

// The parameters of lists in their addresses. Those that the API has too have its names.
const (
	SearchParameter       = "q"
	TabParameter          = "tab"
	StateParameter        = "state"
	IssuedFromParameter   = "issue_date_from"
	IssuedToParameter     = "issue_date_to"
	UpdatedSinceParameter = "updated_since"
)

// MaxSearch is the size in bytes of the longest search text.
const MaxSearch = 256

// listParameters are the parameters of any list, which are no filters.
var listParameters = []string{"page", "per", "seen", "announced", page.NoticeParameter} //nolint:gochecknoglobals // a constant list

// ListFilters holds the filters of a list of documents as its address has them.
type ListFilters struct {
	// Path is the address of the list.
	Path string
	// Names are the parameters of the filters in display order. A parameter that is not among them, such as the invoice of
	// credit notes, selects another list.
	Names []string
	// Values holds the valid parameters by name, without empty ones.
	Values map[string]string
	// Ignored lists the parameters, as name=value, that are unknown or invalid. The page says so.
	Ignored []string
}

// Active reports whether a filter is set.
func (f ListFilters) Active() bool { return len(f.Chosen()) > 0 }

// InPanel returns the number of filters that are set in the panel.
func (f ListFilters) InPanel() int {
	n := len(f.Chosen())
	if f.Values[SearchParameter] != "" {
		n--
	}
	return n
}

// Chosen returns the filters that are set, in display order.
func (f ListFilters) Chosen() []ChosenFilter {
	var out []ChosenFilter
	for _, name := range f.Names {
		if value, ok := f.Values[name]; ok {
			out = append(out, ChosenFilter{Name: name, Value: value, Remove: f.without(name)})
		}
	}
	return out
}

// Clear returns the address of the list without its filters.
func (f ListFilters) Clear() string { return f.without(f.Names...) }

// without returns the address of the first page of the list without some parameters.
func (f ListFilters) without(names ...string) string {
	query := url.Values{}
	for name, value := range f.Values {
		if !slices.Contains(names, name) {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return f.Path
	}
	return f.Path + "?" + query.Encode()
}

// SetIssueDate sets the bound of the issue date that a parameter names, and reports whether it names one and the value
// is a date.
func SetIssueDate(dates *view.IssueDates, name, value string) bool {
	switch name {
	case IssuedFromParameter:
		return Assign(&dates.IssuedFrom, value, isDate(value))
	case IssuedToParameter:
		return Assign(&dates.IssuedTo, value, isDate(value))
	}
	return false
}

// SetDay sets a time to the beginning of a day, UTC, and reports whether the value is a date.
func SetDay(at *time.Time, value string) bool {
	read, err := time.Parse(time.DateOnly, value)
	return Assign(at, read, err == nil)
}

// ReadFilters returns the valid filters of a list in the query by name, and the others as name=value. People may type
// an address, so a parameter that is not known is no error; but it is never silently ignored. set reports whether a
// name and a value are valid.
func (req *Request) ReadFilters(set func(name, value string) bool) (valid map[string]string, ignored []string) {
	valid = map[string]string{}
	query := req.R.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if slices.Contains(listParameters, name) {
			continue
		}
		value := strings.TrimSpace(query.Get(name))
		switch {
		case value == "":
		case Storable(value) && set(name, value):
			valid[name] = value
		default:
			ignored = append(ignored, strings.ToValidUTF8(name+"="+value, "\uFFFD"))
		}
	}
	return valid, ignored
}

// Assign sets a field of the filter if its value is valid, and reports whether it is.
func Assign[T any](field *T, value T, valid bool) bool {
	if valid {
		*field = value
	}
	return valid
}

func isDate(value string) bool {
	_, err := time.Parse(time.DateOnly, value)
	return err == nil
}

// Storable reports whether a text can occur in the database.
func Storable(text string) bool {
	return strings.ToValidUTF8(text, "") == text && !strings.ContainsRune(text, 0)
}

// ChosenFilter is one filter that is set.
type ChosenFilter struct {
	// Name is the parameter, and Value its value.
	Name, Value string
	// Remove is the address of the list without it.
	Remove string
}

// IsDate reports that the value is a date.
func (f ChosenFilter) IsDate() bool {
	return f.Name == IssuedFromParameter || f.Name == IssuedToParameter || f.Name == UpdatedSinceParameter
}
