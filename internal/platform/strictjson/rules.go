package strictjson

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/client/api"
)

// The names of the rules in responses.
const (
	ruleRequired  = "required"
	ruleType      = "type"
	ruleUnknown   = "unknown_field"
	ruleMinLength = "min_length"
	ruleMaxLength = "max_length"
	rulePattern   = "pattern"
	ruleEnum      = "enum"
	ruleDate      = "date"
	ruleControl   = "control_characters"
	ruleDecimal   = "decimal"
	ruleMinimum   = "minimum"
	ruleAbove     = "exclusive_minimum"
	ruleMaximum   = "maximum"
	ruleMinItems  = "min_items"
	ruleMaxItems  = "max_items"
)

// textRule holds the rules of a string.
type textRule struct {
	required      bool
	min, max      int // in code points; negative for no limit
	pattern       *regexp.Regexp
	patternMeans  string
	choices       []string
	date          bool
	allowed       func(rune) bool // of the control characters
	allowedNotice string
}

// newTextRule reads the rules of a string from its tags.
func newTextRule(tags *tagReader) *textRule {
	rule := &textRule{min: tags.count("minLength"), max: tags.count("maxLength")}
	rule.patternMeans = tags.text("patternDescription")
	if pattern := tags.text("pattern"); pattern != "" {
		var err error
		if rule.pattern, err = regexp.Compile(`\A(?:` + pattern + `)\z`); err != nil {
			tags.fail("pattern", err)
		}
		if rule.patternMeans == "" {
			tags.fail("pattern", errors.New("needs patternDescription"))
		}
	}
	if choices := tags.text("enum"); choices != "" {
		rule.choices = strings.Split(choices, ",")
	}
	switch format := tags.text("format"); format {
	case "":
	case "date":
		rule.date = true
	default:
		tags.fail("format", fmt.Errorf("%q is not enforced", format))
	}
	switch text := tags.text("text"); text {
	case "":
		rule.allowed = func(rune) bool { return false }
		rule.allowedNotice = "must not contain control characters"
	case "multi":
		rule.allowed = func(r rune) bool { return r == '\t' || r == '\n' || r == '\r' }
		rule.allowedNotice = "must not contain control characters other than TAB, LF and CR"
	case "any":
		rule.allowed = func(r rune) bool { return r != 0 }
		rule.allowedNotice = "must not contain the character NUL"
	default:
		tags.fail("text", fmt.Errorf("%q is neither multi nor any", text))
	}
	return rule
}

// read is the reader of strings.
func (rule *textRule) read(d *decoding, v Value, into reflect.Value) bool {
	if v.Kind() != '"' {
		d.fault(ruleType, "must be a string")
		return false
	}
	text := v.Text()
	if rule.required && strings.TrimSpace(text) == "" {
		d.fault(ruleRequired, "is required")
		return false
	}
	if !rule.check(d, text) {
		return false
	}
	into.SetString(text)
	return true
}

// check reports every broken rule of a text.
func (rule *textRule) check(d *decoding, text string) bool {
	before := d.count
	length := utf8.RuneCountInString(text)
	if length < rule.min {
		d.fault(ruleMinLength, "must have at least "+quantity(rule.min, "character", "characters"))
	}
	if rule.max >= 0 && length > rule.max {
		d.fault(ruleMaxLength, "must have at most "+quantity(rule.max, "character", "characters"))
	}
	if strings.ContainsFunc(text, func(r rune) bool { return isControl(r) && !rule.allowed(r) }) {
		d.fault(ruleControl, rule.allowedNotice)
	}
	if rule.pattern != nil && !rule.pattern.MatchString(text) {
		d.fault(rulePattern, "must be "+rule.patternMeans)
	}
	if rule.choices != nil && !slices.Contains(rule.choices, text) {
		d.fault(ruleEnum, "must be one of "+strings.Join(rule.choices, ", "))
	}
	if rule.date && !isDate(text) {
		d.fault(ruleDate, "must be a real date, YYYY-MM-DD")
	}
	return d.count == before
}

// isControl reports whether r is a control character: C0, DEL or C1. Bidirectional marks are not control characters.
func isControl(r rune) bool { return r < ' ' || 0x7f <= r && r <= 0x9f }

// isDate reports whether text is a date YYYY-MM-DD of the proleptic Gregorian calendar in the years 0001 to 9999.
func isDate(text string) bool {
	if len(text) != len(time.DateOnly) {
		return false
	}
	date, err := time.Parse(time.DateOnly, text)
	return err == nil && date.Year() > 0
}

// bounds are the limits of a number: min and max are inclusive, above is exclusive. The zero Decimal means no limit.
type bounds struct{ min, above, max api.Decimal }

// check reports a number outside the bounds.
func (b bounds) check(d *decoding, number api.Decimal) bool {
	if !b.min.IsZero() && compare(number, b.min) < 0 {
		d.fault(ruleMinimum, "must be at least "+b.min.String())
		return false
	}
	if !b.above.IsZero() && compare(number, b.above) <= 0 {
		d.fault(ruleAbove, "must be above "+b.above.String())
		return false
	}
	if !b.max.IsZero() && compare(number, b.max) > 0 {
		d.fault(ruleMaximum, "must be at most "+b.max.String())
		return false
	}
	return true
}

// compare compares two decimals by value. It relies on the canonical text: no sign at zero, no leading zeros.
func compare(a, b api.Decimal) int {
	switch {
	case a.Negative() && b.Negative():
		return compareDigits(b.String()[1:], a.String()[1:])
	case a.Negative():
		return -1
	case b.Negative():
		return 1
	}
	return compareDigits(a.String(), b.String())
}

// compareDigits compares two decimal texts without sign.
func compareDigits(a, b string) int {
	wholeA, fractionA, _ := strings.Cut(a, ".")
	wholeB, fractionB, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(wholeA), len(wholeB)), cmp.Compare(wholeA, wholeB),
		cmp.Compare(strings.TrimRight(fractionA, "0"), strings.TrimRight(fractionB, "0")))
}

// decimalRule holds the rules of a decimal.
type decimalRule struct{ bounds bounds }

// read is the reader of decimals: of numbers, and of strings with the text of a number. It parses the text, so that no
// value is converted to a float.
func (rule decimalRule) read(d *decoding, v Value, into reflect.Value) bool {
	text := string(v.Raw())
	if v.Kind() == '"' {
		text = v.Text()
	}
	number, err := api.ParseDecimal(text)
	if errors.Is(err, api.ErrNotDecimal) {
		d.fault(ruleType, "must be a number")
		return false
	}
	if err != nil {
		d.fault(ruleDecimal, fmt.Sprintf("must have at most %d digits, at most %d of them after the point", api.MaxDigits,
			api.MaxScale))
		return false
	}
	if !rule.bounds.check(d, number) {
		return false
	}
	// Assign through the pointer, because reflect.ValueOf would allocate a copy.
	*into.Addr().Interface().(*api.Decimal) = number
	return true
}

// intRule holds the rules of a whole number.
type intRule struct{ bounds bounds }

// read is the reader of whole numbers, which are written without point and exponent and have at most 18 digits, as
// decimals do.
func (rule intRule) read(d *decoding, v Value, into reflect.Value) bool {
	text := string(v.Raw())
	if v.Kind() != '0' || strings.ContainsAny(text, ".eE") {
		d.fault(ruleType, "must be a whole number")
		return false
	}
	number, err := api.ParseDecimal(text)
	if err != nil {
		d.fault(ruleDecimal, fmt.Sprintf("must have at most %d digits", api.MaxDigits))
		return false
	}
	if !rule.bounds.check(d, number) {
		return false
	}
	n, err := strconv.Atoi(number.String())
	if err != nil {
		d.fault(ruleDecimal, "is out of range")
		return false
	}
	into.SetInt(int64(n))
	return true
}

// readBool is the reader of true and false.
func readBool(d *decoding, v Value, into reflect.Value) bool {
	kind := v.Kind()
	if kind != 't' && kind != 'f' {
		d.fault(ruleType, "must be true or false")
		return false
	}
	into.SetBool(kind == 't')
	return true
}

// listRule holds the rules of a list.
type listRule struct {
	list     reflect.Type
	min, max int
	element  reader
	// keepInvalid keeps a list with invalid elements. Elements that are objects keep their index, with zero values for
	// invalid fields, so that later checks report the others with the correct paths.
	keepInvalid bool
}

// newListRule reads the rules of a list from its tags.
func newListRule(list reflect.Type, tags *tagReader) *listRule {
	return &listRule{list: list, min: tags.count("minItems"), max: tags.count("maxItems")}
}

// read is the reader of lists. It does not decode the elements of a list that is too long.
func (rule *listRule) read(d *decoding, v Value, into reflect.Value) bool {
	if v.Kind() != '[' {
		d.fault(ruleType, "must be an array")
		return false
	}
	count := 0
	for range v.Elements() {
		if count++; count > rule.max {
			d.fault(ruleMaxItems, "must have at most "+quantity(rule.max, "entry", "entries"))
			return false
		}
	}
	if count < rule.min {
		d.fault(ruleMinItems, "must have at least "+quantity(rule.min, "entry", "entries"))
		return false
	}
	list, valid, i, base := reflect.MakeSlice(rule.list, count, count), true, 0, len(d.path)
	for element := range v.Elements() {
		d.path = appendElement(d.path[:base], i)
		valid = rule.element(d, element, list.Index(i)) && valid
		i++
	}
	if !valid && !rule.keepInvalid {
		return false
	}
	into.Set(list)
	return true
}

// quantity formats a number with its noun.
func quantity(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
