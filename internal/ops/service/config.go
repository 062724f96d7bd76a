package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/account/sso"
	"quittance/internal/exchange/mail"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/tracing"
)

// The environments.
const (
	Local      = "local"
	Sandbox    = "sandbox"
	Production = "production"
)

// Config configures a process. Durations are positive unless the field says otherwise.
type Config struct {
	Environment string
	// Database is sqlite:PATH or postgres://…
	Database string
	// DatabaseDirect is [base.Options.Direct].
	DatabaseDirect string
	// Keys seal the values that must not be readable in the database.
	Keys *secret.Keyring
	// ReloadKeys reads them again after a rotation.
	ReloadKeys func() (*secret.Keyring, error)
	// Now is [base.Options.Now], the clock of the process; nil in production.
	Now func() time.Time
	// API and Workers choose what this process does.
	API, Workers bool
	// Listen is the address of the API; in a process without an API it is that of /healthz and /readyz. TLSCert and TLSKey
	// are files. Without them the API serves plain HTTP, which requires a loopback address or BehindProxy.
	Listen          string
	TLSCert, TLSKey string
	BehindProxy     bool
	TrustedProxies  []netip.Prefix
	// PublicURL is the address at which people reach the service, for links; "" for the host that a request names.
	PublicURL account.PublicURL
	// SignOn is the OpenID provider that logs people in; an empty Issuer means none. The process sets all but Issuer,
	// ClientID, ClientSecret and RootCAs.
	SignOn sso.Config
	// Mail is the relay that takes e-mails; an empty Host means that none are sent. The process uses it if it runs work.
	Mail mail.Relay
	// OperatorListen is the address of the pages of operators; "" for none. It must be a loopback address, except with TLS
	// or behind a proxy.
	OperatorListen string
	// MetricsListen is the address of the Prometheus metrics; "" disables them.
	MetricsListen string
	// MinFreeBytes is how many bytes the file system of a SQLite database must have free for the process to be ready; 0
	// means any.
	MinFreeBytes int64
	// MaxBody is the largest request body in bytes.
	MaxBody int64
	// TokenTTL is how long a bearer token is valid.
	TokenTTL time.Duration
	// LoginRate is how many logins a minute one source may attempt for one e-mail address; 0 disables all login limits.
	LoginRate int64
	// PasswordCost is the cost of new password hashes; the zero value means [account.DefaultCost]. It passes
	// [account.Cost.Check], except in a Trial, whose passwords protect only synthetic data.
	PasswordCost account.Cost
	// MaxRequests is how many requests the API processes at the same time; 0 means 2048.
	MaxRequests int
	// ConnectionsPerSource is how many connections to the API one source may have; 0 means a sixteenth of the total.
	ConnectionsPerSource int
	// AnonymousRate is how many requests a minute one source may make without a valid token or session; 0 means no limit.
	AnonymousRate int64
	// RateLimit is how many calls a minute one token may make to this process; 0 means no limit.
	RateLimit int64
	// IdempotencyTTL is how long the response of an Idempotency-Key is kept.
	IdempotencyTTL time.Duration
	// PollFirst and PollMax are the first and the longest interval between status queries; ProviderTimeout bounds one
	// call.
	PollFirst, PollMax, ProviderTimeout time.Duration
	// MissingGap is [submission.Polling.MissingGap].
	MissingGap time.Duration
	// PurchaseInterval is the time between two purchase syncs of a connection.
	PurchaseInterval time.Duration
	// PurchasePageSize is how many incoming e-invoices one query asks the provider for, 1 to [purchase.MaxPageSize]; 0
	// means [purchase.DefaultPageSize].
	PurchasePageSize int
	// RetryFirst is the wait after the first attempt of a webhook delivery, and RetryAttempts the most attempts that it
	// gets; see [webhook.Backoff]. AttemptTimeout bounds one attempt.
	RetryFirst     time.Duration
	RetryAttempts  int
	AttemptTimeout time.Duration
	// PrintTimeout bounds the making of one PDF file.
	PrintTimeout time.Duration
	// ImportTimeout bounds the reading of one file with drafts.
	ImportTimeout time.Duration
	// ExportRows is how many rows a file with a list may have; 0 for 100,000, the most there are.
	ExportRows int
	// Quotas bound what one company may store; the zero value means no bounds.
	Quotas base.Quotas
	// Retention is how long history is kept; the zero value means without end.
	Retention invoices.Retention
	// Destinations says where webhooks may be sent. Production requires the zero value.
	Destinations webhook.Policy
	// Checkpoint is for tests that end the process at a given point; nil in production.
	Checkpoint base.Checkpoint
	// ShutdownDelay is how long a stopping process serves requests, without being ready, before it closes its listeners;
	// at least 0.
	ShutdownDelay time.Duration
	// Grace is how long running requests and tasks may take to finish when the process stops.
	Grace time.Duration
	// Version is the release of this binary. It appears in the API document, and in production a connection submits only
	// if its approval covers it.
	Version string
	Log     *slog.Logger
	// LoginLinks are links to the console that each log in once; nil means none.
	LoginLinks *account.LoginLinks
	// Traces says where traces of OpenTelemetry go; without an endpoint there are none. The process sets all but Endpoint,
	// Headers and Sample.
	Traces tracing.Config
	// Trial says that the service is part of a sandbox on a developer's machine.
	Trial bool
}

// role returns the value of --role.
func (c *Config) role() string {
	switch {
	case c.API && c.Workers:
		return "all"
	case c.API:
		return "api"
	default:
		return "worker"
	}
}

// check returns an error if the configuration is unsafe or contradictory.
func (c *Config) check() error {
	switch c.Environment {
	case Local, Sandbox:
	case Production:
		if len(c.Destinations.AllowCIDRs)+len(c.Destinations.AllowAddrs) > 0 || c.Destinations.RootCAs != nil {
			return errors.New(
				"--webhook-allow-cidr and --webhook-ca are for local and sandbox: production refuses to start with them")
		}
		if err := base.RequireVerifiedServer(c.Database); err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		if err := base.RequireVerifiedServer(c.DatabaseDirect); err != nil {
			return fmt.Errorf("--database-direct: %w", err)
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
	if err := c.checkSignOn(); err != nil {
		return err
	}
	if err := c.checkMail(); err != nil {
		return err
	}
	if c.BehindProxy && len(c.TrustedProxies) == 0 {
		return errors.New(
			"--behind-proxy needs --trusted-proxy: without it all clients share the limits of the proxy's address")
	}
	if c.API && c.TLSCert == "" && !c.BehindProxy {
		if err := requireLoopback("--listen", c.Listen); err != nil {
			return err
		}
	}
	if c.OperatorListen != "" && c.TLSCert == "" && !c.BehindProxy {
		return requireLoopback("--operator-listen", c.OperatorListen)
	}
	return nil
}

// checkSignOn returns an error if the settings of single sign-on do not fit together.
func (c *Config) checkSignOn() error {
	given := c.SignOn.Issuer != ""
	if given != (c.SignOn.ClientID != "") || given == c.SignOn.ClientSecret.IsZero() {
		return errors.New("--oidc-issuer, --oidc-client-id and --oidc-client-secret-file go together")
	}
	if given && c.PublicURL == "" {
		return errors.New("--oidc-issuer needs --public-url: the provider sends people back to that address")
	}
	if given && c.Environment == Production && !strings.HasPrefix(string(c.PublicURL), "https://") {
		return errors.New("--oidc-issuer needs an https address as --public-url in production")
	}
	return nil
}

// checkMail returns an error if the settings of e-mails do not fit together.
func (c *Config) checkMail() error {
	switch {
	case c.Mail.Host == "":
		return nil
	case c.PublicURL == "":
		return errors.New("--smtp-url needs --public-url: e-mails have links to that address")
	case c.Environment == Production && !strings.HasPrefix(string(c.PublicURL), "https://"):
		return errors.New("--smtp-url needs an https address as --public-url in production")
	}
	return nil
}

// checkNumbers returns an error if a number is out of range.
func (c *Config) checkNumbers() error {
	for _, positive := range []struct {
		flag  string
		value time.Duration
	}{{"--token-ttl", c.TokenTTL}, {"--idempotency-ttl", c.IdempotencyTTL}, {"--poll-first", c.PollFirst},
		{"--poll-max", c.PollMax}, {"--provider-timeout", c.ProviderTimeout}, {"--purchase-interval", c.PurchaseInterval},
		{"--retry-first", c.RetryFirst}, {"--attempt-timeout", c.AttemptTimeout}, {"--print-timeout", c.PrintTimeout},
		{"--import-timeout", c.ImportTimeout}, {"--shutdown-grace", c.Grace}} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be positive", positive.flag)
		}
	}
	if c.ShutdownDelay < 0 {
		return errors.New("--shutdown-delay must not be negative")
	}
	if c.RetryAttempts < 1 || c.MaxBody < 1 || c.MaxRequests < 0 || c.ConnectionsPerSource < 0 || c.AnonymousRate < 0 ||
		c.LoginRate < 0 || c.RateLimit < 0 || c.MinFreeBytes < 0 || c.Retention.Events < 0 || c.Retention.Attempts < 0 ||
		min(c.Quotas.StoredBytes, c.Quotas.Drafts, c.Quotas.Tokens, c.Quotas.SubscriptionsCreated) < 0 {
		return errors.New(
			"--retry-attempts and --max-body must be at least 1, --max-requests, --connections-per-source, --anonymous-rate, --login-rate, --rate-limit, --min-free-bytes, --retain-events, --retain-attempts, --max-stored-bytes, --max-drafts, --max-tokens and --max-subscriptions-created at least 0")
	}
	if c.PurchasePageSize < 0 || c.PurchasePageSize > purchase.MaxPageSize {
		return fmt.Errorf("--purchase-page-size must be 1 to %d", purchase.MaxPageSize)
	}
	if c.PasswordCost != (account.Cost{}) && !c.Trial {
		if err := c.PasswordCost.Check(); err != nil {
			return fmt.Errorf("--password-cost: %w", err)
		}
	}
	return nil
}

// warn logs settings that are allowed but unsafe: metrics beyond loopback in every environment, the others in
// production.
func (c *Config) warn(ctx context.Context) {
	if c.MetricsListen != "" && !isLoopback(c.MetricsListen) {
		c.Log.WarnContext(ctx,
			"--metrics-listen is not a loopback address, and no credential protects the metrics: let only the monitoring reach it", "address", c.MetricsListen)
	}
	if c.Environment != Production || !c.API {
		return
	}
	if c.LoginRate == 0 {
		c.Log.WarnContext(ctx, "--login-rate 0: login limits are off in production, and passwords can be guessed without end")
	}
	if c.RateLimit == 0 {
		c.Log.WarnContext(ctx,
			"--rate-limit 0: the limit of calls is off in production, and one token can keep this server busy")
	}
}

// requireLoopback returns an error for an address of a flag that tokens or passwords would reach unencrypted over a
// network.
func requireLoopback(flag, listen string) error {
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if !isLoopback(listen) {
		return fmt.Errorf(
			"%s %s is not a loopback address: give --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS",
			flag, listen)
	}
	return nil
}

// isLoopback reports whether an address of the form host:port is reachable from this machine only.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
