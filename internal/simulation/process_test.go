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
	"quittance/internal/provider"
	"quittance/internal/purchase"
	"quittance/internal/queue"
	"quittance/internal/secret"
	"quittance/internal/server"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/webhook"
)

// The pace of the simulated service. A submission that nobody answers takes its 20 s, as it does outside.
const (
	callTimeout      = 20 * time.Second
	attemptTimeout   = 10 * time.Second
	purchaseInterval = 30 * time.Minute
	pollFirst        = time.Second
	pollMax          = time.Hour
)

// died is what a checkpoint panics with at the end of its process.
type died struct{ step string }

// process is one replica. It has everything that a process has but goroutines of its own: the simulator makes its steps.
type process struct {
	w           *world
	name        string
	db          *store.DB
	server      *server.Server
	submissions *submission.Service
	purchases   *purchase.Service
	deliverer   *webhook.Deliverer
	sender      *webhook.Sender
	opened      []*provider.HTTP
	dead        bool
}

// lockedReader makes a source of random bytes safe for concurrent use.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

// boot starts a process on the world's database.
func (w *world) boot(name string) *process {
	var seed [32]byte
	for n := range seed {
		seed[n] = byte(w.rng.Uint32())
	}
	random := &lockedReader{r: rand.NewChaCha8(seed)}
	p := &process{w: w, name: name}
	var err error
	p.db, err = store.Open(w.t.Context(), "sqlite:"+w.path, store.Options{Keys: w.fixed.keys, Now: time.Now, Random: random, Log: w.log, Checkpoint: p.checkpoint})
	w.must(err)
	adapters := submission.NewAdapters(p.db, func(c store.Connection, credential secret.Text) (provider.Adapter, error) {
		adapter, err := provider.NewHTTP(provider.Config{BaseURL: c.BaseURL, Credential: credential, Timeout: callTimeout, Clock: time.Now, Dial: w.net.dialFor(p)})
		p.opened = append(p.opened, adapter)
		return adapter, err
	})
	observed := func(call, kind string, took time.Duration) {
		if call != "purchase_document" { // these come at the same time
			w.note("%s called %s: %s after %s", name, call, kind, took)
		}
	}
	p.submissions = submission.New(p.db, submission.Config{Environment: "sandbox", Adapters: adapters, CallTimeout: callTimeout,
		Polling: submission.Polling{First: pollFirst, Max: pollMax}, Log: w.log, Observe: observed})
	p.purchases = purchase.New(p.db, purchase.Config{Environment: "sandbox", Adapter: adapters.For, CallTimeout: callTimeout,
		Interval: purchaseInterval, Log: w.log, Observe: observed})
	policy := webhook.Policy{RootCAs: w.fixed.authorities}
	p.sender = webhook.NewSender(webhook.Config{Policy: policy, Resolver: resolver{w}, Dial: w.net.dialFor(p), Timeout: attemptTimeout})
	p.deliverer = &webhook.Deliverer{DB: p.db, Sender: p.sender, Backoff: webhook.DefaultBackoff(), Timeout: attemptTimeout, Jitter: w.rng.Float64,
		Now: time.Now, Log: w.log, Observe: func(webhook.Verdict, time.Duration, time.Duration) {}}
	p.server, err = server.New(server.Config{DB: p.db, Accounts: &account.Service{DB: p.db, Random: random, Now: time.Now, TokenTTL: 12 * time.Hour,
		Hasher: account.NewHasher(runtime.GOMAXPROCS(0), account.DefaultCost())}, Submissions: p.submissions, Destinations: policy, Random: random, Now: time.Now,
		MaxBody: 1 << 20, IdempotencyTTL: 24 * time.Hour, Log: w.log, Observe: func(string, string, int, time.Duration) {}, Version: "simulated",
		Ready: p.db.Ping})
	w.must(err)
	return p
}

// checkpoint is where a process may die, and where others may act while it waits for the network.
func (p *process) checkpoint(moment store.Moment, step string) {
	w := p.w
	if p.dead {
		panic(died{step})
	}
	synctest.Wait() // connections that are done with are kept or closed by now, in every run
	if step == documents && moment == store.After {
		p.together(false)
	}
	if w.crashIn > 0 && w.current == p {
		if w.crashIn--; w.crashIn == 0 {
			w.note("%s dies %s %s", p.name, moment, step)
			w.count("process died " + string(moment) + " " + step)
			p.dead = true
			panic(died{step})
		}
	}
	if step == documents && moment == store.Before {
		p.together(true)
	}
	switch step {
	case "provider submit", "provider status", "provider purchases", "webhook attempt":
		if step == "webhook attempt" && moment == store.Before && w.rng.IntN(20) == 0 {
			w.standStill(p)
		}
		w.meanwhile()
		if p.dead {
			panic(died{step})
		}
	}
}

// documents is the one step that makes several calls at the same time.
const documents = "provider purchase documents"

// together keeps calls that are made at the same time from making runs differ: how many connections they need depends on
// which of them is faster, so none of these fails by itself and none is kept.
func (p *process) together(begins bool) {
	p.w.mu.Lock()
	p.w.together = begins
	p.w.mu.Unlock()
	for _, adapter := range p.opened {
		adapter.Close()
	}
	synctest.Wait()
}

// close ends a process, dead or alive: nothing of it is left but what it has committed.
func (p *process) close() {
	p.dead = true
	p.w.net.cut(p)
	for _, adapter := range p.opened {
		adapter.Close()
	}
	p.sender.Close()
	p.w.must(p.db.Close())
}

// alive runs a step of a process and tells whether the process has survived it.
func (p *process) alive(step func()) (survived bool) {
	before := p.w.current
	p.w.current = p
	defer func() {
		p.w.current = before
		if cause := recover(); cause != nil {
			if carried, ok := cause.(*store.Panic); ok {
				cause = carried.Value
			}
			if _, crash := cause.(died); !crash {
				panic(cause)
			}
		}
		survived = !p.dead
	}()
	step()
	return true
}

// work does due work of one source: what is due in a lane chosen by the seed, up to limit pieces. done is how many.
func work[W any](p *process, source queue.Source[W], limit int) (done int) {
	p.alive(func() {
		ctx := context.Background()
		scan, err := source.Scan(ctx, store.ScanCursor{})
		p.w.must(err)
		if len(scan.Queues) == 0 {
			return
		}
		lane := scan.Queues[p.w.rng.IntN(len(scan.Queues))]
		claimed, err := source.Claim(ctx, lane, 1+p.w.rng.IntN(limit))
		if errors.Is(err, store.ErrLeaseLost) {
			return
		}
		p.w.must(err)
		for _, piece := range claimed {
			done++
			source.Do(ctx, piece)
		}
	})
	return done
}
