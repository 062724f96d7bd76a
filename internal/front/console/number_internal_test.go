package console

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/front/page"
)

// germanNumerals are those of a language that writes 1.250,50.
var germanNumerals = Numerals{Decimal: ',', Group: '.'}

// TestReadNumber checks that numbers are read as people write them, and ambiguous ones are refused.
func TestReadNumber(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typed, want string
		fault       NumberFault
	}{
		{"", "", ""},
		{" \u00a0", "", ""},
		{"0", "0", ""},
		{"1250", "1250", ""},
		{"1250.00", "1250.00", ""},
		{"1,250.00", "1250.00", ""},
		{"1 250,00", "1250.00", ""},
		{"1\u202f250,00", "1250.00", ""},
		{"1.250,00", "1250.00", ""},
		{"1'250.00", "1250.00", ""},
		{"1’250", "1250", ""},
		{"1,250", "1250", ""},
		{"1.250", "1.250", ""},
		{"2,5", "2.5", ""},
		{"2,50", "2.50", ""},
		{"1250,50", "1250.50", ""},
		{"1 250,500", "1250.500", ""},
		{"1,250,000", "1250000", ""},
		{"1.250.000", "1250000", ""},
		{"1.250.000,5", "1250000.5", ""},
		{"12,34,567.89", "1234567.89", ""},
		{"007", "7", ""},
		{".5", "0.5", ""},
		{"12.", "12", ""},
		{"-1,250.00", "-1250.00", ""},
		{"−5", "-5", ""},
		{"- 5", "-5", ""},
		{"١٬٢٥٠٫٥٠", "1250.50", ""},
		{"١٢٫٥", "12.5", ""},
		{"۱۲۵۰", "1250", ""},
		{"\u200f١٢٥٠\u200f", "1250", ""},
		{"1250,500", "", ambiguous},
		{"0,125", "", ambiguous},
		{",125", "", ambiguous},
		{"1,25,0", "", badGroups},
		{"1,2,3", "", badGroups},
		{"1.2.3", "", badGroups},
		{"1,250.00.00", "", badGroups},
		{"1 25", "", badGroups},
		{"1,250 000", "", badGroups},
		{"12,50,000,0", "", badGroups},
		{"١٫٢٫٣", "", badGroups},
		{"5%", "", notPercent},
		{"abc", "", notNumber},
		{"1e3", "", notNumber},
		{"+5", "", notNumber},
		{"--5", "", notNumber},
		{"5-", "", notNumber},
		{"-", "", notNumber},
		{".", "", notNumber},
		{"NaN", "", notNumber},
		{"AED 5", "", notNumber},
		{strings.Repeat("1", maxTypedNumber+1), "", notNumber},
	} {
		if got, fault := EnglishNumerals.Read(test.typed, PlainNumber, ""); got != test.want || fault != test.fault {
			t.Errorf("%q is read as %q (%q), want %q (%q)", test.typed, got, fault, test.want, test.fault)
		}
	}
	for typed, want := range map[string]string{"1.250": "1250", "1,250": "1.250", "2.5": "2.5", "1.250,00": "1250.00",
		"1,250.00": "1250.00"} {
		if got, fault := germanNumerals.Read(typed, PlainNumber, ""); got != want || fault != "" {
			t.Errorf("%q is read in German as %q (%q), want %q", typed, got, fault, want)
		}
	}
	if _, fault := germanNumerals.Read("0.125", PlainNumber, ""); fault != ambiguous {
		t.Errorf("0.125 in German: %q", fault)
	}
}

// TestReadNumberWithSign checks that a percent sign may be beside a percentage, and the invoice's currency beside an
// amount.
func TestReadNumberWithSign(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typed string
		kind  NumberKind
		want  string
		fault NumberFault
	}{
		{"5%", PercentNumber, "5", ""},
		{"5 %", PercentNumber, "5", ""},
		{"٥٪", PercentNumber, "5", ""},
		{"%5", PercentNumber, "5", ""},
		{"5%%", PercentNumber, "", notPercent},
		{"%", PercentNumber, "", notNumber},
		{"5%", MoneyNumber, "", notPercent},
		{"AED 1,250.00", MoneyNumber, "1250.00", ""},
		{"1,250.00 aed", MoneyNumber, "1250.00", ""},
		{"-1,250.00AED", MoneyNumber, "-1250.00", ""},
		{"USD 5", MoneyNumber, "", otherCurrency},
		{"about 5", MoneyNumber, "", notNumber},
		{"1e3", MoneyNumber, "", notNumber},
		{"AED", MoneyNumber, "", notNumber},
		{"5 AED", PercentNumber, "", notNumber},
	} {
		if got, fault := EnglishNumerals.Read(test.typed, test.kind, "AED"); got != test.want || fault != test.fault {
			t.Errorf("%q is read as %q (%q), want %q (%q)", test.typed, got, fault, test.want, test.fault)
		}
	}
}

// TestDisplayedNumbersCanBeTyped checks that every number that a page shows, as money, quantity or percentage, is read
// as the same decimal, digit for digit.
func TestDisplayedNumbersCanBeTyped(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		scale := random.IntN(api.MaxScale + 1)
		digits := strconv.FormatInt(random.Int64N(pow(1+random.IntN(api.MaxDigits))), 10)
		for len(digits) <= scale {
			digits = "0" + digits
		}
		text := digits[:len(digits)-scale]
		if scale > 0 {
			text += "." + digits[len(digits)-scale:]
		}
		if random.IntN(4) == 0 && strings.Trim(text, "0.") != "" {
			text = "-" + text
		}
		decimal := api.MustDecimal(text)
		shown := page.Grouped(decimal.String())
		for _, form := range []struct {
			typed string
			kind  NumberKind
		}{{shown, PlainNumber}, {shown, MoneyNumber}, {shown + " AED", MoneyNumber}, {"AED\u00a0" + shown, MoneyNumber},
			{shown + "\u00a0%", PercentNumber}, {shown + "%", PercentNumber}, {arabicIndic(shown), PlainNumber}} {
			got, fault := EnglishNumerals.Read(form.typed, form.kind, "AED")
			if fault != "" || got != decimal.String() {
				t.Fatalf("%s is shown as %q, which is read as %q (%q)", decimal, form.typed, got, fault)
			}
		}
		for _, currency := range []string{"AED", "JPY", "KWD", "XAU"} {
			typed := page.MoneyText(&decimal, currency)
			got, fault := EnglishNumerals.Read(typed, MoneyNumber, currency)
			if value(got).Cmp(value(decimal.String())) != 0 {
				t.Fatalf("%s is shown as %q, which is read as %q (%q)", decimal, typed, got, fault)
			}
		}
	}
}

// value returns the value of a decimal.
func value(decimal string) *big.Rat {
	out, _ := new(big.Rat).SetString(decimal)
	return out
}

// pow returns 10 to the power of n.
func pow(n int) int64 {
	out := int64(1)
	for range n {
		out *= 10
	}
	return out
}

// arabicIndic writes a number with Arabic-Indic digits and separators.
func arabicIndic(number string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ',':
			return arabicComma
		case r == '.':
			return arabicPoint
		case '0' <= r && r <= '9':
			return '٠' + r - '0'
		}
		return r
	}, number)
}

// FuzzReadNumber checks that whatever is typed, the result is a JSON number with the typed digits, or there is a fault.
func FuzzReadNumber(f *testing.F) {
	for _, seed := range []string{"1,250.00", "1 250,00", "٥٪", "-0,5", "AED 1.5", "1'2'3", "٬٫", "1,25,0.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		for _, n := range []Numerals{EnglishNumerals, germanNumerals} {
			for _, kind := range []NumberKind{PlainNumber, MoneyNumber, PercentNumber} {
				got, fault := n.Read(typed, kind, "AED")
				if (got != "") && fault != "" {
					t.Fatalf("%q is read as %q and has the fault %q", typed, got, fault)
				}
				if got == "" {
					continue
				}
				digits := func(text string) string {
					return strings.TrimLeft(strings.Map(func(r rune) rune {
						if r = plainSign(r); '0' <= r && r <= '9' {
							return r
						}
						return -1
					}, text), "0")
				}
				if digits(got) != digits(typed) {
					t.Fatalf("%q is read as %q: other digits", typed, got)
				}
				if strings.Count(got, ".") > 1 || strings.Trim(got, "-0123456789.") != "" {
					t.Fatalf("%q is read as %q", typed, got)
				}
				if again, fault := EnglishNumerals.Read(page.Grouped(got), PlainNumber, ""); len(got) < 60 &&
					(again != got || fault != "") {
					t.Fatalf("%q is read as %q, and that as %q (%q)", typed, got, again, fault)
				}
			}
		}
	})
}
