package main

import (
	"testing"

	"github.com/alecthomas/kong"
)

// A newcomer's sandbox has a provider that is not perfect; one that somebody builds on is, unless it is told otherwise.
func TestTheDefaultsOfChaos(t *testing.T) {
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
