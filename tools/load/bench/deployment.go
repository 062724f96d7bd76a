package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
	"quittance/test/benchdb"
	"quittance/tools/load/rig"
)

// statePace is the unit of time in which the states of a document change at the own provider: every state is terminal
// at the first status query, so that a run ends.
const statePace = time.Microsecond

// environmentName is the environment of an own deployment.
const environmentName = "sandbox"

// deployment is a deployment that a run makes for itself: a database, companies with a connection to a provider sandbox
// and a subscription to the receiver, and a server in a child process. Provider and receiver run in this process.
type deployment struct {
	config    Config
	dir       string
	temporary bool
	database  string
	keyFile   string
	keys      *secret.Keyring
	hooks     *webhookServer
	companies []*company
	server    *server // nil while it does not run
	engine    string
	// postmaster is the first process of the database server; it is 0 for SQLite, and when postmasterErr says why it is
	// unknown.
	postmaster    int
	postmasterErr error
	// durable tells whether commits are on the disk when they are acknowledged.
	durable bool

	ledger       string // directory of the provider's ledger
	provider     *fakeprovider.Server
	providerHTTP *rig.Party
	providerURL  string
}

// company is an account of an own deployment.
type company struct {
	email    string
	password secret.Text
	account  base.ID
	inbox    *inbox
	name     string // of the inbox
}

// deploy makes a deployment with a number of companies, without starting the server. latency is the duration of a call
// of the provider.
func deploy(ctx context.Context, c Config, companies int, latency time.Duration) (_ *deployment, err error) {
	d := &deployment{config: c, dir: c.Dir, database: c.Database}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "quittance-bench-"); err != nil {
			return nil, fmt.Errorf("directory: %w", err)
		}
		d.temporary = true
	} else if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	if d.database == "" {
		d.database = "sqlite:" + filepath.Join(d.dir, "bench.db")
	}
	d.keyFile = filepath.Join(d.dir, "bench-key.json")
	if d.keys, err = secret.ReadKeyFile(d.keyFile); errors.Is(err, fs.ErrNotExist) {
		if d.keys, err = secret.Generate(); err == nil {
			err = d.keys.WriteKeyFile(d.keyFile)
		}
	}
	if err != nil {
		return nil, err
	}
	if d.hooks, err = startWebhookServer(ctx, c.Receiver, d.dir, c.Now); err != nil {
		return nil, err
	}
	credential, err := secret.NewPassword(rand.Reader)
	if err != nil {
		return nil, err
	}
	if err := d.startProvider(ctx, credential, latency); err != nil {
		return nil, err
	}
	return d, d.withStore(ctx, func(db *base.DB) error {
		d.engine = db.Engine()
		if err := d.withData(func(data *benchdb.DB) error { return d.inspect(ctx, data) }); err != nil {
			return err
		}
		// This fails for a database that was served in production, before anything is written to it.
		if err := invoices.RecordEnvironment(ctx, db, environmentName); err != nil {
			return err
		}
		for range companies {
			if err := d.addCompany(ctx, db, credential); err != nil {
				return err
			}
		}
		return nil
	})
}

// inspect reads the properties of the database that reports mention.
func (d *deployment) inspect(ctx context.Context, data *benchdb.DB) (err error) {
	if d.durable, err = data.Durable(ctx); err != nil {
		return err
	}
	pid, err := data.ServerPID(ctx)
	if pid != 0 {
		d.postmaster, d.postmasterErr = postmasterOf(pid)
	}
	return err
}

// startProvider starts the provider sandbox. Its ledger belongs to another party, so it is kept off the measured disk
// if possible.
func (d *deployment) startProvider(ctx context.Context, credential secret.Text, latency time.Duration) (err error) {
	if d.ledger, err = os.MkdirTemp("/dev/shm", "quittance-bench-"); err != nil {
		if d.ledger, err = os.MkdirTemp("", "quittance-bench-provider-"); err != nil {
			return fmt.Errorf("provider: %w", err)
		}
	}
	if d.provider, err = fakeprovider.New(fakeprovider.Options{Dir: d.ledger, Credential: credential, Clock: d.config.Now,
		Pace: statePace, Latency: latency}); err != nil {
		return err
	}
	if d.providerHTTP, err = rig.Listen(ctx, rig.Loopback, d.provider, nil); err != nil {
		return fmt.Errorf("provider: %w", err)
	}
	d.providerURL = "http://" + d.providerHTTP.Address().String()
	return nil
}

// addCompany creates an account that is ready to submit.
func (d *deployment) addCompany(ctx context.Context, db *base.DB, credential secret.Text) error {
	var tag [6]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return fmt.Errorf("randomness: %w", err)
	}
	password, err := secret.NewPassword(rand.Reader)
	if err != nil {
		return err
	}
	made := &company{name: "bench-" + hex.EncodeToString(tag[:]), password: password}
	made.email = made.name + "@bench.example"
	hash, err := account.DefaultCost().Hash(password.Reveal())
	if err != nil {
		return err
	}
	created, err := identity.CreateAccount(ctx, db, made.name,
		identity.NewUser{Email: made.email, Name: made.name, PasswordHash: hash})
	if err != nil {
		return err
	}
	made.account = created.ID
	if err := identity.SetProfile(ctx, db, created.ID, syntheticProfile()); err != nil {
		return err
	}
	connection, err := invoices.AddConnection(ctx, db, created.ID, invoices.NewConnection{Kind: "http",
		Environment: environmentName, BaseURL: d.providerURL, Credential: credential})
	if err != nil {
		return err
	}
	if _, err := invoices.ActivateConnection(ctx, db, connection.ID); err != nil {
		return err
	}
	made.inbox = d.hooks.addInbox(made.name)
	d.companies = append(d.companies, made)
	return nil
}

// subscribe creates a subscription of a company to all events.
func (d *deployment) subscribe(ctx context.Context, tenant *base.Tenant, to *company) error {
	key, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		return err
	}
	to.inbox.setSecret(key)
	_, err = events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: d.hooks.URL + "/" + to.name,
		Events: api.EventKinds[:], Secret: secret.New(key)})
	return err
}

// withStore opens the store while do runs, which prepares the load. The store is never open during a measurement.
func (d *deployment) withStore(ctx context.Context, do func(db *base.DB) error) (err error) {
	db, err := ledger.Open(ctx, d.database, base.Options{Keys: d.keys, Log: d.config.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

// withTenant is withStore for the tenant of a company.
func (d *deployment) withTenant(ctx context.Context, of *company, do func(tenant *base.Tenant) error) error {
	return d.withStore(ctx, func(db *base.DB) error {
		tenant, err := db.Tenant(ctx, of.account)
		if err != nil {
			return err
		}
		return do(tenant)
	})
}

// withData opens the database without the store while do runs.
func (d *deployment) withData(do func(data *benchdb.DB) error) (err error) {
	data, err := benchdb.Open(d.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	return do(data)
}

// size measures the database.
func (d *deployment) size(ctx context.Context) (size benchdb.Size, err error) {
	err = d.withData(func(data *benchdb.DB) error {
		size, err = data.Size(ctx)
		return err
	})
	return size, err
}

// serve starts the server and logs in the user of every company.
func (d *deployment) serve(ctx context.Context) (*target, error) {
	flags := []string{"--environment", environmentName, "--key-file", d.keyFile, "--rate-limit", "0", "--login-rate",
		"0", "--shutdown-grace", "5s", "--max-stored-bytes", "0", "--max-drafts", "0", "--max-tokens", "0",
		"--webhook-allow-cidr", "127.0.0.0/8"}
	if d.hooks.Authority != "" {
		flags = append(flags, "--webhook-ca", d.hooks.Authority)
	}
	var err error
	if d.server, err = startServer(ctx, d.config, d.database, filepath.Join(d.dir, "bench-serve.log"),
		flags...); err != nil {
		return nil, err
	}
	t := &target{base: d.server.base, now: d.config.Now, alive: d.server.alive}
	for _, c := range d.companies {
		if err := t.login(ctx, c.email, c.password); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// databaseCPU returns the CPU time that the database server has used so far. It is 0 for SQLite, which runs in the
// server.
func (d *deployment) databaseCPU() (time.Duration, error) {
	if d.postmaster == 0 {
		return 0, d.postmasterErr
	}
	return processTreeCPU(d.postmaster)
}

// stop ends the server, if one runs.
func (d *deployment) stop() error {
	if d.server == nil {
		return nil
	}
	err := d.server.stop()
	d.server = nil
	return err
}

// close stops everything and removes temporary files.
func (d *deployment) close() error {
	var errs []error
	if d.hooks != nil {
		errs = append(errs, d.hooks.close()) // first, so that no hanging call delays the end of the server
	}
	errs = append(errs, d.stop())
	if d.providerHTTP != nil {
		errs = append(errs, d.providerHTTP.Close())
	}
	if d.provider != nil {
		errs = append(errs, d.provider.Close())
	}
	if d.ledger != "" {
		errs = append(errs, os.RemoveAll(d.ledger))
	}
	if d.temporary {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
