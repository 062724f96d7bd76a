package tabular

import (
	"encoding/xml"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// format says as what a number of a cell is read, so that a cell has the text that the API takes, whatever the
// spreadsheet shows: a date as YYYY-MM-DD, a time of day as HH:MM, a percentage with its sign, and any other number
// with all its digits.
type format struct {
	kind formatKind
	// exact reports that a cell shows the digits of the number, perhaps with zeros before them, and nothing else.
	exact bool
	// width is the number of digits that are shown at least, with zeros before them; 0 for a format that is not only
	// zeros.
	width int
}

type formatKind int

const (
	plainNumber formatKind = iota
	percentage
	dateNumber
	timeNumber
)

// The built-in formats of percentages, dates and times, those of East Asian languages included (ECMA-376, part 1,
// 18.8.30).
var builtInFormats = map[formatKind][]int{ //nolint:gochecknoglobals // a constant table
	percentage: {9, 10},
	dateNumber: {14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58},
	timeNumber: {18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56},
}

// readFormats returns the formats of the cells by the number of their style.
func (b *book) readFormats(name string) ([]format, error) {
	codes, ids := map[int]format{}, []int(nil)
	err := b.elements(name, func(p *part, of xml.StartElement) error {
		return p.children(func(e xml.StartElement) error {
			switch of.Name.Local + "/" + e.Name.Local {
			case "numFmts/numFmt":
				if len(codes) == maxStyles {
					return tooMany(maxStyles, "number formats")
				}
				codes[number(attribute(e, "numFmtId"))] = formatOfCode(attribute(e, "formatCode"))
			case "cellXfs/xf":
				if len(ids) == maxStyles {
					return tooMany(maxStyles, "formats of cells")
				}
				ids = append(ids, number(attribute(e, "numFmtId")))
			}
			return nil
		})
	})
	formats := make([]format, len(ids))
	for n, id := range ids {
		custom, known := codes[id]
		if formats[n] = custom; !known {
			formats[n] = builtInFormat(id)
		}
	}
	return formats, err
}

// number returns the number of an attribute, 0 if it is none, which is the general format.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// formatOf returns the format of a style.
func (b *book) formatOf(style string) format {
	if n := number(style); n >= 0 && n < len(b.formats) {
		return b.formats[n]
	}
	return format{exact: true}
}

// builtInFormat returns the format of a number that no code is given for. 0 is the general one, 1 has no decimals, and
// 49 is that of texts.
func builtInFormat(id int) format {
	for kind, ids := range builtInFormats {
		if slices.Contains(ids, id) {
			return format{kind: kind}
		}
	}
	return format{exact: slices.Contains([]int{0, 1, 49}, id)}
}

// formatOfCode returns the format of a number format's code.
func formatOfCode(code string) format {
	code, _, _ = strings.Cut(code, ";") // negative numbers have the second part
	if width := len(code); width > 0 && width <= exactDigits && strings.Trim(code, "0") == "" {
		return format{width: width, exact: true}
	}
	letters, more := signsOf(strings.ToLower(code))
	switch {
	case strings.Contains(letters, "general"):
		return format{exact: letters == "general" && !more}
	case letters == "@":
		return format{exact: !more}
	case elapsed.MatchString(code):
		return format{}
	case strings.ContainsAny(letters, "yd"):
		return format{kind: dateNumber}
	case strings.ContainsAny(letters, "hs"):
		return format{kind: timeNumber}
	case strings.Contains(letters, "m"):
		return format{kind: dateNumber}
	case strings.Contains(letters, "%"):
		return format{kind: percentage}
	}
	return format{}
}

// elapsed matches hours, minutes or seconds of any number of days.
var elapsed = regexp.MustCompile(`(?i)\[(h+|m+|s+)\]`)

// signsOf returns the signs of a number format that are no literal text and not in brackets, such as a colour or a
// language. more reports that there is such a text, or a currency in brackets.
func signsOf(code string) (signs string, more bool) {
	var out strings.Builder
	quoted, bracketed := false, false
	for n := 0; n < len(code); n++ {
		switch c := code[n]; {
		case !quoted && (c == '\\' || c == '_' || c == '*'): // the next character is shown, or is as wide as a space
			more = true
			n++
		case c == '"':
			more, quoted = true, !quoted
		case c == '[' && !quoted:
			bracketed = true
		case c == ']' && !quoted:
			bracketed = false
		case c == '$' && bracketed:
			more = more || !strings.HasPrefix(code[n:], "$-")
		case !quoted && !bracketed:
			out.WriteByte(c)
		}
	}
	return out.String(), more
}

// read returns the text of a number, and in shown what it shows if that has zeros at its beginning. A text that is no
// number stays what it is.
func (f format) read(text string, from1904 bool) (value, shown string) {
	number, ok := parseNumber(text)
	if !ok {
		return text, ""
	}
	switch f.kind {
	case percentage:
		return decimalText(number, 2) + "%", ""
	case dateNumber, timeNumber:
		if text, ok := f.moment(number, from1904); ok {
			return text, ""
		}
	case plainNumber:
	}
	value = decimalText(number, 0)
	if len(value) < f.width && strings.Trim(value, "0123456789") == "" {
		shown = strings.Repeat("0", f.width-len(value)) + value
	}
	return value, shown
}

// parseNumber returns a decimal number; false for a text that is none.
func parseNumber(text string) (float64, bool) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}

// isLong reports whether a number has more digits than spreadsheets keep. They have replaced the others with zeros,
// for example the last ones of a bank account.
func isLong(text string) bool {
	const first = 1e15
	number, ok := parseNumber(text)
	return ok && math.Abs(number) >= first
}

// decimalText returns a number times a power of ten, with the digits that spreadsheets keep.
func decimalText(number float64, power int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(number, 'e', exactDigits-1, 64), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return ""
	}
	rounded, err := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(n+power), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// moment returns the date or the time of day of a number of days. A time just before midnight is one of that day. In
// the calendar that begins in 1900, day 0 is no day, day 60 is 29 February, which never was, and the days before it
// count from a day later.
func (f format) moment(days float64, from1904 bool) (string, bool) {
	const lastDay, leapDay, secondsOfDay = 2_958_465, 60, 86_400 // 31 December 9999
	days, err := strconv.ParseFloat(decimalText(days, 0), 64)
	if err != nil || days < 0 || days >= lastDay+1 {
		return "", false
	}
	day, part := math.Modf(days)
	if f.kind == timeNumber {
		seconds := int(part*secondsOfDay + 0.5)
		return time.Date(1, 1, 1, 0, 0, min(seconds, secondsOfDay-1), 0, time.UTC).Format("15:04"), true
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case day == 0: // what a formula that names an empty cell has
		return "1900-01-00", true
	case int(day) == leapDay:
		return "1900-02-29", true
	case day < leapDay:
		first = first.AddDate(0, 0, 1)
	}
	return first.AddDate(0, 0, int(day)).Format(time.DateOnly), true
}

// dayOf returns the day of a date with a time (ISO 8601). Any other text stays what it is.
func dayOf(text string) string {
	day, _, _ := strings.Cut(text, "T")
	if _, err := time.Parse(time.DateOnly, day); err == nil {
		return day
	}
	return text
}
