package storecove

import (
	"testing"

	"quittance/internal/codelist"
)

// TestStorecoveNames checks that the built-in names are those of EAS codes, each of one.
func TestStorecoveNames(t *testing.T) {
	codes := map[string]string{}
	for code, name := range storecoveNames {
		if !codelist.EndpointSchemes().Has(code) || len(name) < 3 || codes[name] != "" {
			t.Errorf("%s = %q, also of %q", code, name, codes[name])
		}
		codes[name] = code
	}
}
