package cli

import (
	"testing"

	"github.com/alecthomas/kong"
)

// TestChaosDefaults checks that the provider in a sandbox misbehaves by default, and that a separate provider
// sandbox does so only on request.
func TestChaosDefaults(t *testing.T) {
	var c cli
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"sandbox"}, {"provider-sandbox", "--data", "x", "--credential-file", "y"}} {
		if _, err := parser.Parse(line); err != nil {
			t.Fatal(err)
		}
	}
	if c.Sandbox.Run.Chaos != "low" || c.ProviderSandbox.Chaos != "off" {
		t.Errorf("sandbox %q, provider-sandbox %q", c.Sandbox.Run.Chaos, c.ProviderSandbox.Chaos)
	}
}
