package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"quittance/internal/account"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/webhook"
)

// The environments (contract, section 6).
const (
	Local      = "local"
	Sandbox    = "sandbox"
	Production = "production"
)

// Config is everything a process is told. Durations are positive unless it says otherwise.
type Config struct {
	Environment string
	// Database is sqlite:PATH or postgres://…
	Database string
	// Keys seal what must not be readable in the database.
	Keys *secret.Keyring
	// ReloadKeys reads them anew after a rotation.
	ReloadKeys func() (*secret.Keyring, error)
	// API and Workers choose what this process does.
	API, Workers bool
	// Listen is the address of the API, and of /healthz and /readyz in a process without one, which may be any address. TLSCert and TLSKey are files; without them the API speaks plain HTTP, which
	// leaves loopback only with BehindProxy.
	Listen          string
	TLSCert, TLSKey string
	BehindProxy     bool
	TrustedProxies  []netip.Prefix
	// MetricsListen is the address of the Prometheus metrics; "" for none.
	MetricsListen string
	// MaxBody is the largest request body in bytes.
	MaxBody int64
	// TokenTTL is how long a bearer token lives.
	TokenTTL time.Duration
	// LoginRate is how many logins a minute one source may try for one e-mail address; 0 for no login limits.
	LoginRate int64
	// PasswordCost is that of new password hashes; the zero value for [account.DefaultCost].
	PasswordCost account.Cost
	// MaxRequests is how many requests the API works on at a time; 0 for 2048.
	MaxRequests int
	// ConnectionsPerSource is how many connections to the API may be open from one source; 0 for a sixteenth of all.
	ConnectionsPerSource int
	// AnonymousRate is how many requests a minute one source may make without an accepted token or session; 0 for no limit.
	AnonymousRate int64
	// RateLimit is how many calls a minute one token may make at this process; 0 for no limit.
	RateLimit int64
	// IdempotencyTTL is how long the answer to an Idempotency-Key is kept.
	IdempotencyTTL time.Duration
	// PollFirst and PollMax are the pace at which the provider is asked; ProviderTimeout bounds one call.
	PollFirst, PollMax, ProviderTimeout time.Duration
	// MissingGap is [submission.Polling.MissingGap].
	MissingGap time.Duration
	// PurchaseInterval is the time between two looks for incoming e-invoices.
	PurchaseInterval time.Duration
	// RetryFirst and RetryAttempts are the pace of webhook retries; AttemptTimeout bounds one attempt.
	RetryFirst     time.Duration
	RetryAttempts  int
	AttemptTimeout time.Duration
	// Quotas bound what one company may keep; the zero value does not.
	Quotas store.Quotas
	// Retention is how long history is kept; the zero value keeps it for ever.
	Retention store.Retention
	// Destinations says where webhooks may go. Anything but the zero value is refused in production.
	Destinations webhook.Policy
	// Checkpoint is for tests that end the process at a certain moment; nil in production.
	Checkpoint store.Checkpoint
	// ShutdownDelay is how long a process that is told to stop goes on answering, not ready, before its listeners close;
	// from 0.
	ShutdownDelay time.Duration
	// Grace is how long requests and work under way may take to finish when the process stops.
	Grace time.Duration
	// Version is the release that this binary says it is. It is shown in the API document, and in production only connections
	// with an approval that covers it submit.
	Version string
	Log     *slog.Logger
	// Trial tells that the service is part of a sandbox on somebody's machine.
	Trial bool
}

// check refuses a configuration that cannot keep the promises.
func (c *Config) check() error {
	switch c.Environment {
	case Local, Sandbox:
	case Production:
		if len(c.Destinations.AllowCIDRs)+len(c.Destinations.AllowAddrs) > 0 || c.Destinations.RootCAs != nil {
			return errors.New("--webhook-allow-cidr and --webhook-ca are for local and sandbox: production refuses to start with them")
		}
		if err := store.RequireVerifiedServer(c.Database); err != nil {
			return fmt.Errorf("--database: %w", err)
		}
	default:
		return fmt.Errorf("unknown environment %q: want local, sandbox or production", c.Environment)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	if c.BehindProxy && len(c.TrustedProxies) == 0 {
		return errors.New("--behind-proxy needs --trusted-proxy: without it all clients share the limits of the proxy's address")
	}
	if c.API && c.TLSCert == "" && !c.BehindProxy {
		return requireLoopback(c.Listen)
	}
	return nil
}

// checkNumbers refuses numbers that make no sense.
func (c *Config) checkNumbers() error {
	for _, positive := range []struct {
		flag  string
		value time.Duration
	}{{"--token-ttl", c.TokenTTL}, {"--idempotency-ttl", c.IdempotencyTTL}, {"--poll-first", c.PollFirst}, {"--poll-max", c.PollMax}, {"--provider-timeout", c.ProviderTimeout}, {"--purchase-interval", c.PurchaseInterval},
		{"--retry-first", c.RetryFirst}, {"--attempt-timeout", c.AttemptTimeout}, {"--shutdown-grace", c.Grace}} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be positive", positive.flag)
		}
	}
	if c.ShutdownDelay < 0 {
		return errors.New("--shutdown-delay must not be negative")
	}
	if c.RetryAttempts < 1 || c.MaxBody < 1 || c.MaxRequests < 0 || c.ConnectionsPerSource < 0 || c.AnonymousRate < 0 || c.LoginRate < 0 || c.RateLimit < 0 || c.Retention.Events < 0 || c.Retention.Attempts < 0 ||
		min(c.Quotas.StoredBytes, c.Quotas.Drafts, c.Quotas.Tokens, c.Quotas.SubscriptionsCreated) < 0 {
		return errors.New("--retry-attempts and --max-body must be at least 1, --max-requests, --connections-per-source, --anonymous-rate, --login-rate, --rate-limit, --retain-events, --retain-attempts, --max-stored-bytes, --max-drafts, --max-tokens and --max-subscriptions-created at least 0")
	}
	if c.PasswordCost != (account.Cost{}) {
		if err := c.PasswordCost.Check(); err != nil {
			return fmt.Errorf("--password-cost: %w", err)
		}
	}
	return nil
}

// warn logs what a server is allowed to do without, and should not: metrics on a network anywhere, the rest in production.
func (c *Config) warn(ctx context.Context) {
	if c.MetricsListen != "" && !isLoopback(c.MetricsListen) {
		c.Log.WarnContext(ctx, "--metrics-listen is not a loopback address, and no credential protects the metrics: let only the monitoring reach it", "address", c.MetricsListen)
	}
	if c.Environment != Production || !c.API {
		return
	}
	if c.LoginRate == 0 {
		c.Log.WarnContext(ctx, "--login-rate 0: login limits are off in production, and passwords can be guessed without end")
	}
	if c.RateLimit == 0 {
		c.Log.WarnContext(ctx, "--rate-limit 0: the limit of calls is off in production, and one token can keep this server busy")
	}
}

// requireLoopback refuses an address that bearer tokens would cross a network in clear to.
func requireLoopback(listen string) error {
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if !isLoopback(listen) {
		return fmt.Errorf("--listen %s is not a loopback address: give --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS", listen)
	}
	return nil
}

// isLoopback tells whether only this machine reaches an address of the form host:port.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
