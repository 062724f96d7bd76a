package invoice

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
)

// retainedReport is the form in which a report is retained with the body that it was read from.
type retainedReport struct {
	// Vocabulary names the published table that the body was read with.
	Vocabulary        string                      `json:"vocabulary"`
	Reference         string                      `json:"reference,omitempty"`
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

// Retained returns the report as JSON, which is the same for the same report and vocabulary. It omits the provider's
// time, which has no effect.
func (r Report) Retained(vocabulary string) string {
	out := retainedReport{Vocabulary: vocabulary, Reference: r.Reference, ProviderReference: r.ProviderReference,
		Status: r.Status, Sequence: r.Sequence, States: map[Dimension]retainedState{}}
	for _, d := range Dimensions {
		if state := r.States.Stored(d); state.Value != "" {
			out.States[d] = retainedState(state)
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
	r := reader{document: jsontext.Value(text)}
	v := retainedVocabulary()
	if r.value(v.Reference) == nil {
		v.Reference = "" // of a provider that does not repeat our reference
	}
	report, err = ReadReport([]byte(text), v)
	if err != nil {
		return Report{}, "", err
	}
	vocabulary = r.optionalText("/vocabulary")
	if r.err != nil || report.Retained(vocabulary) != text {
		return Report{}, "", errors.Join(ErrUnreadable, r.err)
	}
	return report, vocabulary, nil
}

// retainedVocabulary reads what [Report.Retained] writes.
func retainedVocabulary() Vocabulary {
	pointers := func(d Dimension) StatePointers {
		at := jsontext.Pointer("/states/" + d)
		return StatePointers{Value: at + "/value", Terminal: at + "/terminal", Meaning: at + "/meaning"}
	}
	return Vocabulary{
		Reference: "/reference", ProviderReference: "/provider_reference", Status: "/status",
		Statuses: map[string]Status{string(Accepted): Accepted, string(Processing): Processing, string(Rejected): Rejected,
			string(Unsent): Unsent},
		Sequence: "/sequence", Submission: pointers(DimensionSubmission), ProviderInvoice: pointers(DimensionProviderInvoice),
		TaxAuthority: pointers(DimensionTaxAuthority), Receiver: pointers(DimensionReceiver),
	}
}
