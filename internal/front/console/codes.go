package console

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"quittance/internal/document/codelist"
)

// UnitCodes is the name of the one list that is too long for a page. It is searched while the user types.
const UnitCodes = "units"

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
	"payment-means":       listed(codelist.PaymentMeans, plainEntry),
	"tax-categories":      listed(codelist.TaxCategories, plainEntry),
	"registration-types":  listed(codelist.LegalRegistrationTypes, plainEntry),
	"tax-exemptions":      listed(codelist.TaxExemptions, func(e codelist.TaxExemption) codelist.Entry { return e.Entry }),
	UnitCodes:             listed(codelist.Units, plainEntry),
	"tax-points":          listed(codelist.TaxPoints, plainEntry),
	"billing-frequencies": listed(codelist.BillingFrequencies, plainEntry),
	"supply-types":        listed(codelist.SupplyTypes, plainEntry),
	"document-types": listed(codelist.DocumentTypes, func(e codelist.Entry) codelist.Entry {
		if e.Name == "" {
			return codelist.Entry{} // one that hardly anybody uses
		}
		return e
	}),
	"allowance-reasons": listed(codelist.AllowanceReasons, plainEntry),
	"charge-reasons":    listed(codelist.ChargeReasons, plainEntry),
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

// CodeOption is one choice of a combobox.
type CodeOption struct {
	// Value is what the field gets, and Code is shown beside it.
	Value, Code string
}

// Options returns the choices for codes.
func (n *CodeNames) Options(codes []codelist.Entry) []CodeOption {
	out := make([]CodeOption, len(codes))
	for at, e := range codes {
		out[at] = CodeOption{Value: n.Show(e.Code), Code: e.Code}
	}
	return out
}

// suggestions are the codes that a field of the form suggests before anything is typed.
type suggestions struct {
	List  string
	Codes []CodeOption
}

// maxOffered is the number of codes of one list in a page. A longer list is searched while the user types.
const maxOffered = 300

// suggestedCodes returns the suggestions of every code list. They are the same in every form.
func suggestedCodes(names map[string]*CodeNames) []suggestions {
	var out []suggestions
	for _, list := range slices.Sorted(maps.Keys(names)) {
		n := names[list]
		most := maxOffered
		if list == UnitCodes {
			most = len(commonCodes[UnitCodes])
		}
		out = append(out, suggestions{List: list, Codes: n.Options(n.Find("", most))})
	}
	return out
}

// CodeName returns the name of a code of a list, or the code itself if it is unknown.
func (w *Words) CodeName(list, code string) string {
	return cmp.Or(w.Codes[list].Names[code], code)
}

// UnitName returns the name of a unit of measure after a formatted quantity, or its code if the unit is unknown. The
// official names are singular; the units that people use most have a plural in the messages.
func (w *Words) UnitName(quantity string, code *string) string {
	name := w.CodeName(UnitCodes, Deref(code))
	if strings.TrimPrefix(quantity, "-") == "1" {
		return name
	}
	return w.Messages.TextOr("plural.units."+Deref(code), name)
}
