package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

func (c *call) createSubscription(ctx context.Context,
	body api.SubscriptionRequest) (int, api.Data[api.NewSubscription], error) {
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.NewSubscription], error) {
		created, key, err := c.Destinations.Subscribe(ctx, t, c.Random, body)
		if err != nil {
			return 0, api.Data[api.NewSubscription]{}, err
		}
		return http.StatusCreated,
			api.Data[api.NewSubscription]{Data: api.NewSubscription{Subscription: view.Subscription(created), Secret: key}}, nil
	})
}

func (c *call) listSubscriptions(ctx context.Context) (int, api.List[api.Subscription], error) {
	var out api.List[api.Subscription]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).Subscriptions(ctx, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Data = present(found.Entries, view.Subscription)
	return http.StatusOK, out, nil
}

func (c *call) readSubscription(ctx context.Context) (int, api.Data[api.Subscription], error) {
	return c.subscription(ctx, events.FindSubscription)
}

func (c *call) deactivateSubscription(ctx context.Context) (int, api.Data[api.Subscription], error) {
	return c.subscription(ctx, events.DeactivateSubscription)
}

// subscription calls do for the subscription that the path names, and responds with the result.
func (c *call) subscription(ctx context.Context, do func(context.Context, *base.Tenant, base.ID) (events.Subscription,
	error)) (int, api.Data[api.Subscription], error) {
	id, err := c.id("subscription_id")
	if err != nil {
		return 0, api.Data[api.Subscription]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.Subscription], error) {
		s, err := do(ctx, t, id)
		if err != nil {
			return 0, api.Data[api.Subscription]{}, err
		}
		return http.StatusOK, api.Data[api.Subscription]{Data: view.Subscription(s)}, nil
	})
}

func (c *call) listDeliveries(ctx context.Context) (int, api.List[api.Delivery], error) {
	var out api.List[api.Delivery]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	filter, known, err := c.deliveryFilter()
	if err != nil {
		return 0, out, err
	}
	var found view.Page[events.Delivery]
	if known {
		if found, err = view.Of(c.session.Tenant).Deliveries(ctx, filter, page, perPage); err != nil {
			return 0, out, err
		}
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Pagination.Truncated = found.Truncated
	out.Data = present(found.Entries, view.Delivery)
	return http.StatusOK, out, nil
}

// deliveryFilter reads the filters of the list of deliveries. known is false if a filter has an identifier that cannot
// exist, which no delivery matches.
func (c *call) deliveryFilter() (filter view.DeliveryFilter, known bool, err error) {
	query := c.request.URL.Query()
	known = true
	for name, into := range map[string]*base.ID{"subscription_id": &filter.Subscription, "event_id": &filter.Event} {
		if !query.Has(name) {
			continue
		}
		id, err := base.ParseID(query.Get(name))
		known = known && err == nil && !id.IsZero()
		*into = id
	}
	filter.Kind, filter.State = api.EventKind(query.Get("event")), api.DeliveryState(query.Get("state"))
	if query.Has("event") && !slices.Contains(api.EventKinds[:], filter.Kind) {
		return filter, known, malformedQuery("event", "enum", "must be the name of an event")
	}
	switch filter.State {
	case api.DeliveryPending, api.DeliveryDelivered, api.DeliveryFailed, api.DeliveryBlocked:
	default:
		if query.Has("state") {
			return filter, known, malformedQuery("state", "enum", "must be pending, delivered, failed or blocked")
		}
	}
	return filter, known, nil
}

func (c *call) readDelivery(ctx context.Context) (int, api.Data[api.DeliveryDetail], error) {
	return c.delivery(ctx, events.FindDelivery)
}

func (c *call) redeliver(ctx context.Context) (int, api.Data[api.DeliveryDetail], error) {
	return c.delivery(ctx, events.Redeliver)
}

// delivery calls do for the delivery that the path names, and responds with the result.
func (c *call) delivery(ctx context.Context, do func(context.Context, *base.Tenant, base.ID) (events.Delivery,
	error)) (int, api.Data[api.DeliveryDetail], error) {
	id, err := c.id("delivery_id")
	if err != nil {
		return 0, api.Data[api.DeliveryDetail]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.DeliveryDetail], error) {
		d, err := do(ctx, t, id)
		if err != nil {
			return 0, api.Data[api.DeliveryDetail]{}, err
		}
		return http.StatusOK, api.Data[api.DeliveryDetail]{Data: view.DeliveryDetail(d)}, nil
	})
}

func (c *call) listEvents(ctx context.Context) (int, api.Feed[api.Event[jsontext.Value]], error) {
	var out api.Feed[api.Event[jsontext.Value]]
	limit, err := c.positiveInt("limit", defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	limit = min(limit, maxPerPage)
	if c.request.URL.Query().Get("after") == api.CursorLatest {
		end, err := events.EventEnd(ctx, c.session.Tenant)
		out.Pagination.NextCursor = strconv.FormatInt(end, 10)
		return http.StatusOK, out, err
	}
	after, err := c.cursor()
	if err != nil {
		return 0, out, err
	}
	events, more, err := events.EventPage(ctx, c.session.Tenant, after, limit, maxPageBytes-envelopeBytes)
	if err != nil {
		return 0, out, err
	}
	out.Pagination.HasMore = more
	for _, e := range events {
		envelope, err := e.Envelope()
		if err != nil {
			return 0, out, err
		}
		out.Data = append(out.Data, envelope)
		after = e.Position
	}
	out.Pagination.NextCursor = strconv.FormatInt(after, 10)
	return http.StatusOK, out, nil
}

// cursor returns the position after which the query continues, 0 for the beginning.
func (c *call) cursor() (int64, error) {
	query := c.request.URL.Query()
	if !query.Has("after") {
		return 0, nil
	}
	after, err := strconv.ParseInt(query.Get("after"), 10, 64)
	if err != nil || after < 0 || strconv.FormatInt(after, 10) != query.Get("after") {
		return 0, malformedQuery("after", "cursor", "must be the next_cursor of an earlier response, or "+api.CursorLatest)
	}
	return after, nil
}
