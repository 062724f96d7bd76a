package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/invoice"
)

// Vocabulary returns the vocabulary of the provider protocol's reports. Each state in a report says whether it
// is terminal, and optionally what it means.
func Vocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:              "http/2",
		Reference:         "/reference",
		ProviderReference: "/provider_reference",
		Status:            "/status",
		Statuses: map[string]invoice.Status{
			"accepted":   invoice.Accepted,
			"processing": invoice.Processing,
			"rejected":   invoice.Rejected,
		},
		Sequence:        "/sequence",
		ReportedAt:      "/reported_at",
		Submission:      protocolPointers("submission_state"),
		ProviderInvoice: protocolPointers("provider_invoice_state"),
		TaxAuthority:    protocolPointers("tax_authority_state"),
		Receiver:        protocolPointers("receiver_state"),
	}
}

// protocolPointers returns where a dimension is in the protocol's report.
func protocolPointers(dimension jsontext.Pointer) invoice.StatePointers {
	at := "/states/" + dimension
	return invoice.StatePointers{Value: at + "/value", Terminal: at + "/terminal", Meaning: at + "/meaning"}
}
