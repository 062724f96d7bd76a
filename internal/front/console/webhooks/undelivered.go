package webhooks

import (
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/problem"
)

func undeliveredRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: undeliveredPath, Needs: access.ReadWebhooks, Serve: listUndelivered},
		{Method: http.MethodPost, Path: undeliveredPath, Needs: access.ManageWebhooks, Serve: redeliverSelected},
	}
}

// undeliveredPath is the page of undelivered deliveries and the target of its form.
const undeliveredPath = "/webhooks/lost"

// undeliveredPollInterval is the poll interval of the page.
const undeliveredPollInterval = 5 * time.Second

// undeliveredPage is the view model of the page of all deliveries that failed or were blocked. All of it is live.
type undeliveredPage struct {
	// Filters are both states together, then each state. Ignored lists the parameters, as name=value, that are unknown or
	// invalid.
	Filters []deliveryFilter
	Ignored []string
	Rows    []undeliveredRow
	Paging  page.Paging
	// Cut reports that there may be older deliveries that were not counted.
	Cut bool
	// MayManage reports that the user may start deliveries again.
	MayManage bool
	// Any reports that at least one row can be delivered again.
	Any bool
}

// undeliveredRow is one undelivered delivery.
type undeliveredRow struct {
	deliveryListRow
	// URL is the destination, or "" for one of very many old ones, and Description is its description. Ended reports that
	// its subscription is deactivated and nothing can be sent to it.
	URL, Description string
	Ended            bool
}

func listUndelivered(req *console.Request) error {
	p := undeliveredPage{Paging: req.Paging(), MayManage: req.Session.Permissions.Has(access.ManageWebhooks)}
	var state api.DeliveryState
	_, p.Ignored = req.ReadFilters(func(name, value string) bool {
		chosen := api.DeliveryState(value)
		return name == "state" && console.Assign(&state, chosen, chosen == api.DeliveryFailed ||
			chosen == api.DeliveryBlocked)
	})
	newest, err := view.Of(req.Session.Tenant).Undelivered(req.R.Context(), state, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Cut = newest.Among() >= view.DeliveryDepth
	p.Paging.Total = newest.Among()
	p.Filters = []deliveryFilter{{Count: newest.Among(), Path: undeliveredPath, Chosen: state == ""}}
	for _, other := range []api.DeliveryState{api.DeliveryFailed, api.DeliveryBlocked} {
		p.Filters = append(p.Filters, deliveryFilter{State: other, Count: newest.Counts[other],
			Path: undeliveredPath + "?state=" + string(other), Chosen: state == other})
		if state == other {
			p.Paging.Total = newest.Counts[other]
		}
	}
	if err := undeliveredRows(req, &p, newest.Deliveries); err != nil {
		return err
	}
	count, err := req.Words.Messages.Plural("undelivered.count", p.Paging.Total)
	if err != nil {
		return err
	}
	part, err := req.LivePart("undelivered", "undelivered", p, undeliveredPollInterval, count)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("undelivered", part)
	}
	return req.Show(http.StatusOK, "undelivered", "undelivered.title", page.Layout{Section: "webhooks", Body: part,
		Export: console.NewExportMenu(undeliveredPath, map[string]string{console.StateParameter: string(state)})})
}

// undeliveredRows returns the rows of the page. It reads the events in one query and the destinations in another.
func undeliveredRows(req *console.Request, p *undeliveredPage, deliveries []events.Delivery) error {
	rows, err := deliveryListRows(req, deliveries)
	if err != nil {
		return err
	}
	known, err := Destinations(req)
	if err != nil {
		return err
	}
	for n, d := range deliveries {
		to, found := known[d.Subscription]
		row := undeliveredRow{deliveryListRow: rows[n], URL: to.URL, Description: console.Deref(to.Description),
			Ended: found && !to.Active}
		p.Any = p.Any || p.MayManage && !row.Ended
		p.Rows = append(p.Rows, row)
	}
	return nil
}

// redeliverSelected redelivers the selected deliveries, at most a page of them. It skips those of deactivated
// subscriptions.
func redeliverSelected(req *console.Request) error {
	chosen := req.Form["delivery"]
	if len(chosen) > page.MaxPerPage {
		return problem.For(api.CodeMalformedRequest)
	}
	again := 0
	for _, name := range chosen {
		id, err := base.ParseID(name)
		if err != nil || id.IsZero() {
			return base.ErrNotFound
		}
		switch _, err := events.Redeliver(req.R.Context(), req.Session.Tenant, id); {
		case err == nil:
			again++
		case !errors.Is(err, events.ErrInactive):
			return err
		}
	}
	switch {
	case len(chosen) == 0:
		return req.Redirect(page.WithNotice(undeliveredPath, "bad.none_chosen"))
	case again < len(chosen):
		return req.Redirect(page.WithNotice(undeliveredPath, "bad.some_inactive"))
	}
	return req.Redirect(page.WithNotice(undeliveredPath, "good.redelivered_chosen"))
}
