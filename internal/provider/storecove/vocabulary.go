package storecove

import (
	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// submissionVocabulary returns the table of the response to POST /document_submissions: "guid: A (V4) GUID for
// the document submission". It says that the document was taken, and nothing of what became of it.
func submissionVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{Name: "storecove/submission/1", ProviderReference: "/guid", Implied: invoice.Processing}
}

// eventVocabulary returns the table of a WebhookInstance about a submission. Its body is a string with the
// event's own JSON. named says that the event repeats our idempotencyGuid; one that does not is recognized by the
// provider's guid alone.
//
// An event has one word, and each word belongs to one dimension. docs/providers/storecove.md has the source of each
// word. A word that is not listed sets no state. Only what a source calls final is final, and the outcome follows from
// none: the provider has taken the document, whatever became of it.
func eventVocabulary(named bool) invoice.Vocabulary {
	v := invoice.Vocabulary{
		Name: "storecove/event/1", Within: "/body", Reference: "/idempotencyGuid", ProviderReference: "/guid",
		Implied: invoice.Processing,
		// The delivery to the recipient's access point.
		ProviderInvoice: invoice.StatePointers{
			Value: "/event", Values: []string{"succeeded", "failed", "no_action_taken"},
			TerminalValues: []string{"succeeded", "failed"},
			Meanings: map[string]api.Meaning{"succeeded": api.MeaningPositive, "failed": api.MeaningNegative,
				"no_action_taken": api.MeaningNegative},
		},
		// "Wait for the 'cleared' webhook and use the show_document_submission_evidence endpoint to retrieve the clearing
		// evidence."
		TaxAuthority: invoice.StatePointers{
			Value: "/event", Values: []string{"cleared"}, Meanings: map[string]api.Meaning{"cleared": api.MeaningPositive},
		},
		// The recipient's own responses, which are those of the code list UNCL4343-T111: AP, CA, IP, PD, RE and UQ.
		Receiver: invoice.StatePointers{
			Value: "/event", Values: []string{"accepted", "conditionally_accepted", "in_process", "paid", "partially_paid",
				"rejected", "under_query"},
			Meanings: map[string]api.Meaning{"accepted": api.MeaningPositive, "paid": api.MeaningPositive,
				"rejected": api.MeaningNegative, "in_process": api.MeaningWaiting, "under_query": api.MeaningWaiting},
		},
	}
	if !named {
		v.Name, v.Reference = "storecove/event-by-guid/1", ""
	}
	return v
}
