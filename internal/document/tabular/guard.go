package tabular

import (
	"strings"
	"unicode"
)

// formulaRunes are the characters with which spreadsheets begin a formula, and those that Unicode calls compatible with
// them (NFKC), such as full-width forms.
const formulaRunes = "=+-@＝＋－＠﹦﹢﹣﹫⁼₌⁺₊﬩⩵⩶"

// guard returns the text of a CSV cell that no spreadsheet takes for a formula. An apostrophe precedes a text that
// begins with a character of a formula, also after white space, quotation marks and invisible characters, which some
// programs remove first, and a text that begins with a tab or a line break. It precedes too what guard could have
// returned, so that [unguard] restores every text.
func guard(text string) string {
	if startsFormula(text) {
		return "'" + text
	}
	return text
}

// unguard returns the text that guard got.
func unguard(cell string) string {
	if rest, found := strings.CutPrefix(cell, "'"); found && startsFormula(rest) {
		return rest
	}
	return cell
}

// startsFormula reports whether a text needs the apostrophe. An apostrophe before the text does not change the result.
func startsFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	if text == "" {
		return false
	}
	if strings.ContainsRune("\t\r\n", rune(text[0])) {
		return true
	}
	text = strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Quotation_Mark)
	})
	return text != "" && strings.ContainsRune(formulaRunes, []rune(text)[0])
}
