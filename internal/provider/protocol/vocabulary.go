package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/document/invoice"
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
		Submission:      pointers("submission_state"),
		ProviderInvoice: pointers("provider_invoice_state"),
		TaxAuthority:    pointers("tax_authority_state"),
		Receiver:        pointers("receiver_state"),
	}
}

// pointers returns where a dimension is in the protocol's report.
func pointers(dimension jsontext.Pointer) invoice.StatePointers {
	at := "/states/" + dimension
	return invoice.StatePointers{Value: at + "/value", Terminal: at + "/terminal", Meaning: at + "/meaning"}
}
