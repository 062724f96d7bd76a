package drafts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// doSubmit is the button that saves a draft and submits it.
const doSubmit = "submit"

// saveOnce creates the draft of a form, or returns the one that the same form with the same input has created already:
// a repeated request, of a double click or a reload, creates no second draft.
func saveOnce(req *console.Request, draft *api.Draft) (base.ID, error) {
	key, sum, err := draftKey(req, draft)
	if err != nil {
		return base.ID{}, err
	}
	reply, _, err := invoices.Idempotent(req.R.Context(), req.Session.Tenant, key, sum, console.FormTTL,
		func(ctx context.Context, tenant *base.Tenant) (invoices.IdempotentResponse, error) {
			created, err := invoices.Create(ctx, tenant, draft)
			return invoices.IdempotentResponse{Status: http.StatusCreated, Body: []byte(created.ID.String())}, err
		})
	if err != nil {
		return base.ID{}, err
	}
	return base.ParseID(string(reply.Body))
}

// savedBefore returns the identifier of the draft that the form has created already, or "".
func savedBefore(req *console.Request, draft *api.Draft) (string, error) {
	key, sum, err := draftKey(req, draft)
	if err != nil {
		return "", err
	}
	reply, err := invoices.FindIdempotentResponse(req.R.Context(), req.Session.Tenant, key, sum)
	if err != nil || reply == nil {
		return "", err
	}
	return string(reply.Body), nil
}

// draftKey returns the idempotency key and the fingerprint of the form of a new draft. A form with other input counts
// as another form.
func draftKey(req *console.Request, draft *api.Draft) (key string, sum [32]byte, err error) {
	text, err := json.Marshal(draft)
	if err != nil {
		return "", sum, fmt.Errorf("console: form of a draft: %w", err)
	}
	sum = sha256.Sum256(append([]byte("draft\x00"+req.Form.Get("key")+"\x00"), text...))
	return "console form " + hex.EncodeToString(sum[:]), sum, nil
}

// mayProceed reports whether the button also submits the draft. It then adds what prevents the submission: p.Needs, and
// a fault of a number that was submitted before. Such a form is not saved either, so that the user completes it where
// it is.
func mayProceed(req *console.Request, checked *CheckedForm, p *draftPage) (submit bool, err error) {
	if req.Form.Get("do") != doSubmit {
		return false, nil
	}
	if !req.Session.Permissions.Has(access.Submit) {
		return false, base.ErrForbidden
	}
	p.Needs = checked.missing
	number := console.Deref(checked.Draft.InvoiceNumber)
	if number == "" {
		return true, nil
	}
	holder, err := invoices.NumberHolder(req.R.Context(), req.Session.Tenant, number)
	if err != nil || holder.IsZero() || holder.String() == p.ID {
		return true, err
	}
	own, err := savedBefore(req, &checked.Draft)
	if own != holder.String() {
		checked.Faults.Add("invoice_number", "number_already_submitted", "")
	}
	return true, err
}

// submitSaved submits a saved draft and shows the result on its page. The submission of an invoice that was submitted
// before changes nothing.
func submitSaved(req *console.Request, id base.ID) error {
	path := "/invoices/" + id.String()
	submitted, err := req.Submissions.Submit(req.R.Context(), req.Session.Tenant, id)
	if err == nil {
		return req.Redirect(page.WithNotice(path, documents.SubmittedKey(submitted.Submission)))
	}
	key, _, err := documents.SubmitErrorKey(err)
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(path, key)) // with GET, so that a reload does not repeat the request
}

// errUnsaved reports that an edit did not apply to the stored version.
func errUnsaved(err error) bool {
	return errors.Is(err, invoices.ErrVersion) || errors.Is(err, invoices.ErrNotEditable)
}

// submitStale answers a repeated request to save and submit: the stored invoice is what the form says, so it was saved
// before, and perhaps submitted. done is false if it is something else.
func submitStale(req *console.Request, checked *CheckedForm, id base.ID) (done bool, err error) {
	found, err := invoices.Find(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return false, err
	}
	if len(checked.Values.withoutEmptyLines().differences(draftFormOf(&found.Draft))) > 0 {
		return false, nil
	}
	if found.Submission != nil && found.Submission.Correctable() {
		return false, nil // it was rejected: the user decides anew
	}
	return true, submitSaved(req, id)
}
