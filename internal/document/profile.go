package document

import (
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

// Profile is a document format: UBL 2.1 with the rules of one specification. Its text is its name in the API.
type Profile string

// The profiles.
const (
	// PINTAE is the Peppol International invoice model for the United Arab Emirates (billing).
	PINTAE Profile = "pint-ae"
	// BIS3 is Peppol BIS Billing 3.0.
	BIS3 Profile = "bis3"
)

// Profiles lists every profile.
var Profiles = [...]Profile{PINTAE, BIS3} //nolint:gochecknoglobals // a constant list

// ParseProfile returns the profile with this name. ok is false if there is none.
func ParseProfile(name string) (p Profile, ok bool) {
	for _, p := range Profiles {
		if name == string(p) {
			return p, true
		}
	}
	return "", false
}

// Rules names the releases of the official rules that the profile was tested with. Rules change twice a year.
func (p Profile) Rules() string {
	if p == PINTAE {
		return "PINT-AE 1.0.4 (May 2026)"
	}
	return "EN 16931 1.3.16 and Peppol BIS Billing 3.0 of May 2026"
}

// Arithmetic is how the profile computes amounts; that of "" is the API's own.
func (p Profile) Arithmetic() invoice.Arithmetic {
	switch p {
	case PINTAE:
		return invoice.Arithmetic{Digits: invoice.FormatDigits, Binary: true, RatelessExempt: true}
	case BIS3:
		return invoice.Arithmetic{Digits: invoice.FormatDigits}
	}
	return invoice.Arithmetic{}
}

// customization is the specification identifier (EN 16931 BT-24, IBT-024).
func (p Profile) customization() string {
	if p == PINTAE {
		return "urn:peppol:pint:billing-1@ae-1"
	}
	return "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
}

// process is the business process type (BT-23, IBT-023).
func (p Profile) process() string {
	if p == PINTAE {
		return "urn:peppol:bis:billing"
	}
	return "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
}

// ruleSets are the rule sets whose code lists the profile uses.
func (p Profile) ruleSets() []codelist.RuleSet {
	if p == PINTAE {
		return []codelist.RuleSet{codelist.PINTAE}
	}
	return []codelist.RuleSet{codelist.EN16931, codelist.BIS3}
}
