// Package purchase fetches incoming e-invoices: the purchase documents that a company's provider has for it (contract,
// section 8).
//
// Its invariants:
//
//   - Nothing is dropped. The cursor moves only in the transaction that retains the last of its page's documents; what
//     cannot be read or fetched is retained as unreadable, with the provider's metadata as it came.
//   - One bad document does not stop the rest. The others of its page are retained at once; the page is asked for again
//     while there is hope for it, and after five turns it is given up as unreadable.
//   - Documents are fetched outside of any transaction, a few at a time, and a claim is renewed before every step, so
//     that it outlives the calls of the step.
//   - What the provider says is text of a stranger: a value without the form of its field is shown as null, and none
//     becomes an error of the database.
//
// Start reading at [Service.Sync], then turn in turn.go; read.go says what is made of an entry.
package purchase

import (
	"context"
	"log/slog"
	"time"

	"quittance/internal/provider"
	"quittance/internal/store"
)

// Config is what a service is made from. All durations are positive.
type Config struct {
	// Environment is local, sandbox or production.
	Environment string
	// Release is what this binary says it is. In production a connection is asked only with an approval that covers it.
	Release string
	// Adapter opens the adapter of a connection.
	Adapter func(store.Connection) (provider.Adapter, error)
	// CallTimeout is the longest a provider call may take, its answer included.
	CallTimeout time.Duration
	// Interval is the time from the end of a complete turn to the next, 1 min by default.
	Interval time.Duration
	// Log receives a wide line for every provider call.
	Log *slog.Logger
	// Observe is told of every provider call, for metrics.
	Observe func(call, kind string, duration time.Duration)
}

// Service syncs purchase documents. It is safe for concurrent use.
type Service struct {
	db *store.DB
	Config
}

// New returns a service on db.
func New(db *store.DB, config Config) *Service { return &Service{db: db, Config: config} }

const (
	// maxWait is the longest wait after trouble, unless the provider asks for more.
	maxWait = 15 * time.Minute
	// leaseAir is how much longer than its calls a step is leased: time to retain what they brought.
	leaseAir = 30 * time.Second
)

// lease is how long a step may take: a page and the first documents of it, which are a call each.
func (s *Service) lease() time.Duration { return 2*s.CallTimeout + leaseAir }

// Sync takes one turn at a claimed connection: page by page until the provider has no more, or until there is trouble.
// The claim is handed back with the time of the next turn. An error is the store's: then the turn is due again when the
// claim's lease ends, and goes on from what was committed.
func (s *Service) Sync(ctx context.Context, claim store.SyncClaim) error {
	t := &turn{Service: s, claim: claim, limit: pageLimit, seen: map[string]bool{claim.Cursor: true}}
	if !claim.Connection.Allowed(s.Environment, s.Release) {
		return t.pause(ctx) // it may be approved at any time
	}
	adapter, err := s.Adapter(claim.Connection)
	if err != nil {
		s.Log.ErrorContext(ctx, "provider connection unusable", "connection", claim.Connection.ID, "error", err)
		return t.trouble(ctx, 0)
	}
	t.adapter = adapter
	return t.run(ctx)
}

// observe takes note of a call.
func (s *Service) observe(ctx context.Context, claim *store.SyncClaim, call string, answer provider.Response) {
	s.Observe(call, answer.Kind.String(), answer.Duration)
	s.Log.InfoContext(ctx, "provider call", "call", call, "tenant", claim.Tenant.Key(), "connection", claim.Connection.ID,
		"kind", answer.Kind.String(), "status", answer.HTTPStatus, "class", string(answer.ErrorClass), "bytes", answer.Size,
		"duration_ms", answer.Duration.Milliseconds())
}
