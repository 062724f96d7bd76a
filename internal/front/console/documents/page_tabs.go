package documents

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// The tabs of a document's page. Each is a view of the page with its own address, so that it works without scripts and
// can be shared.
const (
	tabTimeline  = "timeline"
	tabEvidence  = "evidence"
	tabDocument  = "document"
	tabRevisions = "revisions"
	tabWebhooks  = "webhooks"
	tabActivity  = "activity"
)

// pageTabs are the tabs of a page.
type pageTabs struct {
	Current string
	Tabs    []pageTab
}

// pageTab is one tab. Count is the number of its entries, and Failed the number of those that failed.
type pageTab struct {
	Name, Link    string
	Current       bool
	Count, Failed int
}

// newPageTabs returns the tabs of the page at a path. The address names the current one; otherwise it is the first.
func newPageTabs(req *console.Request, path string, tabs ...pageTab) pageTabs {
	out := pageTabs{Current: tabs[0].Name}
	chosen := req.R.URL.Query().Get(console.TabParameter)
	for _, tab := range tabs {
		if tab.Name == chosen {
			out.Current = tab.Name
		}
		tab.Link = path + "?" + url.Values{console.TabParameter: {tab.Name}}.Encode() + "#page-tabs"
		out.Tabs = append(out.Tabs, tab)
	}
	for n := range out.Tabs {
		out.Tabs[n].Current = out.Tabs[n].Name == out.Current
	}
	return out
}

// eventHistory are the events of a document with their deliveries, newest first.
type eventHistory struct{ Events []eventRow }

// webhooksTab is the tab of the deliveries.
func (p eventHistory) webhooksTab() pageTab {
	deliveries := p.Deliveries()
	return pageTab{Name: tabWebhooks, Count: deliveries.Total(), Failed: deliveries.Undelivered()}
}

// deliveryCounts counts the deliveries of a history by state.
type deliveryCounts struct{ Delivered, Pending, Failed, Blocked int }

// Total is the number of deliveries.
func (c deliveryCounts) Total() int { return c.Delivered + c.Pending + c.Undelivered() }

// Undelivered is the number of those that are not tried again.
func (c deliveryCounts) Undelivered() int { return c.Failed + c.Blocked }

// Deliveries counts the deliveries of the events.
func (p eventHistory) Deliveries() (c deliveryCounts) {
	for _, event := range p.Events {
		for _, delivery := range event.Deliveries {
			switch delivery.State {
			case api.DeliveryDelivered:
				c.Delivered++
			case api.DeliveryPending:
				c.Pending++
			case api.DeliveryFailed:
				c.Failed++
			case api.DeliveryBlocked:
				c.Blocked++
			}
		}
	}
	return c
}

// failedDelivery is a delivery that is not tried again, with its event.
type failedDelivery struct {
	deliveryRow
	Kind       api.EventKind
	OccurredAt time.Time
}

// FailedDeliveries returns the deliveries that are not tried again, newest event first.
func (p eventHistory) FailedDeliveries() []failedDelivery {
	var out []failedDelivery
	for _, event := range p.Events {
		for _, delivery := range event.Deliveries {
			if delivery.State == api.DeliveryFailed || delivery.State == api.DeliveryBlocked {
				out = append(out, failedDelivery{deliveryRow: delivery, Kind: event.Kind, OccurredAt: event.OccurredAt})
			}
		}
	}
	return out
}

// activityRow is an act in the audit log about a document, as everybody who reads the document may see it: without
// addresses.
type activityRow struct {
	At time.Time
	// Act is its name, such as draft.create.
	Act string
	// Actor is the name of the user or key, or "" for an administrator or the service, which Kind names.
	Actor, Kind string
}

// maxActivity is the number of acts on the page of a document.
const maxActivity = 100

// activity reads the acts about some subjects, such as an invoice and its submissions, newest first.
func activity(ctx context.Context, req *console.Request, subjects ...string) ([]activityRow, error) {
	ids := make([]base.ID, len(subjects))
	for n, subject := range subjects {
		id, err := base.ParseID(subject)
		if err != nil {
			return nil, err
		}
		ids[n] = id
	}
	entries, err := view.Of(req.Session.Tenant).Activity(ctx, ids, maxActivity)
	if err != nil {
		return nil, err
	}
	return activityRows(ctx, req, entries)
}

// activityRows returns entries of the audit log as rows, with the names of API keys.
func activityRows(ctx context.Context, req *console.Request, entries []base.AuditEntry) ([]activityRow, error) {
	names := map[string]string{}
	if slices.ContainsFunc(entries, func(e base.AuditEntry) bool { return e.Kind == base.ActorKey }) {
		keys, err := identity.APIKeys(ctx, req.Session.Tenant)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			names[key.ID.String()] = key.Name
		}
	}
	var rows []activityRow
	for _, e := range entries {
		shown := view.AuditEntry(e)
		actor := console.Deref(shown.Actor.Name)
		rows = append(rows, activityRow{At: shown.At, Act: shown.Act, Actor: cmp.Or(names[actor], actor),
			Kind: shown.Actor.Kind})
	}
	return rows, nil
}
