package ubl

import (
	"cmp"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

func (n node) party(p *api.ParsedParty) {
	n.text("cbc:EndpointID", "network_id", &p.NetworkID, attribute{"schemeID", &p.EndpointScheme})
	n.group("cac:PartyIdentification", func(n node) {
		n.text("cbc:ID", "identifier", &p.Identifier, attribute{"schemeID", &p.IdentifierScheme})
	})
	n.text("cac:PartyName/cbc:Name", "trading_name", &p.TradingName)
	n.only("cac:PostalAddress", "street", func(n node) {
		n.text("cbc:StreetName", "street", &p.Street)
		n.text("cbc:AdditionalStreetName", "street_additional", &p.StreetAdditional)
		n.text("cbc:CityName", "city", &p.City)
		n.text("cbc:PostalZone", "postal_code", &p.PostalCode)
		n.text("cbc:CountrySubentity", "subdivision", &p.Subdivision)
		n.text("cac:AddressLine/cbc:Line", "address_line", &p.AddressLine)
		n.text("cac:Country/cbc:IdentificationCode", "country", &p.Country)
	})
	n.taxNumbers(p)
	n.only("cac:PartyLegalEntity", "name", func(n node) {
		n.text("cbc:RegistrationName", "name", &p.Name)
		n.registration(p)
		n.text("cbc:CompanyLegalForm", "legal_form", &p.LegalForm)
	})
	n.only("cac:Contact", "contact_name", func(n node) {
		n.text("cbc:Name", "contact_name", &p.ContactName)
		n.text("cbc:Telephone", "contact_phone", &p.ContactPhone)
		n.text("cbc:ElectronicMail", "contact_email", &p.ContactEmail)
	})
	if n.out == nil && p.Name == nil {
		p.Name = p.TradingName
	}
}

// taxNumbers describes the number of the value added tax, and one of another tax.
func (n node) taxNumbers(p *api.ParsedParty) {
	const group, number, scheme = "cac:PartyTaxScheme", "cbc:CompanyID", "cac:TaxScheme/cbc:ID"
	if n.out != nil {
		for _, tax := range [][2]string{{value(p.TaxID), "VAT"},
			{value(p.TaxRegistrationID), cmp.Or(value(p.TaxRegistrationScheme), "TAX")}} {
			if strings.TrimSpace(tax[0]) != "" {
				n.group(group, func(n node) {
					n.write(number, tax[0])
					n.write(scheme, tax[1])
				})
			}
		}
		return
	}
	other := new(*string)
	for _, e := range n.e.all(group) {
		into, of, field := &p.TaxRegistrationID, &p.TaxRegistrationScheme, "tax_registration_id"
		if strings.EqualFold(textOf(e.child(scheme)), "VAT") {
			into, of, field = &p.TaxID, other, "tax_id"
		}
		if *into != nil {
			n.in.warn(n.at+field, ruleRepeated, repeatedMessage)
			continue
		}
		n.e = e
		n.text(number, field, into)
		n.text(scheme, field, of)
	}
}

// registration describes the legal registration. In the UAE other attributes have its kind and its issuer (BTAE-15 and
// BTAE-12 of the seller, BTAE-16 and BTAE-11 of the buyer).
func (n node) registration(p *api.ParsedParty) {
	scheme := "schemeID"
	if codelist.LegalRegistrationTypes().Has(value(p.LegalIDScheme)) ||
		n.out == nil && n.e.child("cbc:CompanyID").peek(scheme) == "" {
		scheme = "schemeAgencyID"
	}
	n.text("cbc:CompanyID", "legal_id", &p.LegalID, attribute{scheme, &p.LegalIDScheme},
		attribute{"schemeAgencyName", &p.LegalIDIssuer})
}
