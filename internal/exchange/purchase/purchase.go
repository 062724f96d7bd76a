// Package purchase fetches incoming e-invoices: the purchase documents that a company's provider has for it.
//
// Its invariants:
//
//   - Nothing is dropped. The cursor moves only in the transaction that retains the last documents of its page. A
//     document that cannot be read or fetched is retained as unreadable, with the provider's metadata as received.
//   - Documents are fetched outside any transaction, a few at a time. The lease is renewed before every step, so that
//     it outlives the calls of the step.
//   - The provider's values are untrusted text. A value that does not have the form of its field is shown as null, and
//     no value can cause a database error.
//
// A sync run reads page after page from the cursor. These are its rules; the constants are here and in run.go.
//
//	Situation                             What happens                              Reason
//
//	The provider has no more pages.       The next run is after Interval.           Invoices should arrive soon.
//	There is no usable page.              The next run is after a backoff:          The provider is failing, not a
//	                                      Interval, then twice as long each time,   document.
//	                                      up to 15 min (maxBackoff). Nothing is
//	                                      given up.
//	The response has Retry-After.         The next run is no earlier.               The provider limits its own load.
//	A page is too large.                  It is requested again at once, with an    Its entries may be large.
//	                                      eighth of the entries.
//	A document cannot be fetched.         The others are retained. The page is      The document may be available later,
//	                                      requested again after the backoff.        and must not delay the others.
//	Its bytes are not those announced.    They are retained, and the page is        They may be an error page or an
//	                                      requested again as above.                 earlier revision.
//	Five runs in a row (maxFailures)      The missing documents are retained as     One bad document must not stop all
//	retain nothing new of a page.         unreadable. The cursor moves.             later ones.
//	No document of a page can be          The same, after 100 runs                  The provider is failing, not a
//	fetched.                              (maxOutageFailures): about a day.         document.
//	A document is refused for good: 4xx,  It is retained as unreadable at once.     Asking again is useless.
//	but not 401, 403, 408, 409, 425 or
//	429.
//	All documents fetched together are    The rest of the page waits for the next   Further calls would be refused, too.
//	rate limited.                         run.
//	200 pages (maxPagesPerRun) were       The run ends. The next one continues      A provider must not occupy a worker
//	read, or the cursors form a loop.     from the cursor.                          forever.
//
// A provider may report by a queue of events instead: it hands out one event, and the next one after it was told to
// delete that. Then a sync run takes events, those about submissions too. Its invariants:
//
//   - Retain, then delete. An event is deleted only after everything that follows from it was committed, in one
//     transaction with the record that it is retained. A crash between the two hands it out again; it is recognized and
//     changes nothing.
//   - An event is about a submission of the connection's company to the provider, or announces a document for the
//     company. Any other is unrouted, and nothing of it reaches another company.
//   - No event blocks those behind it for long. The exceptions cannot be deleted: an event without a readable
//     identifier, and one that is too large to be retained.
//
// These are the rules of such a run; its constants are in events.go.
//
//	Situation                             What happens                              Reason
//
//	The queue is empty.                   The next run is after Interval.           Events should arrive soon.
//	There is no usable event, or the      The next run is after a backoff, as       The provider is failing.
//	deletion fails.                       above.
//	An event is unrouted.                 The run ends. An hour (unroutedWait)      Another company may use the same
//	                                      later, if it is still handed out, it is   account, and takes its event within a
//	                                      retained for the operator and deleted.    minute.
//	A document cannot be fetched.         It is requested again after the           It may be available later, but the
//	                                      backoff, in 5 runs (maxFailures) if it    events behind it must not wait for
//	                                      is refused for good, in 20                more than some four hours.
//	                                      (maxEventFailures) otherwise. Then it
//	                                      is retained as unreadable.
//	An event is handed out again after    The run ends with a backoff.              The deletion does not work.
//	its deletion.
//	500 events (maxEventsPerRun) were     The run ends. The next one continues.     As with pages.
//	taken.
//
// Start reading at [Service.Sync], then syncRun in run.go and eventRun in events.go. read.go says how an entry is read.
package purchase

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/tracing"
	"quittance/internal/provider"
)

// Config configures a [Service]. All durations are positive.
type Config struct {
	// Environment is local, sandbox or production.
	Environment string
	// Release is the release of this binary. In production a connection is used only with an approval that covers it.
	Release string
	// Adapter opens the adapter of a connection.
	Adapter func(invoices.Connection) (provider.Adapter, error)
	// DecideEvent returns what follows from an event about a submission, and began is when the event was requested. It is
	// submission.Service.DecideEvent.
	DecideEvent func(adapter provider.Adapter, response provider.Response, began time.Time) func(invoices.Submission, bool,
		time.Time) (invoices.Decision, error)
	// CallTimeout limits a provider call, including reading the response.
	CallTimeout time.Duration
	// Interval is the time from the end of a complete run to the next, 1 min by default.
	Interval time.Duration
	// PageSize is how many entries are requested for a page, 1 to [MaxPageSize]; 0 means [DefaultPageSize]. If the page is
	// larger than the adapter reads, the run continues with fewer.
	PageSize int
	// Log receives one line for every provider call.
	Log *slog.Logger
	// Observe is called after every provider call, for metrics.
	Observe func(call, kind string, duration time.Duration)
	// Tracer traces syncs and their provider calls; nil for no traces.
	Tracer *tracing.Tracer
}

// Service syncs purchase documents. It is safe for concurrent use.
type Service struct {
	db *base.DB
	Config
}

// New returns a service on db.
func New(db *base.DB, config Config) *Service { return &Service{db: db, Config: config} }

const (
	// maxBackoff is the longest wait after a failure, unless the provider requests a longer one.
	maxBackoff = 15 * time.Minute
	// leaseMargin is added to the time-outs of the calls of a step: it is the time to retain their results.
	leaseMargin = 30 * time.Second
)

// leaseDuration is how long a step may take: the call for a page, and the parallel calls for its first documents.
func (s *Service) leaseDuration() time.Duration { return 2*s.CallTimeout + leaseMargin }

// Sync makes one run at a claimed connection: it reads page after page until the provider has no more, or until a
// failure. It releases the lease with the time of the next run. The error is the ledger's. After an error, the
// connection is due again when the lease ends, and the next run continues from what was committed.
func (s *Service) Sync(ctx context.Context, lease incoming.PurchaseLease) error {
	r := &syncRun{Service: s, lease: lease, pageSize: cmp.Or(s.PageSize, DefaultPageSize),
		seenCursors: map[string]bool{lease.Cursor: true}}
	if !lease.Connection.Allowed(s.Environment, s.Release) {
		return r.endEarly(ctx) // it may be approved at any time
	}
	adapter, err := s.Adapter(lease.Connection)
	if err != nil {
		s.Log.ErrorContext(ctx, "provider connection unusable", "account", lease.Tenant.Account(),
			"connection", lease.Connection.ID, "error", err)
		return r.endWithoutPage(ctx, 0)
	}
	r.adapter = adapter
	if queue, isQueue := adapter.(provider.EventQueue); isQueue {
		return (&eventRun{syncRun: r, queue: queue, handled: map[string]bool{}}).takeEvents(ctx)
	}
	return r.readPages(ctx)
}

// beginCall begins the span of a provider call, and returns its context.
func (s *Service) beginCall(ctx context.Context, lease *incoming.PurchaseLease,
	call string) (context.Context, *tracing.Span) {
	return s.Tracer.ProviderCall(ctx, lease.Connection.Kind, call)
}

// endCall ends the span of a provider call, logs it and observes it.
func (s *Service) endCall(ctx context.Context, span *tracing.Span, lease *incoming.PurchaseLease, call string,
	response provider.Response) {
	span.EndProviderCall(response.Kind.String(), response.HTTPStatus, string(response.ErrorClass))
	s.Observe(call, response.Kind.String(), response.Duration)
	s.Log.InfoContext(ctx, "provider call", "call", call, "account", lease.Tenant.Account(),
		"connection", lease.Connection.ID, "kind", response.Kind.String(), "status", response.HTTPStatus,
		"class", string(response.ErrorClass), "bytes", response.Size, "duration_ms", response.Duration.Milliseconds())
}
