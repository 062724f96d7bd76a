package documents

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/invoices"
)

// deleteDraft deletes a draft if it still has the version that the user saw. Otherwise, or when it cannot be deleted,
// the page shows its current state.
func deleteDraft(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	seen := req.Form.Get("version")
	err = invoices.Delete(req.R.Context(), req.Session.Tenant, id,
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
	return RespondInvoice(req, http.StatusConflict, id, flash)
}
