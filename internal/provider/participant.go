package provider

import (
	"quittance/internal/document/envelope"
)

// Sender is the participant identifier of the company; empty if its profile has none.
func Sender(e envelope.Envelope) Participant {
	return Participant{Scheme: TextOf(e.Seller.EndpointScheme), ID: TextOf(e.Seller.EndpointID)}
}

// Receiver is the participant identifier of the buyer.
func Receiver(e envelope.Envelope) Participant {
	return Participant{Scheme: TextOf(e.Invoice.BuyerEndpointScheme), ID: TextOf(e.Invoice.RecipientNetworkID)}
}

// TextOf returns the text that p points to, "" for nil.
func TextOf(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
