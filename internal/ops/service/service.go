// Package service assembles one Quittance process: the database, the API, the workers and the metrics. It creates all
// dependencies and passes them down.
//
// Its invariants: a process that cannot keep its promises does not start (a second server on one SQLite file, the wrong
// keys, sandbox flags in production, a transport simulator outside local, plain HTTP beyond loopback); it stops in
// order: first the listeners, then the running work, then the database.
//
// Start reading at [Open], then [Service.Run].
package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quittance"
	"quittance/internal/account"
	"quittance/internal/account/sso"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/submission"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/console"
	"quittance/internal/front/console/site"
	"quittance/internal/front/docs"
	"quittance/internal/front/export"
	"quittance/internal/front/operator"
	"quittance/internal/front/server"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/httpserver"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
	"quittance/internal/platform/tracing"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
)

// Service is one process: an API, workers, or both.
type Service struct {
	config      Config
	db          *base.DB
	release     func() error
	sender      *webhook.Sender
	deliverer   *webhook.Deliverer
	submissions *submission.Service
	purchases   *purchase.Service
	metrics     *metrics
	keys        *keyKeeper
	tracer      *tracing.Tracer // nil without traces
	signOn      *sso.Client     // nil without an OpenID provider
	readiness   *readiness
	api         *server.Server
	accounts    *account.Service
	operators   *operator.Pages // nil unless operators have a listener
	// apiServer, metricsServer and operatorServer are nil unless they listen.
	apiServer, metricsServer, operatorServer *httpserver.Server
	outage                                   *outage
	activity                                 *activity   // nil unless [Config].Now is set
	stopping                                 atomic.Bool // set when the process begins to stop
}

// Open checks the configuration, opens the database and opens the listeners. It serves nothing before [Service.Run].
func Open(ctx context.Context, config Config) (_ *Service, err error) {
	if err := config.check(); err != nil {
		return nil, ErrConfig.Because(err)
	}
	config.warn(ctx)
	if err := secret.PreventCoreDumps(); err != nil {
		config.Log.WarnContext(ctx, "a crash may leave an image of the memory, which has the keys", "error", err)
	}
	s := &Service{config: config, metrics: newMetrics(), release: func() error { return nil },
		outage: newOutage(config.Log, time.Now)}
	if config.Now != nil {
		s.activity = newActivity()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.startTracing(); err != nil {
		return nil, err
	}
	if s.db, err = ledger.Open(ctx, config.Database, base.Options{Direct: config.DatabaseDirect, Now: config.Now,
		Keys: config.Keys, ReloadKeys: config.ReloadKeys, Log: s.config.Log, Checkpoint: config.Checkpoint,
		Quotas: config.Quotas, ObserveWrite: s.observeWrite(), Release: config.Version, Admit: s.admit}); err != nil {
		return nil, err
	}
	space := newDisk(config.Database, config.MinFreeBytes, config.Log)
	space.observe(s.metrics)
	s.readiness = newReadiness(func(ctx context.Context) error { return cmp.Or(s.db.Ping(ctx), space.check(ctx)) },
		time.Now)
	if err := invoices.RecordEnvironment(ctx, s.db, config.Environment); err != nil {
		return nil, err
	}
	if err := s.recordMailer(ctx); err != nil {
		return nil, err
	}
	if err := s.warnUnapproved(ctx); err != nil {
		return nil, err
	}
	if s.keys, err = s.newKeyKeeper(ctx); err != nil {
		return nil, err
	}
	if err := s.createSignOn(); err != nil {
		return nil, err
	}
	s.createServices()
	serving := s.serverConfig()
	s.accounts = serving.Accounts
	serving.Docs = docs.New(quittance.Documents(), func() ([]byte, error) { return server.OpenAPI(serving.Version) },
		s.config.Log)
	if serving.Console, err = s.console(serving); err != nil {
		return nil, err
	}
	if s.operators, err = s.operatorPages(serving); err != nil {
		return nil, err
	}
	s.api = server.New(serving)
	s.metrics.observeProcess(config, s.db, s.ready)
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	s.metrics.observeServer(s.api.ActiveRequests, s.apiServer.Connections)
	return s, nil
}

// createSignOn creates the client of the OpenID provider, if there is one. It does not call the provider, which may be
// down.
func (s *Service) createSignOn() (err error) {
	config := s.config.SignOn
	if config.Issuer == "" {
		return nil
	}
	config.BaseURL, config.AllowLoopback, config.Now, config.Log = string(s.config.PublicURL),
		s.config.Environment != Production, s.db.Now, s.config.Log
	if s.signOn, err = sso.New(config); err != nil {
		return ErrConfig.Because(fmt.Errorf("--oidc-issuer: %w", err))
	}
	return nil
}

// admit acquires the right to serve the database, and returns an error if it must not be served with these settings.
// Nothing in it is changed before.
func (s *Service) admit(ctx context.Context, db *base.DB) error {
	release, err := db.LockForServing()
	if err != nil {
		return err
	}
	s.release = release // set only now, because Close calls it
	if s.config.Environment != Local {
		if err := invoices.RefuseSimulator(ctx, db); err != nil {
			return err
		}
	}
	return invoices.CheckEnvironment(ctx, db, s.config.Environment)
}

// warnUnapproved logs the active connections that this release may not use in production.
func (s *Service) warnUnapproved(ctx context.Context) error {
	if s.config.Environment != Production {
		return nil
	}
	connections, err := invoices.Connections(ctx, s.db, nil)
	if err != nil {
		return err
	}
	for _, c := range connections {
		if c.State == invoices.ConnectionActive && !c.Allowed(Production, s.config.Version) {
			s.config.Log.WarnContext(ctx,
				"this release may not submit over the connection: approve it with quittance connection approve",
				"connection", c.ID, "account", c.Account, "environment", c.Environment, "release", s.config.Version)
		}
	}
	return nil
}

// createServices creates the services that the API and the workers use.
func (s *Service) createServices() {
	c := s.config
	s.metrics.registry.MustRegister(newLagCollector(s.db, c.Log, s.outage))
	adapters := submission.NewAdapters(s.db, s.adapter)
	s.submissions = submission.New(s.db, submission.Config{
		Environment: c.Environment,
		Release:     c.Version,
		Adapters:    adapters,
		CallTimeout: c.ProviderTimeout,
		Polling:     submission.Polling{First: c.PollFirst, Max: c.PollMax, MissingGap: c.MissingGap},
		Log:         c.Log,
		Observe:     s.metrics.providerCall,
		Tracer:      s.tracer,

		ObserveOutcome: s.metrics.outcome,
	})
	s.purchases = purchase.New(s.db, purchase.Config{
		Environment: c.Environment,
		Release:     c.Version,
		Adapter:     adapters.For,
		DecideEvent: s.submissions.DecideEvent,
		CallTimeout: c.ProviderTimeout,
		Interval:    c.PurchaseInterval,
		PageSize:    c.PurchasePageSize,
		Log:         c.Log,
		Observe:     s.metrics.providerCall,
		Tracer:      s.tracer,
	})
	s.sender = webhook.NewSender(webhook.Config{Policy: c.Destinations, Timeout: c.AttemptTimeout})
	s.deliverer = &webhook.Deliverer{
		DB: s.db, Sender: s.sender, Backoff: webhook.Backoff{First: c.RetryFirst, Attempts: c.RetryAttempts},
		Timeout: c.AttemptTimeout, Jitter: mathrand.Float64, Now: s.db.Now, Log: c.Log, Observe: s.metrics.attempt,
		Tracer: s.tracer,
	}
}

// adapter creates the provider adapter of a connection.
func (s *Service) adapter(c invoices.Connection, credential secret.Text) (provider.Adapter, error) {
	kind, known := adapters.Describe(c.Kind)
	if !known {
		return nil, fmt.Errorf("unknown connection kind %q", c.Kind)
	}
	if kind.LocalOnly && s.config.Environment != Local {
		return nil, errors.New("only the environment local allows the transport simulator")
	}
	return kind.Open(provider.Config{BaseURL: c.BaseURL, Credential: credential, Options: c.Options,
		Timeout: s.config.ProviderTimeout, MaxConns: providerConns, Clock: time.Now})
}

func (s *Service) serverConfig() server.Config {
	c := s.config
	return server.Config{
		DB: s.db,
		Accounts: &account.Service{DB: s.db, Random: rand.Reader, Now: s.db.Now, Environment: c.Environment,
			TokenTTL: c.TokenTTL, LoginRate: c.LoginRate,
			// one processor remains for other work
			Hasher: account.NewHasher(max(1, runtime.GOMAXPROCS(0)-1), cmp.Or(c.PasswordCost, account.DefaultCost()))},
		Submissions: s.submissions, Destinations: c.Destinations, Random: rand.Reader, Now: s.db.Now, MaxBody: c.MaxBody,
		MaxRequests: c.MaxRequests, RateLimit: c.RateLimit, IdempotencyTTL: c.IdempotencyTTL,
		Printer: view.NewPrinter(c.PrintTimeout), Importer: view.NewImporter(c.ImportTimeout),
		Exporter: export.New(c.ExportRows), TrustedProxies: c.TrustedProxies, Log: c.Log, Observe: s.metrics.request,
		Tracer: s.tracer, Version: c.Version, Ready: s.ready, ConnectionsPerSource: c.ConnectionsPerSource,
		ConnectionClosed: s.metrics.connectionClosed, AnonymousRate: c.AnonymousRate, Trial: c.Trial,
		Secure: c.TLSCert != "" || c.BehindProxy, PublicURL: c.PublicURL,
	}
}

// console creates the console, which uses the same services as the API.
func (s *Service) console(serving server.Config) (server.Console, error) {
	c := s.config
	pages, err := site.New(console.Config{
		DB: s.db, Accounts: serving.Accounts, Submissions: s.submissions, Destinations: c.Destinations, Random: rand.Reader,
		Now: s.db.Now, Printer: serving.Printer, Importer: serving.Importer, Exporter: serving.Exporter, Links: c.LoginLinks,
		SignOn: s.signOn, Environment: c.Environment, PublicURL: c.PublicURL, Secure: serving.Secure, RateLimit: c.RateLimit,
		MaxBody: c.MaxBody,
	})
	return consoleAdapter{pages}, err
}

// operatorPages creates the pages of operators, or nil if they have no listener.
func (s *Service) operatorPages(serving server.Config) (*operator.Pages, error) {
	c := s.config
	if c.OperatorListen == "" {
		return nil, nil
	}
	return operator.New(operator.Config{DB: s.db, Accounts: serving.Accounts, Random: rand.Reader, Now: s.db.Now,
		Environment: c.Environment, Version: c.Version, Secure: serving.Secure, TrustedProxies: c.TrustedProxies, Log: c.Log})
}

// consoleAdapter adapts a console to [server.Console].
type consoleAdapter struct{ *console.Console }

// Serve implements [server.Console].
func (p consoleAdapter) Serve(w http.ResponseWriter, r *http.Request, source string,
	admission server.PageAdmission) server.Served {
	return server.Served(p.Console.Serve(w, r, source, admission))
}

// errStopping is the error of [Service.ready] while the process stops.
var errStopping = errors.New("the process is stopping")

// ready returns nil if this process can serve: the database responds and has space, the key file opens its sealed
// values, and the process is not stopping.
func (s *Service) ready(ctx context.Context) error {
	if s.stopping.Load() {
		return errStopping
	}
	if err := s.readiness.check(ctx); err != nil {
		return err
	}
	return s.keys.ready()
}

// The limits of the listeners for operators and for metrics. Few people and programs use them, and from nearby.
const (
	nearbyConnections = 256
	nearbyPerSource   = 64
	nearbyTimeout     = 30 * time.Second
)

func (s *Service) listen(ctx context.Context) error {
	certificate, err := s.certificate()
	if err != nil {
		return ErrConfig.Because(err)
	}
	var handler http.Handler = s.api
	if !s.config.API {
		handler = probesOnly(handler)
	}
	s.apiServer, err = httpserver.Listen(ctx, s.config.Listen, httpserver.Config{Handler: s.closeConnections(handler),
		Connections: s.api.ConnectionLimits(), Certificate: certificate, HTTP2: true, Log: s.config.Log})
	if err != nil {
		return fmt.Errorf("listen (choose another address with --listen): %w", err)
	}
	nearby := httpserver.Config{Timeout: nearbyTimeout, Log: s.config.Log, Connections: connlimit.Config{
		Total: connlimit.Within(nearbyConnections, connlimit.Files()), PerSource: nearbyPerSource,
		Closed: s.metrics.connectionClosed,
		Exempt: func(address netip.Addr) bool { return source.Within(address, s.config.TrustedProxies) }}}
	if s.operators != nil {
		pages := nearby
		pages.Handler, pages.Certificate = s.closeConnections(s.operators), certificate
		if s.operatorServer, err = httpserver.Listen(ctx, s.config.OperatorListen, pages); err != nil {
			return fmt.Errorf("listen for operators: %w", err)
		}
	}
	if s.config.MetricsListen != "" {
		nearby.Handler = s.metrics.handler()
		if s.metricsServer, err = httpserver.Listen(ctx, s.config.MetricsListen, nearby); err != nil {
			return fmt.Errorf("listen for metrics: %w", err)
		}
	}
	return nil
}

// Address returns the address of the API; in a process without one, that of /healthz and /readyz.
func (s *Service) Address() string { return address(s.apiServer) }

// MetricsAddress returns the address of the metrics, "" if they are not served.
func (s *Service) MetricsAddress() string { return address(s.metricsServer) }

// OperatorAddress returns the address of the pages of operators, "" if they are not served.
func (s *Service) OperatorAddress() string { return address(s.operatorServer) }

// address returns the address of a server, "" for nil.
func address(server *httpserver.Server) string {
	if server == nil {
		return ""
	}
	return server.Address().String()
}

// servers returns the servers that listen.
func (s *Service) servers() []*httpserver.Server {
	return slices.DeleteFunc([]*httpserver.Server{s.apiServer, s.metricsServer, s.operatorServer},
		func(server *httpserver.Server) bool { return server == nil })
}

// Submissions returns the service that submits documents.
func (s *Service) Submissions() *submission.Service { return s.submissions }

// DB returns the database, in which the sandbox creates its accounts.
func (s *Service) DB() *base.DB { return s.db }

// Run serves requests and runs work until ctx ends or a listener fails. Then it stops: it claims no more work and is no
// longer ready, serves requests for config.ShutdownDelay, closes its listeners, waits up to config.Grace for running
// requests and tasks, and closes the database. Tasks that are interrupted are due again when their leases end.
func (s *Service) Run(ctx context.Context) error {
	// From now on the process acts by itself, not on a command of a user.
	ctx, stop := context.WithCancel(base.WithActor(ctx, base.SystemActor()))
	defer stop()
	var failed error
	var once sync.Once
	fail := func(err error) {
		if err != nil && !errors.Is(err, http.ErrServerClosed) {
			once.Do(func() { failed = err })
		}
		stop()
	}
	var running sync.WaitGroup
	if s.config.Workers && s.db.SingleServer() {
		// Do this before serving: all leases that exist now belong to a process that has ended.
		if err := ledger.ReleaseOrphanedLeases(ctx, s.db); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	for _, server := range s.servers() {
		running.Go(func() { fail(server.Serve()) })
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	running.Go(func() { s.keys.run(work) })
	if s.config.API {
		running.Go(func() { s.recordUses(work) })
	}
	if s.config.API && s.signOn != nil {
		running.Go(func() { s.signOn.Run(work) })
	}
	if s.config.Workers {
		s.startWorkers(work, &running)
	}
	<-ctx.Done()
	stopWork()
	s.drain(ctx)
	s.stop(ctx, &running)
	return errors.Join(failed, s.Close())
}

// recordUses writes when API keys and sessions were used last, apart from the requests that use them.
func (s *Service) recordUses(ctx context.Context) {
	s.repeat(ctx, "uses", s.db.RecordUses)
}

// drain makes the process not ready and serves requests for config.ShutdownDelay, until load balancers have noticed.
// Meanwhile each connection is closed after its next response. Closing connections at once would lose the requests that
// clients are just sending.
func (s *Service) drain(ctx context.Context) {
	s.stopping.Store(true)
	if s.config.ShutdownDelay > 0 {
		s.config.Log.InfoContext(ctx, "stopping: not ready, still serving requests", "delay", s.config.ShutdownDelay)
		time.Sleep(s.config.ShutdownDelay)
	}
}

// closeConnections makes each response close its connection while the process stops.
func (s *Service) closeConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// stop closes the listeners and waits for running requests and tasks, for the grace period at most.
func (s *Service) stop(ctx context.Context, running *sync.WaitGroup) {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Grace)
	defer cancel()
	for _, server := range s.servers() {
		if err := server.Shutdown(grace); err != nil {
			s.config.Log.WarnContext(ctx, "running requests were interrupted", "error", err, "closed", server.Close())
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
		s.config.Log.WarnContext(ctx, "running tasks were interrupted: they are due again when their leases end")
	}
	s.tracer.Close(grace)
}

// Close releases all resources. [Service.Run] calls it. It may be called on a service that failed to open.
func (s *Service) Close() error {
	var errs []error
	for _, server := range s.servers() {
		errs = append(errs, server.Close())
	}
	s.tracer.Close(context.Background())
	if s.sender != nil {
		s.sender.Close()
	}
	if s.keys != nil {
		s.keys.close(context.Background())
		s.keys = nil
	}
	errs = append(errs, s.release())
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
