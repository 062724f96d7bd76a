package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/strictjson"
)

func webhookRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/webhooks", Needs: access.ReadWebhooks, Serve: listSubscriptions},
		{Method: http.MethodGet, Path: "/webhooks/new", Needs: access.ManageWebhooks, Serve: showSubscribe},
		{Method: http.MethodPost, Path: "/webhooks/new", Needs: access.ManageWebhooks, Serve: subscribe},
		{Method: http.MethodGet, Path: "/webhooks/{subscription}", Needs: access.ReadWebhooks,
			Serve: showSubscription},
		{Method: http.MethodPost, Path: "/webhooks/{subscription}/deactivate", Needs: access.ManageWebhooks,
			Serve: deactivate},
		{Method: http.MethodGet, Path: "/webhooks/deliveries/{delivery}", Needs: access.ReadWebhooks,
			Serve: showDelivery},
		{Method: http.MethodGet, Path: "/webhooks/deliveries/{delivery}/body", Needs: access.ReadWebhooks,
			Serve: downloadEvent},
		{Method: http.MethodPost, Path: "/webhooks/deliveries/{delivery}/redeliver", Needs: access.ManageWebhooks,
			Serve: redeliver},
	}
}

// webhooksPollInterval is the poll interval of the list of subscriptions.
const webhooksPollInterval = 5 * time.Second

// stripLength is the number of deliveries in the strip of a subscription.
const stripLength = 30

// subscriptionRows is a page of the list of subscriptions.
type subscriptionRows struct {
	Rows   []subscriptionRow
	Paging page.Paging
	// Kinds is the number of event kinds.
	Kinds int
	// Undelivered is the number of deliveries that failed or were blocked. Cut reports that there may be more.
	Undelivered int
	Cut         bool
}

// subscriptionRow is one subscription in the list.
type subscriptionRow struct {
	api.Subscription
	// Strip holds the states of the newest deliveries, the newest last.
	Strip  []stripTick
	Health subscriptionHealth
}

// subscriptionHealth is what its attempts and its newest deliveries say about a subscription, beside its being active.
type subscriptionHealth struct {
	Active bool
	// Failing is since when attempts fail that have failed for so long that a person should know; nil if they do not.
	// Retried reports that the last attempt failed.
	Failing *time.Time
	Retried bool
	// The newest deliveries by their states.
	Delivered, Undelivered, Pending int
}

// Key returns the key of the health below "webhooks.health." in the messages.
func (h subscriptionHealth) Key() string {
	switch {
	case !h.Active:
		return "inactive"
	case h.Failing != nil || h.Undelivered > 0 && h.Delivered == 0:
		return "failing"
	case h.Retried:
		return "retrying"
	case h.Undelivered > 0:
		return "partly"
	case h.Delivered > 0:
		return "delivering"
	case h.Pending > 0:
		return "pending"
	}
	return "unused"
}

// health returns the pill that says how a subscription is. An active one is positive only if its newest deliveries
// arrived.
func health(c console.Catalogue, h subscriptionHealth) (page.Pill, error) {
	text, err := c.Text("webhooks.health." + h.Key())
	if err != nil {
		return page.Pill{}, err
	}
	switch h.Key() {
	case "inactive":
		return page.NewPill("neutral", "blocked", text, "")
	case "failing":
		return page.NewPill("negative", "bad", text, "")
	case "partly", "retrying":
		return page.NewPill("waiting", "warn", text, "")
	case "delivering":
		return page.NewPill("positive", "good", text, "")
	case "pending":
		return page.NewPill("waiting", "wait", text, "")
	}
	return page.NewPill("neutral", "none", text, "")
}

// stripTick is one delivery in a strip. X is its position in the drawing.
type stripTick struct {
	State api.DeliveryState
	X     int
}

// webhooksPage is the view model of the list of subscriptions.
type webhooksPage struct {
	Live page.Live
	// MayManage reports that the user may create subscriptions.
	MayManage bool
}

func listSubscriptions(req *console.Request) error {
	paging := req.Paging()
	found, err := view.Of(req.Session.Tenant).Subscriptions(req.R.Context(), paging.Page, paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := readSubscriptionRows(req, found.Entries)
	if err != nil {
		return err
	}
	undelivered, err := view.Of(req.Session.Tenant).Undelivered(req.R.Context(), "", 1, 1)
	if err != nil {
		return err
	}
	part, err := req.LivePart("webhooks", "subscriptions", subscriptionRows{Rows: rows, Paging: paging,
		Kinds: len(api.EventKinds), Undelivered: undelivered.Among(), Cut: undelivered.Among() >= view.DeliveryDepth},
		webhooksPollInterval, "")
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("webhooks", part)
	}
	return req.Show(http.StatusOK, "webhooks", "webhooks.title", page.Layout{Section: "webhooks",
		Export: console.NewExportMenu("/webhooks", nil),
		Body:   webhooksPage{Live: part, MayManage: req.Session.Permissions.Has(access.ManageWebhooks)}})
}

// readSubscriptionRows returns the rows of a page. It reads the deliveries of all of them in one query.
func readSubscriptionRows(req *console.Request, subscriptions []events.Subscription) ([]subscriptionRow, error) {
	ids := make([]base.ID, len(subscriptions))
	for n, s := range subscriptions {
		ids[n] = s.ID
	}
	recent, err := view.Of(req.Session.Tenant).RecentStates(req.R.Context(), ids, stripLength)
	if err != nil {
		return nil, err
	}
	rows := make([]subscriptionRow, len(subscriptions))
	for n, s := range subscriptions {
		row := subscriptionRow{Subscription: view.Subscription(s),
			Health: subscriptionHealth{Active: s.Active, Retried: s.FailingSince != nil}}
		if s.IsFailing(req.Now()) {
			row.Health.Failing = s.FailingSince
		}
		states := recent[s.ID]
		for _, state := range slices.Backward(states) {
			row.Strip = append(row.Strip, stripTick{State: state, X: 4 * len(row.Strip)})
			switch state {
			case api.DeliveryDelivered:
				row.Health.Delivered++
			case api.DeliveryFailed, api.DeliveryBlocked:
				row.Health.Undelivered++
			case api.DeliveryPending:
				row.Health.Pending++
			}
		}
		rows[n] = row
	}
	return rows, nil
}

// subscribeForm is the form of a new subscription.
type subscribeForm struct {
	URL, Description string
	// Chosen holds the selected event kinds.
	Chosen map[api.EventKind]bool
	// Key identifies one use of the form, so that sending it twice creates one subscription.
	Key string
	// Faults holds the error messages by field.
	Faults map[string][]string
}

// Kinds returns the event kinds that can be selected.
func (subscribeForm) Kinds() []api.EventKind { return api.EventKinds[:] }

func showSubscribe(req *console.Request) error {
	form := subscribeForm{Chosen: map[api.EventKind]bool{}}
	for _, kind := range api.EventKinds {
		form.Chosen[kind] = true
	}
	return respondSubscribe(req, http.StatusOK, form)
}

// respondSubscribe responds with the form, which gets a new key each time.
func respondSubscribe(req *console.Request, status int, form subscribeForm) error {
	var err error
	if form.Key, err = req.NewKey(); err != nil {
		return err
	}
	return req.Show(status, "subscribe", "webhooks.new", page.Layout{Section: "webhooks", Body: form})
}

// newSubscriptionPage is the view model of the page of a new subscription. It is the only page that ever contains a
// signing secret.
type newSubscriptionPage struct {
	api.Subscription
	Secret string
}

// subscriptions is the API's decoder of subscriptions.
var subscriptions = strictjson.For[api.SubscriptionRequest]() //nolint:gochecknoglobals // a plan of a type, read only

// readSubscribeForm reads the form and validates it like the API.
func readSubscribeForm(req *console.Request) (subscribeForm, api.SubscriptionRequest, error) {
	form := subscribeForm{URL: strings.TrimSpace(req.Form.Get("url")),
		Description: strings.ReplaceAll(req.Form.Get("description"), "\r\n", "\n"),
		Chosen:      map[api.EventKind]bool{}, Faults: map[string][]string{}}
	given := map[string]any{"url": form.URL, "events": append([]string{}, req.Form["events"]...)}
	if form.Description != "" {
		given["description"] = form.Description
	}
	for _, kind := range req.Form["events"] {
		form.Chosen[api.EventKind(kind)] = true
	}
	text, err := json.Marshal(given)
	if err != nil {
		return form, api.SubscriptionRequest{}, fmt.Errorf("console: form of a subscription: %w", err)
	}
	value, err := strictjson.Parse(text)
	if err != nil {
		return form, api.SubscriptionRequest{}, fmt.Errorf("console: form of a subscription: %w", err)
	}
	request, faults := subscriptions.Decode(value)
	for path, of := range faults {
		field, _, _ := strings.Cut(path, "[")
		for _, fault := range of {
			form.Faults[field] = append(form.Faults[field], fault.Message)
		}
	}
	return form, request, nil
}

// subscribe creates a subscription and shows its secret in the response itself. No other address shows it. Sending the
// form again leads to the subscription without the secret.
func subscribe(req *console.Request) error {
	form, request, err := readSubscribeForm(req)
	if err != nil {
		return err
	}
	if len(form.Faults) > 0 {
		return respondSubscribe(req, http.StatusUnprocessableEntity, form)
	}
	made, again, err := subscribeOnce(req, request)
	switch {
	case errors.Is(err, webhook.ErrUnsafeDestination):
		form.Faults["url"] = []string{req.TextOr("webhooks.new.unsafe", "")}
		if destination, ok := errors.AsType[*webhook.DestinationError](err); ok {
			form.Faults["url"] = nil // list the broken rules instead of the general message
			for _, fault := range destination.Faults {
				form.Faults["url"] = append(form.Faults["url"], fault.Message)
			}
		}
		return respondSubscribe(req, http.StatusUnprocessableEntity, form)
	case err != nil:
		return err
	}
	if again != "" {
		return req.Redirect(page.WithNotice("/webhooks/"+again, "good.subscribed_before"))
	}
	return req.Show(http.StatusCreated, "new_subscription", "webhooks.made", page.Layout{Section: "webhooks", Body: made})
}

// subscribeOnce creates the subscription of a form. If the form has already created one, again is its identifier.
func subscribeOnce(req *console.Request,
	request api.SubscriptionRequest) (made newSubscriptionPage, again string, err error) {
	again, err = req.Once(request, func(ctx context.Context, tenant *base.Tenant) (string, error) {
		created, key, err := req.Destinations.Subscribe(ctx, tenant, req.Random, request)
		made = newSubscriptionPage{Subscription: view.Subscription(created), Secret: key}
		return created.ID.String(), err
	})
	return made, again, err
}

// deactivate deactivates a subscription.
func deactivate(req *console.Request) error {
	id, err := req.ID("subscription")
	if err != nil {
		return err
	}
	if _, err := events.DeactivateSubscription(req.R.Context(), req.Session.Tenant, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/webhooks/"+id.String(), "good.deactivated"))
}
