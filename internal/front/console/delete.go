package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// deleteDraft deletes a draft if it still has the version that the user saw. Otherwise, or when it cannot be deleted,
// the page shows its current state.
func (req *request) deleteDraft() error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	seen := req.Form.Get("version")
	err = invoices.Delete(req.R.Context(), req.session.Tenant, id,
		func(version int64) bool { return strconv.FormatInt(version, 10) == seen })
	var key string
	switch {
	case err == nil:
		return req.Redirect(page.WithNotice("/invoices", "good.deleted"))
	case errors.Is(err, invoices.ErrNotEditable):
		key = "bad.not_deletable"
	case errors.Is(err, invoices.ErrVersion):
		key = "bad.changed"
	default:
		return err
	}
	flash := req.Pages.Texts.Notice(key)
	if flash == nil {
		return fmt.Errorf("console: no message flash.%s", key)
	}
	return req.respondInvoice(http.StatusConflict, id, flash)
}

// deletedPage is the view model of the page of a deleted draft: what the audit log has about it.
type deletedPage struct {
	Number   string
	Deleted  activityRow
	Activity []activityRow
}

// respondDeleted responds with the page of a deleted draft, for links that are older than its deletion, or that there
// is no such page.
func (req *request) respondDeleted(id base.ID) error {
	entries, err := view.Of(req.session.Tenant).Activity(req.R.Context(), []base.ID{id}, maxActivity)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(entries, func(e base.AuditEntry) bool { return e.Act == "draft.delete" })
	if n < 0 {
		return base.ErrNotFound
	}
	p := deletedPage{Number: view.AuditEntry(entries[n]).Details["invoice_number"]}
	if p.Activity, err = req.activityRows(req.R.Context(), entries); err != nil {
		return err
	}
	p.Deleted = p.Activity[n]
	return req.Show(http.StatusGone, "deleted", "deleted.title", page.Layout{Section: "invoices", Body: p}, p.Number)
}
