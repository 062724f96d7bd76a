package drafts

import (
	"errors"
	"strings"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

// readNumber returns a typed number in the form of the API, or a fault.
func readNumber(c console.Catalogue, typed string, kind console.NumberKind,
	currency string) (string, *api.Fault, error) {
	number, broken := console.EnglishNumerals.Read(typed, kind, currency)
	if broken == "" {
		return number, nil, nil
	}
	text, err := c.Text("typed." + string(broken))
	return "", &api.Fault{Rule: console.TypedRule + string(broken), Message: text}, err
}

// readCode returns the code that a typed text stands for, or a fault that lists the choices.
func readCode(w *console.Words, list, typed string) (string, *api.Fault, error) {
	names := w.Codes[list]
	code, choices := names.Resolve(typed)
	if choices == nil {
		return code, nil, nil
	}
	shown := make([]string, len(choices))
	for n, choice := range choices {
		shown[n] = choice.Name + " (" + choice.Code + ")"
	}
	text, err := w.Messages.Text("typed.choices", strings.Join(shown, w.Messages.Comma()))
	return code, &api.Fault{Rule: console.TypedRule + "choices", Message: text}, err
}

// codesOf returns the code list of a field in a form with some values, or "". Some fields have codes only in the United
// Arab Emirates: their country is that of the address which they belong to.
func (spec FieldSpec) codesOf(values map[string]string) string {
	if !spec.isRegional() {
		return spec.codes
	}
	if country := values[spec.country()]; country != "AE" && country != "" {
		return ""
	}
	return spec.codes
}

// isRegional tells whether the codes of a field are those of the United Arab Emirates.
func (spec FieldSpec) isRegional() bool {
	return spec.codes == "emirates" || spec.codes == "registration-types"
}

// country returns the name of the field with the country of the address that a field belongs to.
func (spec FieldSpec) country() string {
	if group, _, nested := strings.Cut(spec.Name, "."); nested {
		return group + ".country"
	}
	return "buyer_country"
}

// readInput returns the form with texts as the API takes them, and the faults of those that nobody can read, by path.
func readInput(w *console.Words, f Form) (values Form, faults api.Faults, err error) {
	faults = api.Faults{}
	currency, _ := w.Codes["currencies"].Resolve(f.Fields["currency"])
	values.Fields, err = ReadFields(w, Fields, "", f.Fields, currency, faults)
	failed := []error{err}
	values.Entries, err = readEntryInput(w, "", f.Entries, currency, faults)
	failed = append(failed, err)
	for n, item := range f.Items {
		var line lineInput
		line.Fields, err = ReadFields(w, ItemFields, linePrefix(n), item.Fields, currency, faults)
		failed = append(failed, err)
		line.Entries, err = readEntryInput(w, linePrefix(n), item.Entries, currency, faults)
		values.Items, failed = append(values.Items, line), append(failed, err)
	}
	return values, faults, errors.Join(failed...)
}

// ReadFields returns the texts of some fields as the API takes them, and adds the faults of those that nobody can read
// at their paths, which begin with prefix.
func ReadFields(w *console.Words, specs []FieldSpec, prefix string, input map[string]string, currency string,
	faults api.Faults) (map[string]string, error) {
	countries := countriesOf(w, input)
	out := make(map[string]string, len(specs))
	var failed []error
	for _, spec := range specs {
		value, fault, err := readField(w, spec, input[spec.Name], currency, countries)
		failed = append(failed, err)
		if fault != nil {
			faults.Add(prefix+spec.Name, fault.Rule, fault.Message)
		}
		out[spec.Name] = value
	}
	return out, errors.Join(failed...)
}

// countriesOf returns the codes of the countries among the texts of some fields.
func countriesOf(w *console.Words, input map[string]string) map[string]string {
	countries := map[string]string{}
	for name, typed := range input {
		if name == "buyer_country" || strings.HasSuffix(name, ".country") {
			countries[name], _ = w.Codes["countries"].Resolve(typed)
		}
	}
	return countries
}

// readField returns a typed text as the API takes it, or a fault.
func readField(w *console.Words, spec FieldSpec, typed, currency string,
	countries map[string]string) (string, *api.Fault, error) {
	switch {
	case spec.Kind == NumberField:
		return readNumber(w.Messages, typed, spec.counts, currency)
	case spec.Kind == dateField:
		return w.Messages.ReadDate(typed)
	case spec.Kind == timeField:
		return console.ReadTime(typed), nil, nil
	case spec.codesOf(countries) != "":
		return readCode(w, spec.codes, typed)
	}
	return typed, nil, nil
}

// showInput returns the form with texts as people read them, which readInput turns into the same values again.
func showInput(w *console.Words, values Form) Form {
	out := Form{Fields: ShowFields(w, Fields, values.Fields), Entries: showEntries(w, values.Entries),
		tooMany: values.tooMany}
	for _, item := range values.Items {
		out.Items = append(out.Items, lineInput{Fields: ShowFields(w, ItemFields, item.Fields),
			Entries: showEntries(w, item.Entries)})
	}
	return out
}

// ShowFields returns the texts of some fields as people read them.
func ShowFields(w *console.Words, specs []FieldSpec, input map[string]string) map[string]string {
	out := make(map[string]string, len(specs))
	for _, spec := range specs {
		value := input[spec.Name]
		switch list := spec.codesOf(input); {
		case value == "":
		case spec.Kind == NumberField:
			value = page.Grouped(value)
		case list != "":
			value = w.Codes[list].Show(value)
		}
		out[spec.Name] = value
	}
	return out
}

// say returns faults with messages for people. list is the name of the field's code list, or "". The message of the
// API, which is in English, serves where the language has none for the official rule or for the API's own.
func say(c console.Catalogue, list string, faults []api.Fault) []api.Fault {
	out := make([]api.Fault, len(faults))
	for n, fault := range faults {
		text, known := c.Lookup("official." + fault.RuleID)
		if !known {
			text, known = c.Lookup("fault." + fault.Rule)
		}
		if list != "" && chooses[fault.Rule] {
			text, known = c.Lookup("choose." + list)
		}
		switch {
		case strings.HasPrefix(fault.Rule, console.TypedRule):
		case known:
			fault.Message = text
		default:
			fault.Message = sentence(fault.Message)
		}
		out[n] = fault
	}
	return out
}

// chooses has the rules that a field with a code list breaks when its text is on no list.
var chooses = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"pattern": true, "currency": true, "country_unknown": true, "emirate_unknown": true, "unit_unknown": true,
	"payment_means_unknown": true, "tax_category_unknown": true, "endpoint_scheme_unknown": true, "currency_unknown": true,
	"legal_registration_type_unknown": true, "tax_exemption_unknown": true, "billing_frequency_unknown": true,
	"supply_type_unknown": true, "allowance_reason_unknown": true,
}

// sentence returns a message of the API, which goes on after the name of a field, as a sentence of its own.
func sentence(message string) string {
	if message == "" {
		return ""
	}
	return strings.ToUpper(message[:1]) + message[1:]
}
