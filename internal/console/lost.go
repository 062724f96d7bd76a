package console

import (
	"errors"
	"net/http"
	"time"

	"quittance/api"
	"quittance/internal/store"
)

func lostRoutes() []route {
	return []route{
		{method: http.MethodGet, path: lostPath, serve: (*visit).listLost},
		{method: http.MethodPost, path: lostPath, serve: (*visit).redeliverLost},
	}
}

// lostPath is the page of what was not delivered, and where its form goes.
const lostPath = "/webhooks/lost"

// lostPace is how often the page asks what is new.
const lostPace = 5 * time.Second

// lostPage is what the page of the deliveries that failed or were blocked shows, whatever their subscription; all of it is
// live.
type lostPage struct {
	// Filters are both states, then each.
	Filters []deliveryFilter
	Rows    []lostRow
	Paging  paging
	// Cut tells that there may be older ones than are looked through.
	Cut bool
	// Any tells that there is one among the rows that can be delivered again.
	Any bool
}

// lostRow is one delivery that did not arrive.
type lostRow struct {
	sentRow
	// URL is the destination, "" when it is one of very many old ones, and Description what the company calls it. Ended tells that its subscription is deactivated, so
	// that nothing goes there any more.
	URL, Description string
	Ended            bool
}

func (v *visit) listLost() error {
	p := lostPage{Paging: v.paging()}
	state := api.DeliveryState(v.r.URL.Query().Get("state"))
	if state != api.DeliveryFailed && state != api.DeliveryBlocked {
		state = ""
	}
	newest, err := v.session.Tenant.UndeliveredDeliveries(v.r.Context(), state, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Cut = newest.Among() >= store.DeliveryDepth
	p.Paging.Total = newest.Among()
	p.Filters = []deliveryFilter{{Count: newest.Among(), Path: lostPath, Chosen: state == ""}}
	for _, other := range []api.DeliveryState{api.DeliveryFailed, api.DeliveryBlocked} {
		p.Filters = append(p.Filters, deliveryFilter{State: other, Count: newest.Counts[other], Path: lostPath + "?state=" + string(other), Chosen: state == other})
		if state == other {
			p.Paging.Total = newest.Counts[other]
		}
	}
	if err := v.lostRows(&p, newest.Deliveries); err != nil {
		return err
	}
	count, err := v.pages.words.count("lost.count", p.Paging.Total)
	if err != nil {
		return err
	}
	part, err := v.livePart("lost", "lost", p, lostPace, count)
	if err != nil {
		return err
	}
	if v.fragment() {
		return v.answerLive("lost", part)
	}
	title, err := v.pages.words.say("lost.title")
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "lost", shown{Title: title, Section: "webhooks", Body: part})
}

// lostRows makes the rows of the page: one query for what they are about, and one for where they were to go.
func (v *visit) lostRows(p *lostPage, deliveries []store.DeliveryRecord) error {
	rows, err := v.sentRows(deliveries)
	if err != nil {
		return err
	}
	known, err := v.destinations()
	if err != nil {
		return err
	}
	for n, d := range deliveries {
		to, found := known[d.Subscription]
		row := lostRow{sentRow: rows[n], URL: to.URL, Description: optional(to.Description), Ended: found && !to.Active}
		p.Any = p.Any || !row.Ended
		p.Rows = append(p.Rows, row)
	}
	return nil
}

// redeliverLost delivers the chosen deliveries again, at most a page of them. What can go nowhere any more is left as it is.
func (v *visit) redeliverLost() error {
	chosen := v.form["delivery"]
	if len(chosen) > maxPerPage {
		return &problem{status: http.StatusBadRequest}
	}
	again := 0
	for _, name := range chosen {
		id, err := store.ParseID(name)
		if err != nil || id.IsZero() {
			return store.ErrNotFound
		}
		switch _, err := v.session.Tenant.Redeliver(v.r.Context(), id); {
		case err == nil:
			again++
		case !errors.Is(err, store.ErrInactive):
			return err
		}
	}
	switch {
	case len(chosen) == 0:
		return v.redirect(said(lostPath, "bad.none_chosen"))
	case again < len(chosen):
		return v.redirect(said(lostPath, "bad.some_inactive"))
	}
	return v.redirect(said(lostPath, "good.redelivered_chosen"))
}
