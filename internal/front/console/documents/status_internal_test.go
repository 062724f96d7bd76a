package documents

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/test/consoletest"
)

// statesOf returns the four dimensions with some values, by their order; a missing one is not reported.
func statesOf(values ...invoice.StoredState) []StateView {
	stored := map[invoice.Dimension]invoice.StoredState{}
	for n, value := range values {
		if value.Value != "" {
			stored[invoice.Dimensions[n]] = value
		}
	}
	return StateViews(invoice.RestoreStates(stored))
}

// TestOverall checks that the pill of an invoice is a quotation, a count or what is known of the submission.
func TestOverall(t *testing.T) {
	messages := consoletest.Words(t, language.English).Messages
	good := invoice.StoredState{Value: "accepted", Terminal: true, Meaning: api.MeaningPositive}
	bad := invoice.StoredState{Value: "rejected", Terminal: true, Meaning: api.MeaningNegative}
	waiting := invoice.StoredState{Value: "under_review", Meaning: api.MeaningWaiting}
	plain := invoice.StoredState{Value: "rejected", Terminal: true}
	undeliverable := invoice.StoredState{Value: "undeliverable", Terminal: true, Meaning: api.MeaningNegative}
	for _, test := range []struct {
		outcome       string
		states        []StateView
		text, meaning string
	}{
		{"draft", statesOf(), "Draft", "neutral"},
		{string(api.OutcomeInProgress), statesOf(), "Sending", "neutral"},
		{string(api.OutcomeUnknown), statesOf(), "Confirming", "unknown"},
		{string(api.OutcomeRejected), statesOf(), "Rejected: provider", "negative"},
		{string(api.OutcomeResolvedRejected), statesOf(), "Resolved as rejected", "neutral"},
		{string(api.OutcomeAcknowledged), statesOf(), "Sent", "neutral"},
		{string(api.OutcomeAcknowledged), statesOf(waiting), "Sent", "waiting"},
		{string(api.OutcomeAcknowledged), statesOf(good, waiting), "1 of 4 final", "waiting"},
		{string(api.OutcomeAcknowledged), statesOf(good, good, good), "3 of 4 final", "neutral"},
		{string(api.OutcomeAcknowledged), statesOf(good, good, good, good), "4 of 4 final", "positive"},
		{string(api.OutcomeAcknowledged), statesOf(good, good, plain, good), "4 of 4 final", "neutral"},
		{string(api.OutcomeAcknowledged), statesOf(good, good, bad, good), "Rejected: tax authority", "negative"},
		{string(api.OutcomeAcknowledged), statesOf(good, waiting, bad, undeliverable), "Rejected: tax authority +1",
			"negative"},
		{string(api.OutcomeAcknowledged), statesOf(good, good, good, undeliverable), "Undeliverable: buyer", "negative"},
	} {
		got, err := overall(messages, test.outcome, test.states)
		if err != nil || got.Text != test.text || got.Meaning != test.meaning || got.Tip == "" {
			t.Errorf("%s %+v: %+v, %v; want %q, %s", test.outcome, test.states, got, err, test.text, test.meaning)
		}
	}
}

// TestOverallColour checks for all combinations of published meanings that the pill of an acknowledged invoice is green
// only if all four values are final and positive, red only if one is negative, and amber only if one is waiting.
func TestOverallColour(t *testing.T) {
	messages := consoletest.Words(t, language.English).Messages
	kinds := []invoice.StoredState{{}, {Value: "accepted"}, {Value: "rejected", Terminal: true}}
	for _, meaning := range api.Meanings {
		kinds = append(kinds, invoice.StoredState{Value: "a", Meaning: meaning},
			invoice.StoredState{Value: "a", Meaning: meaning, Terminal: true})
	}
	count := func(states []StateView, meaning api.Meaning) (n int) {
		for _, s := range states {
			if s.Meaning == meaning {
				n++
			}
		}
		return n
	}
	var walk func(values []invoice.StoredState)
	walk = func(values []invoice.StoredState) {
		if len(values) < len(invoice.Dimensions) {
			for _, kind := range kinds {
				walk(append(slices.Clone(values), kind))
			}
			return
		}
		states := statesOf(values...)
		got, err := overall(messages, string(api.OutcomeAcknowledged), states)
		if err != nil {
			t.Fatal(err)
		}
		want := "neutral"
		switch {
		case count(states, api.MeaningNegative) > 0:
			want = "negative"
		case count(states, api.MeaningWaiting) > 0:
			want = "waiting"
		case count(states, api.MeaningPositive) == len(states) &&
			!slices.ContainsFunc(states, func(s StateView) bool { return !s.Final }):
			want = "positive"
		}
		if got.Meaning != want {
			t.Errorf("%+v is %s, want %s", values, got.Meaning, want)
		}
	}
	walk(nil)
}

// TestPillOfState checks that a value without a published meaning has no colour, whatever it says, and that the pill
// keeps the provider's own word.
func TestPillOfState(t *testing.T) {
	messages := consoletest.Words(t, language.English).Messages
	for _, meaning := range append([]api.Meaning{""}, api.Meanings[:]...) {
		s := statesOf(invoice.StoredState{Value: "rejected_by_provider", Terminal: true, Meaning: meaning})[0]
		got, err := pillOf(messages, s)
		want := string(meaning)
		if meaning == "" {
			want = "unknown" // drawn in grey
		}
		if err != nil || got.Meaning != want || got.Text != "Rejected by provider" || got.Shape != "final" ||
			!strings.Contains(got.Tip, "rejected_by_provider") {
			t.Errorf("published as %q: %+v, %v", meaning, got, err)
		}
	}
	for word, want := range map[string]string{"accepted_by_provider": "Accepted by provider", "received_AP": "received_AP",
		"__": "__", "état final": "État final", "übergeben": "Übergeben"} {
		if got := (StateView{Value: word}).Label(); got != want {
			t.Errorf("%s is labelled %q, want %q", word, got, want)
		}
	}
}
