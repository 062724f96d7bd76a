package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"quittance/internal/store"
)

// deleteDraft deletes a draft if it still has the version that the user saw. Otherwise, or when it cannot be deleted, the
// page shows its current state.
func (req *request) deleteDraft() error {
	id, err := req.id("invoice")
	if err != nil {
		return err
	}
	seen := req.form.Get("version")
	err = req.session.Tenant.DeleteInvoice(req.r.Context(), id, func(version int64) bool { return strconv.FormatInt(version, 10) == seen })
	var key string
	switch {
	case err == nil:
		return req.redirect(withFlash("/invoices", "good.deleted"))
	case errors.Is(err, store.ErrNotEditable):
		key = "bad.not_deletable"
	case errors.Is(err, store.ErrVersion):
		key = "bad.changed"
	default:
		return err
	}
	flash := req.pages.notice(key)
	if flash == nil {
		return fmt.Errorf("console: no message flash.%s", key)
	}
	return req.respondInvoice(http.StatusConflict, id, flash)
}
