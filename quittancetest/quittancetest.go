// Package quittancetest runs a whole Quittance in the process of a test: the API, its workers, a provider sandbox that
// they speak to over real HTTP and an HTTPS receiver for webhooks, on free ports and a temporary database.
//
// Nothing in it is a stand-in for the service: it is the same code as quittance sandbox, with a faster provider.
//
// Start reading at [Start].
package quittancetest

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"quittance/internal/fakeprovider"
	"quittance/internal/sandbox"
	"quittance/internal/service"
)

// Options choose what a test needs beyond the defaults. The zero value is fine.
type Options struct {
	// Database is sqlite:PATH or postgres://…; a fresh file when empty.
	Database string
	// Data is the data directory; a fresh temporary one when empty.
	Data string
	// Pace is the provider's unit of time: a document is final after about five. 20 ms when 0.
	Pace time.Duration
	// Seed makes the synthetic data of a sandbox; a test starts empty otherwise.
	Seed bool
	// Log receives the service's log; nothing is logged when nil.
	Log io.Writer
}

// Server is a running Quittance.
type Server struct {
	// BaseURL is the address of the API, without a trailing slash.
	BaseURL string
	// Email and Password log the account's first user in.
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

	sandbox *sandbox.Sandbox
	stop    func()
}

// Callback is one webhook request as it arrived at the receiver.
type Callback = fakeprovider.Callback

// Start runs a Quittance until the test ends; what fails, fails the test.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	if options.Data == "" {
		options.Data = t.TempDir()
	}
	if options.Pace == 0 {
		options.Pace = 20 * time.Millisecond
	}
	log := slog.New(slog.DiscardHandler)
	if options.Log != nil {
		log = slog.New(slog.NewTextHandler(options.Log, nil))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	started, err := sandbox.Start(ctx, sandbox.Config{Data: options.Data, ProviderListen: "127.0.0.1:0", Pace: options.Pace, Chaos: fakeprovider.ChaosOff, Empty: !options.Seed, Log: log,
		Service: service.Config{Listen: "127.0.0.1:0", Database: options.Database, MaxBody: 1 << 20, TokenTTL: 12 * time.Hour, IdempotencyTTL: 24 * time.Hour,
			PollFirst: 20 * time.Millisecond, PollMax: time.Second, ProviderTimeout: 5 * time.Second, PurchaseInterval: 100 * time.Millisecond, RetryFirst: 50 * time.Millisecond,
			RetryAttempts: 12, AttemptTimeout: 5 * time.Second, PrintTimeout: 10 * time.Minute, Grace: 10 * time.Second, Version: "test", Log: log}})
	if err != nil {
		cancel()
		t.Fatalf("start Quittance: %v", err)
	}
	ready, ended := make(chan sandbox.Info, 1), make(chan error, 1)
	go func() {
		ended <- started.Run(ctx, func(info sandbox.Info) error {
			ready <- info
			return nil
		})
	}()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop Quittance: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case info := <-ready:
		return &Server{BaseURL: info.BaseURL, Email: info.Email, Password: info.Password, AccountID: info.AccountID,
			ProviderURL: info.ProviderURL, ProviderCredential: info.ProviderCredential, ReceiverURL: info.ReceiverURL,
			ReceiverCA: info.ReceiverCA, Data: info.DataDir, sandbox: started, stop: stop}
	case err := <-ended:
		stopped = true
		t.Fatalf("run Quittance: %v", err)
		return nil
	}
}

// Callbacks returns what arrived at the receiver so far, oldest first.
func (s *Server) Callbacks() []Callback { return s.sandbox.Receiver.Callbacks() }

// Stop ends the server before the test does, to start another on the same data directory.
func (s *Server) Stop() { s.stop() }
