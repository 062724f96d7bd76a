package simulator

import (
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// The status and the state values of the simulator. Their names say that nothing real has happened.
const (
	simulatedTaken    = "simulation_taken"
	simulatedPending  = "simulated_pending"
	simulatedValid    = "simulated_valid"
	simulatedIssued   = "simulated_issued"
	simulatedReported = "simulated_reported"
	simulatedReceived = "simulated_received"
)

// publishedVocabulary returns the published table of the simulator, whose reports carry neither terminal flags nor
// meanings.
func publishedVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:              "simulator/2",
		Reference:         "/simulation/ref",
		ProviderReference: "/simulation/number",
		Status:            "/simulation/result",
		Statuses:          map[string]invoice.Status{simulatedTaken: invoice.Accepted},
		Sequence:          "/simulation/round",
		ReportedAt:        "/simulation/at",
		Submission:        pointers("/dimensions/submission", simulatedValid),
		ProviderInvoice:   pointers("/dimensions/invoice", simulatedIssued),
		TaxAuthority:      pointers("/dimensions/authority", simulatedReported),
		Receiver:          pointers("/dimensions/receiver", simulatedReceived),
	}
}

// pointers returns where a dimension is in a simulated report, and what its values mean: each dimension first
// waits and then succeeds.
func pointers(value jsontext.Pointer, last string) invoice.StatePointers {
	return invoice.StatePointers{Value: value, TerminalValues: []string{last},
		Meanings: map[string]api.Meaning{simulatedPending: api.MeaningWaiting, last: api.MeaningPositive}}
}
