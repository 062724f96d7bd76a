// Package quittancetest runs a whole Quittance in the process of a test: the API, its workers, a provider sandbox that
// they speak to over real HTTP and an HTTPS receiver for webhooks, on free ports and a temporary database.
//
// Nothing in it is a stand-in for the service: it is the same code as quittance sandbox, with a faster provider. A test
// can deliver webhooks to its own handler ([Server.Subscribe]), decide how the provider behaves ([Server.Provider]),
// and move the clock ([Server.Advance]).
//
// Start reading at [Start].
package quittancetest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client"
	"quittance/internal/ops/service"
	"quittance/sandbox"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

// Server is a running Quittance with one company. Its methods are safe for concurrent use, but those that can fail the
// test must be called by the goroutine of the test, as [testing.T.FailNow] demands.
type Server struct {
	// BaseURL is the address of the API, without a trailing slash.
	BaseURL string
	// APIKey is a key with the scopes read, write, submit and webhooks.
	APIKey string
	// Email and Password log the account's first user in. Password is "" on a data directory that an earlier server has
	// used.
	Email, Password string
	// AccountID identifies the account.
	AccountID string
	// ProviderURL is the address of the provider sandbox, ProviderCredential what it wants.
	ProviderURL, ProviderCredential string
	// ReceiverURL is a webhook destination that answers 200; see [Server.Callbacks].
	ReceiverURL string
	// ReceiverCA is the PEM file of the authority that signed the receiver's certificate.
	ReceiverCA string
	// Data is the data directory.
	Data string

	t        testing.TB
	clock    *clock
	client   *client.Client
	provider *Provider
	receiver *fakeprovider.Receiver
	sandbox  *sandbox.Sandbox
	running  bool         // until Stop
	handlers atomic.Int64 // the number of handlers that Subscribe has made
	stop     func()
}

// Option changes what [Start] starts.
type Option func(*config)

// config is what the options set.
type config struct {
	sandbox sandbox.Config
	clock   *clock
}

// WithDatabase uses the database at an address, sqlite:PATH or postgres://…, in place of a fresh file.
func WithDatabase(address string) Option {
	return func(c *config) { c.sandbox.Service.Database = address }
}

// WithData uses a data directory in place of a fresh temporary one. A server on a directory of an earlier one continues
// with its data, addresses and credentials.
func WithData(dir string) Option { return func(c *config) { c.sandbox.Data = dir } }

// WithPace sets the provider's unit of time, at least 1 µs: a document is final after about five. It is 20 ms by
// default, and 1 s with a stopped clock.
func WithPace(unit time.Duration) Option { return func(c *config) { c.sandbox.Pace = unit } }

// WithProviderTimeout sets how long a call to the provider may take, 5 s by default. The outcome of a submission whose
// call takes longer is unknown.
func WithProviderTimeout(d time.Duration) Option {
	return func(c *config) { c.sandbox.Service.ProviderTimeout = d }
}

// WithSeed makes the synthetic data of a sandbox in a fresh data directory; otherwise the company has nothing.
func WithSeed() Option { return func(c *config) { c.sandbox.Empty = false } }

// WithLog writes the service's log, which is discarded otherwise.
func WithLog(w io.Writer) Option {
	return func(c *config) { c.sandbox.Log = slog.New(slog.NewTextHandler(w, nil)) }
}

// WithStoppedClock stops the clock of the service and of the provider at the present. It moves only with
// [Server.Advance], so nothing becomes due by itself: an unknown outcome stays unknown, a state stays as it is, and a
// webhook is not attempted again. The intervals are then those of a service without flags: the first status query after
// 1 s, the second attempt of a delivery after 5 s, incoming e-invoices every minute.
func WithStoppedClock() Option {
	return func(c *config) {
		c.clock.stopped = true
		c.sandbox.Pace = time.Second
		s := &c.sandbox.Service
		s.PollFirst, s.PollMax, s.RetryFirst, s.PurchaseInterval = time.Second, time.Hour, 5*time.Second, time.Minute
	}
}

// defaults returns the configuration without options, which is fast.
func defaults(t testing.TB) *config {
	clock := newClock()
	return &config{clock: clock, sandbox: sandbox.Config{Data: t.TempDir(), ProviderListen: "127.0.0.1:0",
		Pace: 20 * time.Millisecond, Chaos: fakeprovider.ChaosOff, Empty: true, Now: clock.now,
		Log: slog.New(slog.DiscardHandler),
		Service: service.Config{Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: 12 * time.Hour,
			IdempotencyTTL: 24 * time.Hour, PollFirst: 20 * time.Millisecond, PollMax: time.Second,
			ProviderTimeout: 5 * time.Second, PurchaseInterval: 100 * time.Millisecond, RetryFirst: 50 * time.Millisecond,
			RetryAttempts: 12, AttemptTimeout: 5 * time.Second, PrintTimeout: 10 * time.Minute, ImportTimeout: 10 * time.Minute,
			Grace: 10 * time.Second, Version: "test"}}}
}

// Start runs a Quittance until the test ends; what fails, fails the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	c := defaults(t)
	for _, option := range options {
		option(c)
	}
	c.sandbox.Service.Log = c.sandbox.Log
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	started, err := sandbox.Start(ctx, c.sandbox)
	if err != nil {
		cancel()
		t.Fatalf("start Quittance: %v", err)
	}
	s := &Server{t: t, clock: c.clock, receiver: started.Receiver, sandbox: started, running: true,
		provider: &Provider{t, started.Provider}}
	ready, ended := make(chan sandbox.Info, 1), make(chan error, 1)
	go func() {
		ended <- started.Run(ctx, func(info sandbox.Info) error {
			info, err := started.WithAPIKey(ctx, info)
			if err == nil {
				ready <- info
			}
			return err
		})
	}()
	s.stop = func() {
		if !s.running {
			return
		}
		s.running = false
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop Quittance: %v", err)
		}
	}
	t.Cleanup(s.stop)
	select {
	case info := <-ready:
		s.describe(info)
	case err := <-ended:
		s.running = false
		t.Fatalf("run Quittance: %v", err)
	}
	return s
}

// describe sets what users need to know, and makes the client.
func (s *Server) describe(info sandbox.Info) {
	s.BaseURL, s.APIKey, s.Email, s.Password, s.AccountID = info.BaseURL, info.APIKey, info.Email, info.Password,
		info.AccountID
	s.ProviderURL, s.ProviderCredential, s.Data = info.ProviderURL, info.ProviderCredential, info.DataDir
	s.ReceiverURL, s.ReceiverCA = info.ReceiverURL, info.ReceiverCA
	transport := &http.Transport{Proxy: nil}
	s.t.Cleanup(transport.CloseIdleConnections)
	var err error
	if s.client, err = client.New(client.Config{BaseURL: s.BaseURL, APIKey: s.APIKey,
		HTTPClient: &http.Client{Transport: transport, Timeout: kit.Patience()}}); err != nil {
		s.t.Fatalf("client: %v", err)
	}
}

// Client returns a client with the API key.
func (s *Server) Client() *client.Client { return s.client }

// Provider returns the control of the provider sandbox.
func (s *Server) Provider() *Provider { return s.provider }

// Now returns the time by the clock of the service and the provider: that of the machine, or a stopped one, plus what
// [Server.Advance] has added. A [quittance/client/receiver.Verifier] needs it as its clock if the test advances the
// clock by more than 5 minutes.
func (s *Server) Now() time.Time { return s.clock.now() }

// Advance moves the clock forward by d, 0 or more. Whatever becomes due begins at once: status queries, attempts of
// webhooks, queries for incoming e-invoices. Tokens, keys and idempotency keys expire too. Work that is repeated, such
// as status queries, is done once, however far the clock moves.
//
// With [WithStoppedClock], Advance waits before and after the move until all work that is due is done, so that a test
// can look at the result at once. Advance(0) only waits. Without it, see [Server.WaitForCallback] and
// [Server.WaitForInvoice].
func (s *Server) Advance(d time.Duration) {
	s.t.Helper()
	if d < 0 {
		s.t.Fatalf("the clock cannot go back by %s", -d)
	}
	if s.clock.stopped {
		s.settle()
	}
	s.clock.advance(d)
	if s.clock.stopped {
		s.settle()
	} else if s.running {
		s.sandbox.DB().ClockMoved()
	}
}

// settle waits until no work is due.
func (s *Server) settle() {
	s.t.Helper()
	if !s.running {
		return
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), kit.Patience())
	defer cancel()
	if err := s.sandbox.Settle(ctx); err != nil {
		s.t.Fatalf("advance the clock: %v", err)
	}
}

// Stop ends the server before the test does, to start another on the same data directory.
func (s *Server) Stop() { s.stop() }
