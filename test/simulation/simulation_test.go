package simulation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"quittance/sandbox/fakeprovider"
)

var (
	seedsFlag = flag.Int("seeds", 20, "number of seeds that TestSeeds runs")
	firstFlag = flag.Uint64("first", 1, "first seed")
	stepsFlag = flag.Int("steps", 120, "number of steps of a run before the faults stop")
	showFlag  = flag.Bool("show", false, "print the trace of every run")
)

// seedsShort is the number of seeds with -short.
const seedsShort = 4

// seedsForCoverage is a number of seeds after which all expected events have happened.
const seedsForCoverage = 1000

// expectedEvents returns everything that must happen in seedsForCoverage seeds.
func expectedEvents() (all []string) {
	for _, behaviour := range fakeprovider.Misbehaviours() {
		if len(behaviour.At(fakeprovider.ChaosHigh)) > 0 {
			all = append(all, "provider: "+string(behaviour.Name))
		}
	}
	for _, o := range operations() {
		all = append(all, "operation: "+o.name)
	}
	for _, step := range []string{"begin submission", "provider submit", "provider status", "record answer",
		"begin resend", "webhook attempt", "record attempt", "claim submissions", "claim deliveries", "provider purchases",
		"retain purchases", "create invoice", "update invoice", "idempotent call", "create subscription"} {
		all = append(all, "process died before "+step, "process died after "+step)
	}
	return append(all, "connection refused", "connection hangs", "connection cut after some bytes", "name not found",
		"name at a private address", "receiver: redirect", "receiver: gone", "receiver: hangs", "receiver: breaks off",
		"others acted during a call", "process suspended past its lease", "sent again after status queries",
		"idempotency: replayed", "delivery: blocked", "delivery: delivered", "delivery: failed", "answered 202",
		"answered 409", "answered 502")
}

// runIn runs a seed in its own directory.
func runIn(t *testing.T, seed uint64) (trace []string, counts map[string]int, violation string) {
	t.Helper()
	dir, err := os.MkdirTemp(scratchDir(), "simulation-") //nolint:usetesting // in memory, and gone after each run
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // scratch
	return run(t, loadFixture(t), dir, seed, *stepsFlag)
}

// TestSeeds: no seed breaks a promise. A broken promise is reported with its seed and the end of its trace.
func TestSeeds(t *testing.T) {
	var mu sync.Mutex
	total := map[string]int{}
	shards := uint64(runtime.GOMAXPROCS(0))
	last := *firstFlag + uint64(*seedsFlag)
	if testing.Short() {
		last = min(last, *firstFlag+seedsShort)
	}
	t.Run("all", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := *firstFlag + shard; seed < last; seed += shards {
					trace, counts, violation := runIn(t, seed)
					mu.Lock()
					for what, n := range counts {
						total[what] += n
					}
					mu.Unlock()
					if *showFlag {
						t.Log("\n" + strings.Join(trace, "\n"))
					}
					if violation != "" {
						t.Fatalf(
							"seed %d: %s\nthe last steps:\n%s\nrun it again: go test ./test/simulation -run TestSeeds -first %d -seeds 1 -show -v",
							seed, violation, strings.Join(trace[max(0, len(trace)-40):], "\n"), seed)
					}
				}
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%8d %s", total[what], what)
	}
	if last-*firstFlag < seedsForCoverage {
		return // too few seeds for every event to happen
	}
	for _, what := range expectedEvents() {
		if total[what] == 0 {
			t.Errorf("%q never happened: the simulation proves nothing about it", what)
		}
	}
}

// TestSameSeedSameTrace: two runs of a seed have the same trace, so that a failure can be repeated.
func TestSameSeedSameTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for seed := *firstFlag; seed < *firstFlag+10; seed++ {
		first, _, _ := runIn(t, seed)
		second, _, _ := runIn(t, seed)
		for n := range min(len(first), len(second)) {
			if first[n] != second[n] {
				t.Fatalf("seed %d: line %d is %q the first time and %q the second", seed, n, first[n], second[n])
			}
		}
		if len(first) != len(second) {
			t.Fatalf("seed %d: %d lines the first time, %d the second", seed, len(first), len(second))
		}
	}
}
