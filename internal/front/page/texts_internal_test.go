package page

import (
	"net/http"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/problem"
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
		for name, m := range map[string]*Money{"text": MoneyOf(test.amount, test.currency),
			"decimal": MoneyOf(new(api.MustDecimal(test.amount)), &test.currency),
			"amount":  MoneyOf(new(api.Amount(test.amount)), test.currency)} {
			if m == nil || m.Text != test.want || m.Exact != test.amount || m.Currency != test.currency {
				t.Errorf("%s %s as %s: %+v, want %s", test.amount, test.currency, name, m, test.want)
			}
		}
	}
	if m := MoneyOf((*api.Decimal)(nil), "AED"); m != nil {
		t.Errorf("no amount: %+v", m)
	}
	if got := MoneyText(new(api.MustDecimal("2.5")), "AED"); got != "2.50 AED" {
		t.Errorf("text: %s", got)
	}
}

// TestDatesHaveOneForm checks the form of dates and times, and that a text that is no date is shown as it is.
func TestDatesHaveOneForm(t *testing.T) {
	for given, want := range map[string]Day{"2026-11-02": {Machine: "2026-11-02", Text: "2 Nov 2026"},
		"soon": {Text: "soon"}} {
		if got := english(t).Day(&given); got == nil || *got != want {
			t.Errorf("%s: %+v, want %+v", given, got, want)
		}
	}
	if got := english(t).Day((*string)(nil)); got != nil {
		t.Errorf("no date: %+v", got)
	}
	at := time.Date(2026, time.November, 22, 11, 41, 31, 5000, time.FixedZone("", 4*60*60))
	want := Instant{Machine: "2026-11-22T07:41:31.000005Z", Precise: "2026-11-22 07:41:31.000005 UTC",
		Text: "22 Nov 2026, 07:41 UTC", Day: "22 Nov", Clock: "07:41:31"}
	for _, given := range []any{at, &at} {
		if got := english(t).Instant(given); got == nil || *got != want {
			t.Errorf("%v: %+v, want %+v", given, got, want)
		}
	}
	for _, given := range []any{time.Time{}, (*time.Time)(nil)} {
		if got := english(t).Instant(given); got != nil {
			t.Errorf("%v: %+v", given, got)
		}
	}
}

// TestSize checks the units of sizes and their rounding.
func TestSize(t *testing.T) {
	messages := english(t)
	for bytes, want := range map[int64]string{0: "0 bytes", 7: "7 bytes", 1023: "1,023 bytes", 1024: "1 KB",
		153_886: "150 KB", 1_258_291: "1.2 MB", 10_590_617: "10 MB", 20 << 30: "20 GB", 3 << 50: "3,072 TB"} {
		if got, err := messages.Size(bytes); err != nil || got != want {
			t.Errorf("%d: %q, %v; want %q", bytes, got, err, want)
		}
	}
}

// TestPluralForms checks the message for numbers of things in Arabic, which has six forms.
func TestPluralForms(t *testing.T) {
	t.Parallel()
	c := Texts{Language: Languages()[1], texts: map[string]string{"n.zero": "zero%.0s", "n.one": "one%.0s",
		"n.two": "two%.0s", "n.few": "few %s", "n.many": "many %s", "n.other": "other %s"}}
	for n, want := range map[int]string{0: "zero", 1: "one", 2: "two", 3: "few 3", 10: "few 10", 11: "many 11",
		99: "many 99", 100: "other 100", 102: "other 102", 1103: "few 1,103"} {
		if got, err := c.Plural("n", n); got != want || err != nil {
			t.Errorf("%d: %q, %v; want %q", n, got, err, want)
		}
	}
}

// english returns the texts of this package in English.
func english(t *testing.T) Texts {
	t.Helper()
	texts, err := readTexts(Languages()[0], files)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestUnexpectedProblems checks that a problem without texts on a surface has general ones, and goes to the log.
func TestUnexpectedProblems(t *testing.T) {
	for _, test := range []struct {
		err      error
		title    string
		expected bool
	}{
		{problem.For(api.CodeNotFound), "Page not found", true},
		{problem.Local("unheard_of", http.StatusConflict, "unheard of"), "This cannot be done now", false},
		{problem.For(api.CodePreconditionFailed), "This cannot be done now", false},
		{problem.For(api.CodeProviderError), "Something went wrong", false},
		{problem.For(api.CodeInternal), "Something went wrong", true},
	} {
		if title, _, expected := english(t).problem(problem.Of(test.err)); title != test.title ||
			expected != test.expected {
			t.Errorf("%v: %q, expected %v", test.err, title, expected)
		}
	}
}
