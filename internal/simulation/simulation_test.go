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

	"quittance/internal/fakeprovider"
)

var (
	seedsFlag = flag.Int("seeds", 20, "how many seeds TestSeeds runs")
	firstFlag = flag.Uint64("first", 1, "the first of them")
	stepsFlag = flag.Int("steps", 120, "how many steps a run has before the calm")
	showFlag  = flag.Bool("show", false, "print the trace of every run")
)

// enough is a number of seeds after which everything has happened.
const enough = 1000

// everything is all that has to happen in enough seeds.
func everything() (all []string) {
	for _, way := range fakeprovider.Misbehaviours() {
		if len(way.At(fakeprovider.ChaosHigh)) > 0 {
			all = append(all, "provider: "+string(way.Name))
		}
	}
	for _, o := range operations() {
		all = append(all, "operation: "+o.name)
	}
	for _, step := range []string{"begin submission", "provider submit", "provider status", "record answer", "begin resend", "webhook attempt", "record attempt",
		"claim submissions", "claim deliveries", "provider purchases", "retain purchases", "create invoice", "update invoice", "idempotent call", "create subscription"} {
		all = append(all, "process died before "+step, "process died after "+step)
	}
	return append(all, "connection refused", "connection hangs", "connection cut after some bytes", "name not found", "name at a private address",
		"receiver: redirect", "receiver: gone", "receiver: hangs", "receiver: breaks off", "others acted during a call", "process stood still past its lease", "sent again after look-ups",
		"idempotency: replayed", "delivery: blocked", "delivery: delivered", "delivery: failed", "answered 202", "answered 409", "answered 502")
}

// runIn runs a seed in a directory of its own.
func runIn(t *testing.T, seed uint64) (trace []string, counts map[string]int, violation string) {
	t.Helper()
	dir, err := os.MkdirTemp(scratch(), "simulation-") //nolint:usetesting // in memory, and gone after each run
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // scratch
	return run(t, begin(t), dir, seed, *stepsFlag)
}

// TestSeeds runs seed after seed. A broken promise is reported with its seed and the end of its trace.
func TestSeeds(t *testing.T) {
	var mu sync.Mutex
	total := map[string]int{}
	shards := uint64(runtime.GOMAXPROCS(0))
	last := *firstFlag + uint64(*seedsFlag)
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
						t.Fatalf("seed %d: %s\nthe last steps:\n%s\nrun it again: go test ./internal/simulation -run TestSeeds -first %d -seeds 1 -show -v",
							seed, violation, strings.Join(trace[max(0, len(trace)-40):], "\n"), seed)
					}
				}
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%8d %s", total[what], what)
	}
	if *seedsFlag < enough {
		return // by chance not everything need have happened
	}
	for _, what := range everything() {
		if total[what] == 0 {
			t.Errorf("%q never happened: the simulation proves nothing about it", what)
		}
	}
}

// TestSameSeedSameTrace: what is found once is found again.
func TestSameSeedSameTrace(t *testing.T) {
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
