package cli

import (
	"testing"

	"github.com/alecthomas/kong"

	"quittance/internal/platform/buildinfo"
)

// TestChaosDefaults checks that neither the provider in a sandbox nor a separate provider
// sandbox does so only on request.
func TestChaosDefaults(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, defaults(buildinfo.Info{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"sandbox"}, {"provider-sandbox", "--data", "x", "--credential-file", "y"}} {
		if _, err := parser.Parse(line); err != nil {
			t.Fatal(err)
		}
	}
	if c.Sandbox.Run.Chaos != "off" || c.ProviderSandbox.Chaos != "off" {
		t.Errorf("sandbox %q, provider-sandbox %q", c.Sandbox.Run.Chaos, c.ProviderSandbox.Chaos)
	}
}
