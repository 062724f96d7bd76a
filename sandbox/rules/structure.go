package rules

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"time"

	"quittance/internal/document/codelist"
)

// schemaText has a line for each kind of element: its children in their order, from the schemas of UBL 2.1. ! marks a
// child that is required and * one that may be repeated.
//
//go:embed schema.txt
var schemaText string

// contentType is what the schema says about the children of an element.
type contentType struct {
	place    map[string]int // by name
	repeated map[string]bool
	required []string
}

// contentTypes are the types of elements by name.
var contentTypes = sync.OnceValue(func() map[string]contentType { //nolint:gochecknoglobals // a constant table, read once
	types := map[string]contentType{}
	for line := range strings.Lines(schemaText) {
		name, children, _ := strings.Cut(line, ": ")
		t := contentType{place: map[string]int{}, repeated: map[string]bool{}}
		for place, child := range strings.Fields(children) {
			bare := strings.TrimRight(child, "!*")
			t.place[bare], t.repeated[bare] = place, strings.Contains(child, "*")
			if strings.Contains(child, "!") {
				t.required = append(t.required, bare)
			}
		}
		types[name] = t
	}
	return types
})

// schema checks the order and number of elements, and the form of numbers, as the schemas of UBL 2.1 do.
func (j *judge) schema() {
	j.root.each(func(e *element) {
		if t, ok := contentTypes()[e.name]; ok {
			j.children(e, t)
		}
		if isNumber(e.name) {
			if _, ok := decimal(e.value()); !ok && e.value() != "" {
				j.find(RuleXSD, e, "The text is not a decimal number of at most 40 digits.")
			}
		}
	})
}

// children checks the order and number of the children of an element.
func (j *judge) children(e *element, t contentType) {
	last, present := -1, map[string]bool{}
	for _, child := range e.children {
		place, known := t.place[child.name]
		switch {
		case !known:
			j.find(RuleXSD, child, "UBL has no such element here.")
			continue
		case place < last:
			j.find(RuleXSD, child, "The element is not in the order of the schema.")
		case present[child.name] && !t.repeated[child.name]:
			j.find(RuleXSD, child, "The element may not be repeated.")
		}
		last, present[child.name] = max(last, place), true
	}
	for _, name := range t.required {
		if !present[name] {
			j.find(RuleXSD, e, "The element lacks a child that the schema requires.")
		}
	}
}

// isNumber reports whether the schema gives elements of a name a number.
func isNumber(name string) bool {
	return strings.HasPrefix(name, "cbc:") && (strings.HasSuffix(name, "Amount") || strings.HasSuffix(name, "Quantity") ||
		strings.HasSuffix(name, "Rate") || name == "cbc:Percent")
}

var timeForm = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$`)

// structure checks what every document must have, that no element is empty, and the form of dates, times and
// currencies.
func (j *judge) structure() {
	r := j.root
	for _, needed := range []struct {
		path string
		rule rule
		text string
	}{
		{"cbc:ProfileID", rule{"ibr-076", "PEPPOL-EN16931-R001"}, "The document must name its business process."},
		{"cbc:ID", rule{"ibr-002", "BR-02"}, "The document needs a number."},
		{"cbc:IssueDate", rule{"ibr-003", "BR-03"}, "The document needs an issue date."},
		{"cbc:" + r.name + "TypeCode", rule{"ibr-004", "BR-04"}, "The document needs its type."},
		{"cbc:DocumentCurrencyCode", rule{"ibr-005", "BR-05"}, "The document needs a currency."},
	} {
		j.has(r, needed.path, needed.rule, needed.text)
	}
	j.check(len(r.lines()) > 0, r, rule{"ibr-016", "BR-16"}, "The document needs at least one line.")
	currency := r.get("cbc:DocumentCurrencyCode")
	j.check(currency == "" || codelist.Currencies().Accepts(currency, j.sets...),
		r.first("cbc:DocumentCurrencyCode").or(r),
		rule{"ibr-cl-04", "BR-CL-04"}, "The currency is not on the code list of the format.")
	r.each(func(e *element) {
		j.check(len(e.children) > 0 || e.value() != "", e, rule{"ibr-079", "PEPPOL-EN16931-R008"}, "The element is empty.")
		switch e.name {
		case "cbc:IssueDate", "cbc:DueDate", "cbc:TaxPointDate", "cbc:StartDate", "cbc:EndDate", "cbc:ActualDeliveryDate":
			_, err := time.Parse(time.DateOnly, e.text)
			j.check(err == nil, e, rule{"ibr-073", "PEPPOL-EN16931-F001"}, "The date must be written as YYYY-MM-DD.")
		case "cbc:IssueTime":
			j.check(timeForm.MatchString(e.text), e, rule{"ibr-119", RuleXSD}, "The time must be written as hh:mm:ss.")
		}
		if code := e.attribute("currencyID"); code != "" && code != currency && !j.accounting(e, code) {
			j.check(false, e, rule{"ibr-126", "PEPPOL-EN16931-R051"}, "The currency is not that of the document.")
		}
	})
}

// accounting reports whether an amount may have a currency other than that of the document: the tax in the currency of
// tax accounting.
func (j *judge) accounting(e *element, code string) bool {
	if j.profile == BIS3 {
		return e.name == "cbc:TaxAmount" && e.parent.name == "cac:TaxTotal" && code == j.root.get("cbc:TaxCurrencyCode")
	}
	if e.below("cac:ItemPriceExtension") {
		return true
	}
	for at := e.parent; at != nil; at = at.parent {
		if at.name == "cac:TaxTotal" {
			return at.first("cbc:TaxAmount").attribute("currencyID") != j.root.get("cbc:DocumentCurrencyCode")
		}
	}
	return false
}

// below reports whether the element is below one of a name, at most two levels.
func (e *element) below(name string) bool {
	return e.parent != nil && (e.parent.name == name || e.parent.parent != nil && e.parent.parent.name == name)
}

// The paths of the two parties.
const (
	sellerPath = "cac:AccountingSupplierParty/cac:Party"
	buyerPath  = "cac:AccountingCustomerParty/cac:Party"
)

// parties checks what both profiles require of seller and buyer.
func (j *judge) parties() {
	for _, rules := range []struct {
		path                                     string
		name, address, country, endpoint, scheme rule
	}{
		{sellerPath, rule{"ibr-006", "BR-06"}, rule{"ibr-008", "BR-08"}, rule{"ibr-009", "BR-09"},
			rule{"ibr-081", "PEPPOL-EN16931-R020"}, rule{"ibr-062", "BR-62"}},
		{buyerPath, rule{"ibr-007", "BR-07"}, rule{"ibr-010", "BR-10"}, rule{"ibr-011", "BR-11"},
			rule{"ibr-080", "PEPPOL-EN16931-R010"}, rule{"ibr-063", "BR-63"}},
	} {
		party := j.root.first(rules.path).or(j.root)
		j.has(party, "cac:PartyLegalEntity/cbc:RegistrationName", rules.name, "The party needs a legal name.")
		if address := party.first("cac:PostalAddress"); address == nil {
			j.check(false, party, rules.address, "The party needs an address.")
		} else if country := address.first("cac:Country/cbc:IdentificationCode"); country.value() == "" {
			j.check(false, address, rules.country, "The address of the party needs a country.")
		} else {
			j.check(codelist.Countries().Accepts(country.value(), j.sets...), country, rule{"ibr-cl-14", "BR-CL-14"},
				"The country is not on the code list of the format.")
		}
		j.has(party, "cbc:EndpointID", rules.endpoint, "The party needs an electronic address.")
		if endpoint := party.first("cbc:EndpointID"); endpoint != nil {
			scheme := endpoint.attribute("schemeID")
			j.check(scheme != "", endpoint, rules.scheme, "The electronic address needs its scheme.")
			j.check(scheme == "" || codelist.EndpointSchemes().Accepts(scheme, j.sets...), endpoint,
				rule{"ibr-cl-25", "BR-CL-25"}, "The scheme of the electronic address is not on the code list of the format.")
		}
	}
}
