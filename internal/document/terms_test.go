package document_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/document/tabular"
	"quittance/internal/document/ubl"
)

// termsFile is the reference of all fields with their terms and elements.
const termsFile = "../../docs/terms.md"

// TestTerms compares docs/terms.md with what the model says: the tags of the API, the elements in which package
// document writes a value of its own for each field, and the names under which package ubl reads it again. -update
// writes it.
func TestTerms(t *testing.T) {
	got := terms(t)
	if *update {
		writeFile(t, termsFile, []byte(got))
	}
	want, err := os.ReadFile(termsFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not current: go test -run TestTerms -update\n%s", termsFile, firstDifference(string(want), got))
	}
}

// termOf matches the business terms in the description of a field.
var termOf = regexp.MustCompile(`\b(I?BT|BG|BTAE)-[0-9]+(-[0-9])?`)

// withoutTerm are the fields that have no business term: what means something to the company alone.
const withoutTerm = " external_id seller.currency seller.logo "

// terms returns the reference.
func terms(t *testing.T) string {
	t.Helper()
	places := map[document.Profile]map[string]string{} // the elements by the names of fields
	parsed, parsedAt := map[string]string{}, map[string]string{}
	for _, p := range document.Profiles {
		values := map[string]string{}
		d, seller := &api.Draft{Items: make([]api.Item, 2), Allowances: make([]api.Allowance, 1),
			PrecedingInvoices: make([]api.PrecedingInvoice, 1)}, &api.Profile{}
		d.Items[0].Allowances, d.Items[0].Attributes = make([]api.LineAllowance, 1), make([]api.Attribute, 1)
		distinct(d, p, "", values)
		distinct(&d.Items[0], p, "items.", values)
		distinct(&d.Allowances[0], p, "allowances.", values)
		distinct(&d.PrecedingInvoices[0], p, "preceding_invoices.", values)
		distinct(&d.Items[0].Attributes[0], p, "items.attributes.", values)
		distinct(&d.Items[0].Allowances[0], p, "items.allowances.", values)
		distinct(seller, p, "seller.", values)
		d.Items[1] = d.Items[0]
		d.Items[1].VATCategory = new("S") // which has a rate
		text := document.Draw(p, document.Document{ID: "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90", Draft: d, Seller: seller})
		elements := elementsOf(t, text)
		read, err := ubl.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		clear(parsed)
		parsedOf(t, parsed, read.ParsedDocument)
		places[p] = map[string]string{}
		for name, value := range values {
			if value == "" {
				continue
			}
			places[p][name] = elements[value]
			if parsed[value] != "" {
				parsedAt[name] = parsed[value]
			}
		}
	}
	columns := map[string]string{}
	for _, c := range tabular.Columns() {
		path := c.Member
		if c.Item {
			path = "items." + path
		}
		columns[path] = c.Name
	}
	var out strings.Builder
	out.WriteString(termsIntroduction)
	for _, part := range []struct {
		title, prefix string
		fields        []termField
	}{{"Invoice", "", termFields[api.Draft]()}, {"Allowance or charge on the invoice", "allowances.",
		termFields[api.Allowance]()}, {"Preceding invoice", "preceding_invoices.", termFields[api.PrecedingInvoice]()},
		{"Line", "items.", termFields[api.Item]()},
		{"Allowance or charge on the line", "items.allowances.", termFields[api.LineAllowance]()},
		{"Attribute of the item", "items.attributes.", termFields[api.Attribute]()},
		{"Company profile", "seller.", termFields[api.Profile]()}} {
		fmt.Fprintf(&out, "\n## %s\n\n| Field | Term | Element | Format | `parsed` | Import |\n|---|---|---|---|---|---|\n",
			part.title)
		for _, field := range part.fields {
			name := part.prefix + field.name
			term := strings.Join(slices.Compact(termOf.FindAllString(field.doc, -1)), ", ")
			if term == "" && !strings.Contains(withoutTerm, " "+name+" ") {
				t.Errorf("the description of %s does not name its term", name)
			}
			element, format := elementOf(places[document.PINTAE][name], places[document.BIS3][name])
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", strings.TrimPrefix(name, "seller."), term, element, format,
				code(parsedAt[name]), code(columns[name]))
		}
	}
	return out.String()
}

// elementOf returns the element of a field, and the formats that have it.
func elementOf(emirati, union string) (element, format string) {
	switch {
	case emirati == union && union == "":
		return "–", "–"
	case emirati == union:
		return code(emirati), "both"
	case union == "":
		return code(emirati), "`pint-ae`"
	case emirati == "":
		return code(union), "`bis3`"
	}
	return code(emirati) + ", " + code(union), "`pint-ae`, `bis3`"
}

// code returns a name as code, and a dash for none.
func code(name string) string {
	if name == "" {
		return "–"
	}
	return "`" + name + "`"
}

// fixed are values that decide about the place of others.
func fixed(p document.Profile) map[string]string {
	kinds := map[document.Profile][2]string{document.PINTAE: {"TL", "PAS"}, document.BIS3: {"0060", "0007"}}[p]
	return map[string]string{"currency": "USD", "payment_means_code": "30", "items.vat_category": "E",
		"buyer_legal_id_scheme": kinds[0], "seller.legal_registration_type": kinds[1], "items.commodity_scheme": "HS",
		"issue_date": "2001-01-01", "due_date": "2002-01-01", "tax_point_date": "2003-01-01", "issue_time": "01:23",
		"tax_point_code": "432", "tax_currency": map[document.Profile]string{document.PINTAE: "AED", document.BIS3: "EUR"}[p],
		"preceding_invoices.issue_date": "2009-01-01", "allowances.vat_category": "AE",
		"period.start": "2004-01-01", "period.end": "2005-01-01", "delivery.date": "2006-01-01",
		"items.period.start": "2007-01-01", "items.period.end": "2008-01-01",
		"seller.currency": "", "seller.buyer_reference": "", "seller.logo": ""}
}

// termField is a field with its description.
type termField struct{ name, doc string }

func termFields[T any]() (out []termField) {
	for _, field := range invoice.FieldsOf[T]() {
		out = append(out, termField{field.Name, field.Tag.Get("doc")})
	}
	return out
}

// distinct gives every field of a struct a value of its own, and adds the values by field.
func distinct[T any](of *T, p document.Profile, prefix string, values map[string]string) {
	for _, field := range invoice.FieldsOf[T]() {
		name := prefix + field.Name
		value, known := fixed(p)[name]
		if field.Number {
			value = fmt.Sprintf("%d.25", 1000+len(values))
			*field.Pointer(of).(**api.Decimal) = new(api.MustDecimal(value))
		} else {
			if !known {
				value = "the " + name
			}
			field.Set(of, &value)
		}
		values[name] = value
	}
}

// termsIntroduction begins the reference.
const termsIntroduction = `# Terms

Every field of an invoice, of its lines and of the company profile, with its term in EN 16931 (BT) or PINT-AE (BTAE), the
element of UBL that has it and the document formats in which it does, its place in ` + "`parsed`" + ` of a received document, and its column in an
import. A dash means that it has none there. Written by a test from the model: do not edit it.

[formats.md](formats.md) says what each document format needs, and where a place depends on other fields: of an
exemption on the category, of a classification on its scheme. The kind of a registration is shown for a trade licence in
` + "`pint-ae`" + ` and for a scheme of ISO 6523 in ` + "`bis3`" + `.
`

// elementsOf returns a place of each value of a document, in a line if it is there: names of elements without prefixes,
// and of attributes.
func elementsOf(t *testing.T, text []byte) map[string]string {
	t.Helper()
	places, path, leaf := map[string]string{}, []string(nil), ""
	add := func(value, place string) {
		value = strings.TrimSuffix(strings.TrimSpace(value), ":00")
		if value != "" && (places[value] == "" || strings.HasPrefix(place, "InvoiceLine/")) {
			places[value] = place
		}
	}
	for token, err := range ubl.Tokens(text) {
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			path, leaf = append(path, token.Name.Local), ""
			for _, a := range token.Attr {
				if a.Name.Space == "" && len(path) > 1 {
					add(a.Value, strings.Join(path[1:], "/")+"/@"+a.Name.Local)
				}
			}
		case xml.CharData:
			leaf += string(token)
		case xml.EndElement:
			if leaf != "" {
				add(leaf, strings.Join(path[1:], "/"))
			}
			path, leaf = path[:len(path)-1], ""
		}
	}
	return places
}

// parsedOf adds the first place of each value of what was read.
func parsedOf(t *testing.T, places map[string]string, read api.ParsedDocument) {
	t.Helper()
	var of any
	if err := json.Unmarshal([]byte(asJSON(t, read)), &of); err != nil {
		t.Fatal(err)
	}
	var walk func(of any, path string)
	walk = func(of any, path string) {
		switch of := of.(type) {
		case map[string]any:
			names := make([]string, 0, len(of))
			for name := range of {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				walk(of[name], strings.TrimPrefix(path+"."+name, "."))
			}
		case []any:
			for _, one := range of {
				walk(one, path+"[]")
			}
		case nil, bool:
		default:
			value := strings.TrimSuffix(fmt.Sprint(of), ":00")
			if places[value] == "" {
				places[value] = path
			}
		}
	}
	walk(of, "")
}
