package webhook

import (
	"context"
	"io"
	"slices"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/secret"
)

// Subscribe creates a subscription with a new signing secret, which it returns and which is never shown again. The
// caller has checked the form of the request. The error is [ErrUnsafeDestination] if the destination is not allowed,
// and [base.ErrLimit] if the company has too many subscriptions.
func (p Policy) Subscribe(ctx context.Context, tenant *base.Tenant, random io.Reader,
	request api.SubscriptionRequest) (created events.Subscription, key string, err error) {
	destination, err := p.CheckDestination(*request.URL)
	if err != nil {
		return events.Subscription{}, "", err
	}
	if key, err = NewSecret(random); err != nil {
		return events.Subscription{}, "", err
	}
	created, err = events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: destination.String(),
		Events: eventKinds(request.Events), Description: request.Description, Secret: secret.New(key)})
	return created, key, err
}

// eventKinds returns the chosen kinds in the order of [api.EventKinds], each once; none chosen means all.
func eventKinds(names []string) []api.EventKind {
	var kinds []api.EventKind
	for _, kind := range api.EventKinds {
		if len(names) == 0 || slices.Contains(names, string(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
