package document_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/ubl"
	"quittance/test/drafttest"
)

// lacking returns the fields whose values a text does not have, as XML or as JSON: between tags or quotes.
func lacking(values map[string]string, texts ...string) (names []string) {
	for name, value := range values {
		found := false
		for _, text := range texts {
			found = found || strings.Contains(text, ">"+value+"<") || strings.Contains(text, `"`+value+`"`) ||
				strings.Contains(text, ":"+value+",") || strings.Contains(text, ":"+value+"}") ||
				strings.Contains(text, ">"+value+":00<") || strings.Contains(text, `"`+value+`:00"`) // a time of the day
		}
		if !found {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestEveryFieldHasItsPlace fills every field of a draft and names those that a document or its reader loses. The lists
// of what they lose only get shorter; a field with a reason stays.
func TestEveryFieldHasItsPlace(t *testing.T) {
	const exempted = "is of a category with tax here"
	d, values := drafttest.Every(t)
	seller := &api.Profile{}
	written, read := []string{}, []string{}
	for _, p := range document.Profiles {
		text := document.Draw(p, document.Document{ID: "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90", Draft: d, Seller: seller})
		parsed, err := ubl.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		written, read = append(written, string(text)), append(read, asJSON(t, parsed.ParsedDocument))
	}
	for name, part := range map[string]struct {
		texts []string
		lost  map[string]string // why
	}{
		"the documents": {written, map[string]string{
			"external_id":  "means something to the customer alone",
			"total_amount": "is another amount here than the lines add up to",

			"allowances.tax_exemption_code":   exempted,
			"allowances.tax_exemption_reason": exempted,
			"charges.tax_exemption_code":      exempted,
			"charges.tax_exemption_reason":    exempted,
		}},
		"what is read of them": {read, map[string]string{
			"external_id": "is not written", "total_amount": "is not written",

			"allowances.tax_exemption_code": exempted, "allowances.tax_exemption_reason": exempted,
			"charges.tax_exemption_code": exempted, "charges.tax_exemption_reason": exempted,
		}},
	} {
		got := lacking(values, part.texts...)
		if want := slices.Sorted(maps.Keys(part.lost)); !slices.Equal(got, want) {
			t.Errorf("%s lack %q, and the list says %q", name, got, want)
		}
	}
}
