package webhooks

import (
	"net/http"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

// subscriptionPage is the view model of one subscription. All of it is live.
type subscriptionPage struct {
	api.Subscription
	// MayManage reports that the user may deactivate the subscription.
	MayManage bool
	Traffic   traffic
	// Filters are the filters by state, starting with all states. Ignored lists the parameters, as name=value, that are
	// unknown or invalid.
	Filters []deliveryFilter
	Ignored []string
	// Chosen is the selected state, or "" for all.
	Chosen     api.DeliveryState
	Health     subscriptionHealth
	Deliveries []deliveryListRow
	Paging     page.Paging
	// Cut reports that there may be older deliveries that were not counted.
	Cut bool
}

// deliveryListRow is one delivery in a list.
type deliveryListRow struct {
	api.Delivery
	Subject eventSubject
}

// deliveryFilter links to the deliveries of one state.
type deliveryFilter struct {
	// State is "" for all states.
	State  api.DeliveryState
	Count  int
	Path   string
	Chosen bool
}

// deliveryStates lists the states of a delivery in display order.
var deliveryStates = []api.DeliveryState{api.DeliveryPending, api.DeliveryDelivered, api.DeliveryFailed, api.DeliveryBlocked} //nolint:gochecknoglobals // a constant list

// The poll intervals of a subscription's page: while deliveries are pending, and otherwise.
const (
	subscriptionPollInterval      = 2 * time.Second
	subscriptionQuietPollInterval = 10 * time.Second
)

func showSubscription(req *console.Request) error {
	id, err := req.ID("subscription")
	if err != nil {
		return err
	}
	ctx, tenant := req.R.Context(), req.Session.Tenant
	found, err := events.FindSubscription(ctx, tenant, id)
	if err != nil {
		return err
	}
	p := subscriptionPage{Subscription: view.Subscription(found), Paging: req.Paging(),
		MayManage: req.Session.Permissions.Has(access.ManageWebhooks)}
	_, p.Ignored = req.ReadFilters(func(name, value string) bool {
		state := api.DeliveryState(value)
		return name == "state" && console.Assign(&p.Chosen, state, slices.Contains(deliveryStates, state))
	})
	newest, err := view.Of(tenant).SubscriptionDeliveries(ctx, id, p.Chosen, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	if err := listDeliveries(req, &p, newest); err != nil {
		return err
	}
	rows, err := readSubscriptionRows(req, []events.Subscription{found})
	if err != nil {
		return err
	}
	p.Health = rows[0].Health
	now := req.Now()
	recent, err := view.Of(tenant).RecentAttempts(ctx, id, windowStart(now, longestSlot))
	if err != nil {
		return err
	}
	if p.Traffic, err = trafficOf(req, recent, now); err != nil {
		return err
	}
	interval := subscriptionQuietPollInterval
	if newest.Counts[api.DeliveryPending] > 0 {
		interval = subscriptionPollInterval
	}
	part, err := req.LivePart("subscription", "subscription", p, interval, "")
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("subscription", part)
	}
	return req.Show(http.StatusOK, "subscription", "", page.Layout{Title: found.URL, Section: "webhooks", Body: part,
		Export: console.NewExportMenu("/webhooks/"+found.ID.String(),
			map[string]string{console.StateParameter: string(p.Chosen)})})
}

// listDeliveries adds a page of deliveries and the filters.
func listDeliveries(req *console.Request, p *subscriptionPage, newest view.NewestDeliveries) error {
	var err error
	if p.Deliveries, err = deliveryListRows(req, newest.Deliveries); err != nil {
		return err
	}
	all := newest.Among()
	p.Cut = all >= view.DeliveryDepth
	path := "/webhooks/" + p.ID
	p.Filters = []deliveryFilter{{Count: all, Path: path, Chosen: p.Chosen == ""}}
	p.Paging.Total = all
	for _, state := range deliveryStates {
		p.Filters = append(p.Filters, deliveryFilter{State: state, Count: newest.Counts[state],
			Path: path + "?state=" + string(state), Chosen: p.Chosen == state})
		if p.Chosen == state {
			p.Paging.Total = newest.Counts[state]
		}
	}
	return nil
}

// deliveryListRows returns deliveries with their subjects. It reads all their events in one query.
func deliveryListRows(req *console.Request, deliveries []events.Delivery) ([]deliveryListRow, error) {
	ids := make([]base.ID, len(deliveries))
	for n, d := range deliveries {
		ids[n] = d.Event
	}
	events, err := view.Of(req.Session.Tenant).EventsByID(req.R.Context(), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]deliveryListRow, len(deliveries))
	for n, d := range deliveries {
		rows[n].Delivery = view.Delivery(d)
		if rows[n].Subject, err = subjectOf(events[d.Event]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Destinations returns the newest subscriptions of the company, by identifier.
func Destinations(req *console.Request) (map[base.ID]events.Subscription, error) {
	found, err := view.Of(req.Session.Tenant).Subscriptions(req.R.Context(), 1, page.MaxPerPage)
	if err != nil {
		return nil, err
	}
	out := make(map[base.ID]events.Subscription, len(found.Entries))
	for _, s := range found.Entries {
		out[s.ID] = s
	}
	return out, nil
}
