package storecove

import (
	"testing"

	"quittance/internal/document/codelist"
)

// TestNames checks that the built-in names are those of EAS codes, each of one.
func TestNames(t *testing.T) {
	codes := map[string]string{}
	for code, name := range schemeNames {
		if !codelist.EndpointSchemes().Has(code) || len(name) < 3 || codes[name] != "" {
			t.Errorf("%s = %q, also of %q", code, name, codes[name])
		}
		codes[name] = code
	}
}
