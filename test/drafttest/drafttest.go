// Package drafttest makes drafts for tests.
package drafttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
)

// coded are the fields whose values are codes or have a form although their tags do not say so. Like those of the tags,
// they hold the example of the API document. All others get a text of their own.
var coded = []string{"recipient_network_id", "unit_code", "commodity_scheme"} //nolint:gochecknoglobals // a constant list

// Every returns a draft with a value for every field and an entry in every list, and its values by field; those of its
// first line begin with items. and a dot, and those of its first charge with charges. and a dot. A second line has the
// reason why no tax is charged, which the first one does not need. Texts say which field they are of, so that each is
// found by itself.
func Every(t testing.TB) (*api.Draft, map[string]string) {
	t.Helper()
	d := &api.Draft{Items: make([]api.Item, 2)}
	values := fill(t, "its ", reflect.ValueOf(d).Elem())
	for name, value := range fill(t, "its line ", reflect.ValueOf(&d.Items[0]).Elem()) {
		values["items."+name] = value
	}
	fill(t, "its line ", reflect.ValueOf(&d.Items[1]).Elem())
	d.Items[1].VATCategory, d.Items[1].VATRate = new("E"), new(api.MustDecimal("0"))
	d.Currency, values["currency"] = new("USD"), "USD" // another one than that of the tax, so that the rate matters
	for _, code := range []**string{&d.Charges[0].ReasonCode, &d.Items[0].Charges[0].ReasonCode,
		&d.Items[1].Charges[0].ReasonCode} {
		*code = new("FC") // for charges have a list of their own
	}
	values["charges.reason_code"], values["items.charges.reason_code"] = "FC", "FC"
	// A code that is no day of a month, which pages have.
	d.PaymentMeansCode, values["payment_means_code"] = new("97"), "97"
	d.TypeCode, values["type_code"] = new("386"), "386" // which pages name, unlike that of most invoices
	return d, values
}

// fill sets every field of a struct and of its groups, and returns the values by field. Texts begin with of.
func fill(t testing.TB, of string, fields reflect.Value) map[string]string {
	t.Helper()
	values := map[string]string{}
	for n := range fields.NumField() {
		field := fields.Type().Field(n)
		name, example := field.Tag.Get("json"), field.Tag.Get("example")
		switch {
		case field.Type == reflect.TypeFor[*string]():
			value := of + strings.ReplaceAll(name, "_", " ")
			tag := field.Tag
			if slices.Contains(coded, name) || tag.Get("format")+tag.Get("pattern")+tag.Get("codelist")+tag.Get("codes") != "" {
				value = example
			}
			fields.Field(n).Set(reflect.ValueOf(&value))
			values[name] = value
		case field.Type == reflect.TypeFor[*api.Decimal]():
			value := api.MustDecimal(example)
			fields.Field(n).Set(reflect.ValueOf(&value))
			values[name] = example
		case field.Type == reflect.TypeFor[[]api.Item]():
		case field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct:
			list := reflect.MakeSlice(field.Type, 1, 1)
			fields.Field(n).Set(list)
			for below, value := range fill(t, of+strings.ReplaceAll(name, "_", " ")+" ", list.Index(0)) {
				values[name+"."+below] = value
			}
		case field.Type.Kind() == reflect.Pointer && field.Type.Elem().Kind() == reflect.Struct:
			group := reflect.New(field.Type.Elem())
			fields.Field(n).Set(group)
			for below, value := range fill(t, of+strings.ReplaceAll(name, "_", " ")+" ", group.Elem()) {
				values[name+"."+below] = value
			}
		default:
			t.Fatalf("%s has the type %s: what is its text?", name, field.Type)
		}
	}
	return values
}
