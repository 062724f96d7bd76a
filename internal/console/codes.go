package console

import (
	"cmp"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"quittance/internal/codelist"
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
	"payment-means":  listed(codelist.PaymentMeans, plainEntry),
	"tax-categories": listed(codelist.TaxCategories, plainEntry),
	unitCodes:        listed(codelist.Units, plainEntry),
}

// commonUnits lists the units that are suggested before anything is typed.
var commonUnits = []string{"C62", "HUR", "DAY", "WEE", "MON", "ANN", "EA", "SET", "PR", "KGM", "GRM", "TNE", "LTR", "MTR", "KMT", "MTK", "MTQ", "KWH", "MIN", "XBX", "XPK", "E48", "LS"} //nolint:gochecknoglobals // a constant list

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

// find returns at most the given number of entries whose code begins with a text or whose name contains it, ignoring case.
// Exact matches come first, then codes, then names that begin with the text. An empty text matches all entries.
func (l codeList) find(text string, most int) []codelist.Entry {
	requested := strings.ToLower(strings.TrimSpace(text))
	var ranks [4][]codelist.Entry
	for e := range l.all() {
		code, name := strings.ToLower(e.Code), strings.ToLower(e.Name)
		rank := -1
		switch {
		case code == requested || name == requested:
			rank = 0
		case strings.HasPrefix(code, requested):
			rank = 1
		case strings.HasPrefix(name, requested):
			rank = 2
		case strings.Contains(name, requested):
			rank = 3
		}
		if rank >= 0 {
			ranks[rank] = append(ranks[rank], e)
		}
	}
	found := slices.Concat(ranks[:]...)
	return found[:min(len(found), most)]
}

// offered returns the codes that a form suggests before anything is typed.
func offered() map[string][]codelist.Entry {
	out := map[string][]codelist.Entry{}
	for name, list := range codeLists {
		if name != unitCodes {
			out[name] = list.find("", 1<<10)
			continue
		}
		for _, code := range commonUnits {
			out[name] = append(out[name], codelist.Entry{Code: code, Name: list.name(code)})
		}
	}
	return out
}

// suggestions are the codes that a field of the form suggests before anything is typed.
type suggestions struct {
	List  string
	Codes []codelist.Entry
}

// suggestedCodes returns the suggestions of every code list. They are the same in every form.
var suggestedCodes = sync.OnceValue(func() []suggestions { //nolint:gochecknoglobals // computed once, from constants
	var out []suggestions
	codes := offered()
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		out = append(out, suggestions{List: name, Codes: codes[name]})
	}
	return out
})

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
	name := req.values["list"]
	list, known := codeLists[name]
	if !known {
		return &problem{status: http.StatusNotFound}
	}
	query := req.r.URL.Query()
	p := codesPage{List: name, Search: cmp.Or(query.Get("q"), query.Get(itemPrefix+"unit_code"))}
	if !storable(p.Search) || len(p.Search) > maxSearch {
		p.Search = ""
	}
	if req.isFragment() {
		p.Codes = list.find(p.Search, maxSuggestedCodes)
		return req.part("codes", "options", p.Codes)
	}
	p.Codes = list.find(p.Search, maxListedCodes+1)
	if p.Cut = len(p.Codes) > maxListedCodes; p.Cut {
		p.Codes = p.Codes[:maxListedCodes]
	}
	title, err := req.pages.messages.text("codes." + name)
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "codes", pageData{Title: title, Section: "invoices", Body: p})
}

// unitName returns the name of a unit of measure, or its code if the unit is unknown.
func unitName(code *string) string {
	return cmp.Or(codeLists[unitCodes].name(deref(code)), deref(code))
}
