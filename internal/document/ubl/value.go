package ubl

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/client/api"
)

// maxValue is the longest text that is shown, in characters. Longer ones are cut.
const maxValue = 4096

// reader turns elements into the values of a document, and collects warnings.
type reader struct {
	warnings api.Faults
	count    int // of warnings
	// currencies has a path for each currency that an amount of the document names.
	currencies map[string]string
}

// maxWarnings bounds the warnings of a document, and maxLineWarnings those about its lines.
const maxWarnings, maxLineWarnings = 100, 80

// warn adds a warning about the value at a path, one of a rule. Lines, which are read first, leave room for the others.
func (r *reader) warn(path, rule, message string) {
	most := maxWarnings
	if strings.HasPrefix(path, "lines[") {
		most = maxLineWarnings
	}
	known := func(f api.Fault) bool { return f.Rule == rule }
	if r.count >= most || slices.ContainsFunc(r.warnings[path], known) {
		return
	}
	r.count++
	r.warnings.Add(path, rule, message)
}

// name returns the text of an element on one line, and nil if the element is absent or empty.
func (r *reader) name(e *element) *string {
	return r.cut(strings.Join(strings.Fields(textOf(e)), " "))
}

// prose returns the text of an element with its lines.
func (r *reader) prose(e *element) *string { return r.cut(textOf(e)) }

func textOf(e *element) string {
	if e == nil {
		return ""
	}
	return e.text
}

// attribute returns an attribute of an element.
func (r *reader) attribute(e *element, name string) *string {
	return r.cut(strings.Join(strings.Fields(e.attribute(name)), " "))
}

// cut returns a text of at most maxValue characters, and nil for an empty one.
func (r *reader) cut(value string) *string {
	if value == "" {
		return nil
	}
	if utf8.RuneCountInString(value) > maxValue {
		value = string([]rune(value)[:maxValue-1]) + "…"
		r.warn("document", "max_length",
			"A text is longer than 4096 characters and is cut. Download the document for the whole text.")
	}
	return &value
}

// decimal is the form of xs:decimal (XML Schema, part 2, section 3.2.3).
var decimal = regexp.MustCompile(`\A([+-]?)0*([0-9]*)(\.([0-9]*))?\z`)

// maxNumber is the longest number that is read, in characters.
const maxNumber = 40

// number returns a decimal number as JSON writes it, with all its digits after the point. at is its path in the
// document as it is shown.
func (r *reader) number(e *element, at string) *api.Amount {
	given := textOf(e)
	if given == "" {
		return nil
	}
	parts := decimal.FindStringSubmatch(given)
	if parts == nil || len(given) > maxNumber || !strings.ContainsAny(given, "0123456789") {
		r.warn(at, "type", "The document states a value that is not a decimal number.")
		return nil
	}
	whole, fraction := parts[2], parts[4]
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if parts[1] == "-" && strings.Trim(whole, "0.") != "" {
		whole = "-" + whole
	}
	return new(api.Amount(whole))
}

// amount returns an amount in the document's currency.
func (r *reader) amount(e *element, at string) *api.Amount {
	if currency := e.attribute("currencyID"); currency != "" && r.currencies[currency] == "" &&
		len(r.currencies) < maxWarnings {
		r.currencies[currency] = at
	}
	return r.number(e, at)
}

// date returns a date as YYYY-MM-DD. Its time zone, which xs:date allows, is left out.
func (r *reader) date(e *element, at string) *string {
	given := textOf(e)
	if given == "" {
		return nil
	}
	zone := ""
	if len(given) > len(time.DateOnly) {
		given, zone = given[:len(time.DateOnly)], given[len(time.DateOnly):]
	}
	if _, err := time.Parse(time.DateOnly, given); err != nil || zone != "" && !dateZone.MatchString(zone) {
		r.warn(at, "date", "The document states a value that is not a date.")
		return nil
	}
	return &given
}

// dateZone is a time zone of xs:date, and clock the form of xs:time.
var (
	dateZone = regexp.MustCompile(`\A(Z|[+-][0-9]{2}:[0-9]{2})\z`)
	clock    = regexp.MustCompile(`\A([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?\z`)
)

// clock returns a time of day as it is stated.
func (r *reader) clock(e *element, at string) *string {
	given := r.name(e)
	if given != nil && !clock.MatchString(*given) {
		r.warn(at, "time", "The document states a value that is not a time.")
		return nil
	}
	return given
}

// ruleRepeated is the rule of the warning about an element that may be there once and is repeated.
const (
	ruleRepeated    = "repeated"
	repeatedMessage = "The document states this more than once; the first is shown."
)

// entries returns the first elements of a name, as many as are shown.
func (r *reader) entries(e *element, name, at string) []*element {
	all := e.all(name)
	if len(all) > maxEntries {
		r.warn(at, "max_items", "The document has more of these than the 100 that are shown.")
		all = all[:maxEntries]
	}
	return all
}

// maxEntries is how many entries of each list are shown, other than lines.
const maxEntries = 100
