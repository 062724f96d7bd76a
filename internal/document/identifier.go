package document

import (
	"strconv"
	"strings"
)

// identifierForm is the form that the rules require of the identifiers of one scheme.
type identifierForm struct {
	ids   ruleIDs
	name  string
	valid func(string) bool
}

// identifierForms are the schemes whose identifiers have a form (EAS and ISO 6523 codes).
var identifierForms = map[string]identifierForm{ //nolint:gochecknoglobals // a constant table
	"0088": {ruleIDs{"ibr-068", "PEPPOL-COMMON-R040"}, "a GLN: thirteen digits with a check digit", validGLN},
	"0192": {ruleIDs{"ibr-069", "PEPPOL-COMMON-R041"}, "a Norwegian organisation number: nine digits with a check digit",
		validNorwegian},
	"0184": {ruleIDs{"ibr-070", "PEPPOL-COMMON-R042"}, "a Danish number: DK and eight digits", validDanish},
	"0208": {ruleIDs{"ibr-113", "PEPPOL-COMMON-R043"}, "a Belgian enterprise number: ten digits with check digits",
		validBelgian},
	"0201": {ruleIDs{"ibr-114", "PEPPOL-COMMON-R044"}, "a Codice IPA: six letters and digits", validIPA},
	"0210": {ruleIDs{"ibr-115", "PEPPOL-COMMON-R045"}, "an Italian Codice Fiscale", validFiscalCode},
	"9907": {ruleIDs{"ibr-115", "PEPPOL-COMMON-R046"}, "an Italian Codice Fiscale", validFiscalCode},
	"0211": {ruleIDs{"ibr-116", "PEPPOL-COMMON-R047"}, "an Italian VAT number: IT and eleven digits with a check digit",
		validItalianVAT},
	"9906": {ruleIDs{"ibr-116", "PEPPOL-COMMON-R048"}, "an Italian VAT number: IT and eleven digits with a check digit",
		validItalianVAT},
	"0007": {ruleIDs{"ibr-127", "PEPPOL-COMMON-R049"}, "a Swedish organisation number: ten digits with a check digit",
		validSwedish},
	"0096": {ruleIDs{"", "PEPPOL-COMMON-R052"}, "a Danish P number: ten digits",
		func(s string) bool { return digits(s, 10) }},
	"0198": {ruleIDs{"", "PEPPOL-COMMON-R053"}, "a Danish number: DK and eight digits", validDanish},
	"0151": {ruleIDs{"ibr-120", "PEPPOL-COMMON-R050"}, "an Australian business number: eleven digits with check digits",
		validABN},
}

// digits tells whether s has exactly n decimal digits and nothing else.
func digits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789") == ""
}

// weighted is the sum of the digits of s, each multiplied by its weight.
func weighted(s string, weight func(at int) int) int {
	sum := 0
	for at := range len(s) {
		sum += int(s[at]-'0') * weight(at)
	}
	return sum
}

// validGLN checks a Global Location Number (GS1): the digits are weighted with 3 and 1 alternately from the right.
func validGLN(s string) bool {
	if !digits(s, 13) {
		return false
	}
	sum := weighted(s[:12], func(at int) int { return 1 + 2*(at%2) })
	return (10-sum%10)%10 == int(s[12]-'0')
}

// validNorwegian checks an organisasjonsnummer: modulo 11 with the weights 2 to 7 from the right.
func validNorwegian(s string) bool {
	if !digits(s, 9) || strings.Trim(s, "0") == "" {
		return false
	}
	sum := weighted(s[:8], func(at int) int { return (7-at)%6 + 2 })
	return (11-sum%11)%11 == int(s[8]-'0')
}

func validDanish(s string) bool { return strings.HasPrefix(s, "DK") && digits(s[2:], 8) }

// validBelgian checks an enterprise number: the last two digits are 97 less the rest modulo 97.
func validBelgian(s string) bool {
	if !digits(s, 10) {
		return false
	}
	n, _ := strconv.Atoi(s[:8]) // eight digits
	check, _ := strconv.Atoi(s[8:])
	return 97-n%97 == check
}

// letters tells whether s consists of ASCII letters.
func letters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
}

// alphanumeric tells whether s consists of ASCII letters and digits.
func alphanumeric(s string) bool {
	return letters(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s))
}

func validIPA(s string) bool { return len(s) == 6 && alphanumeric(s) }

// validFiscalCode checks the form of a Codice Fiscale: eleven digits for a company, or sixteen characters for a person.
func validFiscalCode(s string) bool {
	if len(s) == 11 {
		return digits(s, 11)
	}
	return len(s) == 16 && letters(s[:6]) && digits(s[6:8], 2) && letters(s[8:9]) && digits(s[9:11], 2) &&
		alphanumeric(s[11:14]) && digits(s[14:15], 1) && letters(s[15:])
}

// validItalianVAT checks a Partita IVA. Its country prefix is required here, although the rules let everything without
// it pass.
func validItalianVAT(s string) bool {
	number, ok := strings.CutPrefix(strings.ToUpper(s), "IT")
	if !ok || !digits(number, 11) {
		return false
	}
	sum := 0
	for at := range len(number) {
		digit := int(number[at] - '0')
		if at%2 == 1 {
			digit = 2*digit/10 + 2*digit%10
		}
		sum += digit
	}
	return sum%10 == 0
}

// validSwedish checks an organisationsnummer: ten digits with a Luhn check digit.
func validSwedish(s string) bool {
	if !digits(s, 10) {
		return false
	}
	sum := 0
	for at := range len(s) {
		digit := int(s[at]-'0') * (2 - at%2)
		sum += digit/10 + digit%10
	}
	return sum%10 == 0
}

// validABN checks an Australian Business Number: the weighted sum, with the first digit less one, is a multiple of 89.
func validABN(s string) bool {
	if !digits(s, 11) {
		return false
	}
	sum := weighted(s, func(at int) int {
		if at == 0 {
			return 10
		}
		return 2*at - 1
	})
	return (sum-10)%89 == 0
}

// interchangeScheme tells whether a code is one of ISO 6523 (ICD), as the identifiers of legal registrations name their
// scheme (BR-CL-11, ibr-cl-11).
func interchangeScheme(code string) bool {
	if !digits(code, 4) {
		return false
	}
	n, _ := strconv.Atoi(code) // four digits
	switch n {
	case 92, 103, 181, 182: // never assigned in the list
		return false
	}
	return n >= 2 && n <= 248
}
