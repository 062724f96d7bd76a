package console

import (
	"strings"
	"testing"
	"time"

	"quittance/client/api"
)

// TestMoney checks that an amount has grouped digits and at least the minor unit of its currency, and loses no digit.
func TestMoney(t *testing.T) {
	for _, test := range []struct{ amount, currency, want string }{
		{"472.5", "AED", "472.50"},
		{"1050", "AED", "1,050.00"},
		{"1050.000000", "AED", "1,050.00"},
		{"-1234567.5", "AED", "−1,234,567.50"},
		{"0.125", "AED", "0.125"},    // a unit price
		{"10.1250", "AED", "10.125"}, // its trailing zero is no digit of the price
		{"100.00", "JPY", "100"},     // no minor unit in use
		{"1.5", "KWD", "1.500"},      // three digits
		{"1.50", "XAU", "1.50"},      // not applicable
		{"1234.5", "ZZZ", "1,234.5"}, // unknown
		{"1234.5", "", "1,234.5"},
	} {
		for name, m := range map[string]*moneyView{"text": money(test.amount, test.currency),
			"decimal": money(new(api.MustDecimal(test.amount)), &test.currency),
			"amount":  money(new(api.Amount(test.amount)), test.currency)} {
			if m == nil || m.Text != test.want || m.Exact != test.amount || m.Currency != test.currency {
				t.Errorf("%s %s as %s: %+v, want %s", test.amount, test.currency, name, m, test.want)
			}
		}
	}
	if m := money((*api.Decimal)(nil), "AED"); m != nil {
		t.Errorf("no amount: %+v", m)
	}
	if got := moneyText(new(api.MustDecimal("2.5")), "AED"); got != "2.50 AED" {
		t.Errorf("text: %s", got)
	}
}

// TestDatesHaveOneForm checks the form of dates and times, and that a text that is no date is shown as it is.
func TestDatesHaveOneForm(t *testing.T) {
	for given, want := range map[string]dayView{"2026-11-02": {Machine: "2026-11-02", Text: "2 Nov 2026"},
		"soon": {Text: "soon"}} {
		if got := testTemplates(t).messages.day(&given); got == nil || *got != want {
			t.Errorf("%s: %+v, want %+v", given, got, want)
		}
	}
	if got := testTemplates(t).messages.day((*string)(nil)); got != nil {
		t.Errorf("no date: %+v", got)
	}
	at := time.Date(2026, time.November, 22, 11, 41, 31, 5000, time.FixedZone("", 4*60*60))
	want := instantView{Machine: "2026-11-22T07:41:31.000005Z", Precise: "2026-11-22 07:41:31.000005 UTC",
		Text: "22 Nov 2026, 07:41 UTC", Day: "22 Nov", Clock: "07:41:31"}
	for _, given := range []any{at, &at} {
		if got := testTemplates(t).messages.instant(given); got == nil || *got != want {
			t.Errorf("%v: %+v, want %+v", given, got, want)
		}
	}
	for _, given := range []any{time.Time{}, (*time.Time)(nil)} {
		if got := testTemplates(t).messages.instant(given); got != nil {
			t.Errorf("%v: %+v", given, got)
		}
	}
}

// TestPlace checks that known codes of an address have names, and unknown ones are kept.
func TestPlace(t *testing.T) {
	for _, test := range []struct{ city, subdivision, country, want string }{
		{"Dubai", "DXB", "AE", "Dubai|United Arab Emirates"},
		{"Al Ain", "AUH", "AE", "Al Ain, Abu Dhabi|United Arab Emirates"},
		{"Lyon", "69", "FR", "Lyon, 69|France"},
		{"", "", "ZZ", "ZZ"},
		{"", "", "", ""},
	} {
		if got := strings.Join(testTemplates(t).place(&test.city, &test.subdivision, &test.country), "|"); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestSize checks the units of sizes and their rounding.
func TestSize(t *testing.T) {
	messages, err := readCatalogue(tongues[0])
	if err != nil {
		t.Fatal(err)
	}
	for bytes, want := range map[int64]string{0: "0 bytes", 7: "7 bytes", 1023: "1,023 bytes", 1024: "1 KB",
		153_886: "150 KB", 1_258_291: "1.2 MB", 10_590_617: "10 MB", 20 << 30: "20 GB", 3 << 50: "3,072 TB"} {
		if got, err := messages.size(bytes); err != nil || got != want {
			t.Errorf("%d: %q, %v; want %q", bytes, got, err, want)
		}
	}
}

// TestUnitName checks that a quantity other than one takes the plural of a unit that has one.
func TestUnitName(t *testing.T) {
	messages, err := readCatalogue(tongues[0])
	if err != nil {
		t.Fatal(err)
	}
	pages := &templates{messages: messages, codes: messages.codeNames()}
	for _, test := range []struct{ quantity, code, want string }{{"1", "HUR", "hour"}, {"-1", "HUR", "hour"},
		{"25", "HUR", "hours"}, {"0.5", "DAY", "days"}, {"2", "LS", "lump sum"}, {"2", "???", "???"}} {
		if got := pages.unitName(test.quantity, &test.code); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.quantity, test.code, got, test.want)
		}
	}
}
