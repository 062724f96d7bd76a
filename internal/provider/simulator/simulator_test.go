package simulator_test

import (
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/internal/provider/simulator"
	"quittance/test/providertest"
)

// handClock is a clock that a test advances.
type handClock struct{ elapsed atomic.Int64 }

func (c *handClock) now() time.Time {
	return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(c.elapsed.Load()))
}

func (c *handClock) advance(d time.Duration) { c.elapsed.Add(int64(d)) }

func TestConforms(t *testing.T) {
	providertest.Run(t, func(*testing.T) (provider.Adapter, providertest.Control) {
		clock := &handClock{}
		return simulator.New(clock.now, time.Second),
			providertest.Control{Advance: func() { clock.advance(time.Hour) }}
	})
}

func TestMovesOneDimensionAStepAndClaimsNothingReal(t *testing.T) {
	clock := &handClock{}
	simulator := simulator.New(clock.now, time.Second)
	simulator.Submit(t.Context(), providertest.Document("ref-1"))
	for round := range 5 {
		response := simulator.Status(t.Context(), provider.Query{Reference: "ref-1"})
		report, err := invoice.ReadReport(response.Body, simulator.Profile().Vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		if report.Sequence != int64(round+1) || report.States.AllTerminal() != (round == 4) {
			t.Fatalf("round %d: %+v", round, report)
		}
		for i, d := range invoice.Dimensions {
			word, terminal, _ := report.States.Get(d)
			meaning := api.MeaningWaiting
			if terminal {
				meaning = api.MeaningPositive
			}
			if got := report.States.Stored(d).Meaning; got != meaning {
				t.Fatalf("round %d, %s: %q means %q", round, d, word, got)
			}
			if terminal != (i < round) || len(word) < 9 || word[:9] != "simulated" {
				t.Fatalf("round %d, %s: %q, terminal %v", round, d, word, terminal)
			}
		}
		if _, err := invoice.ReadReport(response.Body, protocol.Vocabulary()); err == nil {
			t.Fatal("the provider protocol's vocabulary reads a document of the simulator")
		}
		clock.advance(time.Second)
	}
}
