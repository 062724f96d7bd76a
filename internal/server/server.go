// Package server is the JSON API: one literal route table, one generic endpoint, one error table.
//
// Its invariants: every answer has the envelope and a request id, whatever went wrong; what a caller gets wrong is
// refused in the order of contract, section 1, all faults of a payload at once; no text of the provider, the database
// or the decoder reaches a caller; and it never imports the provider, so that creating a draft has no way to the
// network.
//
// Start reading at routes in routes.go, then serve in endpoint.go, then failures in errors.go.
package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"quittance/internal/account"
	"quittance/internal/connlimit"
	"quittance/internal/router"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/webhook"
)

// Config is what a server is made from.
type Config struct {
	DB          *store.DB
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
	// MaxRequests is how many API calls are worked on at a time, a quarter as many console requests and a quarter as many
	// requests without an accepted credential beside them; 0 for 2048. At most eight times as many connections are open,
	// fewer when the process may not open so many files.
	MaxRequests int
	// ConnectionsPerSource is how many connections may be open from one source, an IPv4 address or the /64 of an IPv6 address,
	// and four times as many from a /48; 0 for a sixteenth of all, at least 64. It does not hold for trusted proxies.
	ConnectionsPerSource int
	// ConnectionClosed is told of each connection that is closed for want of room, for metrics; nil for nobody.
	ConnectionClosed func(connlimit.Reason)
	// AnonymousRate is how many requests a minute one source may make without an accepted token or session, four times as many
	// from a /48; 0 for no limit.
	AnonymousRate int64
	// Trial tells that the server is a sandbox on somebody's machine, which has nothing to tune for many connections.
	Trial bool
	// Secure tells that clients speak TLS to this server, or to a proxy before it.
	Secure bool
	// RateLimit is how many calls a minute one token may make here; 0 for no limit.
	RateLimit int64
	// IdempotencyTTL is how long the answer to an Idempotency-Key is kept.
	IdempotencyTTL time.Duration
	// TrustedProxies are the peers whose X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// Log receives one wide line a request.
	Log *slog.Logger
	// Observe is told of every request, for metrics: its route ("" when there is none), status and duration.
	Observe func(route, method string, status int, duration time.Duration)
	// Version is shown in the API document.
	Version string
	// Docs answers GET and HEAD of /docs, of everything below it, and of /changelog; nil for no documentation.
	Docs http.Handler
	// Console answers what is neither the API's nor the documentation's; nil for no console.
	Console Console
	// Ready tells whether the process can serve; the reason goes to the log.
	Ready func(ctx context.Context) error
}

// Visit is what the log and the metrics are told of a request that the console was asked to answer.
type Visit struct {
	// Answered is false when the console has nothing at that address for such a caller: the API says so in its own way.
	Answered bool
	// Route names the page; it is one of few, never the caller's text.
	Route string
	// Account and User are who asked, zero when nobody was logged in.
	Account, User store.ID
	// Err is why the answer is a failure of ours; nil otherwise.
	Err error
}

// Server answers the API. It is safe for concurrent use.
type Server struct {
	Config
	router  *router.Router[route]
	openapi []byte
	calls   *account.CallLimiter
	// admission bounds requests.
	admission *admission
	pace      pace
	// connections bounds those of every listener.
	connections *connlimit.Limiter
}

// New returns a server.
func New(config Config) (*Server, error) {
	if config.MaxRequests == 0 {
		config.MaxRequests = defaultMaxRequests
	}
	table := routes()
	s := &Server{Config: config, router: newRouter(table), calls: account.NewCallLimiter(config.RateLimit, config.Now), pace: leastPace}
	bounds := connectionBounds(&s.Config)
	s.connections, s.admission = connlimit.New(bounds), newAdmission(&s.Config, bounds)
	var err error
	s.openapi, err = document(table, config.Version)
	return s, err
}
