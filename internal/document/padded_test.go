package document_test

import (
	"reflect"
	"slices"
	"testing"

	"quittance/internal/document"
)

// TestPaddedTexts: white space around texts changes no document.
func TestPaddedTexts(t *testing.T) {
	for _, p := range document.Profiles {
		for name, d := range golden(t, p) {
			want, err := document.Write(p, d)
			if err != nil {
				t.Fatal(err)
			}
			draft, seller := *d.Draft, *d.Seller
			draft.Items = slices.Clone(draft.Items)
			padded := []any{&draft, &seller}
			for n := range draft.Items {
				padded = append(padded, &draft.Items[n])
			}
			for _, of := range padded {
				pad(of)
			}
			d.Draft, d.Seller = &draft, &seller
			if got, err := document.Write(p, d); err != nil || string(got) != string(want) {
				t.Errorf("%s/%s: %v %s", p, name, err, firstDifference(string(want), string(got)))
			}
		}
	}
}

// pad puts white space around the texts of a struct that may have it: the API accepts none around codes and dates.
func pad(of any) {
	fields := reflect.ValueOf(of).Elem()
	for n := range fields.NumField() {
		tag := fields.Type().Field(n).Tag
		if value, isText := reflect.TypeAssert[*string](fields.Field(n)); isText && value != nil &&
			tag.Get("format")+tag.Get("pattern")+tag.Get("codelist") == "" {
			fields.Field(n).Set(reflect.ValueOf(new(" \u00a0" + *value + " ")))
		}
	}
}
