package sandbox_test

import (
	"math/rand/v2"
	"testing"

	"quittance/internal/sandbox"
)

// TestChaosKeepsItsChance holds each level to its share of calls that go wrong, and to its ways.
func TestChaosKeepsItsChance(t *testing.T) {
	if off, err := sandbox.Chaos(sandbox.ChaosOff, rand.Float64); off != nil || err != nil {
		t.Errorf("off: %v", err)
	}
	if _, err := sandbox.Chaos("some", rand.Float64); err == nil {
		t.Error("an unknown level is taken")
	}
	for level, want := range map[string]struct {
		least, most int
		ways        int
	}{sandbox.ChaosLow: {300, 700, 5}, sandbox.ChaosHigh: {2500, 3500, 10}} {
		random := rand.New(rand.NewPCG(1, 2))
		choose, err := sandbox.Chaos(level, random.Float64)
		if err != nil {
			t.Fatal(err)
		}
		wrong, ways := 0, map[sandbox.Misbehaviour]bool{}
		for range 10_000 {
			if way := choose(sandbox.Call{}); way != sandbox.Behave {
				wrong++
				ways[way] = true
			}
		}
		if wrong < want.least || wrong > want.most || len(ways) != want.ways {
			t.Errorf("%s: %d of 10000 calls go wrong in %d ways", level, wrong, len(ways))
		}
	}
}
