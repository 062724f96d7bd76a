package invoice

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
)

// retainedReport is how a report is retained beside the body that it was read from.
type retainedReport struct {
	// Vocabulary names the published table that the body was read with.
	Vocabulary        string                      `json:"vocabulary"`
	Reference         string                      `json:"reference"`
	ProviderReference string                      `json:"provider_reference,omitempty"`
	Status            Status                      `json:"status"`
	Sequence          int64                       `json:"sequence"`
	States            map[Dimension]retainedState `json:"states"`
}

type retainedState struct {
	Value    string      `json:"value"`
	Terminal bool        `json:"terminal"`
	Meaning  api.Meaning `json:"meaning,omitempty"`
}

// Retained writes what a report says, as JSON that is the same for the same report and vocabulary. The time that the
// provider gives decides nothing and is left out.
func (r Report) Retained(vocabulary string) string {
	out := retainedReport{Vocabulary: vocabulary, Reference: r.Reference, ProviderReference: r.ProviderReference, Status: r.Status,
		Sequence: r.Sequence, States: map[Dimension]retainedState{}}
	for _, d := range Dimensions {
		if word := r.States.Stored(d); word.Value != "" {
			out.States[d] = retainedState(word)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // texts, numbers and flags
	}
	return string(text)
}

// ReadRetained is the reverse of [Report.Retained].
func ReadRetained(text string) (report Report, vocabulary string, err error) {
	report, err = ReadReport([]byte(text), retainedVocabulary())
	if err != nil {
		return Report{}, "", err
	}
	r := reader{document: jsontext.Value(text)}
	vocabulary = r.optionalText("/vocabulary")
	if r.err != nil || report.Retained(vocabulary) != text {
		return Report{}, "", errors.Join(ErrUnreadable, r.err)
	}
	return report, vocabulary, nil
}

// retainedVocabulary reads what [Report.Retained] writes.
func retainedVocabulary() Vocabulary {
	place := func(d Dimension) StatePointers {
		at := jsontext.Pointer("/states/" + d)
		return StatePointers{Value: at + "/value", Terminal: at + "/terminal", Meaning: at + "/meaning"}
	}
	return Vocabulary{
		Reference: "/reference", ProviderReference: "/provider_reference", Status: "/status",
		Statuses: map[string]Status{string(Accepted): Accepted, string(Processing): Processing, string(Rejected): Rejected},
		Sequence: "/sequence", Submission: place(DimensionSubmission), ProviderInvoice: place(DimensionProviderInvoice),
		TaxAuthority: place(DimensionTaxAuthority), Receiver: place(DimensionReceiver),
	}
}
