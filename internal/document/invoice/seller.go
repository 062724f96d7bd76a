package invoice

import "quittance/client/api"

// emiratiScheme is the electronic address scheme of UAE tax identification numbers.
const emiratiScheme = "0235"

// gap is a field of the profile that an invoice should have.
type gap struct {
	path    string
	value   *string
	ruleID  string // "" if no rule set has one for it
	message string
}

// warnSeller advises on the company's profile: on unknown codes and on missing fields.
func warnSeller(warnings api.Faults, p *api.Profile, d *api.Draft) {
	warnEmirate(warnings, "seller.subdivision", p.Country, p.Subdivision)
	warnCountry(warnings, "seller.country", p.Country)
	warnEndpointScheme(warnings, "seller.endpoint_scheme", p.EndpointScheme)
	warnLegalType(warnings, "seller.legal_registration_type", p.Country, p.LegalRegistrationType, "ibr-173-ae")
	for _, g := range sellerNeeds(p, d) {
		if blank(g.value) {
			warnings.AddOfficial(g.path, ruleProfile, g.ruleID, g.message)
		}
	}
}

// sellerNeeds returns the profile fields that this invoice should have. Every invoice names its seller, the seller's
// address, electronic address and tax registration; the rest depends on the country and on the means of payment.
func sellerNeeds(p *api.Profile, d *api.Draft) []gap {
	emirati := text(p.Country) == unitedArabEmirates
	address, tax := "", ""
	switch {
	case emirati:
		address, tax = "ibr-143-ae", "ibr-134-ae"
	case blank(p.LegalRegistration):
		tax = "BR-CO-26"
	}
	needs := []gap{
		{"seller.legal_name", p.LegalName, "BR-06", "an invoice names its seller"},
		{"seller.street", p.Street, address, "an invoice carries the seller's street"},
		{"seller.city", p.City, address, "an invoice carries the seller's city"},
		{"seller.country", p.Country, "BR-09", "an invoice carries the seller's country"},
		{"seller.endpoint_scheme", p.EndpointScheme, "BR-62", "the seller's electronic address needs its scheme"},
		{"seller.endpoint_id", p.EndpointID, "PEPPOL-EN16931-R020", "an invoice carries the seller's electronic address"},
		{"seller.tax_registration_number", p.TaxRegistrationNumber, tax, "an invoice carries the seller's tax registration"},
	}
	if blank(d.BuyerReference) && blank(d.OrderReference) {
		needs = append(needs, gap{"seller.buyer_reference", p.BuyerReference, "PEPPOL-EN16931-R003",
			"an invoice carries a buyer reference or an order reference"})
	}
	if emirati {
		needs = append(needs, gap{"seller.subdivision", p.Subdivision, address, "a seller in the UAE gives its emirate"})
	}
	switch {
	case emirati && text(p.EndpointScheme) == emiratiScheme:
		needs = append(needs, gap{"seller.legal_registration_number", p.LegalRegistration, "ibr-150-ae",
			"a seller with scheme 0235 gives its legal registration"})
		if !blank(p.LegalRegistration) {
			needs = append(needs, gap{"seller.legal_registration_type", p.LegalRegistrationType, "ibr-173-ae",
				"a legal registration in the UAE needs its type: TL, EID, PAS or CD"})
		}
		switch text(p.LegalRegistrationType) {
		case "TL":
			needs = append(needs, gap{"seller.legal_registration_authority", p.LegalRegistrationAuthority, "ibr-172-ae",
				"a trade licence needs the name of the authority that issued it"})
		case "PAS":
			needs = append(needs, gap{"seller.legal_registration_authority", p.LegalRegistrationAuthority, "ibr-012-ae",
				"a passport needs the country that issued it"})
		}
	case blank(p.TaxRegistrationNumber):
		needs = append(needs, gap{"seller.legal_registration_number", p.LegalRegistration, "BR-CO-26",
			"a seller is identified by its tax registration or its legal registration"})
	}
	if means := text(d.PaymentMeansCode); means == "30" || means == "58" {
		needs = append(needs, gap{"seller.payee_account", p.PayeeAccount, "BR-61",
			"a credit transfer needs the account to pay to"})
	}
	return needs
}
