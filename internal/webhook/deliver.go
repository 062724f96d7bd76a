package webhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"quittance/internal/queue"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// leaseMargin is how much longer than an attempt a delivery stays leased: time to record what came of it.
const leaseMargin = 20 * time.Second

// Deliverer tells subscriptions of events. It is safe for concurrent use.
type Deliverer struct {
	DB     *store.DB
	Sender *Sender
	// Backoff is when a failed attempt is followed by another.
	Backoff Backoff
	// Timeout is how long an attempt of Sender lasts at most.
	Timeout time.Duration
	// Jitter returns a number from 0 to below 1.
	Jitter func() float64
	// Now is the clock.
	Now func() time.Time
	// Log receives a wide line for every attempt.
	Log *slog.Logger
	// Observe is told of every attempt, for metrics: its verdict, how long it took, and how long after the event it
	// ended.
	Observe func(verdict Verdict, duration, age time.Duration)
}

// Work is the delivery of due events, a lane a subscription.
func (d *Deliverer) Work() queue.Source[store.Delivery] {
	return queue.Source[store.Delivery]{
		Name: "deliver",
		Kind: store.WorkDeliveries,
		Scan: d.DB.DueDeliveryQueues,
		Claim: func(ctx context.Context, lane store.Queue, limit int) ([]store.Delivery, error) {
			return lane.ClaimDeliveries(ctx, limit, d.Timeout+leaseMargin)
		},
		Do: d.deliver,
	}
}

// deliver makes one attempt and records what came of it.
func (d *Deliverer) deliver(ctx context.Context, delivery store.Delivery) queue.Result {
	if delivery.Abandoned {
		return d.charge(ctx, delivery)
	}
	timestamp := FormatTimestamp(delivery.OccurredAt)
	started := d.Now()
	d.DB.Checkpoint(store.Before, "webhook attempt")
	result := d.Sender.Send(ctx, Request{URL: delivery.URL, Event: delivery.Kind, EventID: delivery.Event.String(), Timestamp: timestamp,
		Signature: Signature([]byte(delivery.Secret.Reveal()), timestamp, delivery.Body), Body: delivery.Body})
	d.DB.Checkpoint(store.After, "webhook attempt")
	// Some servers answer a failure with all they know. What shows the signing secret is not for the history.
	withheld := secret.NewEcho(delivery.Secret)(result.Answer, len(result.Answer) == MaxAnswer)
	if withheld {
		result.Answer = nil
	}
	settlement := d.settle(delivery, result)
	err := delivery.RecordAttempt(ctx, store.Attempt{StartedAt: started, Duration: result.Duration, HTTPStatus: result.HTTPStatus,
		ErrorClass: result.ErrorClass, Answer: result.Answer}, settlement)
	if errors.Is(err, store.ErrLeaseLost) {
		d.Log.WarnContext(ctx, "delivery was claimed again before its attempt was recorded", "delivery", delivery.ID)
		err = nil
	}
	d.Observe(result.Verdict, result.Duration, d.Now().Sub(delivery.OccurredAt))
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
	}
	line := []any{"tenant", delivery.Tenant.Key(), "subscription", delivery.Subscription, "delivery", delivery.ID,
		"event", delivery.Event, "kind", string(delivery.Kind), "attempt", delivery.Attempts + 1, "verdict", string(result.Verdict),
		"status", result.HTTPStatus, "class", result.ErrorClass, "duration_ms", result.Duration.Milliseconds(), "state", string(settlement.State), "error", err}
	if withheld {
		line = append(line, "withheld", true)
	}
	d.Log.Log(ctx, level, "webhook attempt", line...)
	return queue.Result{Latency: result.Duration, Responded: result.HTTPStatus != 0}
}

// charge records an attempt that was never settled, because its worker panicked or its process ended, as one without an
// answer: it counts, and the next one waits like after any other failure. Whoever brings the process down is tried as often as
// anybody else.
func (d *Deliverer) charge(ctx context.Context, delivery store.Delivery) queue.Result {
	result := Result{Verdict: Retry, ErrorClass: ClassAbandoned}
	settlement := d.settle(delivery, result)
	err := delivery.RecordAttempt(ctx, store.Attempt{StartedAt: d.Now(), ErrorClass: result.ErrorClass}, settlement)
	if errors.Is(err, store.ErrLeaseLost) {
		err = nil // asked for again since
	}
	d.Log.WarnContext(ctx, "webhook attempt was abandoned", "tenant", delivery.Tenant.Key(), "subscription", delivery.Subscription,
		"delivery", delivery.ID, "event", delivery.Event, "attempt", delivery.Attempts+1, "state", string(settlement.State), "error", err)
	return queue.Result{}
}

// settle says what an attempt makes of its delivery.
func (d *Deliverer) settle(delivery store.Delivery, result Result) store.DeliveryUpdate {
	switch result.Verdict {
	case Delivered:
		return store.DeliveryUpdate{State: store.DeliveryDelivered}
	case Blocked:
		return store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: result.Reason, Deactivate: result.Reason}
	case Retry:
		wait, again := d.Backoff.Next(delivery.Round+1, result.RetryAfter, d.Jitter())
		if again {
			return store.DeliveryUpdate{State: store.DeliveryPending, DueAt: d.Now().Add(wait)}
		}
		return store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "attempts_exhausted"}
	default:
		return store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "refused"}
	}
}
