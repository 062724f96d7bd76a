package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/secret"
	"quittance/internal/service"
	"quittance/internal/store"
)

// tuning are the flags that serve and sandbox share: the numbers of the contract.
type tuning struct {
	transport
	MetricsListen    string         `placeholder:"ADDR" help:"Address of the Prometheus metrics, at /metrics; none when absent."`
	TrustedProxy     []netip.Prefix `placeholder:"CIDR" help:"Peers whose X-Forwarded-For counts; --behind-proxy needs it."`
	MaxBody          int64          `default:"1048576" help:"Largest request body in bytes."`
	MaxRequests      int            `default:"2048" help:"Requests that are worked on at a time; further ones are answered 503."`
	TokenTTL         time.Duration  `default:"12h" help:"How long a bearer token lives."`
	LoginRate        int64          `default:"10" help:"Logins a minute that one source may try for one e-mail address; 0 for no login limits."`
	PasswordCost     account.Cost   `default:"m=19456,t=2,p=1" help:"Cost of a password hash: argon2id memory in KiB, passes and lanes. Hashes of a lower cost are made anew at the next login."`
	RateLimit        int64          `default:"600" help:"Calls a minute that one token may make at one replica; 0 for no limit."`
	IdempotencyTTL   time.Duration  `name:"idempotency-ttl" default:"24h" help:"How long the answer to an Idempotency-Key is kept."`
	PollFirst        time.Duration  `default:"1s" help:"When the provider is asked again after a change; then doubling."`
	PollMax          time.Duration  `default:"1h" help:"The longest time between two questions to the provider."`
	ProviderTimeout  time.Duration  `default:"20s" help:"The longest time one call to the provider may take."`
	PurchaseInterval time.Duration  `default:"1m" help:"How often the provider is asked for incoming e-invoices."`
	RetryFirst       time.Duration  `default:"5s" help:"When a failed webhook attempt is followed by the second; then three times as long each."`
	RetryAttempts    int            `default:"12" help:"Attempts of one webhook delivery, the first included."`
	AttemptTimeout   time.Duration  `default:"10s" help:"The longest time one webhook attempt may take."`
	WebhookAllowCIDR []netip.Prefix `name:"webhook-allow-cidr" placeholder:"CIDR" help:"Addresses that webhooks may reach although they are not public. Not in production."`
	WebhookDenyCIDR  []netip.Prefix `name:"webhook-deny-cidr" placeholder:"CIDR" help:"Addresses that webhooks may not reach although they are public: your own networks, and the prefix of a NAT64 of your own."`
	WebhookCA        string         `name:"webhook-ca" type:"existingfile" placeholder:"FILE" help:"Certificate authorities (PEM) that webhook destinations may have besides the system's. Not in production."`
	MaxStoredBytes   int64          `default:"21474836480" help:"Bytes that one company may store before new drafts and credit notes are refused; 0 for no quota."`
	MaxDrafts        int64          `default:"200000" help:"Drafts that one company may have; 0 for no quota."`
	MaxTokens        int64          `default:"100" help:"Tokens and sessions that one user may have; a login beyond it revokes the oldest. 0 for no quota."`
	MaxSubscriptions int64          `name:"max-subscriptions-created" default:"1000" help:"Webhook subscriptions that one company may ever create; 0 for no quota. At most 20 are active."`
	RetainEvents     time.Duration  `default:"0" help:"How long events and their deliveries are kept once these have ended; 0 is for ever."`
	RetainAttempts   time.Duration  `default:"0" help:"How long the attempts of ended deliveries are kept; 0 is for ever."`
	ShutdownDelay    time.Duration  `default:"0s" help:"How long it still answers once told to end, while /readyz says 503, so that a balancer notices in time."`
	ShutdownGrace    time.Duration  `default:"30s" help:"How long requests and work under way may take to finish at the end."`
}

// config is the part of a service's configuration that the shared flags give.
func (t tuning) config(env environment) (service.Config, error) {
	config := service.Config{
		MetricsListen: t.MetricsListen, TrustedProxies: t.TrustedProxy, MaxBody: t.MaxBody, MaxRequests: t.MaxRequests, TokenTTL: t.TokenTTL, LoginRate: t.LoginRate, PasswordCost: t.PasswordCost,
		RateLimit: t.RateLimit, IdempotencyTTL: t.IdempotencyTTL, PollFirst: t.PollFirst, PollMax: t.PollMax, ProviderTimeout: t.ProviderTimeout, PurchaseInterval: t.PurchaseInterval,
		RetryFirst: t.RetryFirst, RetryAttempts: t.RetryAttempts, AttemptTimeout: t.AttemptTimeout,
		Quotas:        store.Quotas{StoredBytes: t.MaxStoredBytes, Drafts: t.MaxDrafts, Tokens: t.MaxTokens, SubscriptionsCreated: t.MaxSubscriptions},
		Retention:     store.Retention{Events: t.RetainEvents, Attempts: t.RetainAttempts},
		ShutdownDelay: t.ShutdownDelay, Grace: t.ShutdownGrace, Version: version(), Log: env.log,
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
			return config, fmt.Errorf("--webhook-ca: %s holds no PEM certificate", t.WebhookCA)
		}
		config.Destinations.RootCAs = pool
	}
	return config, nil
}

type serveCmd struct {
	tuning
	Environment choice `choices:"local,sandbox,production" placeholder:"local|sandbox|production" help:"What this server is; it has no default."`
	Database    string `placeholder:"URL" help:"sqlite:PATH or postgres://…; it has no default."`
	Listen      string `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the API, and of /healthz and /readyz in every role (default: ${default})."`
	KeyFile     string `placeholder:"FILE" help:"Keys that seal secrets in the database: see key generate."`
	Role        string `enum:"all,api,worker" default:"all" help:"What this process does: ${enum}."`
	TLSCert     string `name:"tls-cert" type:"existingfile" placeholder:"FILE" help:"Certificate chain (PEM)."`
	TLSKey      string `name:"tls-key" type:"existingfile" placeholder:"FILE" help:"Key of the certificate (PEM)."`
	BehindProxy bool   `help:"A proxy in front terminates TLS: plain HTTP may listen on any address."`
}

// Help is shown by --help.
func (serveCmd) Help() string {
	return `Example:
  quittance key generate --out key.json
  quittance serve --environment sandbox --database sqlite:quittance.db --key-file key.json

Each flag can also be set as an environment variable, such as QUITTANCE_DATABASE, which keeps a password out of the process list.`
}

// Validate names at once what only the operator can decide.
func (c serveCmd) Validate() error {
	var missing []string
	if c.Environment == "" {
		missing = append(missing, "--environment local, sandbox or production")
	}
	if c.Database == "" {
		missing = append(missing, "--database sqlite:PATH or postgres://…")
	}
	if c.KeyFile == "" {
		missing = append(missing, "--key-file FILE (make one with: quittance key generate --out key.json)")
	}
	if len(missing) > 0 {
		return errors.New("needs " + strings.Join(missing, "; "))
	}
	if _, err := os.Stat(c.KeyFile); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--key-file: %s does not exist (make one with: quittance key generate --out %[1]s)", c.KeyFile)
	}
	return nil
}

// Run serves until the process is told to end.
func (c serveCmd) Run(env environment) error {
	config, err := c.config(env)
	if err != nil {
		return err
	}
	if config.Keys, err = secret.ReadKeyFile(c.KeyFile); err != nil {
		return err
	}
	config.ReloadKeys = func() (*secret.Keyring, error) { return secret.ReadKeyFile(c.KeyFile) }
	config.Environment, config.Database, config.Listen = string(c.Environment), c.Database, c.Listen
	config.TLSCert, config.TLSKey, config.BehindProxy = c.TLSCert, c.TLSKey, c.BehindProxy
	config.API, config.Workers = c.Role != "worker", c.Role != "api"
	running, err := service.Open(env.ctx, config)
	if err != nil {
		return err
	}
	env.log.InfoContext(env.ctx, "serving", "version", config.Version, "environment", config.Environment, "role", c.Role,
		"engine", running.DB().Engine(), "listen", running.Address(), "metrics", running.MetricsAddress())
	debug.FreeOSMemory() // what starting took is twice what stays
	err = running.Run(env.ctx)
	env.log.InfoContext(env.ctx, "stopped", "error", err)
	return err
}

// errNoDatabase says that an administration command does not know which database it is about.
var errNoDatabase = errors.New("specify the database: --data DIR of a sandbox, or --database URL with --key-file FILE")
