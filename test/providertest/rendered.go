package providertest

import (
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
)

// Seller returns the profile of a company in Dubai that is complete in a format.
func Seller(format document.Profile) *api.Profile {
	registration := "135790246801003"
	if format == document.BIS3 {
		registration = "AE" + registration // BR-CO-09: with the prefix of the country
	}
	return &api.Profile{
		LegalName: new("Gulf Works LLC"), Street: new("Sheikh Zayed Road 1"), City: new("Dubai"), Subdivision: new("DXB"),
		Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1357902468"), TaxRegistrationNumber: &registration,
		LegalRegistration: new("CN-1234567"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Department of Economy and Tourism"),
		PayeeAccount:               new("AE070331234567890123456"),
	}
}

// Draft returns an invoice of [Seller] that is complete in every format.
func Draft(number string) *api.Draft {
	decimal := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	return &api.Draft{
		InvoiceNumber: &number, RecipientName: new("Palm Trading LLC"), RecipientNetworkID: new("1234567890"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), BuyerReference: new("PO-7"), TotalAmount: decimal("1050.00"),
		Currency: new("AED"), IssueDate: new("2026-03-01"),
		DueDate:          new("2026-03-31"),
		PaymentMeansCode: new("30"),
		Items: []api.Item{{
			Name: new("Consulting"), Description: new("Integration workshop"), UnitCode: new("HUR"), Quantity: decimal("10"),
			NetUnitPrice: decimal("100.00"), GrossUnitPrice: decimal("100.00"), VATCategory: new("S"), VATRate: decimal("5"),
		}},
	}
}

// Rendered returns the document of a submission over a connection with a document format.
func Rendered(t testing.TB, format document.Profile, reference string) provider.Document {
	t.Helper()
	sent := envelope.Envelope{Reference: reference, Invoice: Draft("INV-1"), Seller: Seller(format)}
	text, err := document.Write(format, document.Document{ID: "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90",
		Draft: sent.Invoice, Seller: sent.Seller})
	if err != nil {
		t.Fatal(err)
	}
	sent.Document = envelope.NewXMLFile(format, text)
	body, err := sent.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return provider.Document{Reference: reference, Body: body}
}

// CreditNote renders a credit note of [Draft] in a document format.
func CreditNote(t *testing.T, format document.Profile) []byte {
	t.Helper()
	draft := Draft("INV-1")
	credit, faults := invoice.NewCredit(draft, nil, &api.CreditNoteRequest{Kind: new(api.CreditFull)}, format.Arithmetic())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	text, err := document.Write(format, document.Document{ID: creditNoteID, Draft: draft,
		Seller: Seller(format), Credit: &api.CreditNote{
			ID: creditNoteID, CreditNoteNumber: "CN-1", IssueDate: "2026-03-15", Reason: "Two hours were not worked.",
			ReasonCode: new("DL8.61.1.A"), Kind: credit.Kind, Currency: *draft.Currency, TotalAmount: credit.Total,
			Items: credit.Items}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// creditNoteID is the identifier of the note of [CreditNote].
const creditNoteID = "0195b1ef-9a10-7c55-8f0e-2b7d1c3e4f60"
