// Package sandbox runs a complete installation on one machine: the service, the provider sandbox that it calls over
// real HTTP, a webhook receiver over HTTPS, and an account made for the run. The command "quittance sandbox" and the
// tests use it.
//
// Its invariants: the parties of package fakeprovider know nothing of the service's database; two sandboxes share no
// credential; a start on an existing data directory seeds nothing, keeps ports, certificates and ledger, and shows no
// password.
//
// Start reading at [Start], then [Sandbox.Run].
package sandbox

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ops/service"
	"quittance/internal/platform/files"
	"quittance/internal/platform/httpserver"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
)

// Config configures a sandbox.
type Config struct {
	// Service is the configuration of the service. Start sets environment, keys and the receiver's address, and the
	// database if it is empty.
	Service service.Config
	// ProviderListen is the address of the provider sandbox; port 0 is the port of the last start, or else a free one.
	ProviderListen string
	// Data is the data directory; "" makes a temporary one that is removed at the end.
	Data string
	// Empty leaves a fresh sandbox without synthetic data.
	Empty bool
	// Example adds a second company to a fresh sandbox; see [Example].
	Example bool
	// Chaos is how often the provider misbehaves at random: off, low or high; off when empty. ChaosSeed seeds the
	// random numbers: the same calls go wrong in the same way. Synthetic data is made without chaos.
	Chaos     string
	ChaosSeed uint64
	// Pace scales the provider's clock; see [fakeprovider.Options].
	Pace time.Duration
	// Now is the clock of all parts; nil for that of the service, and time.Now for the others.
	Now func() time.Time
	Log *slog.Logger
}

// Info is what users need to know about a running sandbox.
type Info struct {
	BaseURL    string `json:"base_url"`
	ConsoleURL string `json:"console_url"`
	// OperatorURL is the address of the pages of operators, if they are served.
	OperatorURL string `json:"operator_url,omitempty"`
	// MetricsURL is the address of the metrics, if they are served.
	MetricsURL         string `json:"metrics_url,omitempty"`
	ProviderURL        string `json:"provider_url"`
	ProviderCredential string `json:"provider_credential"`
	ReceiverURL        string `json:"receiver_url"`
	ReceiverCA         string `json:"receiver_ca"`
	AccountID          string `json:"account_id"`
	Company            string `json:"company"`
	// APIKey is empty unless [Sandbox.WithAPIKey] has added it.
	APIKey string `json:"api_key"`
	Email  string `json:"email"`
	// Password is set by the first start only, and so is LoginURL, which logs in to the console once.
	Password string `json:"password"`
	LoginURL string `json:"login_url,omitempty"`
	// Example is nil if the sandbox has no example company.
	Example *Example `json:"example,omitempty"`
	DataDir string   `json:"data_dir"`
	PID     int      `json:"pid"`
}

// Sandbox is a started sandbox.
type Sandbox struct {
	// Info says where the sandbox is and how to log in.
	Info Info
	// Receiver is its webhook receiver.
	Receiver *fakeprovider.Receiver
	// Provider is its provider sandbox.
	Provider *fakeprovider.Server

	config    Config
	layout    Layout
	temporary bool
	seed      bool // synthetic data must still be made
	links     *account.LoginLinks
	example   *fakeprovider.Server // of the example company; nil if there is none
	service   *service.Service
	servers   []*httpserver.Server // of the provider, the receiver and the provider of the example company
}

// Start opens every part and, in a fresh data directory, creates the account. Nothing is served before [Sandbox.Run].
func Start(ctx context.Context, config Config) (_ *Sandbox, err error) {
	config.Service.Now = config.Now
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sandbox{config: config, links: &account.LoginLinks{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.prepareDirectory(); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	saved, err := s.layout.load()
	if err != nil {
		return nil, err
	}
	fresh := saved == nil
	if fresh {
		if saved, err = s.firstState(); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, saved); err != nil {
		return nil, err
	}
	if fresh {
		if err := s.makeAccounts(ctx, saved); err != nil {
			return nil, err
		}
		s.seed = !config.Empty
	}
	if s.seed {
		if err := s.Provider.SetChaos(fakeprovider.ChaosOff, 0); err != nil {
			return nil, err
		}
	}
	saved.Listen, saved.ProviderListen, saved.ReceiverListen = s.service.Address(), s.servers[0].Address().String(),
		s.servers[1].Address().String()
	if saved.Example != nil {
		saved.Example.ProviderListen = s.servers[2].Address().String()
	}
	if err := s.layout.save(*saved); err != nil {
		return nil, err
	}
	return s, s.describe(saved)
}

// prepareDirectory creates the data directory, or removes the access of others to an existing one. It makes the path
// absolute.
func (s *Sandbox) prepareDirectory() error {
	if s.config.Data == "" {
		made, err := os.MkdirTemp("", "quittance-sandbox-")
		if err != nil {
			return err
		}
		s.layout, s.temporary = Layout(made), true
	}
	path, err := filepath.Abs(cmp.Or(s.config.Data, string(s.layout)))
	if err != nil {
		return err
	}
	s.layout = Layout(path)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	inside, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(inside) > 0 && !slices.ContainsFunc(inside,
		func(e os.DirEntry) bool { return e.Name() == filepath.Base(s.layout.state()) }) {
		return nil // it contains other files too, so only our own files are private
	}
	tightened, err := files.MakePrivate(path)
	if tightened {
		s.config.Log.Warn("others had access to the data directory: its mode is stricter now", "directory", path)
	}
	return err
}

// open opens the provider, the receiver and the service.
func (s *Sandbox) open(ctx context.Context, saved *state) (err error) {
	if s.Provider, err = fakeprovider.New(fakeprovider.Options{Dir: s.layout.provider(),
		Credential: secret.New(saved.ProviderCredential),
		Chaos:      s.config.Chaos, ChaosSeed: s.config.ChaosSeed, Pace: s.config.Pace, Clock: s.config.Now,
		Log: s.config.Log}); errors.Is(err, fakeprovider.ErrLedgerInUse) {
		return fmt.Errorf("another sandbox is running on the data directory %s", s.layout)
	} else if err != nil {
		return err
	}
	if err := s.serve(ctx, chooseAddress(s.config.ProviderListen, saved.ProviderListen, "127.0.0.1:0"), s.Provider,
		nil); err != nil {
		return fmt.Errorf("provider sandbox: %w", err)
	}
	identity, err := fakeprovider.ReceiverIdentity(string(s.layout), time.Now()) //nolint:forbidigo // TLS judges certificates by the clock of the machine
	if err != nil {
		return err
	}
	s.Info.ReceiverCA = identity.Authority
	s.Receiver = fakeprovider.NewReceiver(s.config.Now, s.config.Log)
	if err := s.serve(ctx, saved.ReceiverListen, s.Receiver, &identity.Certificate); err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	if err := s.openExample(ctx, saved.Example); err != nil {
		return fmt.Errorf("provider of the example company: %w", err)
	}
	return s.openService(ctx, saved, identity)
}

// openService opens the service, which trusts and may reach the receiver.
func (s *Sandbox) openService(ctx context.Context, saved *state, identity fakeprovider.Identity) (err error) {
	config := s.config.Service
	config.LoginLinks = s.links
	config.Environment, config.API, config.Workers, config.Trial = service.Sandbox, true, true, true
	config.Listen = chooseAddress(config.Listen, saved.Listen, "127.0.0.1:8080")
	if config.Database == "" {
		config.Database = saved.Database
	}
	if config.Database == "" {
		config.Database = s.layout.DefaultDatabase()
	}
	if config.Keys, err = s.layout.Keys(); err != nil {
		return err
	}
	config.ReloadKeys = func() (*secret.Keyring, error) { return secret.ReadKeyFile(s.layout.KeyFile()) }
	at, err := netip.ParseAddrPort(s.servers[1].Address().String())
	if err != nil {
		return fmt.Errorf("receiver address: %w", err)
	}
	config.Destinations.AllowAddrs = append(config.Destinations.AllowAddrs, at)
	if config.Destinations.RootCAs, err = trustAlso(config.Destinations.RootCAs, identity.Authority); err != nil {
		return err
	}
	if s.service, err = service.Open(ctx, config); err != nil {
		return err
	}
	s.Provider.SetServiceAddress("http://" + s.service.Address())
	if s.example != nil {
		s.example.SetServiceAddress("http://" + s.service.Address())
	}
	return nil
}

// chooseAddress returns the address to listen on: the requested one; the one of the last start, if none or any port was
// requested; or else the default.
func chooseAddress(requested, saved, defaultAddress string) string {
	_, port, err := net.SplitHostPort(requested)
	if saved != "" && (requested == "" || err == nil && port == "0") {
		return saved
	}
	return cmp.Or(requested, defaultAddress)
}

// trustAlso returns pool, or the system's authorities if it is nil, with one more authority.
func trustAlso(pool *x509.CertPool, path string) (*x509.CertPool, error) {
	if pool == nil {
		system, err := x509.SystemCertPool()
		if err != nil {
			system = x509.NewCertPool() // a machine without authorities still reaches the receiver
		}
		pool = system
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("receiver authority: %w", err)
	}
	pool = pool.Clone()
	pool.AppendCertsFromPEM(text)
	return pool, nil
}

// serve listens for a part, which responds once Run serves it.
func (s *Sandbox) serve(ctx context.Context, address string, handler http.Handler, certificate *tls.Certificate) error {
	config := httpserver.Config{Handler: handler, Log: slog.New(slog.DiscardHandler)}
	if certificate != nil {
		config.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	server, err := fakeprovider.Listen(ctx, address, config)
	if err != nil {
		return err
	}
	s.servers = append(s.servers, server)
	return nil
}

// DB returns the sandbox's store.
func (s *Sandbox) DB() *base.DB { return s.service.DB() }

// Settle is [service.Service.Settle]. Call it while Run serves.
func (s *Sandbox) Settle(ctx context.Context) error { return s.service.Settle(ctx) }

// Run serves until ctx ends. It calls ready once everything responds.
func (s *Sandbox) Run(ctx context.Context, ready func(Info) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	failures := make(chan error, len(s.servers)+2)
	for _, server := range s.servers {
		running.Go(func() {
			if err := server.Serve(); !errors.Is(err, http.ErrServerClosed) {
				failures <- err
				stop()
			}
		})
	}
	var serviceDone sync.WaitGroup
	serviceDone.Go(func() {
		failures <- s.service.Run(ctx)
		stop()
	})
	if err := s.announce(ctx, ready); err != nil {
		failures <- err
		stop()
	}
	serviceDone.Wait()
	// The service ends first, while its provider and its receiver still respond.
	for _, server := range s.servers {
		if err := server.Close(); err != nil {
			s.config.Log.DebugContext(ctx, "closing", "error", err)
		}
	}
	running.Wait()
	s.service = nil // it has closed itself
	err := s.close()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	return err
}

// announce waits until the API responds, then calls ready.
func (s *Sandbox) announce(ctx context.Context, ready func(Info) error) error {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Info.BaseURL+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
			if err == nil && response.StatusCode == http.StatusOK {
				if err := s.makeSeed(ctx); err != nil {
					return err
				}
				return ready(s.Info)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// makeSeed makes the synthetic data of a fresh sandbox once everything responds, because its events are really
// delivered.
func (s *Sandbox) makeSeed(ctx context.Context) error {
	if !s.seed {
		return nil
	}
	id, err := base.ParseID(s.Info.AccountID)
	if err != nil {
		return fmt.Errorf("account: %w", err)
	}
	tenant, err := s.DB().Tenant(ctx, id)
	if err != nil {
		return err
	}
	if err := Seed(ctx, tenant, s.Info.ReceiverURL, s.config.Now(), s.Receiver.Trust); err != nil {
		return err
	}
	if err := s.seedExample(ctx); err != nil {
		return fmt.Errorf("example company: %w", err)
	}
	if err := awaitDeliveries(ctx, tenant, seedTimeout); err != nil {
		return err
	}
	return s.Provider.SetChaos(cmp.Or(s.config.Chaos, fakeprovider.ChaosOff), s.config.ChaosSeed)
}

// seedTimeout is how long a start waits for the deliveries of its synthetic events.
const seedTimeout = 15 * time.Second

// close releases everything that is open.
func (s *Sandbox) close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	if s.service != nil {
		errs = append(errs, s.service.Close())
	}
	for _, provider := range []*fakeprovider.Server{s.Provider, s.example} {
		if provider != nil {
			errs = append(errs, provider.Close())
		}
	}
	if s.temporary {
		errs = append(errs, os.RemoveAll(string(s.layout)))
	}
	return errors.Join(errs...)
}

// WriteReadyFile writes a sandbox's information atomically to a private file.
func WriteReadyFile(path string, info Info) error { return writeJSON(path, info) }
