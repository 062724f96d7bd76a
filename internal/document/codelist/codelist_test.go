package codelist

import (
	"strings"
	"testing"
	"unicode"
)

// TestMembership holds the promise of the package: what a rule set accepts is on the list, nothing else is.
func TestMembership(t *testing.T) {
	tests := []struct {
		list string
		has  func(string) bool
		on   []string
		off  []string
	}{
		{"currencies", Currencies().Has, []string{"AED", "JPY", "BHD", "XAU", "STD", "CNH"},
			[]string{"", "aed", "AED ", "ABC", "HRK", "BGN", "784"}},
		{"endpoint schemes", EndpointSchemes().Has, []string{"0235", "0088", "0193", "EM"},
			[]string{"", "235", "9901", "0000"}},
		{"countries", Countries().Has, []string{"AE", "DE", "XI", "1A"}, []string{"", "ae", "ARE", "UK", "ZZ"}},
		{"types of legal registration", LegalRegistrationTypes().Has, []string{"TL", "EID", "PAS", "CD"},
			[]string{"", "tl", "CL", "CRN"}},
		{"tax exemptions", TaxExemptions().Has, []string{"DL8.46.1", "DL8.46.4"}, []string{"", "DL8.46.5", "VATEX-EU-O"}},
		{"credit reasons", CreditReasons().Has, []string{"DL8.61.1.A", "DL8.61.1.E", "VD"}, []string{"", "DL8.61.1.F", "vd"}},
		{"item classifications", ItemClassifications().Has, []string{"HS", "CG", "SRV", "ZZZ"},
			[]string{"", "SAC", "0160", "CPV"}},
		{"object schemes", ObjectSchemes().Has, []string{"AAA", "MG", "ZZZ"}, []string{"", "mg", "0088"}},
		{"tax points", TaxPoints().Has, []string{"3", "35", "432"}, []string{"", "03", "5"}},
		{"billing frequencies", BillingFrequencies().Has, []string{"DLY", "MTH", "OTH"}, []string{"", "mth", "Q30"}},
		{"supply types", SupplyTypes().Has, []string{"G", "S", "B"}, []string{"", "g", "X"}},
		{"exemption reasons", ExemptionReasons().Has, []string{"VATEX-EU-AE", "VATEX-EU-132-1A"},
			[]string{"", "DL8.46.1", "vatex-eu-ae"}},
		{"emirates", Emirates().Has, []string{"AUH", "DXB", "SHJ", "UAQ", "FUJ", "AJM", "RAK"},
			[]string{"", "AE-DU", "dxb", "Dubai"}},
		{"payment means", PaymentMeans().Has, []string{"1", "10", "30", "58", "Z01", "ZZZ", "69"},
			[]string{"", "0", "030", "71"}},
		{"tax categories", TaxCategories().Has, []string{"S", "Z", "E", "O", "AE", "K", "G", "L", "M", "B"},
			[]string{"", "s", "A", "X"}},
		{"units", Units().Has, []string{"C62", "HUR", "KGM", "XBX", "EA", "10"}, []string{"", "hur", "PCS", "BX!"}},
	}
	for _, tt := range tests {
		for _, code := range tt.on {
			if !tt.has(code) {
				t.Errorf("%s: %q is not on the list", tt.list, code)
			}
		}
		for _, code := range tt.off {
			if tt.has(code) {
				t.Errorf("%s: %q is on the list", tt.list, code)
			}
		}
	}
}

// TestAccepts checks the codes in which the rule sets differ.
func TestAccepts(t *testing.T) {
	tests := []struct {
		list    string
		accepts func(code string, sets ...RuleSet) bool
		code    string
		sets    []RuleSet
		want    bool
	}{
		{"endpoint schemes", EndpointSchemes().Accepts, "0235", []RuleSet{EN16931, BIS3, PINTAE}, true},
		{"endpoint schemes", EndpointSchemes().Accepts, "0193", []RuleSet{EN16931}, true},
		{"endpoint schemes", EndpointSchemes().Accepts, "0193", []RuleSet{EN16931, BIS3}, false},
		{"endpoint schemes", EndpointSchemes().Accepts, "0225", []RuleSet{PINTAE}, false},
		{"endpoint schemes", EndpointSchemes().Accepts, "9901", nil, false},
		{"currencies", Currencies().Accepts, "STD", []RuleSet{EN16931}, true},
		{"currencies", Currencies().Accepts, "STD", []RuleSet{BIS3}, false},
		{"currencies", Currencies().Accepts, "STN", []RuleSet{PINTAE}, true},
		{"currencies", Currencies().Accepts, "STN", []RuleSet{EN16931}, false},
		{"payment means", PaymentMeans().Accepts, "91", []RuleSet{PINTAE}, true},
		{"tax categories", TaxCategories().Accepts, "N", []RuleSet{PINTAE}, true},
		{"tax categories", TaxCategories().Accepts, "N", []RuleSet{EN16931}, false},
		{"tax categories", TaxCategories().Accepts, "K", []RuleSet{PINTAE}, false},
		{"emirates", Emirates().Accepts, "DXB", []RuleSet{PINTAE}, true},
	}
	for _, tt := range tests {
		if got := tt.accepts(tt.code, tt.sets...); got != tt.want {
			t.Errorf("%s: %v accepts %q: %t, want %t", tt.list, tt.sets, tt.code, got, tt.want)
		}
	}
}

func TestMinorUnits(t *testing.T) {
	for code, want := range map[string]int{
		"AED": 2, "EUR": 2, "JPY": 0, "ISK": 0, "BHD": 3, "KWD": 3, "CLF": 4, "XAU": NoMinorUnits, "XXX": NoMinorUnits,
	} {
		currency, ok := Currencies().Lookup(code)
		if !ok || currency.MinorUnits != want || currency.Code != code {
			t.Errorf("%s: %+v, %t; want %d minor units", code, currency, ok, want)
		}
	}
	for currency := range Currencies().All() {
		if currency.MinorUnits < NoMinorUnits || currency.MinorUnits > 4 {
			t.Errorf("%s has %d minor units", currency.Code, currency.MinorUnits)
		}
	}
}

func TestEndpointSchemeState(t *testing.T) {
	for code, active := range map[string]bool{"0235": true, "9930": true, "0037": false, "0193": false, "0147": false,
		"EM": false} {
		scheme, ok := EndpointSchemes().Lookup(code)
		if !ok || scheme.Active != active {
			t.Errorf("%s: %+v, %t; want active %t", code, scheme, ok, active)
		}
	}
}

func TestEmirate(t *testing.T) {
	dubai, ok := Emirates().Lookup("DXB")
	if want := (Emirate{Entry: Entry{Code: "DXB", Name: "Dubai"}, ISO: "AE-DU"}); !ok || dubai != want {
		t.Errorf("DXB: %+v, %t", dubai, ok)
	}
	if n := len(Emirates().entries); n != 7 {
		t.Errorf("%d emirates", n)
	}
}

// TestTaxCategoryN: the published UAE list spells it with the Greek letter, the rules do not accept that.
func TestTaxCategoryN(t *testing.T) {
	if !TaxCategories().Has("N") {
		t.Error("the Latin N is missing")
	}
	if TaxCategories().Has("\u039d") {
		t.Error("the Greek letter is on the list")
	}
}

// TestEntries checks what every list promises: ASCII codes, one-line names, an order that does not lose an entry.
func TestEntries(t *testing.T) {
	lists := map[string][]Entry{}
	for c := range Currencies().All() {
		lists["currencies"] = append(lists["currencies"], c.Entry)
	}
	for s := range EndpointSchemes().All() {
		lists["schemes"] = append(lists["schemes"], s.Entry)
	}
	for e := range Emirates().All() {
		lists["emirates"] = append(lists["emirates"], e.Entry)
	}
	for name, list := range map[string]*List[Entry]{
		"countries": Countries(), "payment means": PaymentMeans(), "categories": TaxCategories(), "units": Units(),
	} {
		for e := range list.All() {
			lists[name] = append(lists[name], e)
			if found, ok := list.Lookup(e.Code); !ok || found != e {
				t.Errorf("%s: %q is listed and not found", name, e.Code)
			}
		}
		if len(lists[name]) != len(list.entries) {
			t.Errorf("%s: %d entries yielded, %d held", name, len(lists[name]), len(list.entries))
		}
	}
	atLeast := map[string]int{
		"currencies": 170, "schemes": 90, "countries": 249, "emirates": 7, "payment means": 90, "categories": 11,
		"units": 2000,
	}
	for name, n := range atLeast {
		if len(lists[name]) < n {
			t.Errorf("%s: %d entries, want at least %d", name, len(lists[name]), n)
		}
	}
	for name, entries := range lists {
		for _, e := range entries {
			odd := func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) }
			if e.Code == "" || strings.ContainsFunc(e.Code, odd) {
				t.Errorf("%s: odd code %q", name, e.Code)
			}
			if strings.ContainsAny(e.Name, "\r\n\t") {
				t.Errorf("%s: the name of %q has several lines", name, e.Code)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":       "",
		"ragged lines":  "code,name\nA\n",
		"a code twice":  "code,name\nA,x\nA,y\n",
		"an empty code": "code,name\n,x\n",
	} {
		if list, err := parse([]byte(text), plain); err == nil {
			t.Errorf("%s: parsed into %d entries", name, len(list.entries))
		}
	}
	bad := func(r row) (int, error) { return minorUnits(r.cells["minor_units"]) }
	if _, err := parse([]byte("code,minor_units\nAED,two\n"), bad); err == nil {
		t.Error("a minor unit in words was parsed")
	}
}
