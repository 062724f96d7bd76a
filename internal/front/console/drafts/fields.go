package drafts

import (
	"cmp"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
)

// fieldKind is the kind of input that a field takes.
type fieldKind int

// The kinds of input.
const (
	textField      fieldKind = iota
	multilineField           // text of several lines
	NumberField              // decimal, kept digit for digit
	dateField                // YYYY-MM-DD
	timeField                // HH:MM
)

// timePattern is the pattern of the API for a time of day.
const timePattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"

// FieldSpec describes one field of a draft's form, as the tags of its type do.
type FieldSpec struct {
	// Name is the JSON name.
	Name string
	Kind fieldKind
	// codes is the name of the code list to choose from, or "".
	codes string
	// group is the section of a field that the layout does not place, and placed reports that it does.
	group  string
	placed bool
	// counts is what a number counts.
	counts console.NumberKind
	// Required reports that a draft needs the field, and optional that not even a submission needs it. What is below
	// "more" is optional without a word.
	Required, Optional bool
}

// layout names the fields that the form always shows, by the part of the form. All others are in sections.
var layout = map[string][]string{ //nolint:gochecknoglobals // a constant table
	"invoice": {"invoice_number", "issue_date", "issue_time", "due_date", "currency", "payment_means_code"},
	"buyer": {"recipient_name", "buyer_endpoint_scheme", "recipient_network_id", "buyer_street", "buyer_city",
		"buyer_subdivision", "buyer_country"},
	"line":  {"name", "quantity", "unit_code", "net_unit_price", "vat_category", "vat_rate"},
	"total": {"total_amount"}, // below the lines
}

// The fields of the types of the API, and those of the form in its order: the fields of an invoice without its lines,
// and those of a line.
//
//nolint:gochecknoglobals // constant tables
var (
	draftFields = invoice.FieldsOf[api.Draft]()
	itemFields  = invoice.FieldsOf[api.Item]()
	Fields      = specsOf(draftFields, "", slices.Concat(layout["invoice"], layout["buyer"]))
	ItemFields  = specsOf(itemFields, "items[0].", layout["line"])
)

// specsOf returns the descriptions of some fields in the order of the form: the first ones, then the sections, and the
// total at the end. prefix is that of their paths.
func specsOf[T any](fields []invoice.Field[T], prefix string, first []string) []FieldSpec {
	var groups []string
	needed := invoice.Missing(&api.Draft{Items: make([]api.Item, 1)})
	specs := make([]FieldSpec, len(fields))
	for n, field := range fields {
		name, tag := field.Name, field.Tag
		groups = append(groups, field.Section)
		specs[n] = FieldSpec{Name: name, Kind: kindOf(field), codes: tag.Get("codes"), group: groups[n],
			placed: slices.Contains(first, name) || slices.Contains(layout["total"], name), counts: counts[tag.Get("unit")],
			Required: tag.Get("required") == "true", Optional: !slices.Contains(needed, prefix+name)}
	}
	place := func(spec FieldSpec) int {
		switch at := slices.Index(first, spec.Name); {
		case at >= 0:
			return at - len(first)
		case spec.placed:
			return 2 * len(specs)
		case spec.Kind == multilineField: // it has a row of its own at the end of its section
			return 2*slices.Index(groups, spec.group) + 1
		}
		return 2 * slices.Index(groups, spec.group)
	}
	slices.SortStableFunc(specs, func(a, b FieldSpec) int { return cmp.Compare(place(a), place(b)) })
	return specs
}

// counts has what a number counts, by the tag.
var counts = map[string]console.NumberKind{ //nolint:gochecknoglobals // a constant table
	"money": console.MoneyNumber, "percent": console.PercentNumber}

// kindOf returns the kind of input that a field takes.
func kindOf[T any](field invoice.Field[T]) fieldKind {
	switch {
	case field.Number:
		return NumberField
	case field.Tag.Get("text") == "multi":
		return multilineField
	case field.Tag.Get("format") == "date":
		return dateField
	case field.Tag.Get("pattern") == timePattern:
		return timeField
	}
	return textField
}

// SpecNamed returns the description of the field with a name, which is zero if there is none.
func SpecNamed(specs []FieldSpec, name string) FieldSpec {
	if n := slices.IndexFunc(specs, func(spec FieldSpec) bool { return spec.Name == name }); n >= 0 {
		return specs[n]
	}
	return FieldSpec{}
}

// HasField tells whether a type of the API has a field with a JSON name.
func HasField[T any](name string) bool {
	return slices.ContainsFunc(invoice.FieldsOf[T](), func(field invoice.Field[T]) bool { return field.Name == name })
}

// Normalized returns the input of a field. Browsers send CR LF for each line break.
func (spec FieldSpec) Normalized(value string) string {
	if spec.Kind == multilineField {
		return strings.ReplaceAll(value, "\r\n", "\n")
	}
	return value
}

// section is the fields of one group that the layout does not place, and the lists of the group. It is open when one of
// them has something to see.
type section struct {
	// Name is the group; the key of its label is below "draft.group.".
	Name    string
	Fields  []*FormField
	Entries formEntries
	Open    bool
}

// sections returns the fields that the layout does not place, by group.
func sections(specs []FieldSpec, fields map[string]*FormField) []section {
	var out []section
	for _, spec := range specs {
		if spec.placed {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Name != spec.group {
			out = append(out, section{Name: spec.group})
		}
		s, f := &out[len(out)-1], fields[spec.Name]
		s.Fields = append(s.Fields, f)
		s.Open = s.Open || f.Value != "" || len(f.Notes.Faults)+len(f.Notes.Advice) > 0
	}
	return out
}
