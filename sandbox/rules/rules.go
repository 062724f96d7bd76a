// Package rules judges UBL 2.1 invoices and credit notes by the official rules of two document formats: PINT-AE, and
// Peppol BIS Billing 3.0 with EN 16931. A provider or a receiver applies such rules before it accepts a document.
//
// Its invariants:
//
//   - It shares no code with the writer of package document, and is written from the text of the rules, so that each of
//     the two checks the other.
//   - It implements the rules that matter for the documents of this service, not all of them. Each of them finds what
//     the official rule finds: testdata has a document that breaks it, and make official-rules judges these documents
//     too.
//   - A document is hostile. Its size, nesting and number of elements, the digits of its numbers and the number of
//     findings are bounded, the time is linear in the size, and no finding quotes the document.
//
// Start reading at [Judge].
package rules

import (
	"errors"

	"quittance/internal/document/codelist"
	"quittance/internal/document/ubl"
)

// Profile is a document format, by its name in the API.
type Profile string

// The profiles.
const (
	// PINTAE is the Peppol International invoice model for the United Arab Emirates (billing), release 1.0.4.
	PINTAE Profile = "pint-ae"
	// BIS3 is Peppol BIS Billing 3.0 of May 2026 with EN 16931 1.3.16.
	BIS3 Profile = "bis3"
)

// Names of rules that are not official ones.
const (
	// RuleXML: the document is not one safe, well-formed XML document within the limits.
	RuleXML = "XML"
	// RuleXSD: the document is not valid by the XML schema of UBL 2.1.
	RuleXSD = "XSD"
	// RuleProfile: CustomizationID (BT-24) names no profile that is known here.
	RuleProfile = "PROFILE"
)

// Finding is a rule that a document breaks. Each is fatal: a receiver refuses the document.
type Finding struct {
	// Rule is the official identifier, such as ibr-127-ae or BR-CO-15; the business term, such as BTAE-08, for an amount
	// that the official rules do not compute; or one of the Rule constants.
	Rule string
	// Location is the path of the element, or of the one that lacks it: /Invoice/cac:InvoiceLine[2]/cac:Price.
	Location string
	// Text is an English sentence without any text of the document.
	Text string
}

// The limits of a document and of the result.
const (
	// MaxSize is the size of a document in bytes.
	MaxSize = 10 << 20
	// MaxFindings is the number of findings after which no more are reported.
	MaxFindings = 100

	maxElements = 200_000
	maxDigits   = 40  // of a number
	maxLocation = 512 // bytes
)

// Judge returns the profile that a document names, "" if it is none that is known here, and the rules that the document
// breaks, the same for the same document. A document without findings keeps all rules of this package.
func Judge(document []byte) (Profile, []Finding) {
	root, err := read(document)
	if err != nil {
		return "", []Finding{{Rule: RuleXML, Location: "/", Text: unreadable(err)}}
	}
	j := &judge{root: root, seen: map[breach]bool{}}
	switch root.get("cbc:CustomizationID") {
	case "urn:peppol:pint:billing-1@ae-1":
		j.profile, j.sets = PINTAE, []codelist.RuleSet{codelist.PINTAE}
	case "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0":
		j.profile, j.sets = BIS3, []codelist.RuleSet{codelist.EN16931, codelist.BIS3}
	default:
		j.find(RuleProfile, root, "The CustomizationID names no known document format.")
		return "", j.findings
	}
	j.schema()
	j.structure()
	j.parties()
	j.amounts()
	j.allowances()
	j.entries()
	j.taxCurrency()
	if j.profile == PINTAE {
		j.emiratiDocument()
		j.emiratiParties()
	} else {
		j.european()
	}
	for _, line := range root.lines() {
		j.line(line)
		if j.profile == PINTAE {
			j.emiratiLine(line)
		}
	}
	return j.profile, j.findings
}

// unreadable explains an error of reading.
func unreadable(err error) string {
	if own, ok := errors.AsType[*ubl.Error](err); ok {
		return own.Message
	}
	return err.Error()
}

// judge collects the findings about one document.
type judge struct {
	root     *element
	profile  Profile
	sets     []codelist.RuleSet // whose code lists the profile uses
	seen     map[breach]bool
	findings []Finding
}

// breach is a rule and the element that breaks it.
type breach struct {
	rule string
	at   *element
}

// find adds a finding, once for each rule and element.
func (j *judge) find(rule string, at *element, text string) {
	if rule == "" || len(j.findings) == MaxFindings || j.seen[breach{rule, at}] {
		return
	}
	j.seen[breach{rule, at}] = true
	j.findings = append(j.findings, Finding{Rule: rule, Location: at.location(), Text: text})
}

// rule is one rule in the two profiles. Each identifier is "" if the profile does not have the rule.
type rule struct{ pintAE, bis3 string }

// id is the identifier in a profile.
func (r rule) id(p Profile) string {
	if p == PINTAE {
		return r.pintAE
	}
	return r.bis3
}

// check adds a finding if a rule does not hold.
func (j *judge) check(holds bool, at *element, r rule, text string) {
	if !holds {
		j.find(r.id(j.profile), at, text)
	}
}

// has checks that there is an element with a text at a path below at.
func (j *judge) has(at *element, path string, r rule, text string) {
	j.check(at.get(path) != "", at, r, text)
}
