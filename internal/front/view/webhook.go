package view

import (
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/events"
)

// Subscription returns a webhook subscription without its secret.
func Subscription(s events.Subscription) api.Subscription {
	kinds := make([]string, len(s.Events))
	for n, kind := range s.Events {
		kinds[n] = string(kind)
	}
	return api.Subscription{ID: s.ID.String(), URL: s.URL, Events: kinds, Description: s.Description, Active: s.Active,
		CreatedAt: s.CreatedAt, DeactivatedAt: s.DeactivatedAt, DeactivationReason: s.DeactivationReason,
		FailingSince: s.FailingSince}
}

// Delivery returns a webhook delivery as lists show it.
func Delivery(d events.Delivery) api.Delivery {
	return api.Delivery{ID: d.ID.String(), EventID: d.Event.String(), Event: d.Kind,
		SubscriptionID: d.Subscription.String(), State: d.State, Reason: d.Reason, AttemptCount: d.Attempts,
		NextAttemptAt: d.NextAt, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt}
}

// DeliveryDetail returns a webhook delivery with its attempts.
func DeliveryDetail(d events.Delivery) api.DeliveryDetail {
	out := api.DeliveryDetail{Delivery: Delivery(d), Attempts: make([]api.Attempt, len(d.History))}
	for n, a := range d.History {
		out.Attempts[n] = api.Attempt{StartedAt: a.StartedAt, DurationMS: float64(a.Duration) / float64(time.Millisecond),
			Answer: strings.ToValidUTF8(string(a.ResponseBody), "\uFFFD")}
		if a.HTTPStatus != 0 {
			out.Attempts[n].HTTPStatus = &a.HTTPStatus
		}
		if a.ErrorClass != "" {
			out.Attempts[n].ErrorClass = &a.ErrorClass
		}
	}
	return out
}
