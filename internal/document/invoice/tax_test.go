package invoice

import (
	"testing"

	"quittance/client/api"
)

// TestContradictions checks which taxes contradict themselves in every document format, and that PINT-AE's own rates
// are none.
func TestContradictions(t *testing.T) {
	for _, tt := range []struct{ category, rate, rule string }{
		{"Z", "5", "BR-Z-05"}, {"E", "0.01", "BR-E-05"}, {"G", "5", "BR-G-05"}, {"K", "20", "BR-IC-05"},
		{"O", "5", "BR-O-05"}, {"S", "0", "BR-S-05"}, {"Z", "0", ""}, {"E", "0.00", ""}, {"O", "0", ""}, {"O", "", ""},
		{"S", "20", ""}, {"S", "", ""}, {"L", "0", ""}, {"B", "22", ""}, {"", "5", ""}, {"AE", "5", ""}, {"N", "5", ""},
		{"AE", "0", ""},
	} {
		item := api.Item{VATCategory: &tt.category}
		if tt.rate != "" {
			item.VATRate = new(api.MustDecimal(tt.rate))
		}
		var rule string
		found := Contradictions(&api.Draft{Items: []api.Item{{}, item}})
		for _, f := range found {
			rule += f.RuleID
		}
		if rule != tt.rule || rule != "" && found[0].Path != "items[1].vat_rate" {
			t.Errorf("%s at %q: %v, want %q", tt.category, tt.rate, found, tt.rule)
		}
	}
	split := Contradictions(&api.Draft{Items: []api.Item{{VATCategory: new("B")}, {VATCategory: new("S")}}})
	if len(split) != 1 || split[0].Path != "items[0].vat_category" || split[0].RuleID != "BR-B-02" {
		t.Errorf("split payment beside the standard rate: %v", split)
	}
	if mixed := Contradictions(&api.Draft{Items: []api.Item{{VATCategory: new("O")},
		{VATCategory: new("S")}}}); len(mixed) > 0 {
		t.Errorf("PINT-AE allows out of scope beside the standard rate: %v", mixed)
	}
}
