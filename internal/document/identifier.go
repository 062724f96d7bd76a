package document

import (
	"strconv"
	"strings"
)

// identifierForm is the form that the identifiers of one scheme have.
type identifierForm struct {
	name         string
	pintAE, bis3 identifierRule
}

// identifierRule is the fatal rule of a profile for such a form; the zero value is none. Forms that a profile only
// advises are no findings.
type identifierRule struct {
	id    string
	valid func(string) bool
}

// identifierForms are the schemes whose identifiers have a form (EAS and ISO 6523 codes).
var identifierForms = map[string]identifierForm{ //nolint:gochecknoglobals // a constant table
	"0088": {"a GLN, whose last digit is a check digit", identifierRule{"ibr-068", validGLN},
		identifierRule{"PEPPOL-COMMON-R040", validGLN}},
	"0192": {"a Norwegian organisation number: nine digits with a check digit", identifierRule{"ibr-069", validNorwegian},
		identifierRule{"PEPPOL-COMMON-R041", validNorwegian}},
	"0184": {"a Danish number: DK and eight digits", identifierRule{"ibr-070", validDanish},
		identifierRule{"PEPPOL-COMMON-R042", func(s string) bool { return validDanish(s) || digits(s, 8) }}},
	"0208": {"a Belgian enterprise number: ten digits with check digits", identifierRule{"ibr-113", validBelgian},
		identifierRule{"PEPPOL-COMMON-R043", validBelgian}},
	"0201": {"a Codice IPA: six letters and digits", identifierRule{"ibr-114", validIPA}, identifierRule{}},
	"0210": {"an Italian Codice Fiscale", identifierRule{"ibr-115", validFiscalCode}, identifierRule{}},
	"9907": {"an Italian Codice Fiscale", identifierRule{"ibr-115", validFiscalCode}, identifierRule{}},
	"0211": {"an Italian VAT number: IT and eleven digits with a check digit", identifierRule{"ibr-116", validItalianVAT},
		identifierRule{}},
	"9906": {"an Italian VAT number: IT and eleven digits with a check digit", identifierRule{"ibr-116", validItalianVAT},
		identifierRule{}},
	"0007": {"a Swedish organisation number: ten digits with a check digit",
		identifierRule{"ibr-127", func(s string) bool { return digits(s, 10) }},
		identifierRule{"PEPPOL-COMMON-R049", validSwedish}},
	"0096": {"a Danish P number: ten digits", identifierRule{},
		identifierRule{"PEPPOL-COMMON-R052", func(s string) bool { return digits(s, 10) }}},
	"0198": {"a Danish number: DK and eight digits", identifierRule{}, identifierRule{"PEPPOL-COMMON-R053", validDanish}},
	"0151": {"an Australian business number: eleven digits with check digits", identifierRule{"ibr-120", validABN},
		identifierRule{"PEPPOL-COMMON-R050", validABN}},
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

// validGLN checks a Global Location Number (GS1): the digits are weighted with 3 and 1 alternately from the right. Like
// the rules, it does not count them: some examples of BIS Billing have more than thirteen.
func validGLN(s string) bool {
	last := len(s) - 1
	if last < 0 || !digits(s, len(s)) {
		return false
	}
	sum := weighted(s[:last], func(at int) int { return 1 + 2*((last-at)%2) })
	return (10-sum%10)%10 == int(s[last]-'0')
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

// validItalianVAT checks a Partita IVA. Like the rule, it lets every number without the prefix of the country pass.
func validItalianVAT(s string) bool {
	number, ok := strings.CutPrefix(strings.ToUpper(s), "IT")
	if !ok {
		return true
	}
	if !digits(number, 11) {
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
