package provider

import (
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/invoice"
)

// ProtocolVocabulary returns the vocabulary of the provider protocol's reports. Each state in a report says whether it
// is terminal, and optionally what it means.
func ProtocolVocabulary() invoice.Vocabulary {
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

// The status and the state values of the simulator. Their names say that nothing real has happened.
const (
	simulatedTaken    = "simulation_taken"
	simulatedPending  = "simulated_pending"
	simulatedValid    = "simulated_valid"
	simulatedIssued   = "simulated_issued"
	simulatedReported = "simulated_reported"
	simulatedReceived = "simulated_received"
)

// simulatorVocabulary returns the published table of the simulator, whose reports carry neither terminal flags nor
// meanings.
func simulatorVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:              "simulator/2",
		Reference:         "/simulation/ref",
		ProviderReference: "/simulation/number",
		Status:            "/simulation/result",
		Statuses:          map[string]invoice.Status{simulatedTaken: invoice.Accepted},
		Sequence:          "/simulation/round",
		ReportedAt:        "/simulation/at",
		Submission:        simulatorPointers("/dimensions/submission", simulatedValid),
		ProviderInvoice:   simulatorPointers("/dimensions/invoice", simulatedIssued),
		TaxAuthority:      simulatorPointers("/dimensions/authority", simulatedReported),
		Receiver:          simulatorPointers("/dimensions/receiver", simulatedReceived),
	}
}

// simulatorPointers returns where a dimension is in a simulated report, and what its values mean: each dimension first
// waits and then succeeds.
func simulatorPointers(value jsontext.Pointer, last string) invoice.StatePointers {
	return invoice.StatePointers{Value: value, TerminalValues: []string{last},
		Meanings: map[string]api.Meaning{simulatedPending: api.MeaningWaiting, last: api.MeaningPositive}}
}

// PublishedVocabulary returns a table that one of our adapters publishes, or has published, by its name. A retained
// response is read again with the table that it was first read with. A published table never changes: a change is a new
// table with a new name, and the old one stays in the adapter's [Description].
func PublishedVocabulary(name string) (invoice.Vocabulary, bool) {
	for _, adapter := range Descriptions() {
		for _, table := range adapter.Vocabularies() {
			if table.Name == name {
				return table, true
			}
		}
	}
	return invoice.Vocabulary{}, false
}

// withoutMeanings returns the first version of a table, which did not say what state values mean.
func withoutMeanings(v invoice.Vocabulary, name string) invoice.Vocabulary {
	v.Name = name
	for _, pointers := range []*invoice.StatePointers{&v.Submission, &v.ProviderInvoice, &v.TaxAuthority, &v.Receiver} {
		pointers.Meaning, pointers.Meanings = "", nil
	}
	return v
}
