package ubl_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/ubl"
)

// fill sets every field of a statement to a value of its own, and every list to one entry.
func fill(v reflect.Value, path string) {
	switch v.Type() {
	case reflect.TypeFor[*string]():
		v.Set(reflect.ValueOf(new(path)))
		return
	case reflect.TypeFor[*api.Amount]():
		v.Set(reflect.ValueOf(new(api.Amount(fmt.Sprintf("%d.50", 10+len(path))))))
		return
	case reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf([]string{path}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for n := range v.NumField() {
			name := v.Type().Field(n).Tag.Get("json")
			fill(v.Field(n), strings.TrimPrefix(path+"."+name, "."))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	case reflect.Bool:
		v.SetBool(true)
	default:
	}
}

// everything returns a statement of a type with a value for every field that both directions have.
func everything(kind string) *api.ParsedDocument {
	d := &api.ParsedDocument{}
	fill(reflect.ValueOf(d).Elem(), "")
	d.Type, d.LineCount, d.Profile, d.Warnings = kind, 1, nil, api.Faults{}
	d.Attachments = []api.ParsedFile{} // of which only the reader knows
	d.Other, d.OtherCount = []api.ParsedOther{}, 0
	for _, date := range []**string{&d.IssueDate, &d.DueDate, &d.TaxPointDate, &d.Period.Start, &d.Period.End,
		&d.Lines[0].Period.Start, &d.Lines[0].Period.End, &d.References.PrecedingInvoices[0].IssueDate, &d.Delivery.Date} {
		*date = new("2026-03-01")
	}
	d.IssueTime, d.Currency, d.TaxCurrency, d.Lines[0].VATCategory = new("09:30:00"), new("USD"), new("AED"), new("E")
	d.Payee.TradingName, d.TaxRepresentative.TradingName = nil, nil // whose name it is
	d.TaxPointCode = nil                                            // in the element of the frequency
	if kind == api.ReceivedCreditNote {                             // which asks for nothing
		d.DueDate = nil
	} else {
		d.ReasonCode = nil // of a credit note
	}
	return d
}

// TestBothWays: every term that a statement can have is written, and reading what was written gives the same statement.
func TestBothWays(t *testing.T) {
	for _, kind := range []string{api.ReceivedInvoice, api.ReceivedCreditNote} {
		want := everything(kind)
		for _, other := range [][3]string{{"0060", "HS", "E"}, {"TL", "SAC", "AE"}} { // which other elements have
			want.Seller.LegalIDScheme, want.Lines[0].CommodityScheme, want.Lines[0].VATCategory = &other[0], &other[1],
				&other[2]
			if other[1] == "SAC" { // which is the service code then
				want.Lines[0].ServiceCode, want.Lines[0].CommodityVersion = nil, nil
				want.TaxPointCode, want.Period.Frequency = new("35"), nil
			}
			text := ubl.Write(want)
			got, err := ubl.Read(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !reflect.DeepEqual(&got.ParsedDocument, want) {
				t.Errorf("%s: %s\n%s", kind, differences(want, &got.ParsedDocument), text)
			}
		}
	}
}

// TestWritesNothingEmpty: a statement without values, and one of white space, has no elements.
func TestWritesNothingEmpty(t *testing.T) {
	blank := everything(api.ReceivedInvoice)
	var clear func(v reflect.Value)
	clear = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for _, field := range v.Fields() {
				clear(field)
			}
		case reflect.Pointer:
			if v.Type() == reflect.TypeFor[*string]() {
				v.Set(reflect.ValueOf(new(" \t ")))
			} else if v.Type() != reflect.TypeFor[*api.Amount]() {
				clear(v.Elem())
			}
		case reflect.Slice:
			for n := range v.Len() {
				clear(v.Index(n))
			}
		default:
		}
	}
	clear(reflect.ValueOf(blank).Elem())
	text := string(ubl.Write(blank))
	for line := range strings.Lines(text) {
		if open, rest, ok := strings.Cut(strings.TrimSpace(line), ">"); ok && strings.HasPrefix(rest, "</") {
			t.Errorf("%s> is empty:\n%s", open, text)
		}
	}
}

// differences names the fields in which two statements differ.
func differences(want, got *api.ParsedDocument) string {
	var out []string
	var compare func(a, b reflect.Value, path string)
	compare = func(a, b reflect.Value, path string) {
		switch {
		case reflect.DeepEqual(a.Interface(), b.Interface()):
		case a.Kind() == reflect.Struct:
			for n := range a.NumField() {
				compare(a.Field(n), b.Field(n), path+"."+a.Type().Field(n).Tag.Get("json"))
			}
		case a.Kind() == reflect.Slice && a.Len() == 1 && b.Len() == 1:
			compare(a.Index(0), b.Index(0), path)
		case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
			compare(a.Elem(), b.Elem(), path)
		default:
			out = append(out, fmt.Sprintf("%s is %v instead of %v", path, b, a))
		}
	}
	compare(reflect.ValueOf(*want), reflect.ValueOf(*got), "")
	slices.Sort(out)
	return strings.Join(out, "\n")
}
