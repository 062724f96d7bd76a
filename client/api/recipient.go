package api

import "time"

// RecipientQuery is the body of a look-up: the electronic address of a buyer.
type RecipientQuery struct {
	Scheme *string `json:"scheme" required:"true" pattern:"^[0-9]{4}$" patternDescription:"four digits" doc:"Electronic address scheme (EAS code), as buyer_endpoint_scheme of an invoice." example:"0235"`
	ID     *string `json:"id" required:"true" maxLength:"64" doc:"Identifier in the e-invoicing network, as recipient_network_id of an invoice." example:"1234567890"`
}

// RecipientLookup is what the provider says about a recipient.
type RecipientLookup struct {
	Found      *bool     `json:"found" doc:"Whether the recipient can receive documents; null if the provider cannot say."`
	Profiles   []string  `json:"profiles" nullable:"false" doc:"The document formats of this service that the recipient accepts, as far as the provider says: pint-ae, bis3."`
	LookedUpAt time.Time `json:"looked_up_at" doc:"When the provider was asked."`
}
