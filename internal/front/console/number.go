package console

import "strings"

// Numerals are the signs with which a language writes numbers.
type Numerals struct {
	// Decimal is the sign before the fraction, and group the one between groups of digits: a point and a comma, or the
	// reverse.
	Decimal, Group byte
}

// EnglishNumerals are those of the pages: 1,250.50.
var EnglishNumerals = Numerals{Decimal: '.', Group: ','} //nolint:gochecknoglobals // a constant

// NumberFault is the name of a rule that a typed number breaks; its text is the message with the prefix "typed.".
type NumberFault string

// The rules of typed numbers.
const (
	// notNumber means that there is something else than one number.
	notNumber NumberFault = "number"
	// badGroups means that separators do not divide the digits into groups.
	badGroups NumberFault = "groups"
	// ambiguous means that the separator before the last three digits may be a decimal separator or divide groups.
	ambiguous NumberFault = "ambiguous"
	// notPercent means that there is a percent sign in a field that is not a percentage.
	notPercent NumberFault = "percent"
	// otherCurrency means that the number has a currency that is not the invoice's.
	otherCurrency NumberFault = "currency"
)

// NumberKind is what a number counts, which decides about the signs beside it.
type NumberKind int

// The kinds of numbers.
const (
	PlainNumber   NumberKind = iota
	MoneyNumber              // a currency code may be before or after it
	PercentNumber            // a percent sign may be before or after it
)

// maxTypedNumber is the length in bytes of the longest text that is read as a number.
const maxTypedNumber = 128

// Read returns a number as people write it in the form of the API, with all digits of its fraction: "1250.00" for
// "1,250.00" and "1 250,00". An empty text stays empty. currency is the invoice's, which may be beside an amount of
// money.
//
// Digits may be Arabic-Indic. Spaces and apostrophes divide groups. Of a point and a comma, the last one is the decimal
// separator. One alone is the decimal separator too, unless three digits follow and it is the group separator of the
// language: 1,250 is 1250 in English, and 2,5 is 2.5. If the digits before it make no group, as in 0,125 or 1250,500,
// both are plausible, and the number is ambiguous.
func (n Numerals) Read(typed string, kind NumberKind, currency string) (number string, fault NumberFault) {
	if len(typed) > maxTypedNumber {
		return "", notNumber
	}
	text := strings.Map(plainSign, typed)
	if text = strings.TrimSpace(text); text == "" {
		return "", ""
	}
	if text, fault = bare(text, kind, currency); fault != "" {
		return "", fault
	}
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimSpace(strings.TrimPrefix(text, "-"))
	if strings.Trim(text, "0123456789., '"+string(arabicPoint)) != "" || !strings.ContainsAny(text, "0123456789") {
		return "", notNumber
	}
	whole, fraction, fault := n.split(text)
	if fault != "" {
		return "", fault
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative {
		whole = "-" + whole
	}
	return whole, ""
}

// arabicPoint and arabicComma are the decimal separator and the group separator of Arabic numbers.
const (
	arabicPoint = '٫'
	arabicComma = '٬'
)

// plainSign replaces digits, spaces, apostrophes, signs and percent signs with those of ASCII, and removes marks of
// direction.
func plainSign(r rune) rune {
	switch {
	case '٠' <= r && r <= '٩':
		return '0' + r - '٠'
	case '۰' <= r && r <= '۹':
		return '0' + r - '۰'
	}
	switch r {
	case '\u00a0', '\u2007', '\u2009', '\u202f', '\t':
		return ' '
	case '’', '‘', arabicComma: // they divide groups and do nothing else
		return '\''
	case '−', '‐', '‑', '–':
		return '-'
	case '٪', '％':
		return '%'
	case '\u200e', '\u200f', '\u061c', '\u2066', '\u2067', '\u2068', '\u2069':
		return -1
	}
	return r
}

// bare removes the percent sign or the currency beside a number.
func bare(text string, kind NumberKind, currency string) (number string, fault NumberFault) {
	if trimmed := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "%"), "%")); trimmed != text {
		if kind != PercentNumber || strings.Count(text, "%") > 1 {
			return "", notPercent
		}
		return trimmed, ""
	}
	isLetter := func(r rune) bool { return 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' }
	if kind != MoneyNumber || strings.IndexFunc(text, isLetter) < 0 {
		return text, ""
	}
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	code := strings.TrimSpace(strings.Trim(text, "0123456789.,' -"))
	switch {
	case len(code) != len("AED") || strings.IndexFunc(code, func(r rune) bool { return !isLetter(r) }) >= 0:
		return "", notNumber
	case !strings.EqualFold(code, currency):
		return "", otherCurrency
	}
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, code), code))
	if negative {
		text = "-" + text
	}
	return text, ""
}

// split divides the digits of a number at its decimal separator. text has digits and separators.
func (n Numerals) split(text string) (whole, fraction string, fault NumberFault) {
	decimal := n.decimalAt(text)
	whole = text
	if decimal >= 0 {
		after, arabic := strings.CutPrefix(text[decimal:], string(arabicPoint))
		if !arabic {
			after = after[1:]
		}
		whole, fraction = text[:decimal], after
		if strings.Trim(fraction, "0123456789") != "" {
			return "", "", badGroups
		}
	}
	digits, divided := ungrouped(whole)
	if divided {
		return digits, fraction, ""
	}
	if decimal < 0 && strings.Count(text, ",")+strings.Count(text, ".") == 1 &&
		len(text)-strings.LastIndexAny(text, ".,")-1 == groupLength {
		return "", "", ambiguous
	}
	return "", "", badGroups
}

// groupLength is the number of digits of a group.
const groupLength = 3

// decimalAt returns the position of the decimal separator, or -1 if there is none.
func (n Numerals) decimalAt(text string) int {
	if at := strings.IndexRune(text, arabicPoint); at >= 0 {
		return at
	}
	point, comma := strings.LastIndexByte(text, '.'), strings.LastIndexByte(text, ',')
	if point >= 0 && comma >= 0 {
		return max(point, comma)
	}
	last := max(point, comma)
	if last < 0 || strings.Count(text, text[last:last+1]) > 1 {
		return -1 // several equal separators divide groups
	}
	divided := strings.ContainsAny(text[:last], " '") // by others, so that this one does not divide groups
	if text[last] == n.Group && len(text)-last-1 == groupLength && !divided {
		return -1
	}
	return last
}

// ungrouped removes the separators between groups of digits. All are equal. The last group has three digits, the first
// one to three, and those between have three, or two each as in India. ok is false for anything else.
func ungrouped(text string) (digits string, ok bool) {
	at := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if at < 0 {
		return text, true
	}
	groups := strings.Split(text, text[at:at+1])
	last := len(groups) - 1
	middle := len(groups[1]) // of the groups between the first and the last
	for n, group := range groups {
		if strings.Trim(group, "0123456789") != "" {
			return "", false
		}
		switch {
		case n == last && len(group) != groupLength,
			n > 0 && n < last && (len(group) != middle || middle != groupLength && middle != 2),
			n == 0 && (group == "" || group[0] == '0' || len(group) > groupLength || last > 1 && len(group) > middle):
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}
