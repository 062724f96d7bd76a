package purchase

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/provider"
)

// The limits of a run that takes events.
const (
	// maxEventsPerRun limits the events of one run, so that a queue that never ends does not occupy a worker forever.
	maxEventsPerRun = 500
	// maxEventFailures is the number of runs in a row in which the document of an event cannot be fetched.
	maxEventFailures = 20
	// unroutedWait is how long an unrouted event is left in the queue for another reader.
	unroutedWait = time.Hour
)

// eventRun is one run at a connection whose provider has a queue of events.
type eventRun struct {
	*syncRun
	queue   provider.EventQueue
	handled map[string]bool // the events that this run has deleted
}

// takeEvents takes one event after the other.
func (r *eventRun) takeEvents(ctx context.Context) error {
	for range maxEventsPerRun {
		more, err := r.takeEvent(ctx)
		if err != nil || !more {
			return err
		}
	}
	return r.endEarly(ctx)
}

// takeEvent retains the event at the head of the queue and then deletes it. more says that the run continues.
func (r *eventRun) takeEvent(ctx context.Context) (more bool, err error) {
	began := r.db.Now().Truncate(time.Microsecond)
	r.db.Checkpoint(base.Before, "provider event")
	calling, span := r.beginCall(ctx, &r.lease, "event")
	event, response := r.queue.NextEvent(calling)
	r.db.Checkpoint(base.After, "provider event")
	r.endCall(calling, span, &r.lease, "event", response)
	switch {
	case response.Kind != provider.Complete:
		return false, r.endWithoutPage(ctx, response.RetryAfter)
	case event.ID == "":
		return false, r.commit(ctx, nil, incoming.SyncStep{After: max(r.Interval, response.RetryAfter), Complete: true})
	case r.handled[event.ID]:
		r.Log.WarnContext(ctx, "the provider hands out an event that was deleted", "account", r.lease.Tenant.Account(),
			"connection", r.lease.Connection.ID, "event", event.ID)
		return false, r.endWithoutPage(ctx, response.RetryAfter)
	}
	released, err := r.lease.EventReleased(ctx, event.ID)
	if err == nil && !released {
		released, err = r.retainEvent(ctx, event, response, began)
	}
	if err != nil || !released {
		return false, err
	}
	return r.deleteEvent(ctx, event)
}

// deleteEvent deletes an event that is retained.
func (r *eventRun) deleteEvent(ctx context.Context, event provider.Event) (more bool, err error) {
	r.db.Checkpoint(base.Before, "provider event deletion")
	calling, span := r.beginCall(ctx, &r.lease, "event_deletion")
	response := r.queue.DeleteEvent(calling, event.ID)
	r.db.Checkpoint(base.After, "provider event deletion")
	r.endCall(calling, span, &r.lease, "event_deletion", response)
	if response.Kind != provider.Complete {
		return false, r.endWithoutPage(ctx, response.RetryAfter)
	}
	r.handled[event.ID] = true
	step := r.moved()
	if response.RetryAfter > 0 {
		step.Hold, step.After = false, max(r.Interval, response.RetryAfter)
	}
	return step.Hold, r.commit(ctx, nil, step)
}

// moved returns a step that renews the lease and forgets the failures of the event before.
func (r *eventRun) moved() incoming.SyncStep {
	return incoming.SyncStep{Cursor: r.lease.Cursor, After: r.leaseDuration(), Hold: true}
}

// retainEvent retains what follows from an event. released says that it may be deleted; otherwise the run has ended.
func (r *eventRun) retainEvent(ctx context.Context, event provider.Event, response provider.Response,
	began time.Time) (released bool, err error) {
	if event.Document != nil && event.Document.ID != "" {
		return r.retainDocument(ctx, event, response)
	}
	about := incoming.ProviderEvent{ID: event.ID, Body: response.Body, ProviderReference: event.ProviderReference}
	if event.Reference != "" {
		if about.Reference, err = base.ParseID(event.Reference); err != nil {
			return r.retainUnrouted(ctx, about)
		}
	}
	if about.ProviderReference == "" {
		return r.retainUnrouted(ctx, about)
	}
	after, recorded, err := r.lease.RecordEvent(ctx, about, r.moved(), r.DecideEvent(r.adapter, response, began))
	switch {
	case errors.Is(err, incoming.ErrNoSubmission):
		return r.retainUnrouted(ctx, about)
	case err != nil:
		return false, err
	}
	r.advance(ctx, after)
	r.Log.InfoContext(ctx, "provider event", "account", r.lease.Tenant.Account(), "connection", r.lease.Connection.ID,
		"event", event.ID, "submission", recorded.ID, "outcome", string(recorded.Outcome))
	return true, nil
}

// retainDocument fetches and retains the document that an event announces.
func (r *eventRun) retainDocument(ctx context.Context, event provider.Event,
	announced provider.Response) (released bool, err error) {
	if err := r.commit(ctx, nil, r.renewal()); err != nil {
		return false, err
	}
	r.db.Checkpoint(base.Before, "provider event document")
	calling, span := r.beginCall(ctx, &r.lease, "event_document")
	response, foreign := r.queue.EventDocument(calling, event)
	r.db.Checkpoint(base.After, "provider event document")
	if foreign {
		span.EndWork(false)
		return r.retainUnrouted(ctx, incoming.ProviderEvent{ID: event.ID, Body: announced.Body})
	}
	r.endCall(calling, span, &r.lease, "event_document", response)
	step := r.moved()
	step.Event = event.ID
	if response.Kind == provider.Complete {
		return true, r.commit(ctx, []incoming.NewIncoming{withDocument(newIncoming(event.Document), response)}, step)
	}
	failures, limit := r.lease.Failures+1, maxEventFailures
	if isPermanent(response) || response.ErrorClass == provider.ClassTooLarge {
		limit = maxFailures
	}
	if failures < limit {
		return false, r.releaseForRetry(ctx, nil, failures, response.RetryAfter)
	}
	r.Log.WarnContext(ctx, "a purchase document is given up: it is unreadable", "account", r.lease.Tenant.Account(),
		"connection", r.lease.Connection.ID, "event", event.ID)
	return true, r.commit(ctx, []incoming.NewIncoming{markUnreadable(newIncoming(event.Document))}, step)
}

// retainUnrouted retains an event that is about nothing of the connection, and releases it if no other reader has taken
// it for a while.
func (r *eventRun) retainUnrouted(ctx context.Context, event incoming.ProviderEvent) (released bool, err error) {
	waiting := incoming.SyncStep{Cursor: r.lease.Cursor, After: r.Interval}
	after, released, err := r.lease.RetainUnrouted(ctx, event, unroutedWait, r.moved(), waiting)
	if err != nil {
		return false, err
	}
	r.advance(ctx, after)
	r.Log.WarnContext(ctx, "the provider's queue has an event that is about nothing of this connection",
		"account", r.lease.Tenant.Account(), "connection", r.lease.Connection.ID, "event", event.ID, "released", released)
	return released, nil
}
