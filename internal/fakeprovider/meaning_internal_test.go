package fakeprovider

import (
	"testing"
	"time"

	"quittance/api"
)

// TestWordsHaveTheirMeaning: of every word on every course the provider sandbox says what it means, and says nothing of the one
// that nobody is to know. A word that ends a course means something other than that it waits.
func TestWordsHaveTheirMeaning(t *testing.T) {
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
