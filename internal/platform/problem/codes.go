package problem

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
)

// unavailableFor is how long callers wait before they try again what was temporarily unavailable.
const unavailableFor = 5 * time.Second

// byCode is the error catalogue of the API: the HTTP status and the message of every code.
var byCode = kinds(map[api.Code]row{ //nolint:gochecknoglobals // a constant table
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
})

// row is the HTTP status and the message of a code.
type row struct {
	status  int
	message string
}

// kinds returns the kind of each code alone.
func kinds(rows map[api.Code]row) map[api.Code]*Kind {
	out := make(map[api.Code]*Kind, len(rows))
	for code, r := range rows {
		out[code] = &Kind{name: string(code), code: code, status: r.status, text: r.message}
	}
	out[api.CodeUnavailable].retry = unavailableFor
	return out
}

// ErrCrossSite is the kind of a form that another site has sent in the name of a user. The API takes no forms.
var ErrCrossSite = Local("cross_site", http.StatusForbidden, "the request came from another site")

// MethodNotAllowed returns the problem with a method that a resource does not have; it has the allowed ones.
func MethodNotAllowed(allowed ...string) *Problem {
	p := For(api.CodeMethodNotAllowed).Describe()
	p.Allow = strings.Join(allowed, ", ")
	return p
}

// For returns the kind of a code alone, whose text is the message that the API sends. It is nil for an unknown code.
func For(code api.Code) *Kind { return byCode[code] }

// Codes returns every code of the API, in the order of the alphabet.
func Codes() []api.Code { return slices.Sorted(maps.Keys(byCode)) }
