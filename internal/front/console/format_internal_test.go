package console

import (
	"strings"
	"testing"

	"golang.org/x/text/language"
)

// TestPlace checks that known codes of an address have names, and unknown ones are kept.
func TestPlace(t *testing.T) {
	for _, test := range []struct{ city, subdivision, country, want string }{
		{"Dubai", "DXB", "AE", "Dubai|United Arab Emirates"},
		{"Al Ain", "AUH", "AE", "Al Ain, Abu Dhabi|United Arab Emirates"},
		{"Lyon", "69", "FR", "Lyon, 69|France"},
		{"", "", "ZZ", "ZZ"},
		{"", "", "", ""},
	} {
		lines := testWords(t, language.English).Place(&test.city, &test.subdivision, &test.country)
		if got := strings.Join(lines, "|"); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestUnitName checks that a quantity other than one takes the plural of a unit that has one.
func TestUnitName(t *testing.T) {
	messages := testWords(t, language.English).Messages
	pages := &Words{Messages: messages, Codes: messages.codeNames()}
	for _, test := range []struct{ quantity, code, want string }{{"1", "HUR", "hour"}, {"-1", "HUR", "hour"},
		{"25", "HUR", "hours"}, {"0.5", "DAY", "days"}, {"2", "LS", "lump sum"}, {"2", "???", "???"}} {
		if got := pages.UnitName(test.quantity, &test.code); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.quantity, test.code, got, test.want)
		}
	}
}
