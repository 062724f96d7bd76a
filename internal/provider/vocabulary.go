package provider

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
	"quittance/internal/invoice"
)

// ProtocolVocabulary is the vocabulary of the provider protocol's document (contract, section 6): every state says
// itself whether it is terminal and, if it can, what it means.
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
		Submission:      protocolPlace("submission_state"),
		ProviderInvoice: protocolPlace("provider_invoice_state"),
		TaxAuthority:    protocolPlace("tax_authority_state"),
		Receiver:        protocolPlace("receiver_state"),
	}
}

// protocolPlace is where a dimension stands in the protocol's document.
func protocolPlace(dimension jsontext.Pointer) invoice.StatePointers {
	at := "/states/" + dimension
	return invoice.StatePointers{Value: at + "/value", Terminal: at + "/terminal", Meaning: at + "/meaning"}
}

// The words of the simulator. Each says of itself that nothing real happened.
const (
	simulatedTaken    = "simulation_taken"
	simulatedPending  = "simulated_pending"
	simulatedValid    = "simulated_valid"
	simulatedIssued   = "simulated_issued"
	simulatedReported = "simulated_reported"
	simulatedReceived = "simulated_received"
)

// simulatorVocabulary is the published table of the simulator: its documents carry neither terminal flags nor meanings.
func simulatorVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:              "simulator/2",
		Reference:         "/simulation/ref",
		ProviderReference: "/simulation/number",
		Status:            "/simulation/result",
		Statuses:          map[string]invoice.Status{simulatedTaken: invoice.Accepted},
		Sequence:          "/simulation/round",
		ReportedAt:        "/simulation/at",
		Submission:        simulatorPlace("/dimensions/submission", simulatedValid),
		ProviderInvoice:   simulatorPlace("/dimensions/invoice", simulatedIssued),
		TaxAuthority:      simulatorPlace("/dimensions/authority", simulatedReported),
		Receiver:          simulatorPlace("/dimensions/receiver", simulatedReceived),
	}
}

// simulatorPlace is where a dimension stands in a simulated document, and what its words mean: everything waits, and then
// goes well.
func simulatorPlace(word jsontext.Pointer, last string) invoice.StatePointers {
	return invoice.StatePointers{Value: word, TerminalValues: []string{last},
		Meanings: map[string]api.Meaning{simulatedPending: api.MeaningWaiting, last: api.MeaningPositive}}
}

// PublishedVocabulary returns a table that an adapter of ours publishes, or has published, by its name. A retained answer is read again
// with the table that it was read with.
func PublishedVocabulary(name string) (invoice.Vocabulary, bool) {
	for _, now := range []invoice.Vocabulary{ProtocolVocabulary(), simulatorVocabulary()} {
		kind, _, _ := strings.Cut(now.Name, "/")
		switch name {
		case now.Name:
			return now, true
		case kind + "/1":
			return withoutMeanings(now, name), true
		}
	}
	return invoice.Vocabulary{}, false
}

// withoutMeanings is the first version of a table, which did not say what words mean.
func withoutMeanings(v invoice.Vocabulary, name string) invoice.Vocabulary {
	v.Name = name
	for _, place := range []*invoice.StatePointers{&v.Submission, &v.ProviderInvoice, &v.TaxAuthority, &v.Receiver} {
		place.Meaning, place.Meanings = "", nil
	}
	return v
}
