package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quittance/client/api"
)

// SoakOptions are the options of [Soak].
type SoakOptions struct {
	// Rate is the number of visits per second of each company, above 0 (open loop): each visit creates a draft, submits
	// it, and reads it and the list of invoices.
	Rate float64
	// Clients is the maximum number of simultaneous visits of each company, at least 1.
	Clients int
	// Duration is how long the load lasts, Sample the interval between two samples of the server, above 0 and at most
	// Duration.
	Duration, Sample time.Duration
	// Flap is the period of the flapping receiver, above 0. During the first third of each period it alternates between
	// 503 and broken connections.
	Flap time.Duration
}

// role is the behaviour of a company's receiver. The companies of a soak are in the order of the roles.
type role int

const (
	healthy     role = iota
	hanging          // accepts connections and never answers
	redirecting      // its subscription is deactivated, and it subscribes again
	flapping         // alternates between healthy and broken
	roles
)

func (r role) String() string {
	return [roles]string{"healthy", "hanging", "redirecting", "flapping"}[r]
}

// soakFlags returns the server's flags of a soak. Attempts follow each other quickly, so that events that the flapping
// receiver missed arrive within minutes of its recovery, and some of the hanging receiver's deliveries come to an end.
func soakFlags(o SoakOptions) []string {
	return []string{"--metrics-listen", "127.0.0.1:0", "--retry-first", "1s", "--retry-attempts", "8", "--attempt-timeout",
		"2s", "--token-ttl", (12*time.Hour + o.Duration).String()}
}

// soak is a running [Soak].
type soak struct {
	options SoakOptions
	testbed *testbed
	t       *target
	log     string // file of the server's log
	// For each company: its visits so far and their results, and how many submissions were answered.
	loads     [roles]load
	outcomes  [roles]outcome
	submitted [roles]atomic.Int64
	feeds     [roles]feed

	began          time.Time
	recovered      atomic.Bool // the flapping receiver has stopped flapping
	redirected     atomic.Int64
	redirectTarget *inbox // target of the redirects, which must receive nothing
	current        string // subscription of the redirecting company

	samples []Figures
	// sampled counts the latencies of the healthy company's events since the last sample.
	sampled             *Histogram
	whole, first, last  *Histogram // of the run, and of its first and last quarter
	starved             int
	responded, received [roles]int64 // before the last sample
}

// Soak runs a mixed load of four companies for a long time. The receiver of one is healthy; those of the others hang,
// redirect and flap. It takes samples of the server, and at the end accounts for every event in the companies' feeds.
// It needs its own deployment.
func Soak(ctx context.Context, c Config, o SoakOptions) (_ Report, err error) {
	r := c.report()
	r.setting("companies", float64(roles))
	r.setting("clients_of_each_company", float64(o.Clients))
	r.setting("duration_seconds", o.Duration.Seconds())
	r.setting("sample_seconds", o.Sample.Seconds())
	r.setting("flap_seconds", o.Flap.Seconds())
	r.loop(o.Rate)
	if c.Given != nil {
		return r, errNeedsOwn
	}
	c.ServeFlags = append(soakFlags(o), c.ServeFlags...)
	p, err := prepare(ctx, c, &r, int(roles), 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s := &soak{options: o, testbed: p, whole: NewHistogram(), first: NewHistogram(), last: NewHistogram()}
	if s.t, err = p.serve(ctx); err != nil {
		return r, err
	}
	if err := s.setUpReceivers(ctx); err != nil {
		return r, err
	}
	meter := p.meter(ctx)
	if err := s.run(ctx); err != nil {
		return r, err
	}
	s.recovered.Store(true)
	if err := s.awaitEnd(ctx); err != nil {
		return r, err
	}
	s.whole.add(s.sampled)
	var visits outcome
	visits.failed = map[string]int64{}
	for n := range roles {
		visits = visits.plus(s.outcomes[n])
	}
	r.count(visits, o.Rate)
	s.quarters(&r)
	if err := s.accountForEvents(ctx, &r); err != nil {
		return r, err
	}
	meter.report(ctx, &r, "visits", visits.done)
	s.log = p.own.server.log
	if err := p.stop(); err != nil {
		return r, err
	}
	if err := s.logged(&r); err != nil {
		return r, err
	}
	r.note("The rate is that of each company. The server ran with %s.", strings.Join(c.ServeFlags, " "))
	r.clocks(p.own.companies[healthy].inbox.tally())
	return r, p.limitDisk(ctx, &r)
}

// setUpReceivers sets the behaviour of the receivers, and creates a subscription of each company.
func (s *soak) setUpReceivers(ctx context.Context) error {
	own := s.testbed.own
	s.began = s.testbed.config.Now()
	own.companies[hanging].inbox.hanging.Store(true)
	s.redirectTarget = own.hooks.addInbox(own.companies[redirecting].name + "-elsewhere")
	redirect := func(w http.ResponseWriter) bool {
		s.redirected.Add(1)
		w.Header().Set("Location", own.hooks.URL+"/"+own.companies[redirecting].name+"-elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	own.companies[redirecting].inbox.override.Store(&redirect)
	var broken atomic.Int64
	flap := func(w http.ResponseWriter) bool {
		phase := s.testbed.config.Now().Sub(s.began) % s.options.Flap
		if s.recovered.Load() || phase >= s.options.Flap/3 {
			return false
		}
		if broken.Add(1)%2 == 0 {
			panic(http.ErrAbortHandler) // breaks the connection
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	own.companies[flapping].inbox.override.Store(&flap)
	for n := range roles {
		if err := s.subscribe(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// subscribe creates a subscription of a company.
func (s *soak) subscribe(ctx context.Context, n role) error {
	company := s.testbed.own.companies[n]
	made, err := s.t.users[n].subscribe(ctx, s.testbed.own.hooks.URL+"/"+company.name)
	if err != nil {
		return err
	}
	company.inbox.setSecret(made.Secret)
	if n == redirecting {
		s.current = made.ID
	}
	return nil
}

// resubscribe creates a new subscription of the redirecting company after its last one was deactivated.
func (s *soak) resubscribe(ctx context.Context) error {
	found, err := s.t.users[redirecting].service.Subscription(ctx, s.current)
	if err != nil || found.Active {
		return err
	}
	return s.subscribe(ctx, redirecting)
}

// run puts load on the server and takes samples of it.
func (s *soak) run(ctx context.Context) error {
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, roles)
	var running sync.WaitGroup
	s.sampled = s.testbed.own.companies[healthy].inbox.resetLatency()
	for n := range roles {
		s.loads[n] = load{clients: s.options.Clients, rate: s.options.Rate, duration: s.options.Duration,
			now: s.testbed.config.Now, latency: NewHistogram(), done: new(atomic.Int64)}
		running.Go(func() { failed[n] = s.load(loading, n) })
	}
	err := s.takeSamples(ctx)
	if err != nil {
		cancel()
	}
	running.Wait()
	return errors.Join(err, errors.Join(failed...), ctx.Err(), s.t.alive())
}

// load makes the visits of a company.
func (s *soak) load(ctx context.Context, n role) (err error) {
	prefix := draftPrefix(s.testbed.config.Now())
	drafts := make([]template, s.options.Clients)
	for client := range drafts {
		if drafts[client], err = draftTemplate(s.t, int(n), draftItems, prefix, s.testbed.config.Now()); err != nil {
			return err
		}
	}
	conns, closeConns := s.t.conns(s.options.Clients)
	defer func() { err = errors.Join(err, closeConns()) }()
	s.outcomes[n] = s.loads[n].run(ctx, func(ctx context.Context, client int, call int64) error {
		if err := s.visit(ctx, conns[client], n, drafts[client].with(call)); err != nil {
			return fmt.Errorf("%v company: %w", n, err)
		}
		return nil
	})
	return nil
}

// visit creates a draft, submits it, and reads it and the list.
func (s *soak) visit(ctx context.Context, w *clientConn, n role, draft []byte) error {
	if err := w.expect(ctx, http.StatusCreated, draft); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	var made api.Data[struct {
		ID string `json:"id"`
	}]
	if err := json.Unmarshal(w.body, &made); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	path := invoicesPath + "/" + made.Data.ID
	if err := w.expect(ctx, http.StatusOK, s.t.request(int(n), http.MethodPost, path+"/submit", nil)); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	s.submitted[n].Add(1)
	if err := w.expect(ctx, http.StatusOK, s.t.request(int(n), http.MethodGet, path, nil)); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if err := w.expect(ctx, http.StatusOK, s.t.request(int(n), http.MethodGet, invoicesPath, nil)); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return nil
}
