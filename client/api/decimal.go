package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The limits of a [Decimal].
const (
	// MaxDigits is the maximum number of significant digits, including those after the point.
	MaxDigits = 18
	// MaxScale is the maximum number of digits after the point.
	MaxScale = 6
)

// Decimal is an exact decimal number: at most [MaxDigits] digits, at most [MaxScale] of them after the point. It is
// encoded as a JSON number and decoded from a number or from a string with the text of a number, because not every
// language can write 10.00 as a number. It is never converted to a float and keeps its scale: 10.00 stays 10.00. The
// zero value is not a number; use [ParseDecimal].
type Decimal struct{ text string }

// ErrNotDecimal means that a text is not a JSON number, and ErrDecimalRange that it has too many digits.
var (
	ErrNotDecimal   = errors.New("not a decimal number")
	ErrDecimalRange = fmt.Errorf("more than %d digits, or more than %d after the point", MaxDigits, MaxScale)
)

// ParseDecimal parses a JSON number (RFC 8259, section 6). It converts an exponent to plain notation: 1e2 is 100. It
// returns [ErrNotDecimal] or [ErrDecimalRange].
func ParseDecimal(text string) (Decimal, error) {
	mantissa, exponent, err := splitNumber(text)
	if err != nil {
		return Decimal{}, err
	}
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	if strings.Trim(whole+fraction, "0") == "" && exponent != 0 {
		exponent = 0 // zero has no magnitude: 0e9 is 0
	}
	if exponent > MaxDigits || exponent < -(MaxDigits+MaxScale) || len(whole)+len(fraction) > 4*MaxDigits {
		return Decimal{}, ErrDecimalRange
	}
	if exponent != 0 {
		whole, fraction = shift(whole, fraction, exponent)
	}
	significant := strings.TrimLeft(whole, "0") + fraction
	if len(significant) > MaxDigits || len(fraction) > MaxScale {
		return Decimal{}, ErrDecimalRange
	}
	out := strings.TrimLeft(whole, "0")
	if out == "" {
		out = "0"
	}
	if fraction != "" {
		out += "." + fraction
	}
	if negative && strings.Trim(out, "0.") != "" {
		out = "-" + out
	}
	return Decimal{text: out}, nil
}

// splitNumber checks the grammar of a JSON number and returns its parts.
func splitNumber(text string) (mantissa string, exponent int, err error) {
	rest := strings.TrimPrefix(text, "-")
	digits := func() string {
		n := 0
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	whole := digits()
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return "", 0, ErrNotDecimal
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = after
		if digits() == "" {
			return "", 0, ErrNotDecimal
		}
	}
	mantissa = text[:len(text)-len(rest)]
	if rest == "" {
		return mantissa, 0, nil
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return "", 0, ErrNotDecimal
	}
	rest = rest[1:]
	sign := 1
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		if rest[0] == '-' {
			sign = -1
		}
		rest = rest[1:]
	}
	power := digits()
	if power == "" || rest != "" {
		return "", 0, ErrNotDecimal
	}
	n, err := strconv.Atoi(power)
	if err != nil || n > 1000 {
		n = 1000 // far outside every bound: the caller refuses it by range
	}
	return mantissa, sign * n, nil
}

// shift moves the decimal point by n digits to the right, or to the left if n is negative.
func shift(whole, fraction string, n int) (string, string) {
	for ; n > 0; n-- {
		next := "0"
		if fraction != "" {
			next, fraction = fraction[:1], fraction[1:]
		}
		whole += next
	}
	for ; n < 0; n++ {
		last := "0"
		if whole != "" {
			last, whole = whole[len(whole)-1:], whole[:len(whole)-1]
		}
		fraction = last + fraction
	}
	return whole, fraction
}

// MustDecimal is [ParseDecimal] for constants; it panics on an error.
func MustDecimal(text string) Decimal {
	d, err := ParseDecimal(text)
	if err != nil {
		panic(fmt.Sprintf("api: %q: %v", text, err))
	}
	return d
}

// String returns the number in plain notation with its scale; it returns "" for the zero value.
func (d Decimal) String() string { return d.text }

// IsZero reports whether d is the zero value, which means absent. It is false for the number zero.
func (d Decimal) IsZero() bool { return d.text == "" }

// Negative reports whether d is below zero.
func (d Decimal) Negative() bool { return strings.HasPrefix(d.text, "-") }

// MarshalJSON writes the number; the zero value is null.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if d.text == "" {
		return []byte("null"), nil
	}
	return []byte(d.text), nil
}

// UnmarshalJSON reads a JSON number, or a JSON string with one; null becomes the zero value.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	number := string(text)
	if number == "null" {
		*d = Decimal{}
		return nil
	}
	if strings.HasPrefix(number, `"`) {
		if err := json.Unmarshal(text, &number); err != nil {
			return err
		}
	}
	parsed, err := ParseDecimal(number)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
