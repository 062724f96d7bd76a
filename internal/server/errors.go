package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/document"
	"quittance/internal/fairlimit"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/view"
	"quittance/internal/webhook"
)

// errorCatalogue is the error catalogue: the HTTP status and the message of every code.
var errorCatalogue = map[api.Code]struct { //nolint:gochecknoglobals // a constant table
	status  int
	message string
}{
	api.CodeMalformedRequest: {http.StatusBadRequest,
		"The request is not well-formed HTTP or JSON, or a query value is not valid."},
	api.CodeInvalidCredentials: {http.StatusUnauthorized, "The e-mail address or the password is wrong."},
	api.CodeOTPRequired: {http.StatusUnauthorized,
		"The password is right. Send otp: a code of the authenticator app, or a recovery code. Each works once. A user who has only passkeys sends a recovery code."},
	api.CodeUnauthenticated: {http.StatusUnauthorized,
		"A valid bearer token or API key is required. Log in again."},
	api.CodeAccountSuspended: {http.StatusForbidden, "This account is suspended."},
	api.CodeSingleSignOnRequired: {http.StatusForbidden,
		"This company requires single sign-on, which logs people in to the console. Use an API key for the API."},
	api.CodeSecondFactorRequired: {http.StatusForbidden,
		"This company requires a second factor. People set it up in the console and keep it; machines use an API key."},
	api.CodeForbidden: {http.StatusForbidden,
		"Your role, or the scopes or networks of your API key, do not allow this operation."},
	api.CodeNotFound: {http.StatusNotFound, "There is no resource at this address."},
	api.CodeMethodNotAllowed: {http.StatusMethodNotAllowed,
		"This method is not allowed here; see the Allow header."},
	api.CodeProviderConnectionRequired: {http.StatusConflict, "The company has no active provider connection."},
	api.CodeProductionNotApproved: {http.StatusConflict,
		"The provider connection is not approved for this environment and release."},
	api.CodeDuplicateInvoiceNumber: {http.StatusConflict, "An invoice with this number was submitted before."},
	api.CodeInvoiceNotEditable: {http.StatusConflict,
		"The invoice was submitted, or has credit notes, and cannot be changed or deleted."},
	api.CodeSubmissionInProgress: {http.StatusConflict,
		"The document is being submitted. Read it again in a moment."},
	api.CodeCreditNoteSubmissionDisabled: {http.StatusConflict, "Regulated submission of credit notes is disabled."},
	api.CodeInvoiceNotAcknowledged: {http.StatusConflict,
		"The credited invoice was not submitted, or the provider has not acknowledged it."},
	api.CodeCreditNoteNotEditable:     {http.StatusConflict, "The credit note was submitted or is void."},
	api.CodeDuplicateCreditNoteNumber: {http.StatusConflict, "A credit note with this number was submitted before."},
	api.CodeSubscriptionInactive:      {http.StatusConflict, "The webhook subscription is deactivated."},
	api.CodeLimitReached:              {http.StatusConflict, "The company has reached a limit or quota; see details."},
	api.CodeIdempotencyKeyReused:      {http.StatusConflict, "This Idempotency-Key was used for a different request."},
	api.CodePreconditionFailed:        {http.StatusPreconditionFailed, "The resource has changed since it was read."},
	api.CodePayloadTooLarge:           {http.StatusRequestEntityTooLarge, "The request body is too large."},
	api.CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType,
		"Send the body as application/json in UTF-8, without an encoding."},
	api.CodeValidationFailed: {http.StatusUnprocessableEntity, "Some fields are not valid; see details."},
	api.CodeInvoiceIncomplete: {http.StatusUnprocessableEntity,
		"The invoice lacks fields that are required for submission; see details."},
	api.CodeDocumentUnreadable: {http.StatusUnprocessableEntity,
		"The received document cannot be read; see details."},
	api.CodeTooManyRows: {http.StatusUnprocessableEntity,
		"The list is too long for a file; see details. Use narrower filters."},
	api.CodeUnsafeDestination: {http.StatusUnprocessableEntity, "The URL cannot be a webhook destination."},
	api.CodeRateLimited: {http.StatusTooManyRequests,
		"Too many requests. Wait as long as Retry-After says."},
	api.CodeProviderError: {http.StatusBadGateway,
		"The provider did not accept the document. It is still a draft: submit it again later."},
	api.CodeInternal: {http.StatusInternalServerError,
		"An internal error occurred. Include the request id when you contact support."},
	api.CodeUnavailable: {http.StatusServiceUnavailable,
		"The service is temporarily unavailable. Try again later."},
}

// apiError is an error as the caller sees it. The caller sees every field except cause, which is only logged.
type apiError struct {
	code    api.Code
	details map[string]any
	header  map[string]string
	cause   error
}

func (r *apiError) Error() string { return string(r.code) }
func (r *apiError) Unwrap() error { return r.cause }

// newAPIError returns an error with a code and no details.
func newAPIError(code api.Code) *apiError { return &apiError{code: code} }

// faultsError returns the error for a payload with faults, or nil if there are none. Every error about faults is made
// here.
func faultsError(code api.Code, faults api.Faults) error {
	if len(faults) == 0 {
		return nil
	}
	details := make(map[string]any, len(faults))
	for path, list := range faults {
		details[path] = list
	}
	return &apiError{code: code, details: details}
}

// knownErrors are the errors of other packages that have a code and no details.
var knownErrors = [...]struct { //nolint:gochecknoglobals // a constant table
	err  error
	code api.Code
}{
	{store.ErrNotFound, api.CodeNotFound},
	{account.ErrInvalidCredentials, api.CodeInvalidCredentials},
	{account.ErrOTPRequired, api.CodeOTPRequired},
	{account.ErrBusy, api.CodeUnavailable},
	{store.ErrSessionEnded, api.CodeUnauthenticated},
	{store.ErrSuspended, api.CodeAccountSuspended},
	{store.ErrSignOnRequired, api.CodeSingleSignOnRequired},
	{store.ErrFactorRequired, api.CodeSecondFactorRequired},
	{store.ErrForbidden, api.CodeForbidden},
	{store.ErrConnectionRequired, api.CodeProviderConnectionRequired},
	{store.ErrNotApproved, api.CodeProductionNotApproved},
	{store.ErrSubmissionInProgress, api.CodeSubmissionInProgress},
	{store.ErrNotEditable, api.CodeInvoiceNotEditable},
	{store.ErrCreditNotesDisabled, api.CodeCreditNoteSubmissionDisabled},
	{store.ErrCreditNoteVoid, api.CodeCreditNoteNotEditable},
	{store.ErrCreditNoteNotEditable, api.CodeCreditNoteNotEditable},
	{store.ErrNotAcknowledged, api.CodeInvoiceNotAcknowledged},
	{store.ErrVersion, api.CodePreconditionFailed},
	{store.ErrLimit, api.CodeLimitReached},
	{store.ErrInactive, api.CodeSubscriptionInactive},
	{store.ErrKeyReused, api.CodeIdempotencyKeyReused},
	{webhook.ErrUnsafeDestination, api.CodeUnsafeDestination},
	{submission.ErrNotSubmitted, api.CodeProviderError},
	{submission.ErrBusy, api.CodeUnavailable},
	{fairlimit.ErrFull, api.CodeUnavailable},
	{store.ErrUnavailable, api.CodeUnavailable},
	{context.Canceled, api.CodeUnavailable},
	{context.DeadlineExceeded, api.CodeUnavailable},
}

// toAPIError converts the errors of other packages into those that callers see. No other function does.
func toAPIError(err error) *apiError {
	var apiErr *apiError
	var incomplete *store.IncompleteError
	var unwritten *document.IncompleteError
	var unreadable *view.UnreadableError
	var duplicate *store.DuplicateNumberError
	var limited *account.LimitedError
	var quota *store.QuotaError
	var destination *webhook.DestinationError
	switch {
	case errors.As(err, &apiErr):
		return apiErr
	case errors.As(err, &incomplete):
		err := faultsError(api.CodeInvoiceIncomplete, incomplete.Missing)
		errors.As(err, &apiErr)
		return apiErr
	case errors.As(err, &unwritten):
		err := faultsError(api.CodeInvoiceIncomplete, unwritten.Findings.Faults())
		errors.As(err, &apiErr)
		return apiErr
	case errors.As(err, &unreadable):
		return &apiError{code: api.CodeDocumentUnreadable, details: map[string]any{"document": []api.Fault{unreadable.Fault}}}
	case errors.Is(err, view.ErrTooLong):
		return &apiError{code: api.CodeValidationFailed,
			details: map[string]any{"document": []api.Fault{{Rule: "max_pages", Message: "has more than 1000 pages"}}}}
	case errors.As(err, &quota):
		return &apiError{code: api.CodeLimitReached, details: map[string]any{"quota": quota.Quota, "limit": quota.Limit}}
	case errors.As(err, &duplicate) && !duplicate.CreditNote.IsZero():
		return &apiError{code: api.CodeDuplicateCreditNoteNumber,
			details: map[string]any{"credit_note_id": duplicate.CreditNote.String()}}
	case errors.As(err, &duplicate):
		return &apiError{code: api.CodeDuplicateInvoiceNumber,
			details: map[string]any{"invoice_id": duplicate.Invoice.String()}}
	case errors.As(err, &destination):
		return &apiError{code: api.CodeUnsafeDestination, details: map[string]any{"url": destination.Faults}, cause: err}
	case errors.As(err, &limited):
		return &apiError{code: api.CodeRateLimited,
			header: map[string]string{"Retry-After": wholeSeconds(limited.Limit.Reset)}}
	}
	code := api.CodeInternal
	for _, known := range knownErrors {
		if errors.Is(err, known.err) {
			code = known.code
			break
		}
	}
	r := &apiError{code: code, cause: err}
	switch {
	case errors.Is(err, fairlimit.ErrFull): // a slot is free as soon as another request ends
		r.header = map[string]string{"Retry-After": "1"}
	case code == api.CodeUnavailable:
		r.header = map[string]string{"Retry-After": "5"}
	}
	return r
}

// wholeSeconds returns a duration in seconds for Retry-After: rounded up, and at least one.
func wholeSeconds(wait time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))
}
