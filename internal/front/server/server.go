// Package server is the JSON API: one literal route table, and generic endpoints.
//
// Its invariants: every response has the envelope and a request id, also after any error; the errors of a request are
// checked in the order that Server.run gives, and all faults of a payload are reported at once; no text of the
// provider, the database or the decoder reaches a caller; and the package never imports the provider, so that creating
// a draft cannot use the network.
//
// Start reading at routes in routes.go, then run in endpoint.go, then [problem.Of].
package server

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"quittance/internal/account"
	"quittance/internal/exchange/submission"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/export"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/router"
	"quittance/internal/platform/tracing"
)

// Config configures a [Server].
type Config struct {
	DB          *base.DB
	Accounts    *account.Service
	Submissions *submission.Service
	// Destinations says where webhooks may go.
	Destinations webhook.Policy
	// Random is the source of request ids and secrets.
	Random io.Reader
	// Now is the clock.
	Now func() time.Time
	// MaxBody is the largest request body in bytes.
	MaxBody int64
	// MaxRequests is how many API calls are processed at the same time; 0 means 2048. A quarter as many console requests,
	// and a quarter as many requests without an accepted credential, have limits of their own. The limit of open
	// connections is eight times MaxRequests, or lower if the process may not open that many files.
	MaxRequests int
	// ConnectionsPerSource is how many connections may be open from one source, an IPv4 address or the /64 of an IPv6
	// address, and four times as many from a /48; 0 for a sixteenth of all, at least 64. It does not apply to trusted
	// proxies.
	ConnectionsPerSource int
	// ConnectionClosed is called for each connection that a limit closes, for metrics; it may be nil.
	ConnectionClosed func(connlimit.Reason)
	// AnonymousRate is how many requests a minute one source may make without an accepted token or session, four times as
	// many from a /48; 0 for no limit.
	AnonymousRate int64
	// Trial means that the server is a sandbox on a developer's machine, which is not tuned for many connections.
	Trial bool
	// PublicURL is the address at which people reach the service; "" for the host that a request names.
	PublicURL account.PublicURL
	// Secure means that clients speak TLS to this server, or to a proxy in front of it.
	Secure bool
	// RateLimit is how many calls a minute one token may make here; 0 for no limit.
	RateLimit int64
	// IdempotencyTTL is how long the response to an Idempotency-Key is stored.
	IdempotencyTTL time.Duration
	// TrustedProxies are the peers whose X-Forwarded-For header is used.
	TrustedProxies []netip.Prefix
	// Log receives one wide line for each request.
	Log *slog.Logger
	// Observe is called for every request, for metrics, with its route ("" if there is none), status and duration.
	Observe func(route, method string, status int, duration time.Duration)
	// Tracer traces requests; nil for no traces.
	Tracer *tracing.Tracer
	// Printer makes PDF files. It is shared with the console, so that its limits are those of the process.
	Printer *view.Printer
	// Importer reads files with drafts. It is shared with the console, as Printer.
	Importer *view.Importer
	// Exporter makes files of lists. It is shared with the console, like Printer.
	Exporter *export.Exporter
	// Version is shown in the API document.
	Version string
	// Docs serves GET and HEAD of /docs, of everything below it, and of /changelog; nil for no documentation.
	Docs http.Handler
	// Console serves the requests for all other paths than those of the API and the documentation; nil for no console.
	Console Console
	// Ready returns an error if the process cannot serve; the error is logged.
	Ready func(ctx context.Context) error
}

// Served describes a request that was passed to the console, for the log and the metrics.
type Served struct {
	// Found is false if the console has no page at that path for this caller; the API then responds with its own error.
	Found bool
	// Route names the page. It is one of a fixed set, never text of the caller.
	Route string
	// Account and User are those of the session; zero if the caller is not logged in.
	Account, User base.ID
	// Err is the cause of an internal error; nil otherwise.
	Err error
	// Broken means that the response is not whole, so that the connection has to end.
	Broken bool
}

// Server serves the API. It is safe for concurrent use.
type Server struct {
	Config
	router *router.Router[route]
	// openapi returns the API document, which is generated at the first call.
	openapi func() ([]byte, error)
	// collection returns the collection for API clients, which is generated at the first call.
	collection func() ([]byte, error)
	calls      *account.CallLimiter
	// admission bounds requests.
	admission *admission
	pace      pace
	// connections are the limits of connections, from which those of requests follow.
	connections connlimit.Config
}

// New returns a server.
func New(config Config) *Server {
	if config.MaxRequests == 0 {
		config.MaxRequests = defaultMaxRequests
	}
	table := routes()
	s := &Server{Config: config, router: newRouter(table), calls: account.NewCallLimiter(config.RateLimit, config.Now),
		pace: defaultPace}
	s.connections = connectionLimits(&s.Config)
	s.admission = newAdmission(&s.Config, s.connections)
	s.openapi = sync.OnceValues(func() ([]byte, error) { return openAPIDocument(table, config.Version) })
	s.collection = sync.OnceValues(func() ([]byte, error) {
		return apiCollection(table, config.Version, cmp.Or(string(config.PublicURL), "http://127.0.0.1:8080"))
	})
	return s
}
