package simulation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quittance/internal/fakeprovider"
	"quittance/internal/store"
)

// world is everything there is in one run.
type world struct {
	t         *testing.T
	fixed     *fixed
	seed      uint64
	rng       *rand.Rand // of the simulator's own goroutine alone
	path      string
	net       *network
	log       *slog.Logger
	companies []*company
	processes []*process
	current   *process
	running   sync.WaitGroup
	depth     int
	crashIn   int // checkpoints until the current process dies; 0 for no death
	// stoodStill tells that a process has gone on after its lease had ended.
	stoodStill bool

	mu        sync.Mutex
	calm      bool
	together  bool // several calls are made at the same time
	drawn     map[string]uint64
	counts    map[string]int
	trace     []string
	logged    bytes.Buffer
	violation string
}

// run is one seed from the first step to the last check. It returns the trace, what happened how often, and the first
// broken promise, "" for none.
func run(t *testing.T, f *fixed, dir string, seed uint64, steps int) (trace []string, counts map[string]int, violation string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fixed: f, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), path: filepath.Join(dir, "quittance.db"),
			drawn: map[string]uint64{}, counts: map[string]int{}}
		w.log = slog.New(slog.NewJSONHandler(writer{w}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.net = newNetwork(w)
		w.must(os.WriteFile(w.path, f.database, 0o600))
		for n := range f.companies {
			w.companies = append(w.companies, w.open(&f.companies[n], filepath.Join(dir, f.companies[n].name)))
		}
		w.receivers()
		w.processes = []*process{w.boot("one"), w.boot("two")}
		for n := 0; n < steps && !w.broken(); n++ {
			w.step()
			w.revive()
		}
		if !w.broken() {
			w.settle()
		}
		for _, p := range w.processes {
			p.close()
		}
		w.net.close()
		w.running.Wait()
		for _, c := range w.companies {
			for what, n := range c.provider.MisbehaviourCounts() {
				w.counts["provider: "+string(what)] += n
			}
			w.must(c.provider.Close())
		}
		if !w.broken() {
			w.searchCanaries()
		}
		trace, counts, violation = w.trace, w.counts, w.violation
	})
	return trace, counts, violation
}

// step is one choice of the seed: a client's call, a piece of work, time, or the end of a process.
func (w *world) step() {
	if w.stoodStill && w.depth == 0 {
		w.stoodStill = false
		w.look()
	}
	switch roll := w.rng.IntN(100); {
	case roll < 45:
		w.operate()
	case roll < 85:
		w.workSomewhere()
	case roll < 97:
		pauses := []time.Duration{time.Millisecond, 700 * time.Millisecond, 3 * time.Second, 20 * time.Second, 61 * time.Second, 2 * time.Minute, 20 * time.Minute}
		pause := pauses[w.rng.IntN(len(pauses))]
		w.note("%s pass", pause)
		time.Sleep(pause)
	default:
		w.crashIn = 1 + w.rng.IntN(12)
	}
	synctest.Wait()
}

// meanwhile lets others act while a process waits for the network.
func (w *world) meanwhile() {
	if w.depth >= 2 || w.isCalm() || w.rng.IntN(100) >= 20 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.count("others acted during a call")
	for range 1 + w.rng.IntN(4) {
		w.step()
	}
}

// standStill lets a process stand still for longer than its lease while another does its work, and looks at what that came to,
// now and after the process has gone on.
func (w *world) standStill(p *process) {
	if w.depth > 0 || w.isCalm() {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.count("process stood still past its lease")
	// The first turn finds the attempt abandoned; the delivery is due again after the wait that follows it.
	for range 2 {
		time.Sleep(61 * time.Second)
		for _, other := range w.processes {
			if other != p && !other.dead {
				work(other, other.deliverer.Work(), 8)
				work(other, other.deliverer.Work(), 8)
			}
		}
	}
	w.look()
	w.stoodStill = true
}

// look has every company look at its deliveries.
func (w *world) look() {
	for _, c := range w.companies {
		c.deliveries()
	}
}

// living returns a process that is alive, chosen by the seed; nil when there is none at this moment.
func (w *world) living() *process {
	first := w.rng.IntN(len(w.processes))
	for n := range w.processes {
		if p := w.processes[(first+n)%len(w.processes)]; !p.dead {
			return p
		}
	}
	return nil
}

// workSomewhere has a process do some work that is due.
func (w *world) workSomewhere() {
	p := w.living()
	if p == nil {
		return
	}
	var done int
	kind := w.rng.IntN(5)
	switch kind {
	case 0, 1:
		done = work(p, p.deliverer.Work(), 3)
	case 2, 3:
		done = work(p, p.submissions.Work(), 3)
	default:
		done = work(p, p.purchases.Work(), 1)
	}
	w.note("%s worked at %d: %d", p.name, kind, done)
}

// revive starts a process anew in place of each that has died.
func (w *world) revive() {
	for n, p := range w.processes {
		if p.dead {
			p.close()
			w.crashIn = 0
			w.processes[n] = w.boot(p.name)
			w.note("%s starts again", p.name)
		}
	}
}

// settle stops the faults and lets the clock run until nothing is left to do that time alone can bring, then checks
// every promise.
func (w *world) settle() {
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	for _, c := range w.companies {
		w.must(c.provider.SetChaos(fakeprovider.ChaosOff, 0))
		c.provider.ClearRules()
	}
	w.crashIn = 0
	end := time.Now().Add(30 * time.Hour)
	for turn := 0; time.Now().Before(end) && !w.broken(); turn++ {
		p := w.processes[turn%len(w.processes)]
		done := work(p, p.deliverer.Work(), 8) + work(p, p.submissions.Work(), 8) + work(p, p.purchases.Work(), 1)
		synctest.Wait()
		if done > 0 {
			continue
		}
		next := w.nextDue(p)
		if next.IsZero() || w.quiet() {
			break
		}
		time.Sleep(max(time.Until(next), time.Millisecond))
	}
	for _, c := range w.companies {
		if !w.broken() {
			c.verify()
		}
	}
}

// nextDue is when the next work of any kind is due.
func (w *world) nextDue(p *process) (next time.Time) {
	for _, look := range []func(context.Context, store.ScanCursor) (store.DueScan, error){p.db.DueDeliveryQueues, p.db.DueSubmissionQueues, p.db.DuePurchaseQueues} {
		found, err := look(w.t.Context(), store.ScanCursor{})
		w.must(err)
		due := found.NextDue
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// draw returns the next number of a key: a function of the seed, the key and how often it was drawn, so that the order in which
// goroutines draw does not matter.
func (w *world) draw(key string) uint64 {
	w.mu.Lock()
	nth := w.drawn[key]
	w.drawn[key]++
	w.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", w.seed, key, nth))
	return binary.BigEndian.Uint64(sum[:])
}

// may tells whether a fault of a probability happens; none does in the calm.
func (w *world) may(key string, probability float64) bool {
	return float64(w.draw("may "+key)>>11)/(1<<53) < probability && !w.isCalm()
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

func (w *world) isTogether() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.together
}

// count notes that something happened.
func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, time.Now().UTC().Format("02T15:04:05.000000 ")+strings.Repeat("  ", w.depth)+fmt.Sprintf(format, args...))
}

// violate notes the first broken promise.
func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
	}
}

func (w *world) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violation != ""
}

// must is for what never fails in this world, the simulator's own steps.
func (w *world) must(err error) {
	if err != nil {
		w.violate("the simulator's own step failed: %v", err)
	}
}

// writer is the log: it is searched at the end.
type writer struct{ w *world }

func (l writer) Write(b []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.logged.Write(b)
}
