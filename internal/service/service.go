// Package service wires one Quittance process together: the store, the API, the workers and the metrics. Everything is
// made here, top to bottom, and handed down; nothing finds its dependencies by itself.
//
// Its invariants: a process that cannot keep its promises does not start (a second server on one SQLite file, the wrong
// keys, sandbox flags in production, a transport simulator outside local, plain HTTP to the outside); it stops in order, listeners
// first, then the work under way, then the store.
//
// Start reading at [Open], then [Service.Run].
package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"quittance"
	"quittance/internal/account"
	"quittance/internal/console"
	"quittance/internal/docs"
	"quittance/internal/provider"
	"quittance/internal/purchase"
	"quittance/internal/queue"
	"quittance/internal/secret"
	"quittance/internal/server"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/webhook"
)

// Service is one process: an API, workers, or both.
type Service struct {
	config      Config
	db          *store.DB
	release     func() error
	sender      *webhook.Sender
	deliverer   *webhook.Deliverer
	submissions *submission.Service
	purchases   *purchase.Service
	metrics     *metrics
	keys        *keyKeeper
	readiness   *readiness
	api         *server.Server
	listener    net.Listener
	metricsAt   net.Listener
	stopping    atomic.Bool // told to stop
}

// Open checks the configuration, opens the store and listens. Nothing is served before [Service.Run].
func Open(ctx context.Context, config Config) (_ *Service, err error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.warn(ctx)
	s := &Service{config: config, metrics: newMetrics(), release: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.db, err = store.Open(ctx, config.Database, store.Options{Keys: config.Keys, ReloadKeys: config.ReloadKeys, Log: config.Log, Checkpoint: config.Checkpoint, Quotas: config.Quotas}); err != nil {
		return nil, err
	}
	s.readiness = newReadiness(s.db.Ping, time.Now)
	release, err := s.db.LockForServing()
	if err != nil {
		return nil, err
	}
	s.release = release // only now: Close calls it
	if err := refuseSimulators(ctx, s.db, config.Environment); err != nil {
		return nil, err
	}
	if err := s.db.RecordEnvironment(ctx, config.Environment); err != nil {
		return nil, err
	}
	if err := s.warnUnapproved(ctx); err != nil {
		return nil, err
	}
	if s.keys, err = s.newKeyKeeper(ctx); err != nil {
		return nil, err
	}
	s.wire()
	serving := s.serverConfig()
	if serving.Docs, err = docs.New(quittance.Documents()); err != nil {
		return nil, err
	}
	if serving.Console, err = s.console(serving); err != nil {
		return nil, err
	}
	if s.api, err = server.New(serving); err != nil {
		return nil, err
	}
	s.metrics.inside(s.api.ActiveRequests, s.api.Connections)
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// refuseSimulators keeps the legacy transport simulator in the environment local (specification, part 1).
func refuseSimulators(ctx context.Context, db *store.DB, environment string) error {
	if environment == Local {
		return nil
	}
	connections, err := db.Connections(ctx, nil)
	if err != nil {
		return err
	}
	for _, c := range connections {
		if c.Kind == "simulator" && c.State == store.ConnectionActive {
			return fmt.Errorf("connection %s is a transport simulator, which exists in the environment local alone: disable it first", c.ID)
		}
	}
	return nil
}

// warnUnapproved names the active connections that this release may not use in production.
func (s *Service) warnUnapproved(ctx context.Context) error {
	if s.config.Environment != Production {
		return nil
	}
	connections, err := s.db.Connections(ctx, nil)
	if err != nil {
		return err
	}
	for _, c := range connections {
		if c.State == store.ConnectionActive && !c.Allowed(Production, s.config.Version) {
			s.config.Log.WarnContext(ctx, "no submission over this connection: approve it for this release with quittance connection approve",
				"connection", c.ID, "account", c.Account, "environment", c.Environment, "release", s.config.Version)
		}
	}
	return nil
}

// wire makes the parts below the API.
func (s *Service) wire() {
	c := s.config
	s.metrics.registry.MustRegister(newStaleness(s.db, c.Log))
	adapters := submission.NewAdapters(s.db, s.adapter)
	s.submissions = submission.New(s.db, submission.Config{
		Environment: c.Environment,
		Release:     c.Version,
		Adapters:    adapters,
		CallTimeout: c.ProviderTimeout,
		Polling:     submission.Polling{First: c.PollFirst, Max: c.PollMax, MissingGap: c.MissingGap},
		Log:         c.Log,
		Observe:     s.metrics.providerCall,
	})
	s.purchases = purchase.New(s.db, purchase.Config{
		Environment: c.Environment,
		Release:     c.Version,
		Adapter:     adapters.For,
		CallTimeout: c.ProviderTimeout,
		Interval:    c.PurchaseInterval,
		Log:         c.Log,
		Observe:     s.metrics.providerCall,
	})
	s.sender = webhook.NewSender(webhook.Config{Policy: c.Destinations, Timeout: c.AttemptTimeout})
	s.deliverer = &webhook.Deliverer{
		DB: s.db, Sender: s.sender, Backoff: webhook.Backoff{First: c.RetryFirst, Attempts: c.RetryAttempts},
		Timeout: c.AttemptTimeout, Jitter: mathrand.Float64, Now: s.db.Now, Log: c.Log, Observe: s.metrics.attempt,
	}
}

// adapter opens the adapter of a connection.
func (s *Service) adapter(c store.Connection, credential secret.Text) (provider.Adapter, error) {
	switch c.Kind {
	case "http":
		return provider.NewHTTP(provider.Config{BaseURL: c.BaseURL, Credential: credential, Timeout: s.config.ProviderTimeout,
			MaxConns: providerConns, Clock: time.Now})
	case "simulator":
		if s.config.Environment != Local {
			return nil, errors.New("the transport simulator exists in the environment local alone")
		}
		return provider.NewSimulator(time.Now, time.Second), nil
	}
	return nil, fmt.Errorf("unknown kind of connection %q", c.Kind)
}

func (s *Service) serverConfig() server.Config {
	c := s.config
	return server.Config{
		DB: s.db,
		Accounts: &account.Service{DB: s.db, Random: rand.Reader, Now: s.db.Now, TokenTTL: c.TokenTTL, LoginRate: c.LoginRate,
			Hasher: account.NewHasher(max(1, runtime.GOMAXPROCS(0)-1), cmp.Or(c.PasswordCost, account.DefaultCost()))}, // one processor is left for everybody else
		Submissions: s.submissions, Destinations: c.Destinations, Random: rand.Reader, Now: s.db.Now, MaxBody: c.MaxBody, MaxRequests: c.MaxRequests, RateLimit: c.RateLimit, IdempotencyTTL: c.IdempotencyTTL,
		TrustedProxies: c.TrustedProxies, Log: c.Log, Observe: s.metrics.request, Version: c.Version, Ready: s.ready,
		ConnectionsPerSource: c.ConnectionsPerSource, ConnectionClosed: s.metrics.connectionClosed,
		AnonymousRate: c.AnonymousRate, Trial: c.Trial, Secure: c.TLSCert != "" || c.BehindProxy,
	}
}

// console makes the pages, which speak to the same parts as the API.
func (s *Service) console(serving server.Config) (server.Console, error) {
	c := s.config
	pages, err := console.New(console.Config{
		DB: s.db, Accounts: serving.Accounts, Submissions: s.submissions, Destinations: c.Destinations, Random: rand.Reader, Now: s.db.Now,
		Environment: c.Environment, Secure: serving.Secure, RateLimit: c.RateLimit, MaxBody: c.MaxBody,
	})
	return pagesFor{pages}, err
}

// pagesFor is a console as the server knows it.
type pagesFor struct{ *console.Console }

// Serve implements [server.Console].
func (p pagesFor) Serve(w http.ResponseWriter, r *http.Request, source string, admission server.PageAdmission) server.Served {
	return server.Served(p.Console.Serve(w, r, source, admission))
}

// errStopping is why a process that has been told to stop is not ready.
var errStopping = errors.New("told to stop")

// ready tells whether this process can serve: the store answers, the key file opens what is sealed there, and the process
// has not been told to stop.
func (s *Service) ready(ctx context.Context) error {
	if s.stopping.Load() {
		return errStopping
	}
	if err := s.readiness.check(ctx); err != nil {
		return err
	}
	return s.keys.ready()
}

func (s *Service) listen(ctx context.Context) (err error) {
	var listening net.ListenConfig
	if s.listener, err = listening.Listen(ctx, "tcp", s.config.Listen); err != nil {
		return fmt.Errorf("listen (choose another address with --listen): %w", err)
	}
	certificate, err := s.certificate()
	if err != nil {
		return err
	}
	s.listener = s.api.Listener(s.listener, certificate)
	if s.config.MetricsListen != "" {
		if s.metricsAt, err = listening.Listen(ctx, "tcp", s.config.MetricsListen); err != nil {
			return fmt.Errorf("listen for metrics: %w", err)
		}
		s.metricsAt = s.metrics.connections.Listener(s.metricsAt)
	}
	return nil
}

// certificate returns how the API finds its certificate; nil when it speaks plain HTTP.
func (s *Service) certificate() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if s.config.TLSCert == "" {
		return nil, nil
	}
	files, err := readCertificate(s.config.TLSCert, s.config.TLSKey, s.db.Now, s.config.Log)
	if err != nil {
		return nil, err
	}
	return files.get, nil
}

// Address returns the address the API listens on, and /healthz and /readyz where there is no API.
func (s *Service) Address() string { return s.listener.Addr().String() }

// MetricsAddress returns the address the metrics listen on, "" without metrics.
func (s *Service) MetricsAddress() string {
	if s.metricsAt == nil {
		return ""
	}
	return s.metricsAt.Addr().String()
}

// DB returns the store, for the sandbox's own accounts.
func (s *Service) DB() *store.DB { return s.db }

// Run serves and works until ctx ends or a listener fails, then stops in order and closes the store: it takes no more
// work and is not ready, answers for config.ShutdownDelay more, and then closes its listeners. Requests and work
// under way have config.Grace to finish; what is cut off then is found again by its lease.
func (s *Service) Run(ctx context.Context) error {
	// Whoever started the process does not do what it does from now on.
	ctx, stop := context.WithCancel(store.WithActor(ctx, store.SystemActor()))
	defer stop()
	var failed error
	var once sync.Once
	fail := func(err error) {
		if err != nil && !errors.Is(err, http.ErrServerClosed) {
			once.Do(func() { failed = err })
		}
		stop()
	}
	var servers []*http.Server
	var running sync.WaitGroup
	serve := func(server *http.Server, listener net.Listener) {
		servers = append(servers, server)
		running.Go(func() { fail(server.Serve(listener)) })
	}
	if s.config.Workers && s.db.SingleServer() {
		// Before anything is served: what is claimed now was claimed by a process that has ended.
		if err := s.db.ReleaseOrphanedLeases(ctx); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	api := s.api.HTTP()
	if !s.config.API {
		api.Handler = probesOnly(api.Handler)
	}
	api.Handler = s.parting(api.Handler)
	serve(api, s.listener)
	if s.metricsAt != nil {
		serve(s.metrics.server(), s.metricsAt)
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	running.Go(func() { s.keys.run(work) })
	if s.config.Workers {
		s.work(work, &running)
	}
	<-ctx.Done()
	stopWork()
	s.part(ctx)
	s.stop(ctx, servers, &running)
	return errors.Join(failed, s.Close())
}

// part takes leave of the clients: this process is no longer ready, and answers all the same until the balancers in front
// of it have noticed. Each connection ends with its next answer; a connection that is closed while a client writes its
// next request into it would cost that request.
func (s *Service) part(ctx context.Context) {
	s.stopping.Store(true)
	if s.config.ShutdownDelay > 0 {
		s.config.Log.InfoContext(ctx, "stopping: not ready any more, answering for a while", "delay", s.config.ShutdownDelay)
		time.Sleep(s.config.ShutdownDelay)
	}
}

// parting has answers say that their connection ends with them, once the process has been told to stop.
func (s *Service) parting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// probesOnly answers /healthz and /readyz, and everything else as an unknown route: what a process without an API serves.
func probesOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = "/api/", ""
		}
		next.ServeHTTP(w, r)
	})
}

// stop ends listeners and waits for requests and work under way for the grace period.
func (s *Service) stop(ctx context.Context, servers []*http.Server, running *sync.WaitGroup) {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Grace)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(grace); err != nil {
			s.config.Log.WarnContext(ctx, "requests were cut off", "error", err, "closed", server.Close())
		}
	}
	finished := make(chan struct{})
	go func() {
		running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-grace.Done():
		s.config.Log.WarnContext(ctx, "work was cut off: it is found again by its lease")
	}
}

const (
	lookForWork = time.Second
	sweepEvery  = 10 * time.Minute
	// providerConns is how many connections one company's provider gets: one for each of the calls that may be under way at once,
	// 128 submissions, 64 look-ups and the documents of a purchase sync, so that none waits behind another.
	providerConns = 128 + 64 + 8
)

// work starts the workers. Deliveries and look-ups wait for other people's servers, so there are many workers; a receiver
// is expected to answer within a second, a provider within two. A purchase sync is one piece of several calls that holds
// documents in memory, so there are few.
func (s *Service) work(ctx context.Context, running *sync.WaitGroup) {
	start(ctx, s, running, s.deliverer.Work(), queue.Options{Workers: 1536, SlowWorkers: 512, MaxPerCompany: 128, MaxPerQueue: 64, MaxPerSlowQueue: 8, SlowAfter: time.Second})
	start(ctx, s, running, s.submissions.Work(), queue.Options{Workers: 1024, SlowWorkers: 256, MaxPerCompany: 64, MaxPerQueue: 64, MaxPerSlowQueue: 8, SlowAfter: 2 * time.Second})
	start(ctx, s, running, s.purchases.Work(), queue.Options{Workers: 32, SlowWorkers: 12, MaxPerCompany: 1, MaxPerQueue: 1, MaxPerSlowQueue: 1, SlowAfter: 5 * time.Second})
	running.Go(func() { s.sweep(ctx) })
}

// start runs a source.
func start[W any](ctx context.Context, s *Service, running *sync.WaitGroup, source queue.Source[W], o queue.Options) {
	o.PollInterval, o.Now, o.Log, o.OnStats = lookForWork, s.db.Now, s.config.Log, s.metrics.standing(source.Name)
	running.Go(func() { queue.Run(ctx, s.db, source, o) })
}

// sweep removes what has ended by itself, and history that is older than is wanted: at once, so that a process that
// never lives for long does it too, and then from time to time.
func (s *Service) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if err := s.db.DeleteExpired(ctx); err != nil {
			s.config.Log.WarnContext(ctx, "cannot sweep", "error", err)
		}
		if made, err := s.db.Summarize(ctx); err != nil || made > 0 { // of what replicas of the version before have stored
			s.config.Log.InfoContext(ctx, "invoices summarized", "invoices", made, "error", err)
		}
		if removed, err := s.db.ApplyRetention(ctx, s.config.Retention); err != nil || removed > 0 {
			s.config.Log.InfoContext(ctx, "history removed by age", "rows", removed, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Close gives everything back; [Service.Run] does it itself. It is safe on a half-opened service.
func (s *Service) Close() error {
	var errs []error
	for _, listener := range []net.Listener{s.listener, s.metricsAt} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.sender != nil {
		s.sender.Close()
	}
	if s.keys != nil {
		s.keys.end(context.Background())
		s.keys = nil
	}
	if s.db != nil {
		errs = append(errs, s.release(), s.db.Close())
	}
	return errors.Join(errs...)
}
