package ubl

import (
	"cmp"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// parties describes everybody whom the document names.
func (n node) parties(d *api.ParsedDocument) {
	const id = "cac:Party/cac:PartyIdentification/cbc:ID"
	var creditor **string
	if n.out == nil || d.Payee == nil {
		creditor = &d.Payment.CreditorID
	}
	n.only("cac:AccountingSupplierParty/cac:Party", "seller", func(n node) {
		n.under("seller").party(&d.Seller, creditor)
	})
	n.only("cac:AccountingCustomerParty/cac:Party", "buyer", func(n node) { n.under("buyer").party(&d.Buyer, nil) })
	optional(n, "cac:PayeeParty", "payee", &d.Payee, func(n node, p *api.ParsedParty) {
		n.named(p, &d.Payment.CreditorID)
	})
	n.text("cac:BuyerCustomerParty/"+id, "beneficiary_id", &d.BeneficiaryID)
	n.text("cac:SellerSupplierParty/"+id, "principal_id", &d.PrincipalID)
	optional(n, "cac:TaxRepresentativeParty", "tax_representative", &d.TaxRepresentative,
		func(n node, p *api.ParsedParty) { n.named(p, nil) })
}

// party describes the seller or the buyer. The seller has the identifier of the creditor of a direct debit.
func (n node) party(p *api.ParsedParty, creditor **string) {
	n.identification(p, creditor)
	n.text("cac:PartyName/cbc:Name", "trading_name", &p.TradingName)
	n.seat(p, &p.Name)
	if n.out == nil && p.Name == nil {
		p.Name = p.TradingName
	}
}

// named describes a party that has no other name than the one under which it trades: the payee, which then has the
// identifier of the creditor, or the tax representative.
func (n node) named(p *api.ParsedParty, creditor **string) {
	n.identification(p, creditor)
	n.text("cac:PartyName/cbc:Name", "name", &p.Name)
	if n.out == nil && p.Name == nil {
		n.seat(p, &p.Name)
	} else {
		n.seat(p, nil)
	}
}

// creditorScheme is the scheme of the identifier of a creditor among those of a party.
const creditorScheme = "SEPA"

// identification describes the electronic address and the other identifiers of a party.
func (n node) identification(p *api.ParsedParty, creditor **string) {
	const group, id = "cac:PartyIdentification", "cbc:ID"
	n.text("cbc:EndpointID", "network_id", &p.NetworkID, attribute{"schemeID", &p.EndpointScheme})
	own := attribute{"schemeID", &p.IdentifierScheme}
	if n.out != nil {
		n.text(group+"/"+id, "identifier", &p.Identifier, own)
		if creditor != nil {
			n.text(group+"/"+id, "", creditor, attribute{"schemeID", new(new(creditorScheme))})
		}
		return
	}
	for _, e := range n.e.all(group) {
		into, scheme := &p.Identifier, own
		if creditor != nil && e.child(id).peek("schemeID") == creditorScheme {
			into, scheme.value = creditor, new(*string)
		}
		if n.e = e; *into == nil {
			n.text(id, "identifier", into, scheme)
		}
	}
}

// seat describes the address of a party, its numbers and its contact. name is its name in the register, nil if the
// document has none.
func (n node) seat(p *api.ParsedParty, name **string) {
	n.only("cac:PostalAddress", "street", func(n node) { n.address(&p.ParsedAddress) })
	n.taxNumbers(p)
	n.only("cac:PartyLegalEntity", "name", func(n node) {
		if name != nil {
			n.text("cbc:RegistrationName", "name", name)
		}
		n.registration(p)
		n.text("cbc:CompanyLegalForm", "legal_form", &p.LegalForm)
	})
	n.only("cac:Contact", "contact_name", func(n node) {
		n.text("cbc:Name", "contact_name", &p.ContactName)
		n.text("cbc:Telephone", "contact_phone", &p.ContactPhone)
		n.text("cbc:ElectronicMail", "contact_email", &p.ContactEmail)
	})
}

func (n node) address(a *api.ParsedAddress) {
	n.text("cbc:StreetName", "street", &a.Street)
	n.text("cbc:AdditionalStreetName", "street_additional", &a.StreetAdditional)
	n.text("cbc:CityName", "city", &a.City)
	n.text("cbc:PostalZone", "postal_code", &a.PostalCode)
	n.text("cbc:CountrySubentity", "subdivision", &a.Subdivision)
	n.text("cac:AddressLine/cbc:Line", "address_line", &a.AddressLine)
	n.text("cac:Country/cbc:IdentificationCode", "country", &a.Country)
}

func (n node) delivery(d *api.ParsedDelivery) {
	n.date("cbc:ActualDeliveryDate", "date", &d.Date)
	n.only("cac:DeliveryLocation", "location_id", func(n node) {
		n.text("cbc:ID", "location_id", &d.LocationID, attribute{"schemeID", &d.LocationScheme})
		n.only("cac:Address", "street", func(n node) { n.address(&d.ParsedAddress) })
	})
	n.text("cac:DeliveryParty/cac:PartyName/cbc:Name", "name", &d.Name)
	const terms, scheme = "cac:DeliveryTerms/cbc:ID", "Incoterms"
	if n.out == nil {
		n.text(terms, "incoterms", &d.Incoterms)
		n.e.child(terms).expect("schemeID", scheme)
		return
	}
	n.text(terms, "incoterms", &d.Incoterms, attribute{"schemeID", new(new(scheme))})
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
