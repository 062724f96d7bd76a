package simulation

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing/synctest"
	"time"

	"quittance/internal/account"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/queue"
	"quittance/internal/exchange/submission"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/server"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
)

// The time-outs and intervals of the simulated service. A submit call without a response takes 20 s, as in production.
const (
	callTimeout      = 20 * time.Second
	attemptTimeout   = 10 * time.Second
	purchaseInterval = 30 * time.Minute
	pollFirst        = time.Second
	pollMax          = time.Hour
)

// processDied is the value of the panic with which a process dies at a checkpoint.
type processDied struct{ step string }

// process is one replica. It has everything that a real process has, except goroutines of its own: the simulator runs
// its steps.
type process struct {
	w           *world
	name        string
	db          *base.DB
	server      *server.Server
	submissions *submission.Service
	purchases   *purchase.Service
	deliverer   *webhook.Deliverer
	sender      *webhook.Sender
	opened      []*protocol.Adapter
	dead        bool
}

// lockedReader makes a reader safe for concurrent use.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

// start starts a process on the world's database.
func (w *world) start(name string) *process {
	var seed [32]byte
	for n := range seed {
		seed[n] = byte(w.rng.Uint32())
	}
	random := &lockedReader{r: rand.NewChaCha8(seed)}
	p := &process{w: w, name: name}
	var err error
	p.db, err = ledger.Open(w.t.Context(), "sqlite:"+w.path,
		base.Options{Keys: w.fixture.keys, Now: time.Now, Random: random, Log: w.log, Checkpoint: p.checkpoint})
	w.must(err)
	adapters := submission.NewAdapters(p.db,
		func(c invoices.Connection, credential secret.Text) (provider.Adapter, error) {
			adapter, err := protocol.New(provider.Config{BaseURL: c.BaseURL, Credential: credential, Timeout: callTimeout,
				Clock: time.Now, Dial: w.net.dialFor(p)})
			p.opened = append(p.opened, adapter)
			return adapter, err
		})
	observed := func(call, kind string, took time.Duration) {
		if call != "purchase_document" { // these calls run at the same time
			w.tracef("%s called %s: %s after %s", name, call, kind, took)
		}
	}
	p.submissions = submission.New(p.db, submission.Config{Environment: "sandbox", Adapters: adapters,
		CallTimeout: callTimeout, Polling: submission.Polling{First: pollFirst, Max: pollMax}, Log: w.log, Observe: observed})
	p.purchases = purchase.New(p.db, purchase.Config{Environment: "sandbox", Adapter: adapters.For,
		CallTimeout: callTimeout, Interval: purchaseInterval, Log: w.log, Observe: observed})
	policy := webhook.Policy{RootCAs: w.fixture.authorities}
	p.sender = webhook.NewSender(webhook.Config{Policy: policy, Resolver: resolver{w}, Dial: w.net.dialFor(p),
		Timeout: attemptTimeout})
	p.deliverer = &webhook.Deliverer{DB: p.db, Sender: p.sender, Backoff: webhook.DefaultBackoff(),
		Timeout: attemptTimeout, Jitter: w.rng.Float64, Now: time.Now, Log: w.log,
		Observe: func(webhook.Verdict, time.Duration, time.Duration) {}}
	p.server = server.New(server.Config{DB: p.db, Accounts: &account.Service{DB: p.db, Random: random, Now: time.Now,
		TokenTTL: 12 * time.Hour, Hasher: account.NewHasher(runtime.GOMAXPROCS(0), account.DefaultCost())},
		Submissions:  p.submissions,
		Destinations: policy, Random: random, Now: time.Now, MaxBody: 1 << 20, IdempotencyTTL: 24 * time.Hour, Log: w.log,
		Observe: func(string, string, int, time.Duration) {}, Version: "simulated", Ready: p.db.Ping})
	return p
}

// checkpoint is called where a process may die, and where other steps may run while it waits for the network.
func (p *process) checkpoint(moment base.Moment, step string) {
	w := p.w
	if p.dead {
		panic(processDied{step})
	}
	synctest.Wait() // by now, unused connections are idle or closed in every run
	if step == parallelStep && moment == base.After {
		p.setParallel(false)
	}
	if w.crashIn > 0 && w.current == p {
		if w.crashIn--; w.crashIn == 0 {
			w.tracef("%s dies %s %s", p.name, moment, step)
			w.count("process died " + string(moment) + " " + step)
			p.dead = true
			panic(processDied{step})
		}
	}
	if step == parallelStep && moment == base.Before {
		p.setParallel(true)
	}
	switch step {
	case "provider submit", "provider status", "provider purchases", "webhook attempt":
		if step == "webhook attempt" && moment == base.Before && w.rng.IntN(20) == 0 {
			w.suspend(p)
		}
		w.interleave()
		if p.dead {
			panic(processDied{step})
		}
	}
}

// parallelStep is the only step that makes several calls at the same time.
const parallelStep = "provider purchase documents"

// setParallel keeps parallel calls from making runs of a seed differ. The number of connections that they need depends
// on which call is faster, so no dial fails by chance and no connection is kept.
func (p *process) setParallel(begins bool) {
	p.w.mu.Lock()
	p.w.parallel = begins
	p.w.mu.Unlock()
	for _, adapter := range p.opened {
		adapter.Close()
	}
	synctest.Wait()
}

// close ends a process, dead or alive. Only what it has committed remains.
func (p *process) close() {
	p.dead = true
	p.w.net.cut(p)
	for _, adapter := range p.opened {
		adapter.Close()
	}
	p.sender.Close()
	p.w.must(p.db.Close())
}

// runStep runs a step of a process and tells whether the process survived it.
func (p *process) runStep(step func()) (survived bool) {
	before := p.w.current
	p.w.current = p
	defer func() {
		p.w.current = before
		if cause := recover(); cause != nil {
			if carried, ok := cause.(*base.Panic); ok {
				cause = carried.Value
			}
			if _, crash := cause.(processDied); !crash {
				panic(cause)
			}
		}
		survived = !p.dead
	}()
	step()
	return true
}

// doWork does up to limit due tasks of one source, from a queue that the seed chooses. done is the number of tasks.
func doWork[W any](p *process, source queue.Source[W], limit int) (done int) {
	p.runStep(func() {
		ctx := context.Background()
		scan, err := source.Scan(ctx, base.ScanCursor{})
		p.w.must(err)
		if len(scan.Queues) == 0 {
			return
		}
		due := scan.Queues[p.w.rng.IntN(len(scan.Queues))]
		claimed, err := source.Claim(ctx, due, 1+p.w.rng.IntN(limit))
		if errors.Is(err, base.ErrLeaseLost) {
			return
		}
		p.w.must(err)
		for _, task := range claimed {
			done++
			source.Do(ctx, task)
		}
	})
	return done
}
