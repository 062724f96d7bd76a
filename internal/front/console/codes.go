package console

import (
	"cmp"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/front/page"
	"quittance/internal/platform/problem"
)

// unitCodes is the name of the one list that is too long for a page. It is searched while the user types.
const unitCodes = "units"

// codeLists holds the code lists by the names of their pages.
var codeLists = map[string]codeList{ //nolint:gochecknoglobals // a constant table
	"currencies": listed(codelist.Currencies, func(c codelist.Currency) codelist.Entry { return c.Entry }),
	"countries":  listed(codelist.Countries, plainEntry),
	"emirates":   listed(codelist.Emirates, func(e codelist.Emirate) codelist.Entry { return e.Entry }),
	"endpoint-schemes": listed(codelist.EndpointSchemes, func(s codelist.EndpointScheme) codelist.Entry {
		if !s.Active {
			return codelist.Entry{} // not for new data
		}
		return s.Entry
	}),
	"payment-means":      listed(codelist.PaymentMeans, plainEntry),
	"tax-categories":     listed(codelist.TaxCategories, plainEntry),
	"registration-types": listed(codelist.LegalRegistrationTypes, plainEntry),
	"tax-exemptions":     listed(codelist.TaxExemptions, func(e codelist.TaxExemption) codelist.Entry { return e.Entry }),
	unitCodes:            listed(codelist.Units, plainEntry),
}

func plainEntry(e codelist.Entry) codelist.Entry { return e }

// codeList gives access to a code list.
type codeList struct {
	all func() iter.Seq[codelist.Entry]
	// name returns the name of a code, or "" for an unknown code.
	name func(code string) string
}

// listed returns a codeList of an official list. It leaves out entries without a code.
func listed[T any](list func() *codelist.List[T], entry func(T) codelist.Entry) codeList {
	return codeList{
		all: func() iter.Seq[codelist.Entry] {
			return func(yield func(codelist.Entry) bool) {
				for row := range list().All() {
					if e := entry(row); e.Code != "" && !yield(e) {
						return
					}
				}
			}
		},
		name: func(code string) string {
			row, _ := list().Lookup(code)
			return entry(row).Name
		},
	}
}

// codeOption is one choice of a combobox.
type codeOption struct {
	// Value is what the field gets, and Code is shown beside it.
	Value, Code string
}

// options returns the choices for codes.
func (n *codeNames) options(codes []codelist.Entry) []codeOption {
	out := make([]codeOption, len(codes))
	for at, e := range codes {
		out[at] = codeOption{Value: n.show(e.Code), Code: e.Code}
	}
	return out
}

// suggestions are the codes that a field of the form suggests before anything is typed.
type suggestions struct {
	List  string
	Codes []codeOption
}

// maxOffered is the number of codes of one list in a page. A longer list is searched while the user types.
const maxOffered = 300

// suggestedCodes returns the suggestions of every code list. They are the same in every form.
func suggestedCodes(names map[string]*codeNames) []suggestions {
	var out []suggestions
	for _, list := range slices.Sorted(maps.Keys(names)) {
		n := names[list]
		most := maxOffered
		if list == unitCodes {
			most = len(commonCodes[unitCodes])
		}
		out = append(out, suggestions{List: list, Codes: n.options(n.find("", most))})
	}
	return out
}

// The maximum number of codes that a form suggests for some input, and that the page of a list shows.
const (
	maxSuggestedCodes = 40
	maxListedCodes    = 500
)

// codesPage is the view model of the page of a code list.
type codesPage struct {
	List, Search string
	Codes        []codelist.Entry
	// Cut reports that there are more.
	Cut bool
}

// showCodes shows the codes of a list that match a text, or suggests them to the field in which the user types.
func (req *request) showCodes() error {
	name := req.Values["list"]
	list, known := req.words.codes[name]
	if !known {
		return problem.For(api.CodeNotFound)
	}
	query := req.R.URL.Query()
	p := codesPage{List: name, Search: query.Get("q")}
	if !storable(p.Search) || len(p.Search) > maxSearch {
		p.Search = ""
	}
	if req.IsFragment() {
		return req.part("codes", "options", list.options(list.find(p.Search, maxSuggestedCodes)))
	}
	p.Codes = list.find(p.Search, maxListedCodes+1)
	if p.Cut = len(p.Codes) > maxListedCodes; p.Cut {
		p.Codes = p.Codes[:maxListedCodes]
	}
	return req.Show(http.StatusOK, "codes", "codes."+name, page.Layout{Section: "invoices", Body: p})
}

// codeName returns the name of a code of a list, or the code itself if it is unknown.
func (w *words) codeName(list, code string) string {
	return cmp.Or(w.codes[list].names[code], code)
}

// unitName returns the name of a unit of measure after a formatted quantity, or its code if the unit is unknown. The
// official names are singular; the units that people use most have a plural in the messages.
func (w *words) unitName(quantity string, code *string) string {
	name := w.codeName(unitCodes, deref(code))
	if strings.TrimPrefix(quantity, "-") == "1" {
		return name
	}
	return w.messages.TextOr("plural.units."+deref(code), name)
}
