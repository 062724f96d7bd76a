package fakeprovider

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// TestValuesHaveMeanings checks that the provider sandbox publishes the meaning of every value of every course, except
// for the unknown one, and that the last value of a course does not mean that the document is waiting. A rejection by
// the tax authority is one of them: final and negative.
func TestValuesHaveMeanings(t *testing.T) {
	words, rejected := 0, 0
	for _, scenario := range courseScenarios() {
		outline := scenario.course()
		for _, step := range outline.plan("reference of "+scenario.ID, time.Second) {
			if step.Dimension == "" {
				continue
			}
			words++
			if (step.Meaning == "") != (step.Word == "zz_unheard_of") {
				t.Errorf("%s: %q means %q", scenario.ID, step.Word, step.Meaning)
			}
			if scenario.ID == "sandbox-rejected-authority" && step.Dimension == invoice.DimensionTaxAuthority &&
				step.Word == "rejected" && step.Terminal && step.Meaning == api.MeaningNegative {
				rejected++
			}
			if step.Terminal && step.Meaning == api.MeaningWaiting {
				t.Errorf("%s: %q is final and waits", scenario.ID, step.Word)
			}
		}
	}
	if rejected != 1 {
		t.Errorf("the tax authority rejects %d times", rejected)
	}
	if words < 50 {
		t.Errorf("only %d words", words)
	}
}
