package submission

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// document is the body of the provider protocol's POST /v1/documents.
type document struct {
	Reference string       `json:"reference"`
	Invoice   *api.Draft   `json:"invoice"`
	Seller    *api.Profile `json:"seller"`
}

// render returns the exact bytes of a submission, or the fields that the draft lacks.
func render(draft *api.Draft, seller *api.Profile, reference string) (text []byte, missing []string, err error) {
	if missing = invoice.Missing(draft); len(missing) > 0 {
		return nil, missing, nil
	}
	text, err = json.Marshal(document{Reference: reference, Invoice: draft, Seller: seller}, json.OmitZeroStructFields(true))
	if err != nil {
		return nil, nil, fmt.Errorf("render the document: %w", err)
	}
	return text, nil, nil
}

var errNoInvoice = errors.New("the document contains no invoice")

// SentInvoice returns the invoice in the document of a submission, as render wrote it. It is the function behind
// [store.Replay].
func SentInvoice(text []byte) (api.Draft, error) {
	draft, _, err := Sent(text)
	return draft, err
}

// Sent returns the invoice and the company profile in the document of a submission, as render wrote them.
func Sent(text []byte) (api.Draft, api.Profile, error) {
	var sent struct {
		Invoice *api.Draft  `json:"invoice"`
		Seller  api.Profile `json:"seller"`
	}
	if err := json.Unmarshal(text, &sent); err != nil {
		return api.Draft{}, api.Profile{}, fmt.Errorf("read the document: %w", err)
	}
	if sent.Invoice == nil {
		return api.Draft{}, api.Profile{}, errNoInvoice
	}
	return *sent.Invoice, sent.Seller, nil
}
