package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// tuning holds the flags that serve and sandbox share: limits and intervals.
type tuning struct {
	transport
	MetricsListen    string         `placeholder:"ADDR" help:"Address that serves Prometheus metrics at /metrics; disabled by default."`
	OperatorListen   string         `placeholder:"ADDR" help:"Address that serves the pages of operators, apart from the customers' address: a loopback address, unless with TLS or --behind-proxy. Disabled by default."`
	TrustedProxy     []netip.Prefix `placeholder:"CIDR" help:"Peers whose X-Forwarded-For header is trusted; required with --behind-proxy."`
	MaxBody          int64          `default:"1048576" help:"Largest request body in bytes."`
	MaxRequests      int            `default:"2048" help:"Maximum number of requests processed at a time; the server answers 503 to further ones."`
	TokenTTL         time.Duration  `default:"12h" help:"Lifetime of a bearer token."`
	LoginRate        int64          `default:"10" help:"Login attempts per minute from one source for one e-mail address; 0 disables all login limits."`
	PasswordCost     account.Cost   `default:"m=19456,t=2,p=1" help:"Cost of a password hash: argon2id memory in KiB (m), passes (t) and lanes (p). A hash with a lower cost is replaced at the next login."`
	RateLimit        int64          `default:"600" help:"API calls per minute for one token at one replica; 0 disables the limit."`
	IdempotencyTTL   time.Duration  `name:"idempotency-ttl" default:"24h" help:"How long the response to an Idempotency-Key is kept."`
	PollFirst        time.Duration  `default:"1s" help:"Delay before the first status query after a change; it doubles with each query."`
	PollMax          time.Duration  `default:"1h" help:"Maximum delay between two status queries."`
	ProviderTimeout  time.Duration  `default:"20s" help:"Time-out of one call to the provider."`
	PurchaseInterval time.Duration  `default:"1m" help:"Interval between queries for incoming e-invoices."`
	PurchasePageSize int            `default:"50" help:"Incoming e-invoices per query to the provider, 1 to 100."`
	RetryFirst       time.Duration  `default:"${retry_first}" help:"Delay before the second attempt of a webhook delivery; it triples with each attempt."`
	RetryAttempts    int            `default:"${retry_attempts}" help:"Maximum number of attempts of one webhook delivery, including the first."`
	AttemptTimeout   time.Duration  `default:"10s" help:"Time-out of one webhook attempt."`
	PrintTimeout     time.Duration  `default:"30s" help:"Time-out of the making of one PDF file."`
	ImportTimeout    time.Duration  `default:"4500ms" help:"Time-out of the reading of one file with drafts."`
	WebhookAllowCIDR []netip.Prefix `name:"webhook-allow-cidr" placeholder:"CIDR" help:"Non-public addresses that webhooks may reach. Not allowed in production."`
	WebhookDenyCIDR  []netip.Prefix `name:"webhook-deny-cidr" placeholder:"CIDR" help:"Public addresses that webhooks must not reach: your own networks, and the prefix of your own NAT64 gateway."`
	WebhookCA        string         `name:"webhook-ca" type:"existingfile" placeholder:"FILE" help:"Additional certificate authorities (PEM) to trust for webhook destinations. Not allowed in production."`
	MinFreeBytes     int64          `default:"67108864" help:"Bytes that the file system of a SQLite database must have free; with fewer, /readyz answers 503, before writes fail. 0 disables the check."`
	MaxStoredBytes   int64          `default:"21474836480" help:"Bytes that one company may store before new drafts and credit notes are rejected; 0 disables the quota."`
	MaxDrafts        int64          `default:"200000" help:"Maximum number of drafts of one company; 0 disables the quota."`
	MaxTokens        int64          `default:"100" help:"Maximum number of tokens and sessions of one user; a further login revokes the oldest. 0 disables the quota."`
	MaxSubscriptions int64          `name:"max-subscriptions-created" default:"1000" help:"Maximum number of webhook subscriptions that one company may ever create; 0 disables the quota. At most 20 can be active."`
	RetainEvents     time.Duration  `default:"0" help:"How long to keep events whose deliveries have all ended, with these deliveries; 0 keeps them indefinitely."`
	RetainAttempts   time.Duration  `default:"0" help:"How long to keep the attempts of deliveries that have ended; 0 keeps them indefinitely."`
	ShutdownDelay    time.Duration  `default:"0s" help:"How long the server keeps answering after a stop signal while /readyz returns 503, so that a load balancer notices in time."`
	ShutdownGrace    time.Duration  `default:"30s" help:"How long running requests and work may take to finish during shutdown."`
}

// config returns the part of a service's configuration that the shared flags determine.
func (t tuning) config(env environment) (service.Config, error) {
	config := service.Config{
		MetricsListen: t.MetricsListen, OperatorListen: t.OperatorListen, TrustedProxies: t.TrustedProxy, MaxBody: t.MaxBody,
		MaxRequests: t.MaxRequests, TokenTTL: t.TokenTTL, LoginRate: t.LoginRate, PasswordCost: t.PasswordCost,
		RateLimit: t.RateLimit, IdempotencyTTL: t.IdempotencyTTL, PollFirst: t.PollFirst, PollMax: t.PollMax,
		ProviderTimeout: t.ProviderTimeout, PurchaseInterval: t.PurchaseInterval, PurchasePageSize: t.PurchasePageSize,
		RetryFirst: t.RetryFirst, RetryAttempts: t.RetryAttempts, AttemptTimeout: t.AttemptTimeout,
		PrintTimeout: t.PrintTimeout, ImportTimeout: t.ImportTimeout,
		MinFreeBytes: t.MinFreeBytes,
		Quotas: base.Quotas{StoredBytes: t.MaxStoredBytes, Drafts: t.MaxDrafts, Tokens: t.MaxTokens,
			SubscriptionsCreated: t.MaxSubscriptions},
		Retention:     invoices.Retention{Events: t.RetainEvents, Attempts: t.RetainAttempts},
		ShutdownDelay: t.ShutdownDelay, Grace: t.ShutdownGrace, Version: env.build.Version, Log: env.log,
	}
	t.transport.configure(&config)
	var err error
	if config.Checkpoint, err = checkpoint(); err != nil {
		return config, err
	}
	if config.MissingGap, err = missingGap(); err != nil {
		return config, err
	}
	config.Destinations.AllowCIDRs, config.Destinations.DenyCIDRs = t.WebhookAllowCIDR, t.WebhookDenyCIDR
	if t.WebhookCA != "" {
		text, err := os.ReadFile(t.WebhookCA)
		if err != nil {
			return config, fmt.Errorf("--webhook-ca: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			return config, fmt.Errorf("--webhook-ca: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return config, fmt.Errorf("--webhook-ca: %s contains no PEM certificate", t.WebhookCA)
		}
		config.Destinations.RootCAs = pool
	}
	return config, nil
}

type serveCmd struct {
	tuning
	Environment choice            `choices:"local,sandbox,production" placeholder:"local|sandbox|production" help:"What this server is used for (required)."`
	Database    string            `placeholder:"URL" help:"Database: sqlite:PATH or postgres://… (required)."`
	Direct      string            `name:"database-direct" placeholder:"URL" help:"Address of PostgreSQL itself, postgres://…, if --database leads to a connection pool in transaction mode, such as PgBouncer."`
	Listen      string            `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address that serves the API, and /healthz and /readyz in every role (default: ${default})."`
	KeyFile     string            `placeholder:"FILE" help:"Key file that seals secrets in the database (required); see key generate."`
	Role        string            `enum:"all,api,worker" default:"all" help:"Work that this process does: ${enum}."`
	TLSCert     string            `name:"tls-cert" type:"existingfile" placeholder:"FILE" help:"TLS certificate chain (PEM)."`
	TLSKey      string            `name:"tls-key" type:"existingfile" placeholder:"FILE" help:"Private key of the TLS certificate (PEM)."`
	PublicURL   account.PublicURL `name:"public-url" placeholder:"URL" help:"Address at which people reach the service, for the links of invitations, such as https://invoices.example; by default the host that the request names."`
	OIDCIssuer  string            `name:"oidc-issuer" placeholder:"URL" help:"OpenID provider at which people may log in to the console, such as https://login.example; needs --public-url."`
	OIDCClient  string            `name:"oidc-client-id" placeholder:"ID" help:"Identifier of this service at the OpenID provider."`
	OIDCSecret  string            `name:"oidc-client-secret-file" placeholder:"FILE" help:"File with the secret of this service at the OpenID provider."`
	OIDCTrust   string            `name:"oidc-trust-emails-of" placeholder:"URL" help:"The --oidc-issuer again, if its addresses count as verified although it does not send email_verified, such as Microsoft Entra ID. Read the documentation of single sign-on first: whoever can change their address there can log in as anybody."`
	SMTP        smtp              `embed:"" prefix:"smtp-"`
	OTLP        otlp              `embed:"" prefix:"otlp-"`
	BehindProxy bool              `help:"Allow plain HTTP on any address because a proxy in front terminates TLS."`
}

// Help is shown by --help.
func (serveCmd) Help() string {
	return `Example:
  quittance key generate --out key.json
  quittance serve --environment sandbox --database sqlite:quittance.db --key-file key.json

You can also set each flag as an environment variable, such as QUITTANCE_DATABASE, which keeps passwords out of the process list.

The exit status is 0 after a stop signal, 78 if a setting is missing or wrong or the database must not be served with these settings
or by this release, and 1 for any other failure, such as a database that does not respond. A crash of the program ends it with 2.`
}

// Validate reports all missing required settings in one error.
func (c serveCmd) Validate() error {
	var missing []string
	if c.Environment == "" {
		missing = append(missing, "--environment local|sandbox|production")
	}
	if c.Database == "" {
		missing = append(missing, "--database sqlite:PATH or --database postgres://…")
	}
	if c.KeyFile == "" {
		missing = append(missing, "--key-file FILE (create one with: quittance key generate --out key.json)")
	}
	if len(missing) > 0 {
		return errors.New("specify " + strings.Join(missing, "; "))
	}
	if !strings.HasPrefix(c.Database, "sqlite:") && !base.IsPostgres(c.Database) {
		return errors.New("--database: want sqlite:PATH or postgres://…")
	}
	if err := verified(c.Database, c.Direct); err != nil && !errors.Is(err, base.ErrUnverifiedServer) {
		return err // the address is not one of PostgreSQL; production alone requires a verified server
	}
	if _, err := os.Stat(c.KeyFile); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--key-file: %s does not exist (create one with: quittance key generate --out %[1]s)", c.KeyFile)
	}
	return nil
}

// unservable returns err as a problem with the settings if it is one of the failures to start that no new start cures.
// Those that may pass, such as a database that does not respond or an address in use, are returned as they are, and so
// is what is not known.
func unservable(err error) error {
	if problem.Of(err).Exit() == problem.ExitSetting || errors.Is(err, fs.ErrPermission) ||
		errors.As(err, new(*net.AddrError)) {
		return service.ErrConfig.Because(err)
	}
	return err
}

// Run serves until the process receives a stop signal.
func (c serveCmd) Run(env environment) error {
	config, err := c.settings(env)
	if err != nil {
		return service.ErrConfig.Because(err)
	}
	running, err := service.Open(env.ctx, config)
	if err != nil {
		return whileStarting(env.ctx, unservable(err))
	}
	env.log.InfoContext(env.ctx, "serving", "version", config.Version, "environment", config.Environment, "role", c.Role,
		"engine", running.DB().Engine(), "listen", running.Address(), "metrics", running.MetricsAddress(),
		"operators", running.OperatorAddress())
	debug.FreeOSMemory() // starting allocates twice as much memory as stays in use
	err = running.Run(env.ctx)
	env.log.InfoContext(env.ctx, "stopped", "error", err)
	return err
}

// settings returns the configuration that the flags and the files that they name determine.
func (c serveCmd) settings(env environment) (service.Config, error) {
	config, err := c.config(env)
	if err != nil {
		return config, err
	}
	if config.Keys, err = secret.ReadKeyFile(c.KeyFile); err != nil {
		return config, err
	}
	config.ReloadKeys = func() (*secret.Keyring, error) { return secret.ReadKeyFile(c.KeyFile) }
	config.Environment, config.Database, config.DatabaseDirect, config.Listen = string(c.Environment), c.Database,
		c.Direct, c.Listen
	config.TLSCert, config.TLSKey, config.BehindProxy, config.PublicURL = c.TLSCert, c.TLSKey, c.BehindProxy, c.PublicURL
	config.SignOn.Issuer, config.SignOn.ClientID = c.OIDCIssuer, c.OIDCClient
	if config.SignOn.TrustEmails = c.OIDCTrust != ""; config.SignOn.TrustEmails && c.OIDCTrust != c.OIDCIssuer {
		return config, errors.New("--oidc-trust-emails-of must be the --oidc-issuer, character for character")
	}
	if c.OIDCSecret != "" {
		if config.SignOn.ClientSecret, err = readSecret(env, c.OIDCSecret); err != nil {
			return config, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
	}
	if config.Mail, err = c.SMTP.relay(env); err != nil {
		return config, err
	}
	if config.Traces, err = c.OTLP.config(env); err != nil {
		return config, err
	}
	config.API, config.Workers = c.Role != "worker", c.Role != "api"
	return config, nil
}

// whileStarting returns an error of a server that did not start. If it was told to stop meanwhile, the error says so: a
// statement that is interrupted then fails with an error of the database's own.
func whileStarting(ctx context.Context, err error) error {
	if stopped := ctx.Err(); stopped != nil {
		return fmt.Errorf("%w: %w", stopped, err)
	}
	return err
}

// errNoDatabase reports that the flags of an administration command name no database.
var errNoDatabase = errors.New("specify --database URL and --key-file FILE, or --data DIR for a sandbox")
