package fakeprovider

import (
	"fmt"
	"slices"
	"testing"
)

// TestChaosRates checks that each level affects its share of the calls of each kind, in all of its ways.
func TestChaosRates(t *testing.T) {
	if _, err := newChaos("some", 1); err == nil {
		t.Error("an unknown level is accepted")
	}
	const draws = 20_000
	for _, c := range []struct {
		level       string
		kind        callKinds
		least, most float64
	}{
		{ChaosOff, submission, 0, 0}, {ChaosOff, statusQuery, 0, 0}, {ChaosOff, purchasePages, 0, 0},
		{ChaosOff, purchaseDocument, 0, 0}, {ChaosLow, submission, 0.007, 0.013}, {ChaosLow, statusQuery, 0.025, 0.035},
		{ChaosLow, purchasePages, 0.025, 0.035}, {ChaosLow, purchaseDocument, 0.025, 0.035},
		{ChaosHigh, submission, 0.32, 0.35}, {ChaosHigh, statusQuery, 0.32, 0.35},
		{ChaosHigh, purchasePages, 0.32, 0.35},
		{ChaosHigh, purchaseDocument, 0.32, 0.35},
	} {
		chance, err := newChaos(c.level, 7)
		if err != nil {
			t.Fatal(err)
		}
		wrong, ways := 0, map[Misbehaviour]bool{}
		for n := range draws {
			if way := chance.pick(c.kind, fmt.Sprintf("INV-%d", n), 1); way != NoMisbehaviour {
				wrong++
				ways[way] = true
			}
		}
		if share := float64(wrong) / draws; share < c.least || share > c.most {
			t.Errorf("%s, kind %d: %.4f of the calls go wrong", c.level, c.kind, share)
		}
		for _, way := range Misbehaviours() {
			if ways[way.Name] != (way.chance(c.level)&c.kind != 0) {
				t.Errorf("%s, kind %d: %s happens: %t", c.level, c.kind, way.Name, ways[way.Name])
			}
		}
	}
}

// TestChaosIsAFunctionOfItsSeed checks that the same calls go wrong in the same way, in any order.
func TestChaosIsAFunctionOfItsSeed(t *testing.T) {
	run := func(seed uint64, backwards bool) []Misbehaviour {
		chance, err := newChaos(ChaosHigh, seed)
		if err != nil {
			t.Fatal(err)
		}
		picked := make([]Misbehaviour, 500)
		for i := range picked {
			if backwards {
				i = len(picked) - 1 - i
			}
			picked[i] = chance.pick(statusQuery, fmt.Sprintf("INV-%d", i/5), i%5)
		}
		return picked
	}
	if !slices.Equal(run(1, false), run(1, true)) {
		t.Error("two runs with one seed differ")
	}
	if slices.Equal(run(1, false), run(2, false)) {
		t.Error("another seed changes nothing")
	}
}

// TestLowChaosIsMild checks that at the level low no failure lasts, and that a submission only goes wrong after the
// provider accepted it, so that the next status query resolves it.
func TestLowChaosIsMild(t *testing.T) {
	for _, way := range Misbehaviours() {
		if way.low&^way.high != 0 || way.high&^way.on != 0 {
			t.Errorf("%s: low %b is not within high %b within %b", way.Name, way.low, way.high, way.on)
		}
		mild := []Misbehaviour{DropAfter, UnavailableAfter, RefuseAfter, Garbage, Truncated}
		if way.low&submission != 0 && !slices.Contains(mild, way.Name) {
			t.Errorf("%s happens to submissions", way.Name)
		}
		mild = []Misbehaviour{TooMany, UnavailableBefore, DropBefore, Truncated, Stale, Repeated, Reformatted}
		if way.low&^submission != 0 && !slices.Contains(mild, way.Name) {
			t.Errorf("%s happens", way.Name)
		}
	}
}
