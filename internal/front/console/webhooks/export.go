package webhooks

import (
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/events"
)

// exportRoutes are the lists of these pages as files, with the filters, the tab and the order in the address. They are
// links, so they need no JavaScript.
func exportRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/webhooks/export", Needs: access.ReadWebhooks, Serve: exportSubscriptions},
		{Method: http.MethodGet, Path: undeliveredPath + "/export", Needs: access.ReadWebhooks, Serve: exportUndelivered},
		{Method: http.MethodGet, Path: "/webhooks/{subscription}/export", Needs: access.ReadWebhooks,
			Serve: exportDeliveries},
	}
}

func exportSubscriptions(req *console.Request) error {
	return req.SendExport(req.Exporter.Subscriptions(req.Session.Tenant), req.Unfiltered())
}

// exportUndelivered exports all deliveries that failed or were blocked, or those of one of these states. The page has
// the newest.
func exportUndelivered(req *console.Request) error {
	filter := view.DeliveryFilter{Undelivered: true}
	_, ignored := req.ReadFilters(func(name, value string) bool {
		return name == console.StateParameter && console.Assign(&filter.State, api.DeliveryState(value),
			value == string(api.DeliveryFailed) || value == string(api.DeliveryBlocked))
	})
	return req.SendExport(req.Exporter.Deliveries(req.Session.Tenant, filter), ignored)
}

// exportDeliveries exports all deliveries of a subscription, or those of one state. The page has the newest.
func exportDeliveries(req *console.Request) error {
	id, err := req.ID("subscription")
	if err != nil {
		return err
	}
	if _, err := events.FindSubscription(req.R.Context(), req.Session.Tenant, id); err != nil {
		return err
	}
	filter := view.DeliveryFilter{Subscription: id}
	_, ignored := req.ReadFilters(func(name, value string) bool {
		return name == console.StateParameter && console.Assign(&filter.State, api.DeliveryState(value),
			slices.Contains(deliveryStates, api.DeliveryState(value)))
	})
	return req.SendExport(req.Exporter.Deliveries(req.Session.Tenant, filter), ignored)
}
