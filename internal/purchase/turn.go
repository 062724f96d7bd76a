package purchase

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"quittance/internal/provider"
	"quittance/internal/store"
)

// The bounds of a turn.
const (
	// pageLimit is how many entries of a page are asked for.
	pageLimit = 50
	// maxPages is how many pages one turn reads: a provider that never ends cannot keep a worker for ever.
	maxPages = 200
	// fetches is how many documents of a page are fetched at the same time, and held in memory at most.
	fetches = 4
	// maxFailures is how many turns in a row may bring nothing of a page; in the last of them what still cannot be
	// fetched is given up. A turn that gains something begins the count anew, so that a provider that hands out a few
	// documents at a time loses none of them.
	maxFailures = 5
	// maxOutage is the same while no document of the page can be fetched at all. At [maxWait] apart these turns last a day.
	maxOutage = 100
	// maxCursor is the longest cursor that is kept, in characters.
	maxCursor = 1024
)

// turn is one turn at a connection. claim moves on with every commit.
type turn struct {
	*Service
	adapter provider.Adapter
	claim   store.SyncClaim
	limit   int
	seen    map[string]bool // the cursors of this turn
}

// run reads page after page.
func (t *turn) run(ctx context.Context) error {
	for range maxPages {
		more, err := t.page(ctx)
		if err != nil || !more {
			return err
		}
	}
	return t.pause(ctx)
}

// page reads the page behind the cursor and retains its documents. more tells that the turn goes on.
func (t *turn) page(ctx context.Context) (more bool, err error) {
	t.db.Checkpoint(store.Before, "provider purchases")
	page, answer := t.adapter.Purchases(ctx, t.claim.Cursor, t.limit)
	t.db.Checkpoint(store.After, "provider purchases")
	t.observe(ctx, &t.claim, "purchases", answer)
	if answer.ErrorClass == provider.ClassTooLarge && t.limit > 1 {
		// Entries with much in them: fewer fit into an answer.
		t.limit = max(1, t.limit/8)
		return true, t.commit(ctx, nil, t.hold())
	}
	if answer.Kind != provider.Answered {
		return false, t.trouble(ctx, answer.RetryAfter)
	}
	got, err := t.documents(ctx, page.Purchases)
	if err != nil {
		return false, err
	}
	switch {
	case len(got.failed) > 0, got.differ:
		return t.retry(ctx, page, got)
	case utf8.RuneCountInString(page.NextCursor) > maxCursor:
		t.Log.WarnContext(ctx, "the provider's cursor is too long: what is behind it cannot be asked for", "connection", t.claim.Connection.ID)
		if err := t.commit(ctx, got.docs, t.hold()); err != nil {
			return false, err
		}
		return false, t.trouble(ctx, 0)
	}
	return t.advance(ctx, page, got.docs, 0)
}

// advance retains the last documents of a page and moves the cursor, in one transaction. The turn ends when the
// provider wants us to wait.
func (t *turn) advance(ctx context.Context, page provider.PurchasePage, docs []store.NewIncoming, retryAfter time.Duration) (more bool, err error) {
	step := store.SyncStep{Cursor: page.NextCursor}
	switch circle := page.HasMore && t.seen[page.NextCursor]; {
	case circle:
		t.Log.WarnContext(ctx, "the provider's cursors go round in a circle", "connection", t.claim.Connection.ID)
		step.Wait = t.longer()
		step.After = step.Wait
	case page.HasMore && retryAfter == 0:
		step.After, step.Hold = t.lease(), true
		more = true
	default:
		step.After, step.Complete = max(t.Interval, retryAfter), !page.HasMore
	}
	t.seen[page.NextCursor] = true
	return more, t.commit(ctx, docs, step)
}

// retry retains what was got of a page and leaves the cursor for another turn, until the rest is given up.
func (t *turn) retry(ctx context.Context, page provider.PurchasePage, got progress) (more bool, err error) {
	if err := t.commitCounting(ctx, got.docs, &got.stored); err != nil {
		return false, err
	}
	failures := t.claim.Failures + 1
	if got.stored > 0 {
		failures = 1
	}
	limit := maxFailures
	if len(got.failed) == len(page.Purchases) && !got.differ {
		limit = maxOutage // not one document of the page was ever had: that is the provider's trouble, not a document's
	}
	if failures < limit {
		return false, t.again(ctx, nil, failures, got.retryAfter)
	}
	t.Log.WarnContext(ctx, "purchase documents are given up: they are unreadable, or not what was announced", "connection", t.claim.Connection.ID, "unreadable", len(got.failed))
	if got.stopped || utf8.RuneCountInString(page.NextCursor) > maxCursor {
		// The page is not through. The count stays above zero, so that nothing of it is fetched twice.
		return false, t.again(ctx, got.failed, 1, got.retryAfter)
	}
	return t.advance(ctx, page, got.failed, got.retryAfter)
}

// again hands the claim back with the same cursor.
func (t *turn) again(ctx context.Context, docs []store.NewIncoming, failures int, retryAfter time.Duration) error {
	wait := t.longer()
	return t.commit(ctx, docs, store.SyncStep{Cursor: t.claim.Cursor, Failures: failures, Wait: wait, After: max(wait, retryAfter)})
}

// trouble ends a turn in which the provider gave no usable page.
func (t *turn) trouble(ctx context.Context, retryAfter time.Duration) error {
	return t.again(ctx, nil, t.claim.Failures, retryAfter)
}

// pause ends a turn that was cut short without trouble.
func (t *turn) pause(ctx context.Context) error {
	step := t.hold()
	step.After, step.Hold = t.Interval, false
	return t.commit(ctx, nil, step)
}

// hold is the step that only renews the claim.
func (t *turn) hold() store.SyncStep {
	return store.SyncStep{Cursor: t.claim.Cursor, Failures: t.claim.Failures, Wait: t.claim.Wait, After: t.lease(), Hold: true}
}

// longer is the wait after trouble: the interval first, then doubling to [maxWait].
func (t *turn) longer() time.Duration {
	return max(t.Interval, min(2*t.claim.Wait, maxWait))
}

func (t *turn) commit(ctx context.Context, docs []store.NewIncoming, step store.SyncStep) error {
	after, _, err := t.claim.RetainPurchases(ctx, docs, step)
	if err == nil {
		t.claim = after
	}
	return err
}

// commitCounting retains documents, holds the claim, and adds to stored how many of them were new.
func (t *turn) commitCounting(ctx context.Context, docs []store.NewIncoming, stored *int) error {
	after, isNew, err := t.claim.RetainPurchases(ctx, docs, t.hold())
	if err == nil {
		t.claim = after
		*stored += isNew
	}
	return err
}

// progress is how far a turn came with a page.
type progress struct {
	docs   []store.NewIncoming // what is yet to be committed
	stored int                 // new documents and revisions that are
	failed []store.NewIncoming // what could not be fetched this time, as it is retained when it is given up
	// differ tells that of some document other bytes came than its entry announces.
	differ bool
	// stopped tells that the provider wants us to wait: the rest of the page was not asked for.
	stopped    bool
	retryAfter time.Duration
}

// documents fetches the documents of a page and commits them as they come, all but the last ones.
func (t *turn) documents(ctx context.Context, entries []provider.Purchase) (progress, error) {
	var p progress
	entries, err := t.wanted(ctx, entries)
	if err != nil {
		return p, err
	}
	first := true
	for some := range slices.Chunk(entries, fetches) {
		if !first {
			if err := t.commitCounting(ctx, p.docs, &p.stored); err != nil {
				return p, err
			}
			p.docs = nil
		}
		first = false
		limited := 0
		t.db.Checkpoint(store.Before, "provider purchase documents")
		fetched := t.fetch(ctx, some)
		t.db.Checkpoint(store.After, "provider purchase documents")
		for _, f := range fetched {
			p.retryAfter = max(p.retryAfter, f.retryAfter)
			p.differ = p.differ || f.differs
			switch {
			case !f.failed:
				p.docs = append(p.docs, f.doc)
				continue
			case f.limited:
				limited++
			}
			p.failed = append(p.failed, f.doc)
		}
		if limited == len(some) {
			p.stopped = true
			return p, nil
		}
	}
	return p, nil
}

// wanted leaves out what a turn at the same page has retained already.
func (t *turn) wanted(ctx context.Context, entries []provider.Purchase) ([]provider.Purchase, error) {
	if t.claim.Failures == 0 {
		return entries, nil
	}
	ids := make([]string, len(entries))
	for n := range entries {
		ids[n] = identifier(&entries[n])
	}
	known, err := t.claim.Known(ctx, ids)
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

// fetched is what became of one entry.
type fetched struct {
	doc store.NewIncoming
	// failed tells that another turn may bring the document; limited, that the provider wants us to wait for it; differs,
	// that other bytes came than those announced.
	failed, limited, differs bool
	retryAfter               time.Duration
}

// fetch fetches the documents of some entries at the same time.
func (t *turn) fetch(ctx context.Context, entries []provider.Purchase) []fetched {
	out := make([]fetched, len(entries))
	var running sync.WaitGroup
	for n := range entries {
		running.Go(func() { out[n] = t.fetchOne(ctx, &entries[n]) })
	}
	running.Wait()
	return out
}

func (t *turn) fetchOne(ctx context.Context, entry *provider.Purchase) fetched {
	if entry.ID == "" {
		return fetched{doc: read(entry)} // there is nothing to ask for
	}
	answer := t.adapter.PurchaseDocument(ctx, entry.ID)
	t.observe(ctx, &t.claim, "purchase_document", answer)
	f := fetched{retryAfter: answer.RetryAfter}
	if answer.Kind == provider.Answered {
		f.doc = withDocument(read(entry), answer)
		// The page of an error, or the document of a moment ago, is not what was announced. It is retained as it came, and
		// asked for again: a bill must not be lost behind it.
		f.differs = f.doc.ClaimedSHA256 != nil && answer.SHA256 != "" && answer.SHA256 != *f.doc.ClaimedSHA256
		return f
	}
	f.doc = unreadable(read(entry))
	f.failed = !final(answer)
	f.limited = answer.HTTPStatus == http.StatusTooManyRequests || answer.RetryAfter > 0
	return f
}

// final tells that the provider has answered about the document, and will not give it: asking again is of no use.
func final(answer provider.Response) bool {
	switch answer.HTTPStatus {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return answer.HTTPStatus >= 400 && answer.HTTPStatus < 500
}
