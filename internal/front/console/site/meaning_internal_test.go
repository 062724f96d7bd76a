package site

import (
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console/documents"
)

// TestColourIsThePublishedMeaning checks that only the published meaning of a value gives it a colour. A value that
// reads like good or bad news has no colour by itself, final or not.
func TestColourIsThePublishedMeaning(t *testing.T) {
	pages := testKit(t).Named("en")
	for _, word := range []string{"accepted", "rejected", "zz_unheard_of"} {
		for _, final := range []bool{false, true} {
			for _, meaning := range append([]api.Meaning{""}, api.Meanings[:]...) {
				views := documents.StateViews(invoice.RestoreStates(
					map[invoice.Dimension]invoice.StoredState{invoice.DimensionReceiver: {Value: word, Terminal: final,
						Meaning: meaning}}))
				var out strings.Builder
				if err := pages.Execute(&out, "invoices", "state", views[3]); err != nil {
					t.Fatal(err)
				}
				shown := out.String()
				for _, one := range api.Meanings {
					if got := strings.Contains(shown, "means-"+string(one)) &&
						strings.Contains(shown, ", "+strings.ToUpper(string(one[:1]))+string(one[1:])+")"); got != (one == meaning) {
						t.Errorf("%s, final %v, published as %q: %s", word, final, meaning, shown)
					}
				}
			}
		}
	}
}
