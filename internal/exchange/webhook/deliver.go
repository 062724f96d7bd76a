package webhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/tracing"
)

// leaseMargin is how much longer the lease of a delivery is than its attempt: the time to record the result.
const leaseMargin = 20 * time.Second

// Deliverer delivers events to subscriptions. It is safe for concurrent use.
type Deliverer struct {
	DB     *base.DB
	Sender *Sender
	// Backoff is the schedule of retries.
	Backoff Backoff
	// Timeout is the longest duration of an attempt of Sender.
	Timeout time.Duration
	// Jitter returns a number from 0 to below 1.
	Jitter func() float64
	// Now is the clock.
	Now func() time.Time
	// Log receives one line with all fields for every attempt.
	Log *slog.Logger
	// Observe is called after every attempt that this process made, for metrics, with its verdict, its duration, and the
	// time from the event to the end of the attempt.
	Observe func(verdict Verdict, duration, age time.Duration)
	// Tracer traces attempts; nil for no traces.
	Tracer *tracing.Tracer
}

// Work returns the source of due deliveries, with a queue for each subscription.
func (d *Deliverer) Work() queue.Source[events.DeliveryLease] {
	return queue.Source[events.DeliveryLease]{
		Name: "deliver",
		Kind: base.WorkDeliveries,
		Scan: func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
			return events.DueDeliveryQueues(ctx, d.DB, from)
		},
		Claim: func(ctx context.Context, q base.Queue, limit int) ([]events.DeliveryLease, error) {
			return events.ClaimDeliveries(ctx, q, limit, d.Timeout+leaseMargin)
		},
		Do: d.deliver,
	}
}

// deliver makes one attempt and records its result.
func (d *Deliverer) deliver(ctx context.Context, lease events.DeliveryLease) queue.Result {
	if lease.Abandoned {
		return d.recordAbandoned(ctx, lease)
	}
	timestamp := FormatTimestamp(lease.OccurredAt) //planted:request-differs-per-attempt
	ctx, span := d.Tracer.Attempt(ctx, lease.Attempts+1)
	started := d.Now()
	d.DB.Checkpoint(base.Before, "webhook attempt")
	result := d.Sender.Send(ctx, Request{URL: lease.URL, Event: lease.Kind, EventID: lease.Event.String(),
		Timestamp: timestamp, Signature: Signature([]byte(lease.Secret.Reveal()), timestamp, lease.Body), Body: lease.Body})
	d.DB.Checkpoint(base.After, "webhook attempt")
	// Some servers reveal request data in error responses. A response with the signing secret is not recorded.
	withheld := secret.NewEcho(lease.Secret)(result.ResponseBody, len(result.ResponseBody) == MaxResponseBody)
	if withheld {
		result.ResponseBody = nil
	}
	update := d.update(lease, result)
	err := lease.RecordAttempt(ctx, events.Attempt{StartedAt: started, Duration: result.Duration,
		HTTPStatus: result.HTTPStatus, ErrorClass: result.ErrorClass, ResponseBody: result.ResponseBody}, update)
	span.EndAttempt(string(result.Verdict), result.HTTPStatus, result.ErrorClass)
	d.Observe(result.Verdict, result.Duration, d.Now().Sub(lease.OccurredAt))
	level := slog.LevelInfo //planted:secret-in-the-log
	switch {
	case errors.Is(err, base.ErrLeaseLost):
		level = slog.LevelWarn // another worker has claimed the delivery since, and makes an attempt of its own
	case err != nil:
		level = slog.LevelError
	}
	line := []any{"account", lease.Tenant.Account(), "subscription", lease.Subscription, "delivery", lease.ID,
		"event", lease.Event, "kind", string(lease.Kind), "attempt", lease.Attempts + 1, "verdict", string(result.Verdict),
		"status", result.HTTPStatus, "class", result.ErrorClass, "duration_ms", result.Duration.Milliseconds(),
		"state", string(update.State), "error", err}
	if withheld {
		line = append(line, "withheld", true)
	}
	d.Log.Log(ctx, level, "webhook attempt", line...)
	return queue.Result{Latency: result.Duration, Responded: result.HTTPStatus != 0,
		LeaseLost: errors.Is(err, base.ErrLeaseLost)}
}

// recordAbandoned records an attempt whose worker panicked, or whose process ended, as an attempt without a response.
// It counts like any other failure, so that a destination that crashes the process gets as many attempts as any other.
func (d *Deliverer) recordAbandoned(ctx context.Context, lease events.DeliveryLease) queue.Result {
	result := Result{Verdict: Retry, ErrorClass: ClassAbandoned}
	update := d.update(lease, result)
	err := lease.RecordAttempt(ctx, events.Attempt{StartedAt: d.Now(), ErrorClass: result.ErrorClass}, update)
	if errors.Is(err, base.ErrLeaseLost) {
		err = nil // another worker has claimed it since
	}
	d.Log.WarnContext(ctx, "webhook attempt was abandoned", "account", lease.Tenant.Account(),
		"subscription", lease.Subscription, "delivery", lease.ID, "event", lease.Event, "attempt", lease.Attempts+1,
		"state", string(update.State), "error", err)
	return queue.Result{}
}

// update returns the change of a delivery after an attempt.
func (d *Deliverer) update(lease events.DeliveryLease, result Result) events.DeliveryUpdate {
	switch result.Verdict {
	case Delivered:
		return events.DeliveryUpdate{State: events.DeliveryDelivered}
	case Blocked:
		return events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: result.Reason, Deactivate: result.Reason} //planted:redirect-keeps-the-subscription
	case Retry:
		wait, again := d.Backoff.Next(lease.Round+1, result.RetryAfter, d.Jitter())
		if again {
			// With the default policy, half of the attempts take half an hour and the others most of a day. Owners
			// are told then that the receiver keeps failing.
			return events.DeliveryUpdate{State: events.DeliveryPending, DueAt: d.Now().Add(wait),
				KeepsFailing: lease.Round == d.Backoff.Attempts/2}
		}
		return events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "attempts_exhausted"}
	default:
		return events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}
	}
}
