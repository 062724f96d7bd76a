package providertest

import (
	"fmt"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/provider"
)

// BelgianSeller returns the profile of a company in Ghent.
func BelgianSeller() *api.Profile {
	return &api.Profile{LegalName: new("Atelier Maas BV"), Street: new("Kouter 12"), City: new("Gent"), Country: new("BE"),
		EndpointScheme: new("0208"), EndpointID: new("0765432146"), TaxRegistrationNumber: new("BE0765432146"),
		LegalRegistration: new("0765432146"), LegalRegistrationType: new("0208"), PayeeAccount: new("BE68539007547034")}
}

// BelgianInvoice returns a draft of that company, for a company in Antwerp, that is complete for BIS Billing 3.0.
func BelgianInvoice(number string) *api.Draft {
	decimal := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	return &api.Draft{InvoiceNumber: &number, RecipientName: new("Scheldehuis NV"), RecipientNetworkID: new("0456789034"),
		BuyerEndpointScheme: new("0208"), BuyerStreet: new("Meir 5"), BuyerCity: new("Antwerpen"), BuyerCountry: new("BE"),
		BuyerReference: new("PO-4711"), TotalAmount: decimal("1210.00"), Currency: new("EUR"), IssueDate: new("2026-03-01"),
		DueDate:          new("2026-03-31"),
		PaymentMeansCode: new("30"),
		Items: []api.Item{{Name: new("Consulting"), Description: new("Workshop"), UnitCode: new("HUR"),
			Quantity: decimal("10"), NetUnitPrice: decimal("100.00"), GrossUnitPrice: decimal("100.00"), VATCategory: new("S"),
			VATRate: decimal("21")}}}
}

// BelgianDocument returns the document of an invoice of that company in BIS Billing 3.0, as package submission renders
// it. The invoice number differs for each reference.
func BelgianDocument(reference string) provider.Document {
	const id = "019caa6c-5200-7000-8000-000000000001"
	draft := BelgianInvoice(fmt.Sprintf("INV-%x", reference))
	text, err := document.Write(document.BIS3, document.Document{ID: id, Draft: draft, Seller: BelgianSeller()})
	if err != nil {
		// the values are constant
		panic(fmt.Sprint(err, document.Check(document.BIS3,
			document.Document{ID: id, Draft: draft, Seller: BelgianSeller()})))
	}
	body, err := envelope.Envelope{Reference: reference, Invoice: draft, Seller: BelgianSeller(),
		Document: envelope.NewXMLFile(document.BIS3, text)}.Marshal()
	if err != nil {
		panic(err)
	}
	return provider.Document{Reference: reference, Body: body}
}
