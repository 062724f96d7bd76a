package provider

import "quittance/internal/invoice"

// ProtocolVocabulary is the vocabulary of the provider protocol's document (contract, section 6): every state says
// itself whether it is terminal.
func ProtocolVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
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
		Submission:      invoice.Place{Word: "/states/submission_state/value", Terminal: "/states/submission_state/terminal"},
		ProviderInvoice: invoice.Place{Word: "/states/provider_invoice_state/value", Terminal: "/states/provider_invoice_state/terminal"},
		TaxAuthority:    invoice.Place{Word: "/states/tax_authority_state/value", Terminal: "/states/tax_authority_state/terminal"},
		Receiver:        invoice.Place{Word: "/states/receiver_state/value", Terminal: "/states/receiver_state/terminal"},
	}
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

// simulatorVocabulary is the published table of the simulator: its documents carry no terminal flags.
func simulatorVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Reference:         "/simulation/ref",
		ProviderReference: "/simulation/number",
		Status:            "/simulation/result",
		Statuses:          map[string]invoice.Status{simulatedTaken: invoice.Accepted},
		Sequence:          "/simulation/round",
		ReportedAt:        "/simulation/at",
		Submission:        invoice.Place{Word: "/dimensions/submission", TerminalWords: []string{simulatedValid}},
		ProviderInvoice:   invoice.Place{Word: "/dimensions/invoice", TerminalWords: []string{simulatedIssued}},
		TaxAuthority:      invoice.Place{Word: "/dimensions/authority", TerminalWords: []string{simulatedReported}},
		Receiver:          invoice.Place{Word: "/dimensions/receiver", TerminalWords: []string{simulatedReceived}},
	}
}
