package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"quittance/client/api"
)

// TestParseDecimal checks the limits of a decimal, and how it is formatted.
func TestParseDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "10.00": "10.00", "-0": "0", "-0.0": "0.0", "-1.50": "-1.50", "1e2": "100", "1E+2": "100", "1.5e1": "15",
		"15e-1": "1.5", "0.000001": "0.000001", "1e-6": "0.000001", "123456789012345678": "123456789012345678",
		"0.5e0": "0.5", "0e999999": "0", "123456789012.345678": "123456789012.345678", "100e-2": "1.00",
	} {
		got, err := api.ParseDecimal(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseDecimal(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"": api.ErrNotDecimal, "-": api.ErrNotDecimal, "+1": api.ErrNotDecimal, "01": api.ErrNotDecimal,
		"1.": api.ErrNotDecimal, ".5": api.ErrNotDecimal, "1e": api.ErrNotDecimal, "1e+": api.ErrNotDecimal,
		"0x10": api.ErrNotDecimal, "NaN": api.ErrNotDecimal, "Infinity": api.ErrNotDecimal, "1 ": api.ErrNotDecimal,
		"1_000": api.ErrNotDecimal, "١": api.ErrNotDecimal, "1234567890123456789": api.ErrDecimalRange,
		"0.0000001": api.ErrDecimalRange, "1e-7": api.ErrDecimalRange, "1e18": api.ErrDecimalRange,
		"1e400": api.ErrDecimalRange, "1e99999999999999999999": api.ErrDecimalRange,
		"1e-99999999999999999999":  api.ErrDecimalRange,
		strings.Repeat("9", 1<<20): api.ErrDecimalRange,
	} {
		if got, err := api.ParseDecimal(text); !errors.Is(err, want) {
			t.Errorf("ParseDecimal(%.40q) = %q, %v; want %v", text, got, err, want)
		}
	}
}

// TestDecimalKeepsItsText sends a decimal through JSON and back.
func TestDecimalKeepsItsText(t *testing.T) {
	for seed := range uint64(500) {
		text := decimalText(rand.New(rand.NewPCG(seed, 0)))
		var d api.Decimal
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(d)
		want := text
		if strings.Trim(text, "-0.") == "" {
			want = strings.TrimPrefix(text, "-")
		}
		if err != nil || string(out) != want {
			t.Fatalf("%s is written as %s: %v", text, out, err)
		}
	}
}

// decimalText returns the text of a decimal with up to twelve digits before the point and up to six after it.
func decimalText(random *rand.Rand) string {
	sign := []string{"", "-"}[random.IntN(2)]
	text := sign + strconv.FormatInt(random.Int64N(int64(math.Pow10(random.IntN(13)))), 10)
	if digits := random.IntN(7); digits > 0 {
		text += fmt.Sprintf(".%0*d", digits, random.Int64N(int64(math.Pow10(digits))))
	}
	return text
}

// FuzzParseDecimal compares with math/big: an accepted text keeps its value, is within the limits, and is stable.
func FuzzParseDecimal(f *testing.F) {
	for _, seed := range []string{"0", "-0", "10.00", "1e2", "15e-1", "1E+05", "0.000001", "123456789012345678", "9e17",
		"1e-400", "00", "1.", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := api.ParseDecimal(text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is not a JSON number", text)
		}
		if _, exponent, _ := strings.Cut(strings.ToLower(text), "e"); len(exponent) > 5 {
			return // math/big cannot handle an exponent of many digits
		}
		want, ok := new(big.Rat).SetString(text)
		got, ok2 := new(big.Rat).SetString(d.String())
		if !ok || !ok2 || want.Cmp(got) != 0 {
			t.Fatalf("%q became %q", text, d)
		}
		digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(d.String()), "0")
		if _, fraction, _ := strings.Cut(d.String(), "."); len(digits) > api.MaxDigits || len(fraction) > api.MaxScale {
			t.Fatalf("%q became %q, which is out of bounds", text, d)
		}
		if again, err := api.ParseDecimal(d.String()); err != nil || again != d {
			t.Fatalf("%q is not stable: %q, %v", d, again, err)
		}
	})
}

// TestAmount checks that an amount keeps its text, and that the zero value is null.
func TestAmount(t *testing.T) {
	for text, want := range map[string]api.Amount{"1050.00": "1050.00",
		"-12345678901234567890.125000": "-12345678901234567890.125000", "null": ""} {
		var got struct{ Amount api.Amount }
		if err := json.Unmarshal([]byte(`{"Amount":`+text+`}`), &got); err != nil || got.Amount != want {
			t.Errorf("%s: %q, %v", text, got.Amount, err)
		}
		if written, err := json.Marshal(got); err != nil || string(written) != `{"Amount":`+text+`}` {
			t.Errorf("%s is written as %s, %v", text, written, err)
		}
	}
}
