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

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/sandbox/fakeprovider"
)

// world holds the state of one run.
type world struct {
	t         *testing.T
	fixture   *fixture
	seed      uint64
	rng       *rand.Rand // used only by the simulator's own goroutine
	path      string
	net       *network
	log       *slog.Logger
	companies []*company
	processes []*process
	current   *process
	running   sync.WaitGroup
	depth     int
	crashIn   int // checkpoints until the current process dies; 0 for no death
	// wasSuspended says that a process has continued after its lease had expired.
	wasSuspended bool

	mu          sync.Mutex
	faultsOff   bool
	parallel    bool // several calls run at the same time
	randomCalls map[string]uint64
	counts      map[string]int
	trace       []string
	logged      bytes.Buffer
	violation   string
}

// run runs one seed from the first step to the last check. It returns the trace, how often each event happened, and the
// first broken promise, or "" if there is none.
func run(t *testing.T, f *fixture, dir string, seed uint64,
	steps int) (trace []string, counts map[string]int, violation string) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fixture: f, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)),
			path: filepath.Join(dir, "quittance.db"), randomCalls: map[string]uint64{}, counts: map[string]int{}}
		w.log = slog.New(slog.NewJSONHandler(logWriter{w}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.net = newNetwork(w)
		w.must(os.WriteFile(w.path, f.database, 0o600))
		for n := range f.companies {
			w.companies = append(w.companies, w.openCompany(&f.companies[n], filepath.Join(dir, f.companies[n].name)))
		}
		w.startReceivers()
		w.processes = []*process{w.start("one"), w.start("two")}
		for n := 0; n < steps && !w.isViolated(); n++ {
			w.step()
			w.restartDead()
		}
		if !w.isViolated() {
			w.finish()
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
		if !w.isViolated() {
			w.searchCanaries()
		}
		trace, counts, violation = w.trace, w.counts, w.violation
	})
	return trace, counts, violation
}

// step makes one step that the seed chooses: a client's call, a task, a pause, or the death of a process.
func (w *world) step() {
	if w.wasSuspended && w.depth == 0 {
		w.wasSuspended = false
		w.readDeliveries()
	}
	switch roll := w.rng.IntN(100); {
	case roll < 45:
		w.operate()
	case roll < 85:
		w.doSomeWork()
	case roll < 97:
		pauses := []time.Duration{time.Millisecond, 700 * time.Millisecond, 3 * time.Second, 20 * time.Second,
			61 * time.Second, 2 * time.Minute, 20 * time.Minute}
		pause := pauses[w.rng.IntN(len(pauses))]
		w.tracef("%s pass", pause)
		time.Sleep(pause)
	default:
		w.crashIn = 1 + w.rng.IntN(12)
	}
	synctest.Wait()
}

// interleave runs other steps while a process waits for the network.
func (w *world) interleave() {
	if w.depth >= 2 || w.areFaultsOff() || w.rng.IntN(100) >= 20 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.count("others acted during a call")
	for range 1 + w.rng.IntN(4) {
		w.step()
	}
}

// suspend suspends a process for longer than its lease while another process does its work. It checks the deliveries at
// once and after the process has continued.
func (w *world) suspend(p *process) {
	if w.depth > 0 || w.areFaultsOff() {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.count("process suspended past its lease")
	// The first round finds the abandoned attempt. The delivery is due again after the backoff that follows.
	for range 2 {
		time.Sleep(61 * time.Second)
		for _, other := range w.processes {
			if other != p && !other.dead {
				doWork(other, other.deliverer.Work(), 8)
				doWork(other, other.deliverer.Work(), 8)
			}
		}
	}
	w.readDeliveries()
	w.wasSuspended = true
}

// readDeliveries makes every company read its deliveries.
func (w *world) readDeliveries() {
	for _, c := range w.companies {
		c.deliveries()
	}
}

// liveProcess returns a live process that the seed chooses, or nil if there is none.
func (w *world) liveProcess() *process {
	first := w.rng.IntN(len(w.processes))
	for n := range w.processes {
		if p := w.processes[(first+n)%len(w.processes)]; !p.dead {
			return p
		}
	}
	return nil
}

// doSomeWork makes a process do some due work.
func (w *world) doSomeWork() {
	p := w.liveProcess()
	if p == nil {
		return
	}
	var done int
	kind := w.rng.IntN(5)
	switch kind {
	case 0, 1:
		done = doWork(p, p.deliverer.Work(), 3)
	case 2, 3:
		done = doWork(p, p.submissions.Work(), 3)
	default:
		done = doWork(p, p.purchases.Work(), 1)
	}
	w.tracef("%s worked at %d: %d", p.name, kind, done)
}

// restartDead restarts the processes that have died.
func (w *world) restartDead() {
	for n, p := range w.processes {
		if p.dead {
			p.close()
			w.crashIn = 0
			w.processes[n] = w.start(p.name)
			w.tracef("%s starts again", p.name)
		}
	}
}

// finish stops the faults, advances the clock until no work is left, and then checks every promise.
func (w *world) finish() {
	w.mu.Lock()
	w.faultsOff = true
	w.mu.Unlock()
	for _, c := range w.companies {
		w.must(c.provider.SetChaos(fakeprovider.ChaosOff, 0))
		c.provider.ClearRules()
	}
	w.crashIn = 0
	end := time.Now().Add(30 * time.Hour)
	for round := 0; time.Now().Before(end) && !w.isViolated(); round++ {
		p := w.processes[round%len(w.processes)]
		done := doWork(p, p.deliverer.Work(), 8) + doWork(p, p.submissions.Work(), 8) + doWork(p, p.purchases.Work(), 1)
		synctest.Wait()
		if done > 0 {
			continue
		}
		next := w.nextDue(p)
		if next.IsZero() || w.isQuiescent() {
			break
		}
		time.Sleep(max(time.Until(next), time.Millisecond))
	}
	for _, c := range w.companies {
		if !w.isViolated() {
			c.verify()
		}
	}
}

// nextDue returns when the next work of any kind is due.
func (w *world) nextDue(p *process) (next time.Time) {
	for _, scan := range []func(context.Context, *base.DB, base.ScanCursor) (base.DueScan, error){
		events.DueDeliveryQueues, invoices.DueSubmissionQueues, incoming.DuePurchaseQueues,
	} {
		found, err := scan(w.t.Context(), p.db, base.ScanCursor{})
		w.must(err)
		due := found.NextDue
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// randomFor returns the next random number for a key. It is a function of the seed, the key and the number of earlier
// calls for the key, so that the order in which goroutines call it does not matter.
func (w *world) randomFor(key string) uint64 {
	w.mu.Lock()
	nth := w.randomCalls[key]
	w.randomCalls[key]++
	w.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", w.seed, key, nth))
	return binary.BigEndian.Uint64(sum[:])
}

// chance tells whether a fault with a probability happens. None happens after the faults have stopped.
func (w *world) chance(key string, probability float64) bool {
	return float64(w.randomFor("may "+key)>>11)/(1<<53) < probability && !w.areFaultsOff()
}

func (w *world) areFaultsOff() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faultsOff
}

func (w *world) isParallel() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.parallel
}

// count counts an event.
func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// tracef adds a line to the trace.
func (w *world) tracef(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, time.Now().UTC().Format("02T15:04:05.000000 ")+strings.Repeat("  ", w.depth)+
		fmt.Sprintf(format, args...))
}

// violate records the first broken promise.
func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
	}
}

func (w *world) isViolated() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violation != ""
}

// must handles the errors of the simulator's own steps, which never fail.
func (w *world) must(err error) {
	if err != nil {
		w.violate("the simulator's own step failed: %v", err)
	}
}

// logWriter collects the log, which is searched for secrets at the end.
type logWriter struct{ w *world }

func (l logWriter) Write(b []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.logged.Write(b)
}
