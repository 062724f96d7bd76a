package phossap

import (
	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// statusVocabulary returns the table of the response to GET /api/outbound/status:
// OutboundTransactionResponse.java:35-97.
//
// The submission state is the field status, whose words and finality are those of EOutboundStatus.java:33-44 and
// isFinalState (65-68). The provider invoice state is the field mlsStatus, which says what the receiver's access point
// has reported about the delivery: EMlsReceptionStatus.java:33-44. The access point has no word of a tax authority or
// of the receiver: its reportingStatus is about the statistics of the Peppol network (EReportingStatus.java:27, "a
// Peppol Reporting record (TSR/EUSR)").
func statusVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:              "phoss-ap/status/1",
		Reference:         "/sbdhInstanceID", // OutboundTransactionResponse.java:55-57
		ProviderReference: "/id",             // 35-36: "Internal transaction ID assigned by the AP"
		Status:            "/status",         // 59-61
		Statuses: map[string]invoice.Status{
			"pending":            invoice.Processing, // "Stored in DB, awaiting processing."
			"sending":            invoice.Processing, // "AS4 sending is currently in progress."
			"failed":             invoice.Processing, // "Last sending attempt failed — scheduled for retry."
			"sent":               invoice.Accepted,   // "Successfully sent via AS4 and receipt confirmed."
			"rejected":           invoice.Rejected,   // "Failed optional verification — no sending attempt will be made."
			"permanently_failed": invoice.Rejected,   // "Max retries exhausted — no further attempts."
		},
		// A word of a later version is shown as it is. The access point has the transaction, whatever it means.
		Unlisted: invoice.Processing,
		Submission: invoice.StatePointers{
			Value:          "/status",
			TerminalValues: []string{"rejected", "sent", "permanently_failed"}, // EOutboundStatus.java:65-68, isFinalState
			Meanings: map[string]api.Meaning{
				"pending": api.MeaningWaiting, "sending": api.MeaningWaiting, "failed": api.MeaningWaiting,
				"sent": api.MeaningPositive, "rejected": api.MeaningNegative, "permanently_failed": api.MeaningNegative,
			},
		},
		// Nothing is terminal: no description says so, and a later message replaces the word (MlsHandler.java:320-323).
		// pending has no meaning, because none says that a message will come; nor has not_applicable, "MLS is not expected
		// for this transaction".
		ProviderInvoice: invoice.StatePointers{
			Value: "/mlsStatus", // OutboundTransactionResponse.java:85-88
			Meanings: map[string]api.Meaning{ // MlsHandler.java:313-318 and EPeppolMLSResponseCode of peppol-commons, isSuccess
				"received_ap": api.MeaningPositive, // "Message delivered towards C4 with confirmation"
				"received_ab": api.MeaningPositive, // "Message delivered towards C4 without confirmation"
				"received_re": api.MeaningNegative, // "Message rejected or delivery towards C4 failed"
			},
		},
	}
}

// reportVocabulary returns the table of the sending report in the response 200 to submit: "Document accepted and
// sent successfully" (OutboundController.java:259). It reports no state: its members are details of the transmission.
func reportVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:      "phoss-ap/sending-report/1",
		Reference: "/sbdhInstanceIdentifier", // Phase4PeppolSendingReport of phase4, getAsJsonObject
		Implied:   invoice.Accepted,
	}
}
