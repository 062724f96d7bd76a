package page

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

// Amounts, dates and times have one form on every page: the templates money, day and when show them.

// Money is an amount of money, as the template "money" shows it.
type Money struct {
	// Text has grouped digits and at least the minor unit of the currency, such as 1,050.00. No digit is rounded away.
	Text string
	// Exact is the amount as it was given.
	Exact string
	// Currency is the ISO 4217 code, or "".
	Currency string
}

// MoneyOf returns the view of an amount in a currency, or nil without an amount. An amount is a string, an [api.Amount]
// or a pointer to one, to an [api.Decimal] or to an [invoice.Amount]; a currency is a string or a *string.
func MoneyOf(amount, currency any) *Money {
	exact, code := plainText(amount), plainText(currency)
	if exact == "" {
		return nil
	}
	return &Money{Text: Grouped(InMinorUnit(exact, code)), Exact: exact, Currency: code}
}

// MoneyText returns an amount with its currency as plain text, for sentences.
func MoneyText(amount, currency any) string {
	m := MoneyOf(amount, currency)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m.Text + " " + m.Currency)
}

// plainText returns the text of an amount or a code, and "" for nil.
func plainText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case *string:
		if v != nil {
			return *v
		}
	case api.Amount:
		return string(v)
	case *api.Amount:
		if v != nil {
			return string(*v)
		}
	case *api.Decimal:
		if v != nil {
			return v.String()
		}
	case *invoice.Amount:
		if v != nil {
			return v.String()
		}
	}
	return ""
}

// InMinorUnit returns a decimal number with as many digits after the point as the currency's minor unit has. It keeps
// digits beyond that unless they are trailing zeros. A number in an unknown currency, or in one without a minor unit,
// is unchanged.
func InMinorUnit(number, code string) string {
	currency, known := codelist.Currencies().Lookup(code)
	if !known || currency.MinorUnits == codelist.NoMinorUnits {
		return number
	}
	whole, fraction, _ := strings.Cut(number, ".")
	for len(fraction) > currency.MinorUnits && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if short := currency.MinorUnits - len(fraction); short > 0 {
		fraction += strings.Repeat("0", short)
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// Grouped returns a decimal number with thousands separators and unchanged digits.
func Grouped(number string) string {
	sign, rest := "", number
	if strings.HasPrefix(rest, "-") {
		sign, rest = "−", rest[1:]
	}
	whole, fraction, point := strings.Cut(rest, ".")
	var out strings.Builder
	for n, digit := range whole {
		if n > 0 && (len(whole)-n)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	if point {
		return sign + out.String() + "." + fraction
	}
	return sign + out.String()
}

// shortDay returns a day and its month, such as 2 Jan. The script writes dates and times in the same form, in the
// reader's time zone.
func (t Texts) shortDay(at time.Time) string {
	return strconv.Itoa(at.Day()) + " " + t.texts["month."+strconv.Itoa(int(at.Month()))]
}

// Comma returns the comma of the language with the space after it.
func (t Texts) Comma() string { return t.texts["comma"] + " " }

// longDay returns a date, such as 2 Jan 2006.
func (t Texts) longDay(at time.Time) string { return t.shortDay(at) + at.Format(" 2006") }

// Day is a calendar date, as the template "day" shows it.
type Day struct {
	// Machine is the date as YYYY-MM-DD, or "" for a text that is no date.
	Machine, Text string
}

// Day returns the view of a date, YYYY-MM-DD, given as a string or a *string, and nil for an empty one. A text that is
// no date is shown as it is: drafts of others may have one.
func (t Texts) Day(date any) *Day {
	text := plainText(date)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return &Day{Text: text}
	}
	return &Day{Machine: text, Text: t.longDay(at)}
}

// DayText returns a date as plain text, for sentences, and "" for none.
func (t Texts) DayText(date *string) string {
	if view := t.Day(date); view != nil {
		return view.Text
	}
	return ""
}

// Instant is a time in UTC, as the templates "when" and "tick" show it.
type Instant struct {
	// Machine is for programs, Precise has microseconds, and Text has minutes.
	Machine, Precise, Text string
	// Day and Clock are the short forms on the axis of a time line.
	Day, Clock string
}

// Instant returns the view of a time.Time or *time.Time, and nil for a nil pointer or a zero time.
func (t Texts) Instant(at any) *Instant {
	var given time.Time
	switch at := at.(type) {
	case time.Time:
		given = at
	case *time.Time:
		given = *cmp.Or(at, &time.Time{})
	}
	if given.IsZero() {
		return nil
	}
	utc := given.UTC()
	return &Instant{Machine: utc.Format(time.RFC3339Nano), Precise: utc.Format("2006-01-02 15:04:05.000000 UTC"),
		Text: t.longDay(utc) + t.Comma() + utc.Format("15:04 UTC"), Day: t.shortDay(utc), Clock: utc.Format("15:04:05")}
}

// sizes are the units of a size in bytes, each 1024 times the one before, as their keys below "size." in the messages.
var sizes = []string{"bytes", "kb", "mb", "gb", "tb"} //nolint:gochecknoglobals // a constant list

// Size returns a size in bytes in the largest unit of which it has one or more: with one digit after the point below
// ten, else without.
func (t Texts) Size(bytes int64) (string, error) {
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(sizes)-1 {
		value, unit = value/1024, unit+1
	}
	digits := 0
	if value < 9.95 {
		digits = 1
	}
	return t.Text("size."+sizes[unit], Grouped(strings.TrimSuffix(strconv.FormatFloat(value, 'f', digits, 64), ".0")))
}
