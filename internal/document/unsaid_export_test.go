package document

import (
	"fmt"
	"reflect"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/ubl"
)

// Left returns the paths of what a statement says and a document that was made of it does not say, in the order of the
// statement. It writes the document and reads it again.
func Left(p Profile, d Document, said *api.ParsedDocument) []string {
	statement := Statement(p, d)
	if read, err := ubl.Read(ubl.Write(statement)); err == nil {
		return Unsaid(said, &read.ParsedDocument)
	}
	return Unsaid(said, statement) // some documents of long texts are larger than the reader allows
}

// Unsaid returns the paths of what a statement says and another does not say, in the order of the first. White space,
// the digits of numbers and the order of allowances, charges and rows of tax do not matter. Neither does whether a
// number is stated that says what its absence means.
func Unsaid(a, b *api.ParsedDocument) []string {
	out, listed := []string{}, *a
	listed.OtherCount -= len(a.Other) // each of which is reported itself
	compareValues(reflect.ValueOf(listed), reflect.ValueOf(*b), "", func(path string) { out = append(out, path) })
	return out
}

// compareValues reports the paths of what a has and b lacks or has otherwise.
func compareValues(a, b reflect.Value, path string, report func(path string)) {
	switch x := a.Interface().(type) {
	case api.Faults: // are about a statement
	case *api.Amount:
		if y, _ := reflect.TypeAssert[*api.Amount](b); x != nil && !sameAmount(x, y, path) {
			report(path)
		}
	case []string:
		if words(a) != "" && words(a) != words(b) {
			report(path)
		}
	default:
		switch a.Kind() {
		case reflect.Struct:
			compareFields(a, b, path, report)
		case reflect.Slice:
			compareLists(a, b, path, report)
		case reflect.Pointer:
			if a.IsNil() {
				return
			}
			if b.IsNil() {
				b = reflect.New(a.Type().Elem())
			}
			compareValues(a.Elem(), b.Elem(), path, report)
		case reflect.String:
			if x := words(a); x != "" && x != words(b) {
				report(path)
			}
		default:
			if !a.IsZero() && !a.Equal(b) {
				report(path)
			}
		}
	}
}

func compareFields(a, b reflect.Value, path string, report func(path string)) {
	for n := range a.NumField() {
		field, at := a.Type().Field(n), path
		if !field.Anonymous {
			at = strings.TrimPrefix(path+"."+field.Tag.Get("json"), ".")
		}
		compareValues(a.Field(n), b.Field(n), at, report)
	}
}

// compareLists compares each entry with the one of its kind that has its position among those.
func compareLists(a, b reflect.Value, path string, report func(path string)) {
	others := map[string][]reflect.Value{}
	for n := range b.Len() {
		kind := kindOf(b.Index(n))
		others[kind] = append(others[kind], b.Index(n))
	}
	for n := range a.Len() {
		kind, at := kindOf(a.Index(n)), fmt.Sprintf("%s[%d]", path, n)
		if len(others[kind]) == 0 {
			report(at)
			continue
		}
		compareValues(a.Index(n), others[kind][0], at, report)
		others[kind] = others[kind][1:]
	}
}

// kindOf tells entries of a list apart whose order does not matter.
func kindOf(entry reflect.Value) string {
	switch entry := entry.Interface().(type) {
	case api.ParsedAllowance:
		return fmt.Sprint(entry.Charge)
	case api.ParsedTax:
		if rate := entry.Rate; rate != nil {
			return text(entry.Category) + decimal(string(*rate)).RatString()
		}
		return text(entry.Category) + "0"
	}
	return ""
}

// absences are what numbers mean that are not stated, by the ends of their paths.
var absences = map[string]string{
	"base_quantity": "1", "discount_amount": "0", "vat_rate": "0", "rate": "0", "allowances": "0", "charges": "0",
	"prepaid": "0", "rounding": "0",
}

// sameAmount tells whether a number is the one that is stated, or means the same.
func sameAmount(a, b *api.Amount, path string) bool {
	stated := absences[path[strings.LastIndexByte(path, '.')+1:]]
	if b != nil {
		stated = string(*b)
	}
	return stated != "" && decimal(string(*a)).Cmp(decimal(stated)) == 0
}

// words returns a text, or several, with one space between words.
func words(of reflect.Value) string {
	if of.Kind() == reflect.Slice {
		return strings.Join(strings.Fields(strings.Join(of.Interface().([]string), " ")), " ")
	}
	return strings.Join(strings.Fields(of.String()), " ")
}
