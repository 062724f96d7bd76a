package fakeprovider

import (
	"testing"
	"time"

	"quittance/sdk/go/api"
)

// TestValuesHaveMeanings checks that the provider sandbox publishes the meaning of every value of every course, except
// for the unknown one, and that the last value of a course does not mean that the document is waiting.
func TestValuesHaveMeanings(t *testing.T) {
	words := 0
	for _, scenario := range courseScenarios() {
		outline := defaultCourse()
		if scenario.edit != nil {
			scenario.edit(&outline)
		}
		for _, step := range outline.plan("reference of "+scenario.ID, time.Second) {
			if step.Dimension == "" {
				continue
			}
			words++
			if (step.Meaning == "") != (step.Word == "zz_unheard_of") {
				t.Errorf("%s: %q means %q", scenario.ID, step.Word, step.Meaning)
			}
			if step.Terminal && step.Meaning == api.MeaningWaiting {
				t.Errorf("%s: %q is final and waits", scenario.ID, step.Word)
			}
		}
	}
	if words < 50 {
		t.Errorf("only %d words", words)
	}
}
