package console

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"quittance/internal/document/codelist"
)

// CodeNames are the names of a code list in one language, by which people choose its codes.
type CodeNames struct {
	// entries are the codes that forms offer, the common ones first and the others by name.
	entries []codelist.Entry
	Names   map[string]string
	// codes has the codes by their lower-case form, and words those that a name or another word in lower case stands for.
	codes map[string]string
	words map[string][]string
}

// commonCodes lists the codes that forms offer first.
var commonCodes = map[string][]string{ //nolint:gochecknoglobals // a constant table
	UnitCodes: {"C62", "H87", "HUR", "DAY", "MON", "ANN", "KGM", "GRM", "TNE", "LTR", "MTR", "KMT", "MTK", "MTQ",
		"KWH", "MIN", "WEE", "EA", "SET", "PR", "XBX", "XPK", "E48", "LS"},
	"currencies":     {"AED", "USD", "EUR", "GBP", "SAR", "INR"},
	"countries":      {"AE", "SA", "QA", "KW", "BH", "OM", "IN", "GB", "US"},
	"payment-means":  {"30", "10", "48", "49", "20", "54", "55", "68"},
	"tax-categories": {"S", "Z", "E", "O", "AE"},
	"document-types": {"380", "386", "384", "326", "383", "480"},
	// a discount and a rebate; freight, delivery, packing, handling and others
	"allowance-reasons": {"95", "100"},
	"charge-reasons":    {"FC", "DL", "PC", "SAA", "HD", "ADR"},
}

// codeNames returns the names of all code lists. A message code.LIST.CODE replaces the official name, and
// words.LIST.CODE lists other words for the code, separated by commas. The official name, which is in English, can
// always be typed.
func (c Catalogue) codeNames() map[string]*CodeNames {
	out := map[string]*CodeNames{}
	for list, official := range codeLists {
		out[list] = c.namesOf(list, official)
	}
	return out
}

func (c Catalogue) namesOf(list string, official codeList) *CodeNames {
	n := &CodeNames{Names: map[string]string{}, codes: map[string]string{}, words: map[string][]string{}}
	rank := map[string]int{}
	for at, code := range commonCodes[list] {
		rank[code] = at - len(commonCodes[list])
	}
	for e := range official.all() {
		e.Name = c.TextOr("code."+list+"."+e.Code, cmp.Or(e.Name, e.Code))
		n.entries = append(n.entries, e)
		n.Names[e.Code] = e.Name
		n.codes[strings.ToLower(e.Code)] = e.Code
	}
	slices.SortStableFunc(n.entries, func(a, b codelist.Entry) int {
		return cmp.Or(rank[a.Code]-rank[b.Code], strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	for _, e := range n.entries {
		folded := foldWords(e.Name)
		if known := n.words[folded]; len(known) == 0 || rank[known[0]] == 0 { // a common code keeps its name
			n.words[folded] = append(known, e.Code)
		}
	}
	for _, e := range n.entries {
		for word := range strings.SplitSeq(c.TextOr("words."+list+"."+e.Code, ""), ",") {
			if word = foldWords(word); word != "" {
				n.words[word] = []string{e.Code}
			}
		}
		if word := foldWords(official.name(e.Code)); word != "" && len(n.words[word]) == 0 {
			n.words[word] = []string{e.Code}
		}
	}
	return n
}

// foldWords returns a text in lower case with single spaces, and with one form of each Arabic letter that people write
// in several.
func foldWords(text string) string {
	return arabicForms.Replace(strings.ToLower(strings.Join(strings.Fields(text), " ")))
}

// arabicForms replaces the forms of alif, ya and ta marbuta by one form, and removes the tatweel and the vowel signs.
var arabicForms = strings.NewReplacer("أ", "ا", "إ", "ا", "آ", "ا", "ى", "ي", "ة", "ه", "ـ", "", //nolint:gochecknoglobals // a constant table
	"\u064b", "", "\u064c", "", "\u064d", "", "\u064e", "", "\u064f", "", "\u0650", "", "\u0651", "", "\u0652", "")

// maxChoices is the number of codes that a fault about an ambiguous name lists.
const maxChoices = 5

// quote is the mark around a text that resolve does not interpret.
const quote = `"`

// Resolve returns the code that people mean by a text: a code in any case, a name, another word, a name followed by its
// code in parentheses, or the beginnings of words that are in one name only. A text in quotation marks stands for
// exactly what is between them. Otherwise it returns the text itself, and if words of several names begin with it, the
// first of them as choices.
func (n *CodeNames) Resolve(typed string) (code string, choices []codelist.Entry) {
	text := strings.TrimSpace(typed)
	folded := foldWords(text)
	if _, known := n.Names[text]; known || text == "" {
		return text, nil
	}
	if len(typed) > 1 && strings.HasPrefix(typed, quote) && strings.HasSuffix(typed, quote) {
		return typed[1 : len(typed)-1], nil
	}
	if open := strings.LastIndexByte(text, '('); open >= 0 && strings.HasSuffix(text, ")") {
		if code, known := n.codes[strings.ToLower(text[open+1:len(text)-1])]; known &&
			foldWords(text[:open]) == foldWords(n.Names[code]) {
			return code, nil
		}
	}
	if codes := n.words[folded]; len(codes) > 0 {
		if len(codes) == 1 {
			return codes[0], nil
		}
		for _, code := range codes {
			choices = append(choices, codelist.Entry{Code: code, Name: n.Names[code]})
		}
		return typed, choices
	}
	if code, known := n.codes[folded]; known {
		return code, nil
	}
	var found []codelist.Entry
	for _, e := range n.entries {
		if beginWords(foldWords(e.Name), folded) && len(found) < maxChoices {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return typed, nil
	case 1:
		return found[0].Code, nil
	}
	return typed, found
}

// Show returns the text for a code in a form, which resolve turns into the code again: its name, followed by the code
// if the name or its capital letters stand for another one. The API stores drafts with unknown codes. Such a code is
// shown as it is, or in quotation marks if people would mean something else by it, so that saving the form does not
// change it.
func (n *CodeNames) Show(code string) string {
	name, known := n.Names[code]
	if !known {
		if same, choices := n.Resolve(code); same != code || choices != nil {
			return quote + code + quote
		}
		return code
	}
	found, _ := n.Resolve(name)
	if other, isCode := n.codes[foldWords(name)]; found != code || isCode && other != code {
		return name + " (" + code + ")"
	}
	return name
}

// Beside returns what a form shows beside a typed text that stands for a code: the code for a name, and the name for
// anything else.
func (n *CodeNames) Beside(typed, code string) string {
	name, known := n.Names[code]
	switch {
	case !known, name == code:
		return ""
	case foldWords(typed) == foldWords(name):
		return code
	}
	return name
}

// beginWords reports whether each word of a text is the beginning of a word of a name, both in lower case. A text
// without letters and digits has no words.
func beginWords(name, text string) bool {
	words := strings.FieldsFunc(name, isNoLetter)
	for _, word := range strings.FieldsFunc(text, isNoLetter) {
		if !slices.ContainsFunc(words, func(of string) bool { return strings.HasPrefix(of, word) }) {
			return false
		}
	}
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

func isNoLetter(r rune) bool { return strings.ContainsRune(" ,.;:()[]/-'’\"", r) }

// Find returns at most the given number of codes that match a text, ignoring case: exact matches first, then codes and
// names that begin with it, then names with words that begin with it, then names that contain it. An empty text matches
// all codes.
func (n *CodeNames) Find(text string, most int) []codelist.Entry {
	folded := foldWords(text)
	if folded == "" {
		return n.entries[:min(len(n.entries), most)]
	}
	var equal, begins, words, parts []codelist.Entry
	exact := n.words[folded]
	for _, e := range n.entries {
		code, name := strings.ToLower(e.Code), foldWords(e.Name)
		switch {
		case code == folded || name == folded || slices.Contains(exact, e.Code):
			equal = append(equal, e)
		case strings.HasPrefix(code, folded) || strings.HasPrefix(name, folded):
			begins = append(begins, e)
		case beginWords(name, folded):
			words = append(words, e)
		case strings.Contains(name, folded):
			parts = append(parts, e)
		}
	}
	found := slices.Concat(equal, begins, words, parts)
	return found[:min(len(found), most)]
}

// Place returns the lines of an address after the street: the city with its subdivision, unless that has the same name,
// and the country. Codes that are known are shown by their names.
func (w *Words) Place(city, subdivision, country *string) (lines []string) {
	region := w.CodeName("emirates", Deref(subdivision))
	if strings.EqualFold(region, Deref(city)) {
		region = ""
	}
	for _, line := range []string{strings.Trim(Deref(city)+w.Messages.Comma()+region, w.Messages.Comma()),
		w.CodeName("countries", Deref(country))} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
