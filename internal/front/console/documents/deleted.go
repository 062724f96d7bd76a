package documents

import (
	"net/http"
	"slices"

	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
)

// deletedPage is the view model of the page of a deleted draft: what the audit log has about it.
type deletedPage struct {
	Number   string
	Deleted  activityRow
	Activity []activityRow
}

// respondDeleted responds with the page of a deleted draft, for links that are older than its deletion, or that there
// is no such page.
func respondDeleted(req *console.Request, id base.ID) error {
	entries, err := view.Of(req.Session.Tenant).Activity(req.R.Context(), []base.ID{id}, maxActivity)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(entries, func(e base.AuditEntry) bool { return e.Act == "draft.delete" })
	if n < 0 {
		return base.ErrNotFound
	}
	p := deletedPage{Number: view.AuditEntry(entries[n]).Details["invoice_number"]}
	if p.Activity, err = activityRows(req.R.Context(), req, entries); err != nil {
		return err
	}
	p.Deleted = p.Activity[n]
	return req.Show(http.StatusGone, "deleted", "deleted.title", page.Layout{Section: "invoices", Body: p}, p.Number)
}
