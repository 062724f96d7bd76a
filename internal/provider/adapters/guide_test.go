package adapters_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"quittance/internal/provider/adapters"
)

// TestProviderGuide checks that the guide of providers shows each adapter as it describes itself.
func TestProviderGuide(t *testing.T) {
	text, err := os.ReadFile("../../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	has := map[string]bool{}
	for _, line := range lines {
		has[line] = true
	}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, description := range adapters.Descriptions() {
		p := description.Publish()
		var options []string
		for _, o := range p.Options {
			options = append(options, "`"+o.Name+"`")
		}
		for _, want := range []string{
			fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", p.Kind, cmp.Or(strings.Join(p.Profiles, ", "), "—"),
				cmp.Or(strings.Join(options, ", "), "—"), yes[p.CreditNotes], yes[p.IncomingInvoices], yes[p.RecipientLookup]),
			fmt.Sprintf("- `%s`: %s", p.Kind, p.Summary),
			fmt.Sprintf("| `%s` | %s | %s |", p.Kind, p.Lookup, yes[p.IdempotentReferences]),
		} {
			if !has[want] {
				t.Errorf("docs/providers.md does not have the line\n%s", want)
			}
		}
	}
}
