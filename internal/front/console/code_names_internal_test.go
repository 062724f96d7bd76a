package console

import (
	"iter"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"quittance/internal/front/page"
)

// englishCodes returns the names of all code lists in English.
func englishCodes(t *testing.T) map[string]*CodeNames { return codesIn(t, language.English) }

// codesIn returns the names of all code lists in a language.
func codesIn(t *testing.T, of language.Tag) map[string]*CodeNames {
	t.Helper()
	return testWords(t, of).Codes
}

// everyCodeList yields the names of every code list in every language.
func everyCodeList(t *testing.T) iter.Seq2[string, *CodeNames] {
	return func(yield func(string, *CodeNames) bool) {
		for _, of := range page.Languages() {
			for list, names := range codesIn(t, of.Tag) {
				if !yield(list, names) {
					return
				}
			}
		}
	}
}

// TestResolveCodes checks that people can type a name, a code or a usual word, in any case. An ambiguous name is not
// guessed, and an unknown text stays as it is.
func TestResolveCodes(t *testing.T) {
	t.Parallel()
	lists := englishCodes(t)
	for _, test := range []struct{ list, typed, want, choices string }{
		{"countries", "United Arab Emirates", "AE", ""},
		{"countries", " united  arab emirates", "AE", ""},
		{"countries", "emirates", "AE", ""},
		{"countries", "UAE", "AE", ""},
		{"countries", "ae", "AE", ""},
		{"countries", "Oman", "OM", ""},
		{"countries", "Korea", "Korea", "KP KR"},
		{"countries", "Atlantis", "Atlantis", ""},
		{"countries", "ZZ", "ZZ", ""},
		{"currencies", "UAE Dirham", "AED", ""},
		{"currencies", "aed", "AED", ""},
		{"currencies", "Dirham", "Dirham", "AED MAD"},
		{"currencies", "dhs", "AED", ""},
		{"currencies", "euro", "EUR", ""},
		{"document-types", "Prepayment invoice", "386", ""},
		{"document-types", "advance payment", "386", ""},
		{"document-types", "invoice", "380", ""},
		{"document-types", "457", "457", ""},
		{UnitCodes, "hour", "HUR", ""},
		{UnitCodes, "Hours", "HUR", ""},
		{UnitCodes, "pcs", "H87", ""},
		{UnitCodes, "Piece", "H87", ""},
		{UnitCodes, "Piece (XPP)", "XPP", ""},
		{UnitCodes, "kg", "KGM", ""},
		{UnitCodes, "SET", "SET", ""},
		{UnitCodes, "set", "SET", ""},
		{UnitCodes, "kilowatt hour", "KWH", ""},
		{UnitCodes, "flagon of mead", "flagon of mead", ""},
		{"emirates", "Sharjah", "SHJ", ""},
		{"emirates", "AE-DU", "DXB", ""},
		{"payment-means", "Credit transfer", "30", ""},
		{"payment-means", "bank transfer", "30", ""},
		{"payment-means", "cash", "10", ""},
		{"payment-means", "30", "30", ""},
		{"payment-means", "card", "card", "48 54 55"},
		{"tax-categories", "Standard rate", "S", ""},
		{"tax-categories", "standard", "S", ""},
		{"tax-categories", "reverse charge", "AE", ""},
		{"endpoint-schemes", "UAE Tax Identification Number (TIN)", "0235", ""},
		{"endpoint-schemes", "TIN", "0235", ""},
		{"endpoint-schemes", "0088", "0088", ""},
		{"registration-types", "trade licence", "TL", ""},
		{"countries", "-", "-", ""},
		{"payment-means", "alert(1)", "alert(1)", ""},
		{UnitCodes, `"day"`, "day", ""},
		{UnitCodes, `"`, `"`, ""},
		{UnitCodes, `""DAY""`, `"DAY"`, ""},
		{"countries", "", "", ""},
	} {
		code, choices := lists[test.list].Resolve(test.typed)
		var codes []string
		for _, choice := range choices {
			codes = append(codes, choice.Code)
		}
		if got := strings.Join(codes, " "); code != test.want || got != test.choices {
			t.Errorf("%s: %q is %q with the choices %q, want %q with %q", test.list, test.typed, code, got, test.want,
				test.choices)
		}
	}
}

// TestResolveArabicNames checks that people can type a name or a usual word in Arabic, also with other forms of its
// letters, and the official English name as well.
func TestResolveArabicNames(t *testing.T) {
	t.Parallel()
	lists := codesIn(t, language.Arabic)
	for _, test := range []struct{ list, typed, want string }{
		{"countries", "الإمارات العربية المتحدة", "AE"}, {"countries", "الامارات", "AE"}, {"countries", "السعودية", "SA"},
		{"countries", "United Arab Emirates", "AE"}, {"countries", "AE", "AE"}, {"currencies", "درهم إماراتي", "AED"},
		{"currencies", "درهم", "AED"}, {"currencies", "UAE Dirham", "AED"}, {"emirates", "أبو ظبي", "AUH"},
		{"emirates", "ابوظبي", "AUH"}, {UnitCodes, "ساعه", "HUR"}, {UnitCodes, "كغ", "KGM"},
		{UnitCodes, "kilowatt hour", "KWH"}, {"payment-means", "تحويل مصرفي", "30"},
		{"tax-categories", "النسبة الأساسية", "S"},
		{"registration-types", "رُخصة تجارية", "TL"},
		{"countries", "أطلانطس", "أطلانطس"},
	} {
		if code, choices := lists[test.list].Resolve(test.typed); code != test.want || len(choices) > 0 {
			t.Errorf("%s: %q is %q with the choices %v, want %q", test.list, test.typed, code, choices, test.want)
		}
	}
}

// TestShownCodesCanBeTyped checks that every text that a form shows for a code, and every code in capital letters,
// stands for it.
func TestShownCodesCanBeTyped(t *testing.T) {
	t.Parallel()
	for list, names := range everyCodeList(t) {
		if len(names.entries) < 3 {
			t.Errorf("%s has only %d codes", list, len(names.entries))
		}
		for _, e := range names.entries {
			for _, typed := range []string{names.Show(e.Code), strings.ToUpper(names.Show(e.Code)), e.Code} {
				if code, choices := names.Resolve(typed); code != e.Code || choices != nil {
					t.Errorf("%s: %q is %q with %d choices, want %s", list, typed, code, len(choices), e.Code)
				}
			}
		}
		for _, code := range commonCodes[list] {
			if _, known := names.Names[code]; !known {
				t.Errorf("%s: the common code %s does not exist", list, code)
			}
		}
		if len(names.Options(names.Find("", maxOffered))) == 0 {
			t.Errorf("%s offers no codes", list)
		}
	}
	if got := englishCodes(t)["countries"].Show("nowhere"); got != "nowhere" {
		t.Errorf("an unknown code is shown as %q", got)
	}
}

// TestUnknownCodesAreKept checks that the text that a form shows for an unknown code stands for this code, also if
// people would mean another one by it.
func TestUnknownCodesAreKept(t *testing.T) {
	t.Parallel()
	for list, names := range everyCodeList(t) {
		unknown := []string{"nowhere", " ", `"`, `""`, `"x"`, "->", "alert(1)", " C62", "s", "e", "\u00a0S\u00a0"}
		for _, e := range names.entries {
			unknown = append(unknown, e.Name, strings.ToLower(e.Code), " "+e.Code, e.Name+" ("+e.Code+")", `"`+e.Code+`"`)
		}
		for _, code := range unknown {
			if _, known := names.Names[code]; known {
				continue
			}
			if got, choices := names.Resolve(names.Show(code)); got != code || choices != nil {
				t.Errorf("%s: %q is shown as %q, which is %q with %d choices", list, code, names.Show(code), got, len(choices))
			}
		}
	}
}

// TestFindCodes checks that exact matches come first, then beginnings, then parts of names. Without a text, common
// codes come first.
func TestFindCodes(t *testing.T) {
	t.Parallel()
	lists := englishCodes(t)
	const maxFound = 40
	for _, test := range []struct{ list, text, want string }{
		{"currencies", "aed", "AED"}, {"currencies", "", "AED"}, {UnitCodes, "hour", "HUR"},
		{UnitCodes, "Kilowatt hour", "KWH"}, {UnitCodes, "c62", "C62"}, {UnitCodes, "kilogram", "KGM"},
		{UnitCodes, "hrs", "HUR"}, {UnitCodes, "", "C62"},
		{"countries", "kingdom", "GB"},
	} {
		if found := lists[test.list].Find(test.text, maxFound); len(found) == 0 || found[0].Code != test.want ||
			len(found) > maxFound {
			t.Errorf("%s: %q finds %v, want %s first", test.list, test.text, found, test.want)
		}
	}
	if found := lists[UnitCodes].Find("no such unit", maxFound); len(found) != 0 {
		t.Errorf("an unknown unit finds %v", found)
	}
}
