package server

import (
	"net/http"
	"reflect"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/router"
)

// route is one operation of the API.
type route struct {
	method, path string
	operation    operation
	// needs is the permission that a caller needs. [access.Public] routes need no token.
	needs access.Permission
	// query names the query parameters; any other is an error.
	query []string
	// mediaTypes are accepted in addition to application/json, or instead of it if the route takes a file.
	mediaTypes []string
	// idempotent routes honour an Idempotency-Key.
	idempotent bool
	// conditional routes honour If-Match.
	conditional bool
	// fileType is the media type of a file that the route sends, if it is always the same.
	fileType string
	// hidden routes are not part of the API document.
	hidden bool
	// The other fields are for the API document: a name for generated clients, under which texts has the description, a
	// summary, the success status (0: the operation never succeeds), other successes with their descriptions, and the
	// errors that are specific to it.
	name, tag, summary string
	status             int
	also               map[int]string
	codes              []api.Code
	// deprecatedSince is when the operation was deprecated; zero for one that is not. successor is the operation to use
	// instead, as a reference that is relative to the path.
	deprecatedSince time.Time
	successor       string
}

// deprecated reports whether another operation should be used instead.
func (rt *route) deprecated() bool { return !rt.deprecatedSince.IsZero() }

// aliasDeprecated is when the alias of submit was deprecated: the date of the release that announces it.
var aliasDeprecated = time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// takesBody reports whether the server reads the body of a request. GET and DELETE have none; one that is sent
// nevertheless is not read (RFC 9110, sections 9.3.1 and 9.3.5).
func (rt *route) takesBody() bool { return !isSafeMethod(rt.method) && rt.method != http.MethodDelete }

// takesFile reports whether the body of a request is a file and not JSON.
func (rt *route) takesFile() bool { return rt.operation.in == reflect.TypeFor[fileBody]() }

// bodyTypes are the media types of the body of a request.
func (rt *route) bodyTypes() []string {
	if rt.takesFile() {
		return rt.mediaTypes
	}
	return append(slices.Clip(rt.mediaTypes), "application/json")
}

// fileMediaType is the media type of the file that a success of the route is.
func (rt *route) fileMediaType() string {
	if rt.fileType == "" {
		return "application/octet-stream"
	}
	return rt.fileType
}

// sendsFile reports whether a success of the route is a file and not JSON.
func (rt *route) sendsFile() bool {
	return rt.operation.out == reflect.TypeFor[fileResponse]() || rt.operation.out == reflect.TypeFor[exportResponse]()
}

const (
	client   = "/api/v1/client"
	webhooks = "/api/v1/webhooks"
)

// paging are the query parameters of a list that is read by page number.
var paging = []string{"page", "per_page"} //nolint:gochecknoglobals // a constant table

// routes is the whole API, in the order of the API reference.
func routes() []route {
	submit := withoutBody((*call).submit)
	return append(slices.Concat(authRoutes(), sessionRoutes(), secondFactorRoutes(), apiKeyRoutes(), userRoutes(),
		invoiceRoutes(submit), recipientRoutes(), creditNoteRoutes(), incomingRoutes(), bookRoutes(), webhookRoutes(),
		auditRoutes()), []route{
		{method: http.MethodGet, path: "/openapi.json", needs: access.Public, hidden: true,
			operation: withoutBody((*call).serveOpenAPI), status: 200},
		{method: http.MethodGet, path: "/collection.json", needs: access.Public, hidden: true,
			operation: withoutBody((*call).serveCollection), status: 200},
		{method: http.MethodGet, path: "/healthz", needs: access.Public, hidden: true, operation: withoutBody((*call).health),
			status: 200},
		{method: http.MethodGet, path: "/readyz", needs: access.Public, hidden: true, operation: withoutBody((*call).ready),
			status: 200},
	}...)
}

func authRoutes() []route {
	return []route{
		{method: http.MethodPost, path: client + "/auth/login", needs: access.Public, operation: withBody((*call).login),
			name: "login", tag: "Authentication", summary: "Log in", status: 200,
			codes: []api.Code{api.CodeInvalidCredentials, api.CodeOTPRequired, api.CodeAccountSuspended,
				api.CodeSingleSignOnRequired, api.CodeSecondFactorRequired, api.CodeRateLimited}},
		{method: http.MethodPost, path: client + "/auth/logout", needs: access.OwnLogin,
			operation: withoutBody((*call).logout), name: "logout", tag: "Authentication", summary: "Log out", status: 200},
		{method: http.MethodPost, path: client + "/auth/password", needs: access.OwnLogin,
			operation: withBody((*call).changePassword), name: "changePassword", tag: "Authentication",
			summary: "Change the password", status: 200},
		{method: http.MethodPost, path: client + "/auth/address", needs: access.OwnLogin,
			operation: withBody((*call).changeAddress), name: "changeAddress", tag: "Authentication",
			summary: "Change the own e-mail address", status: 200},
		{method: http.MethodPost, path: client + "/auth/address/proof", needs: access.OwnLogin,
			operation: withoutBody((*call).requestAddressProof), name: "requestAddressProof", tag: "Authentication",
			summary: "Ask for a link that proves the e-mail address", status: 200},
		{method: http.MethodPost, path: client + "/auth/address/confirm", needs: access.OwnLogin,
			operation: withBody((*call).proveAddress), name: "proveAddress", tag: "Authentication",
			summary: "Prove the e-mail address", status: 200},
		{method: http.MethodGet, path: client + "/account", needs: access.ReadAccount,
			operation: withoutBody((*call).readAccount), name: "readAccount", tag: "Authentication", summary: "Read the account",
			status: 200},
	}
}

// secondFactorRoutes are the operations about the second factor of the caller. No scope of a key covers them.
func secondFactorRoutes() []route {
	return []route{
		{method: http.MethodGet, path: client + "/auth/second-factor", needs: access.OwnLogin,
			operation: withoutBody((*call).readSecondFactor), name: "readSecondFactor", tag: "Authentication",
			summary: "Read the state of the second factor", status: 200},
		{method: http.MethodPost, path: client + "/auth/totp", needs: access.OwnLogin,
			operation: withoutBody((*call).beginTOTP), name: "beginTOTP", tag: "Authentication",
			summary: "Begin to use an authenticator app", status: 200},
		{method: http.MethodPost, path: client + "/auth/totp/confirm", needs: access.OwnLogin,
			operation: withBody((*call).confirmTOTP), name: "confirmTOTP", tag: "Authentication",
			summary: "Confirm the authenticator app", status: 200},
		{method: http.MethodPost, path: client + "/auth/totp/disable", needs: access.OwnLogin,
			operation: withBody((*call).disableTOTP), name: "disableTOTP", tag: "Authentication",
			summary: "Stop using the second factor", status: 200, codes: []api.Code{api.CodeSecondFactorRequired}},
		{method: http.MethodPost, path: client + "/auth/totp/recovery-codes", needs: access.OwnLogin,
			operation: withBody((*call).replaceRecoveryCodes), name: "replaceRecoveryCodes", tag: "Authentication",
			summary: "Replace the recovery codes", status: 200},
	}
}

// sessionRoutes are the operations about what logins have begun. No scope of a key covers them.
func sessionRoutes() []route {
	return []route{
		{method: http.MethodGet, path: client + "/sessions", needs: access.OwnLogin,
			operation: withoutBody((*call).listSessions), query: append(paging[:2:2], "user_id"),
			name: "listSessions", tag: "Authentication", summary: "List sessions", status: 200,
			codes: []api.Code{api.CodeNotFound}},
		{method: http.MethodPost, path: client + "/sessions/{session_id}/end", needs: access.OwnLogin,
			operation: withoutBody((*call).endSession), idempotent: true, name: "endSession", tag: "Authentication",
			summary: "End a session", status: 200},
		{method: http.MethodPost, path: client + "/sessions/end-others", needs: access.OwnLogin,
			operation: withoutBody((*call).endOtherSessions), idempotent: true, name: "endOtherSessions", tag: "Authentication",
			summary: "Log out everywhere else", status: 200},
	}
}

// apiKeyRoutes are the operations about the credentials of machines. No scope of a key covers them.
func apiKeyRoutes() []route {
	return []route{
		{method: http.MethodPost, path: client + "/api-keys", needs: access.ManageKeys,
			operation: withFaults((*call).createAPIKey), idempotent: true, name: "createAPIKey", tag: "API keys",
			summary: "Create an API key", status: 201, codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/api-keys", needs: access.ManageKeys,
			operation: withoutBody((*call).listAPIKeys), query: paging, name: "listAPIKeys", tag: "API keys",
			summary: "List API keys", status: 200},
		{method: http.MethodPost, path: client + "/api-keys/{api_key_id}/revoke", needs: access.ManageKeys,
			operation: withoutBody((*call).revokeAPIKey), idempotent: true, name: "revokeAPIKey", tag: "API keys",
			summary: "Revoke an API key", status: 200},
	}
}

// userRoutes are the operations about the users of the company and about invitations.
func userRoutes() []route {
	return []route{
		{method: http.MethodGet, path: client + "/users", needs: access.ManageUsers,
			operation: withoutBody((*call).listUsers), query: paging, name: "listUsers", tag: "Users", summary: "List the users",
			status: 200},
		{method: http.MethodPatch, path: client + "/users/{user_id}", needs: access.ManageUsers,
			operation: withPatch[api.UserChange]((*call).changeUser), idempotent: true,
			mediaTypes: []string{"application/merge-patch+json"}, name: "changeUser", tag: "Users",
			summary: "Change the role or the address of a user, or disable or enable one", status: 200},
		{method: http.MethodDelete, path: client + "/users/{user_id}", needs: access.OwnLogin,
			operation: withoutBody((*call).removeUser), name: "removeUser", tag: "Users", summary: "Remove a user", status: 200,
			codes: []api.Code{api.CodeValidationFailed}},
		{method: http.MethodPost, path: client + "/users/{user_id}/second-factor/reset", needs: access.ManageUsers,
			operation: withoutBody((*call).resetSecondFactor), idempotent: true, name: "resetSecondFactor", tag: "Users",
			summary: "Reset the second factor of a colleague", status: 200},
		{method: http.MethodPost, path: client + "/users/invitations", needs: access.ManageUsers,
			operation: withBody((*call).inviteUser), idempotent: true, name: "inviteUser", tag: "Users",
			summary: "Invite a person", status: 201, codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/users/invitations", needs: access.ManageUsers,
			operation: withoutBody((*call).listInvitations), query: paging, name: "listInvitations", tag: "Users",
			summary: "List the invitations", status: 200},
		{method: http.MethodPost, path: client + "/users/invitations/{invitation_id}/revoke", needs: access.ManageUsers,
			operation: withoutBody((*call).revokeInvitation), idempotent: true, name: "revokeInvitation", tag: "Users",
			summary: "Revoke an invitation", status: 200},
	}
}

func invoiceRoutes(submit operation) []route {
	return []route{
		{method: http.MethodPost, path: client + "/invoices", needs: access.Write,
			operation: withFaults((*call).createInvoice), idempotent: true, name: "createInvoice", tag: "Invoices",
			summary: "Create a draft", status: 201, codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/invoices", needs: access.Read, operation: withoutBody((*call).listInvoices),
			query: append(paging[:2:2], invoiceQuery...),
			name:  "listInvoices", tag: "Invoices", summary: "List invoices", status: 200},
		{method: http.MethodGet, path: client + "/invoices/export", needs: access.Read,
			operation: withoutBody((*call).exportInvoices), query: slices.Concat(exportQuery, []string{"rows"}, invoiceQuery),
			fileType: exportType, name: "exportInvoices", tag: "Invoices", summary: "Export invoices as a file", status: 200,
			codes: exportCodes},
		{method: http.MethodPost, path: client + "/invoices/preflight", needs: access.Write,
			operation: withFaults((*call).preflight), idempotent: true, query: []string{"profile"},
			name: "preflightInvoice", tag: "Invoices", summary: "Check a draft without storing it", status: 200},
		{method: http.MethodPost, path: client + "/invoices/import", needs: access.Write,
			operation: withFile((*call).importInvoices), idempotent: true, query: []string{"dry_run", "sheet"},
			mediaTypes: importTypes, name: "importInvoices", tag: "Invoices", summary: "Create the drafts of a CSV or XLSX file",
			status: 201, also: map[int]string{200: "A dry run: nothing is stored."},
			codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}", needs: access.Read,
			operation: withoutBody((*call).readInvoice), name: "readInvoice", tag: "Invoices", summary: "Read an invoice",
			status: 200},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/document", needs: access.Read,
			operation: withoutBody((*call).invoiceDocument), query: []string{"profile"}, fileType: xmlType,
			name: "readInvoiceDocument", tag: "Invoices", summary: "Download an invoice as an XML document", status: 200,
			codes: documentCodes},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/document.pdf", needs: access.Read,
			operation: withoutBody((*call).invoicePDF), query: []string{"profile"}, fileType: pdfType,
			name: "readInvoicePDF", tag: "Invoices", summary: "Download an invoice as a PDF file", status: 200,
			codes: []api.Code{api.CodeInvoiceIncomplete}},
		{method: http.MethodPatch, path: client + "/invoices/{invoice_id}", needs: access.Write,
			operation: withPatch[api.Draft]((*call).patchInvoice), idempotent: true, conditional: true,
			mediaTypes: []string{"application/merge-patch+json"}, name: "patchInvoice", tag: "Invoices",
			summary: "Change a draft", status: 200, codes: []api.Code{api.CodeInvoiceNotEditable, api.CodeLimitReached,
				api.CodePreconditionFailed}},
		{method: http.MethodDelete, path: client + "/invoices/{invoice_id}", needs: access.Write,
			operation: withoutBody((*call).deleteInvoice), conditional: true, name: "deleteInvoice", tag: "Invoices",
			summary: "Delete a draft", status: 200, codes: []api.Code{api.CodeInvoiceNotEditable, api.CodePreconditionFailed}},
		{method: http.MethodPost, path: client + "/invoices/{invoice_id}/submit", needs: access.Submit, operation: submit,
			name: "submitInvoice", tag: "Invoices", summary: "Submit a complete draft", status: 200,
			also: map[int]string{202: submitUnknown}, codes: submitCodes},
		{method: http.MethodPost, path: client + "/invoices/{invoice_id}/submit-provider", needs: access.Submit,
			operation: submit, name: "submitInvoiceProvider", tag: "Invoices",
			summary: "Submit a complete draft (deprecated alias)", status: 200,
			also:  map[int]string{202: submitUnknown},
			codes: submitCodes, deprecatedSince: aliasDeprecated, successor: "submit"},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/submissions", needs: access.Read,
			operation: withoutBody((*call).listSubmissions), query: paging, name: "listSubmissions", tag: "Invoices",
			summary: "List the submissions of an invoice", status: 200},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/evidence", needs: access.Read,
			operation: withoutBody((*call).listEvidence), query: paging, name: "listEvidence", tag: "Invoices",
			summary: "List the evidence of an invoice", status: 200},
		{method: http.MethodGet, path: client + "/evidence/{evidence_id}", needs: access.Read,
			operation: withRetainedBody((*call).readEvidence), name: "readEvidence", tag: "Invoices",
			summary: "Read a retained response", status: 200},
	}
}

// recipientRoutes are the operations about recipients of documents.
func recipientRoutes() []route {
	return []route{
		{method: http.MethodPost, path: client + "/recipients/lookup", needs: access.Write,
			operation: withFaults((*call).lookUpRecipient), name: "lookUpRecipient", tag: "Invoices",
			summary: "Look a recipient up", status: 200, codes: []api.Code{api.CodeProviderConnectionRequired,
				api.CodeProductionNotApproved}}}
}

func creditNoteRoutes() []route {
	return []route{
		{method: http.MethodPost, path: client + "/credit-notes", needs: access.Write,
			operation: withFaults((*call).createCreditNote), idempotent: true, name: "createCreditNote", tag: "Credit notes",
			summary: "Create a credit note", status: 201, codes: []api.Code{api.CodeNotFound, api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/credit-notes", needs: access.Read,
			operation: withoutBody((*call).listCreditNotes), query: append(paging[:2:2], creditNoteQuery...),
			name: "listCreditNotes", tag: "Credit notes", summary: "List credit notes", status: 200},
		{method: http.MethodGet, path: client + "/credit-notes/export", needs: access.Read,
			operation: withoutBody((*call).exportCreditNotes), query: slices.Concat(exportQuery, creditNoteQuery),
			fileType: exportType, name: "exportCreditNotes", tag: "Credit notes", summary: "Export credit notes as a file",
			status: 200, codes: exportCodes},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}", needs: access.Read,
			operation: withoutBody((*call).readCreditNote), name: "readCreditNote", tag: "Credit notes",
			summary: "Read a credit note", status: 200},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}/document", needs: access.Read,
			operation: withoutBody((*call).creditNoteDocument), query: []string{"profile"}, fileType: xmlType,
			name: "readCreditNoteDocument", tag: "Credit notes", summary: "Download a credit note as an XML document",
			status: 200, codes: documentCodes},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}/document.pdf", needs: access.Read,
			operation: withoutBody((*call).creditNotePDF), query: []string{"profile"}, fileType: pdfType,
			name: "readCreditNotePDF", tag: "Credit notes", summary: "Download a credit note as a PDF file", status: 200,
			codes: []api.Code{api.CodeInvoiceIncomplete}},
		{method: http.MethodPatch, path: client + "/credit-notes/{credit_note_id}", needs: access.Write,
			operation: withPatch[api.CreditNoteChange]((*call).patchCreditNote), idempotent: true, conditional: true,
			mediaTypes: []string{"application/merge-patch+json"}, name: "patchCreditNote", tag: "Credit notes",
			summary: "Change a credit note", status: 200,
			codes: []api.Code{api.CodeCreditNoteNotEditable, api.CodePreconditionFailed}},
		{method: http.MethodPost, path: client + "/credit-notes/{credit_note_id}/void", needs: access.Write,
			operation: withoutBody((*call).voidCreditNote), idempotent: true, name: "voidCreditNote", tag: "Credit notes",
			summary: "Void a credit note", status: 200, codes: []api.Code{api.CodeCreditNoteNotEditable}},
		{method: http.MethodPost, path: client + "/credit-notes/{credit_note_id}/submit", needs: access.Submit,
			operation: withoutBody((*call).submitCreditNote), name: "submitCreditNote", tag: "Credit notes",
			summary: "Submit a credit note", status: 200, also: map[int]string{202: submitUnknown},
			codes: submitCreditCodes},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}/submissions", needs: access.Read,
			operation: withoutBody((*call).listCreditNoteSubmissions), query: paging, name: "listCreditNoteSubmissions",
			tag: "Credit notes", summary: "List the submissions of a credit note", status: 200},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}/evidence", needs: access.Read,
			operation: withoutBody((*call).listCreditNoteEvidence), query: paging, name: "listCreditNoteEvidence",
			tag: "Credit notes", summary: "List the evidence of a credit note", status: 200},
	}
}

func incomingRoutes() []route {
	return []route{
		{method: http.MethodGet, path: client + "/incoming-invoices", needs: access.Read,
			operation: withoutBody((*call).listIncoming), query: append(paging[:2:2], incomingQuery...),
			name: "listIncomingInvoices", tag: "Incoming e-invoices", summary: "List incoming e-invoices", status: 200},
		{method: http.MethodGet, path: client + "/incoming-invoices/export", needs: access.Read,
			operation: withoutBody((*call).exportIncoming), query: slices.Concat(exportQuery, incomingQuery),
			fileType: exportType, name: "exportIncomingInvoices", tag: "Incoming e-invoices",
			summary: "Export incoming e-invoices as a file", status: 200, codes: exportCodes},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}", needs: access.Read,
			operation: withoutBody((*call).readIncoming), name: "readIncomingInvoice", tag: "Incoming e-invoices",
			summary: "Read an incoming e-invoice", status: 200},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/document.pdf", needs: access.Read,
			operation: withoutBody((*call).incomingPDF), fileType: pdfType, name: "readIncomingPDF", tag: "Incoming e-invoices",
			summary: "Download an incoming e-invoice as a PDF file", status: 200, codes: []api.Code{api.CodeDocumentUnreadable}},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/revisions", needs: access.Read,
			operation: withoutBody((*call).listRevisions), query: paging, name: "listRevisions", tag: "Incoming e-invoices",
			summary: "List the revisions of an incoming e-invoice", status: 200},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/document",
			needs: access.Read, operation: withRetainedBody((*call).readDocument), name: "readDocument",
			tag: "Incoming e-invoices", summary: "Read the document of a revision", status: 200},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/document.pdf",
			needs: access.Read, operation: withoutBody((*call).revisionPDF), fileType: pdfType,
			name: "readRevisionPDF", tag: "Incoming e-invoices", summary: "Download a revision as a PDF file", status: 200,
			codes: []api.Code{api.CodeDocumentUnreadable}},
		{method: http.MethodGet,
			path:  client + "/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/attachments/{attachment}",
			needs: access.Read, operation: withoutBody((*call).readAttachment), name: "readAttachment",
			tag: "Incoming e-invoices", summary: "Download an attachment of a revision", status: 200},
	}
}

func webhookRoutes() []route {
	return []route{
		{method: http.MethodPost, path: webhooks + "/subscriptions", needs: access.ManageWebhooks,
			operation: withBody((*call).createSubscription), idempotent: true, name: "createSubscription", tag: "Webhooks",
			summary: "Create a webhook subscription", status: 201,
			codes: []api.Code{api.CodeUnsafeDestination, api.CodeLimitReached}},
		{method: http.MethodGet, path: webhooks + "/subscriptions", needs: access.ReadWebhooks,
			operation: withoutBody((*call).listSubscriptions), query: paging, name: "listSubscriptions", tag: "Webhooks",
			summary: "List webhook subscriptions", status: 200},
		{method: http.MethodGet, path: webhooks + "/subscriptions/{subscription_id}", needs: access.ReadWebhooks,
			operation: withoutBody((*call).readSubscription), name: "readSubscription", tag: "Webhooks",
			summary: "Read a webhook subscription", status: 200},
		{method: http.MethodPost, path: webhooks + "/subscriptions/{subscription_id}/deactivate",
			needs: access.ManageWebhooks, operation: withoutBody((*call).deactivateSubscription), idempotent: true,
			name: "deactivateSubscription", tag: "Webhooks", summary: "Deactivate a webhook subscription", status: 200},
		{method: http.MethodGet, path: webhooks + "/deliveries", needs: access.ReadWebhooks,
			operation: withoutBody((*call).listDeliveries),
			query:     append(paging[:2:2], "subscription_id", "event_id", "event", "state"),
			name:      "listDeliveries", tag: "Webhooks", summary: "List deliveries", status: 200},
		{method: http.MethodGet, path: webhooks + "/deliveries/{delivery_id}", needs: access.ReadWebhooks,
			operation: withoutBody((*call).readDelivery), name: "readDelivery", tag: "Webhooks",
			summary: "Read a delivery with its attempts", status: 200},
		{method: http.MethodPost, path: webhooks + "/deliveries/{delivery_id}/redeliver", needs: access.ManageWebhooks,
			operation: withoutBody((*call).redeliver), idempotent: true, name: "redeliver", tag: "Webhooks",
			summary: "Deliver again", status: 200, codes: []api.Code{api.CodeSubscriptionInactive}},
		{method: http.MethodGet, path: webhooks + "/events", needs: access.ReadWebhooks,
			operation: withoutBody((*call).listEvents), query: []string{"after", "limit"}, name: "listEvents", tag: "Webhooks",
			summary: "Read events by cursor", status: 200},
	}
}

// newRouter returns the router of some operations.
func newRouter(routes []route) *router.Router[route] {
	return router.New(routes, func(rt *route) (method, path string) { return rt.method, rt.path })
}
