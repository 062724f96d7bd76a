package purchase

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/provider"
)

// The numbers of entries that can be requested for a page.
const (
	DefaultPageSize = 50
	// MaxPageSize is the limit of the provider protocol.
	MaxPageSize = 100
)

// The limits of a sync run.
const (
	// maxPagesPerRun limits the pages of one run, so that a provider whose list never ends does not occupy a worker
	// forever.
	maxPagesPerRun = 200
	// parallelFetches is the number of documents that are fetched at the same time. It also limits the documents in
	// memory.
	parallelFetches = 4
	// maxFailures is the number of runs in a row that retain no new document of a page. In the last of them, the documents
	// that cannot be fetched are given up. A run that retains a new document starts the count again, so that nothing is
	// lost if a provider sends only a few documents at a time.
	maxFailures = 5
	// maxOutageFailures is the same while no document of the page can be fetched at all. At [maxBackoff] apart, these runs
	// take about a day.
	maxOutageFailures = 100
	// maxCursorLength is the length of the longest cursor that is kept, in characters.
	maxCursorLength = 1024
)

// syncRun is one run at a connection. Every commit updates lease.
type syncRun struct {
	*Service
	adapter     provider.Adapter
	lease       incoming.PurchaseLease
	pageSize    int
	seenCursors map[string]bool // the cursors of this run
}

// readPages reads page after page.
func (r *syncRun) readPages(ctx context.Context) error {
	for range maxPagesPerRun {
		more, err := r.syncPage(ctx)
		if err != nil || !more {
			return err
		}
	}
	return r.endEarly(ctx)
}

// syncPage reads the page after the cursor and retains its documents. more says that the run continues.
func (r *syncRun) syncPage(ctx context.Context) (more bool, err error) {
	r.db.Checkpoint(base.Before, "provider purchases")
	calling, span := r.beginCall(ctx, &r.lease, "purchases")
	page, response := r.adapter.Purchases(calling, r.lease.Cursor, r.pageSize)
	r.db.Checkpoint(base.After, "provider purchases")
	r.endCall(calling, span, &r.lease, "purchases", response)
	if response.ErrorClass == provider.ClassTooLarge && r.pageSize > 1 {
		// The entries are large, so request fewer of them.
		r.pageSize = max(1, r.pageSize/8)
		return true, r.commit(ctx, nil, r.renewal())
	}
	if response.Kind != provider.Complete {
		return false, r.endWithoutPage(ctx, response.RetryAfter)
	}
	got, err := r.fetchDocuments(ctx, page.Purchases)
	if err != nil {
		return false, err
	}
	switch {
	case len(got.failed) > 0, got.digestMismatch:
		return r.retryPage(ctx, page, got)
	case utf8.RuneCountInString(page.NextCursor) > maxCursorLength:
		r.Log.WarnContext(ctx, "the provider's cursor is too long: what is behind it cannot be asked for",
			"account", r.lease.Tenant.Account(), "connection", r.lease.Connection.ID)
		if err := r.commit(ctx, got.pending, r.renewal()); err != nil {
			return false, err
		}
		return false, r.endWithoutPage(ctx, 0)
	}
	return r.advanceCursor(ctx, page, got.pending, 0)
}

// advanceCursor retains the last documents of a page and moves the cursor, in one transaction. The run ends if the
// provider asks to wait.
func (r *syncRun) advanceCursor(ctx context.Context, page provider.PurchasePage, docs []incoming.NewIncoming,
	retryAfter time.Duration) (more bool, err error) {
	step := incoming.SyncStep{Cursor: page.NextCursor}
	switch loop := page.HasMore && r.seenCursors[page.NextCursor]; {
	case loop:
		r.Log.WarnContext(ctx, "the provider's cursors go round in a circle", "account", r.lease.Tenant.Account(),
			"connection", r.lease.Connection.ID)
		step.Wait = r.nextBackoff()
		step.After = step.Wait
	case page.HasMore && retryAfter == 0:
		step.After, step.Hold = r.leaseDuration(), true
		more = true
	default:
		step.After, step.Complete = max(r.Interval, retryAfter), !page.HasMore
	}
	r.seenCursors[page.NextCursor] = true
	return more, r.commit(ctx, docs, step) //planted:cursor-before-documents
}

// retryPage retains what was fetched of a page and leaves the cursor for another run, until the rest is given up.
func (r *syncRun) retryPage(ctx context.Context, page provider.PurchasePage, got pageProgress) (more bool, err error) {
	if err := r.commitAndCount(ctx, got.pending, &got.stored); err != nil {
		return false, err
	}
	failures := r.lease.Failures + 1
	if got.stored > 0 {
		failures = 1
	}
	limit := maxFailures
	if len(got.failed) == len(page.Purchases) && !got.digestMismatch {
		limit = maxOutageFailures // no document of the page was ever fetched: the provider is failing, not a document
	}
	if failures < limit {
		return false, r.releaseForRetry(ctx, nil, failures, got.retryAfter)
	}
	r.Log.WarnContext(ctx, "purchase documents are given up: they are unreadable, or not what was announced",
		"account", r.lease.Tenant.Account(), "connection", r.lease.Connection.ID, "unreadable", len(got.failed))
	if got.rateLimited || utf8.RuneCountInString(page.NextCursor) > maxCursorLength {
		// The page is not finished. The count stays above zero, so that no document of it is fetched twice.
		return false, r.releaseForRetry(ctx, got.failed, 1, got.retryAfter)
	}
	return r.advanceCursor(ctx, page, got.failed, got.retryAfter)
}

// releaseForRetry releases the lease with the same cursor and a longer backoff.
func (r *syncRun) releaseForRetry(ctx context.Context, docs []incoming.NewIncoming, failures int,
	retryAfter time.Duration) error {
	wait := r.nextBackoff()
	return r.commit(ctx, docs, incoming.SyncStep{Cursor: r.lease.Cursor, Failures: failures, Wait: wait,
		After: max(wait, retryAfter)})
}

// endWithoutPage ends a run in which the provider gave no usable page.
func (r *syncRun) endWithoutPage(ctx context.Context, retryAfter time.Duration) error {
	return r.releaseForRetry(ctx, nil, r.lease.Failures, retryAfter)
}

// endEarly ends a run that stops without a failure.
func (r *syncRun) endEarly(ctx context.Context) error {
	step := r.renewal()
	step.After, step.Hold = r.Interval, false
	return r.commit(ctx, nil, step)
}

// renewal returns a step that only renews the lease.
func (r *syncRun) renewal() incoming.SyncStep {
	return incoming.SyncStep{Cursor: r.lease.Cursor, Failures: r.lease.Failures, Wait: r.lease.Wait,
		After: r.leaseDuration(), Hold: true}
}

// nextBackoff returns the wait after a failure: first the interval, then twice as long each time, up to [maxBackoff].
func (r *syncRun) nextBackoff() time.Duration {
	return max(r.Interval, min(2*r.lease.Wait, maxBackoff))
}

func (r *syncRun) commit(ctx context.Context, docs []incoming.NewIncoming, step incoming.SyncStep) error {
	after, _, err := r.lease.RetainPurchases(ctx, docs, step)
	if err == nil {
		r.advance(ctx, after)
	}
	return err
}

// advance notes where the sync stands after a step. It logs when the sync begins to fail and when it works again, not
// each attempt in between. All replicas see the same changes, because the wait after a failure is in the database.
func (r *syncRun) advance(ctx context.Context, after incoming.PurchaseLease) {
	before := r.lease.Wait
	r.lease = after
	switch {
	case before == 0 && after.Wait > 0:
		r.Log.WarnContext(ctx, "incoming e-invoices cannot be fetched: it is tried again", "account", after.Tenant.Account(),
			"connection", after.Connection.ID)
	case before > 0 && after.Wait == 0:
		r.Log.InfoContext(ctx, "incoming e-invoices are fetched again", "account", after.Tenant.Account(),
			"connection", after.Connection.ID)
	}
}

// commitAndCount retains documents, renews the lease, and adds the number of new documents to stored.
func (r *syncRun) commitAndCount(ctx context.Context, docs []incoming.NewIncoming, stored *int) error {
	after, isNew, err := r.lease.RetainPurchases(ctx, docs, r.renewal())
	if err == nil {
		r.advance(ctx, after)
		*stored += isNew
	}
	return err
}

// pageProgress is what a run has done with a page.
type pageProgress struct {
	pending []incoming.NewIncoming // fetched and not committed yet
	stored  int                    // how many new documents and revisions were committed
	failed  []incoming.NewIncoming // what could not be fetched, in the form in which it is retained if it is given up
	// digestMismatch says that the bytes of a document are not those that its entry announces.
	digestMismatch bool
	// rateLimited says that the provider has requested a wait. The rest of the page was not requested.
	rateLimited bool
	retryAfter  time.Duration
}

// fetchDocuments fetches the documents of a page and commits them as they arrive, except the last ones.
func (r *syncRun) fetchDocuments(ctx context.Context, entries []provider.Purchase) (pageProgress, error) {
	var p pageProgress
	entries, err := r.notYetStored(ctx, entries)
	if err != nil {
		return p, err
	}
	first := true
	for some := range slices.Chunk(entries, parallelFetches) {
		if !first {
			if err := r.commitAndCount(ctx, p.pending, &p.stored); err != nil {
				return p, err
			}
			p.pending = nil
		}
		first = false
		limited := 0
		r.db.Checkpoint(base.Before, "provider purchase documents")
		fetched := r.fetchBatch(ctx, some)
		r.db.Checkpoint(base.After, "provider purchase documents")
		for _, f := range fetched {
			p.retryAfter = max(p.retryAfter, f.retryAfter)
			p.digestMismatch = p.digestMismatch || f.digestMismatch
			switch {
			case !f.failed:
				p.pending = append(p.pending, f.doc)
				continue
			case f.rateLimited:
				limited++
			}
			p.failed = append(p.failed, f.doc)
		}
		if limited == len(some) {
			p.rateLimited = true
			return p, nil
		}
	}
	return p, nil
}

// notYetStored returns the entries that no earlier run at the same page has retained.
func (r *syncRun) notYetStored(ctx context.Context, entries []provider.Purchase) ([]provider.Purchase, error) {
	if r.lease.Failures == 0 {
		return entries, nil
	}
	ids := make([]string, len(entries))
	for n := range entries {
		ids[n] = documentID(&entries[n])
	}
	known, err := r.lease.Known(ctx, ids)
	if err != nil {
		return nil, err
	}
	var wanted []provider.Purchase
	for n := range entries {
		if sum, found := known[ids[n]]; !found || sum != digest(entries[n].Raw) {
			wanted = append(wanted, entries[n])
		}
	}
	return wanted, nil
}

// fetchResult is the result of fetching one entry.
type fetchResult struct {
	doc incoming.NewIncoming
	// failed says that another run may fetch the document, rateLimited that the provider asks to wait, and digestMismatch
	// that the bytes are not those that the entry announces.
	failed, rateLimited, digestMismatch bool
	retryAfter                          time.Duration
}

// fetchBatch fetches the documents of some entries at the same time.
func (r *syncRun) fetchBatch(ctx context.Context, entries []provider.Purchase) []fetchResult {
	out := make([]fetchResult, len(entries))
	var running sync.WaitGroup
	for n := range entries {
		running.Go(func() { out[n] = r.fetchOne(ctx, &entries[n]) })
	}
	running.Wait()
	return out
}

func (r *syncRun) fetchOne(ctx context.Context, entry *provider.Purchase) fetchResult {
	if entry.ID == "" {
		return fetchResult{doc: newIncoming(entry)} // there is no identifier to fetch it by
	}
	ctx, span := r.beginCall(ctx, &r.lease, "purchase_document")
	response := r.adapter.PurchaseDocument(ctx, entry.ID)
	r.endCall(ctx, span, &r.lease, "purchase_document", response)
	f := fetchResult{retryAfter: response.RetryAfter}
	if response.Kind == provider.Complete {
		f.doc = withDocument(newIncoming(entry), response)
		// These may be the bytes of an error page or of an earlier revision. They are retained as received, and the document
		// is requested again, so that the announced invoice is not lost.
		f.digestMismatch = f.doc.ClaimedSHA256 != nil && response.SHA256 != "" && response.SHA256 != *f.doc.ClaimedSHA256
		return f
	}
	f.doc = markUnreadable(newIncoming(entry))
	f.failed = !isPermanent(response)
	f.rateLimited = response.HTTPStatus == http.StatusTooManyRequests || response.RetryAfter > 0
	return f
}

// isPermanent reports whether a response permanently refuses the document, so that asking again is useless.
func isPermanent(response provider.Response) bool {
	switch response.HTTPStatus {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return response.HTTPStatus >= 400 && response.HTTPStatus < 500
}
