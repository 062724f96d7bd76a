package tabular

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"quittance/client/api"
)

// The rules of a text that a spreadsheet program has put in the place of another one, and of a number in a column of
// texts that shows something else.
const (
	ruleDamaged = "damaged_value"
	ruleAltered = "shown_differently"
)

// unusableMessages say why a cell has no usable value.
var unusableMessages = map[string]string{ //nolint:gochecknoglobals // a constant table
	ruleFormula: "has a formula without a stored result: open the file in a spreadsheet program and save it again",
	ruleError:   "has an error instead of a value",
	ruleDigits: "must have at most 15 digits, because spreadsheets keep no more: " +
		"format the cell as text and type the number again",
	ruleControl: "must not contain control characters",
	ruleDamaged: "is not what was typed: a spreadsheet program has shortened it or replaced it with an error; " +
		"format the column as text and type the value again",
	ruleAltered: "is not what the cell shows, because of its number format: format the cell as text and type the value again",
}

// damaged matches what spreadsheet programs save instead of a value that they cannot show: a long number in scientific
// notation, a cell that is too narrow, and errors in the languages of the programs. shortenedNumber matches any number
// in scientific notation, which nobody types as an amount.
var (
	damaged = regexp.MustCompile(
		`^(-?\d([.,]\d+)?[Ee]\+\d{2,3}|#{2,}|#[¿¡]?\p{Lu}[\p{Lu}\d/_.]*[!?]|#N/A|#N/D|#N/B|#NV|Err:\d{3})$`)
	shortenedNumber = regexp.MustCompile(`^[-+]?\d([.,]\d+)?[Ee][-+]?\d+$`)
)

// isControl reports whether a character is a control character that no field may have. Written as JSON it takes six
// times the memory.
func isControl(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }

// ruleOf returns the rule that the text of a cell breaks in a column of a kind, "" if it breaks none. altered says that
// the cell shows something else.
func ruleOf(kind Kind, text string, altered bool) string {
	if strings.ContainsFunc(text, isControl) {
		return ruleControl
	}
	switch text = strings.TrimSpace(text); {
	case kind == Text && altered:
		return ruleAltered
	case kind == Text && damaged.MatchString(text), kind == Decimal && shortenedNumber.MatchString(text):
		return ruleDamaged
	}
	return ""
}

// checkRow reports cells without a usable value, and cells outside the columns.
func (r *reading) checkRow(row *Row) {
	for at, shown := range row.shown {
		if at < len(r.names) && r.names[at] != "" && r.kinds[at] == Text {
			row.Cells[at] = shown
		}
	}
	for at, cell := range row.Cells {
		if at >= len(r.names) || r.names[at] == "" || row.unusable[at] != "" {
			continue
		}
		if rule := ruleOf(r.kinds[at], cell, row.altered.has(at)); rule != "" {
			row.mark(at, rule)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(row.unusable)) {
		if at < len(r.names) && r.names[at] != "" {
			rule := row.unusable[at]
			r.add(row, r.names[at], api.Fault{Rule: rule, Message: unusableMessages[rule]})
		}
	}
	for at, cell := range row.Cells {
		if strings.TrimSpace(cell) != "" && (at >= len(r.names) || r.names[at] == "") {
			message := fmt.Sprintf("has a value in cell %d, where the header has no name", at+1)
			r.report(Fault{api.Fault{Rule: ruleNoColumn, Message: message}, row.Number, "", shortened(cell)})
			return
		}
	}
}
