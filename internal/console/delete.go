package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"quittance/internal/store"
)

// deleteDraft deletes a draft in the version that somebody has seen. What cannot be deleted, or is not what was seen, is
// shown as it is.
func (v *visit) deleteDraft() error {
	id, err := v.id("invoice")
	if err != nil {
		return err
	}
	seen := v.form.Get("version")
	err = v.session.Tenant.DeleteInvoice(v.r.Context(), id, func(version int64) bool { return strconv.FormatInt(version, 10) == seen })
	var key string
	switch {
	case err == nil:
		return v.redirect(said("/invoices", "good.deleted"))
	case errors.Is(err, store.ErrNotEditable):
		key = "bad.kept"
	case errors.Is(err, store.ErrVersion):
		key = "bad.changed"
	default:
		return err
	}
	told := v.pages.notice(key)
	if told == nil {
		return fmt.Errorf("console: no message said.%s", key)
	}
	return v.answerInvoice(http.StatusConflict, id, told)
}
