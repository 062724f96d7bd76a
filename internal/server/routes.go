package server

import (
	"net/http"
	"reflect"
	"slices"
	"time"

	"quittance/internal/router"
	"quittance/sdk/go/api"
)

// route is one operation of the API.
type route struct {
	method, path string
	operation    operation
	// public routes need no token.
	public bool
	// query names the query parameters; any other is an error.
	query []string
	// mediaTypes are accepted in addition to application/json.
	mediaTypes []string
	// idempotent routes honour an Idempotency-Key.
	idempotent bool
	// conditional routes honour If-Match.
	conditional bool
	// fileType is the media type of a file that the route sends, if it is always the same.
	fileType string
	// hidden routes are not part of the API document.
	hidden bool
	// The other fields are for the API document: a name for generated clients, a summary, a description, the success status
	// (0: the operation never succeeds), other successes with their descriptions, and the errors that are specific to it.
	name, tag, summary, text string
	status                   int
	also                     map[int]string
	codes                    []api.Code
	// deprecatedSince is when the operation was deprecated; zero for one that is not. successor is the operation to use
	// instead, as a reference that is relative to the path.
	deprecatedSince time.Time
	successor       string
}

// deprecated reports whether another operation should be used instead.
func (rt *route) deprecated() bool { return !rt.deprecatedSince.IsZero() }

// aliasDeprecated is when the alias of submit was deprecated: the date of the release that announces it.
var aliasDeprecated = time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// takesBody reports whether the server reads the body of a request. GET and DELETE have none; one that is sent nevertheless
// is not read (RFC 9110, sections 9.3.1 and 9.3.5).
func (rt *route) takesBody() bool { return !isSafeMethod(rt.method) && rt.method != http.MethodDelete }

// fileMediaType is the media type of the file that a success of the route is.
func (rt *route) fileMediaType() string {
	if rt.fileType == "" {
		return "application/octet-stream"
	}
	return rt.fileType
}

// sendsFile reports whether a success of the route is a file and not JSON.
func (rt *route) sendsFile() bool { return rt.operation.out == reflect.TypeFor[fileResponse]() }

const (
	client   = "/api/v1/client"
	webhooks = "/api/v1/webhooks"
)

// paging are the query parameters of a list that is read by page number.
var paging = []string{"page", "per_page"} //nolint:gochecknoglobals // a constant table

// routes is the whole API, in the order of the API reference.
func routes() []route {
	submit := withoutBody((*call).submit)
	return append(slices.Concat(authRoutes(), invoiceRoutes(submit), creditNoteRoutes(), incomingRoutes(), webhookRoutes()), []route{
		{method: http.MethodGet, path: "/openapi.json", public: true, hidden: true, operation: withoutBody((*call).serveOpenAPI), status: 200},
		{method: http.MethodGet, path: "/healthz", public: true, hidden: true, operation: withoutBody((*call).health), status: 200},
		{method: http.MethodGet, path: "/readyz", public: true, hidden: true, operation: withoutBody((*call).ready), status: 200},
	}...)
}

func authRoutes() []route {
	return []route{
		{method: http.MethodPost, path: client + "/auth/login", public: true, operation: withBody((*call).login),
			name: "login", tag: "Authentication", summary: "Log in", status: 200, text: loginText,
			codes: []api.Code{api.CodeInvalidCredentials, api.CodeAccountSuspended, api.CodeRateLimited}},
		{method: http.MethodPost, path: client + "/auth/logout", operation: withoutBody((*call).logout),
			name: "logout", tag: "Authentication", summary: "Log out", status: 200, text: "Revokes the presented token, on every replica."},
		{method: http.MethodPost, path: client + "/auth/password", operation: withBody((*call).changePassword),
			name: "changePassword", tag: "Authentication", summary: "Change the password", status: 200, text: passwordText},
		{method: http.MethodGet, path: client + "/account", operation: withoutBody((*call).readAccount),
			name: "readAccount", tag: "Authentication", summary: "Read the account", status: 200, text: accountText},
	}
}

func invoiceRoutes(submit operation) []route {
	return []route{
		{method: http.MethodPost, path: client + "/invoices", operation: withFaults((*call).createInvoice), idempotent: true,
			name: "createInvoice", tag: "Invoices", summary: "Create a draft", status: 201, text: createText, codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/invoices", operation: withoutBody((*call).listInvoices),
			query: append(paging[:2:2], invoiceQuery...),
			name:  "listInvoices", tag: "Invoices", summary: "List invoices", status: 200, text: listText},
		{method: http.MethodPost, path: client + "/invoices/preflight", operation: withFaults((*call).preflight), idempotent: true, query: []string{"profile"},
			name: "preflightInvoice", tag: "Invoices", summary: "Check a draft without storing it", status: 200, text: preflightText},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}", operation: withoutBody((*call).readInvoice),
			name: "readInvoice", tag: "Invoices", summary: "Read an invoice", status: 200, text: readText},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/document", operation: withoutBody((*call).invoiceDocument), query: []string{"profile"}, fileType: xmlType,
			name: "readInvoiceDocument", tag: "Invoices", summary: "Download an invoice as an XML document", status: 200, text: invoiceDocumentText, codes: documentCodes},
		{method: http.MethodPatch, path: client + "/invoices/{invoice_id}", operation: withPatch[api.Draft]((*call).patchInvoice), idempotent: true, conditional: true,
			mediaTypes: []string{"application/merge-patch+json"}, name: "patchInvoice", tag: "Invoices", summary: "Change a draft",
			status: 200, text: patchText, codes: []api.Code{api.CodeInvoiceNotEditable, api.CodeLimitReached, api.CodePreconditionFailed}},
		{method: http.MethodDelete, path: client + "/invoices/{invoice_id}", operation: withoutBody((*call).deleteInvoice), conditional: true,
			name: "deleteInvoice", tag: "Invoices", summary: "Delete a draft", status: 200, text: deleteText,
			codes: []api.Code{api.CodeInvoiceNotEditable, api.CodePreconditionFailed}},
		{method: http.MethodPost, path: client + "/invoices/{invoice_id}/submit", operation: submit,
			name: "submitInvoice", tag: "Invoices", summary: "Submit a complete draft", status: 200, text: submitText,
			also: map[int]string{202: submitUnknown}, codes: submitCodes},
		{method: http.MethodPost, path: client + "/invoices/{invoice_id}/submit-provider", operation: submit,
			name: "submitInvoiceProvider", tag: "Invoices", summary: "Submit a complete draft (deprecated alias)", status: 200,
			text: "Deprecated alias of submit; it behaves the same.", also: map[int]string{202: submitUnknown}, codes: submitCodes,
			deprecatedSince: aliasDeprecated, successor: "submit"},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/submissions", operation: withoutBody((*call).listSubmissions), query: paging,
			name: "listSubmissions", tag: "Invoices", summary: "List the submissions of an invoice", status: 200, text: submissionsText},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}/evidence", operation: withoutBody((*call).listEvidence), query: paging,
			name: "listEvidence", tag: "Invoices", summary: "List the evidence of an invoice", status: 200, text: evidenceText},
		{method: http.MethodGet, path: client + "/evidence/{evidence_id}", operation: withRetainedBody((*call).readEvidence),
			name: "readEvidence", tag: "Invoices", summary: "Read a retained response", status: 200, text: evidenceBodyText},
	}
}

func creditNoteRoutes() []route {
	return []route{
		{method: http.MethodPost, path: client + "/credit-notes", operation: withFaults((*call).createCreditNote), idempotent: true,
			name: "createCreditNote", tag: "Credit notes", summary: "Create a credit note", status: 201, text: creditText, codes: []api.Code{api.CodeNotFound, api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/credit-notes", operation: withoutBody((*call).listCreditNotes), query: append(paging[:2:2], "invoice_id"),
			name: "listCreditNotes", tag: "Credit notes", summary: "List credit notes", status: 200, text: "Newest first, the void ones included. Entries have no `items` but `item_count`: read the credit note for its lines."},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}", operation: withoutBody((*call).readCreditNote),
			name: "readCreditNote", tag: "Credit notes", summary: "Read a credit note", status: 200, text: "Returns the credit note."},
		{method: http.MethodGet, path: client + "/credit-notes/{credit_note_id}/document", operation: withoutBody((*call).creditNoteDocument), query: []string{"profile"}, fileType: xmlType,
			name: "readCreditNoteDocument", tag: "Credit notes", summary: "Download a credit note as an XML document", status: 200, text: creditDocumentText, codes: documentCodes},
		{method: http.MethodPatch, path: client + "/credit-notes/{credit_note_id}", operation: withPatch[api.CreditNoteChange]((*call).patchCreditNote), idempotent: true, conditional: true,
			mediaTypes: []string{"application/merge-patch+json"}, name: "patchCreditNote", tag: "Credit notes", summary: "Change a credit note",
			status: 200, text: patchCreditText, codes: []api.Code{api.CodePreconditionFailed}},
		{method: http.MethodPost, path: client + "/credit-notes/{credit_note_id}/void", operation: withoutBody((*call).voidCreditNote), idempotent: true,
			name: "voidCreditNote", tag: "Credit notes", summary: "Void a credit note", status: 200, text: voidText},
		{method: http.MethodPost, path: client + "/credit-notes/{credit_note_id}/submit", operation: withoutBody((*call).submitCreditNote),
			name: "submitCreditNote", tag: "Credit notes", summary: "Submit a credit note (disabled)", text: submitCreditText,
			codes: []api.Code{api.CodeCreditNoteSubmissionDisabled}},
	}
}

func incomingRoutes() []route {
	return []route{
		{method: http.MethodGet, path: client + "/incoming-invoices", operation: withoutBody((*call).listIncoming), query: paging,
			name: "listIncomingInvoices", tag: "Incoming e-invoices", summary: "List incoming e-invoices", status: 200, text: incomingText},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}", operation: withoutBody((*call).readIncoming),
			name: "readIncomingInvoice", tag: "Incoming e-invoices", summary: "Read an incoming e-invoice", status: 200, text: readIncomingText},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/revisions", operation: withoutBody((*call).listRevisions), query: paging,
			name: "listRevisions", tag: "Incoming e-invoices", summary: "List the revisions of an incoming e-invoice", status: 200, text: "Oldest first."},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/document", operation: withRetainedBody((*call).readDocument),
			name: "readDocument", tag: "Incoming e-invoices", summary: "Read the document of a revision", status: 200, text: documentText},
		{method: http.MethodGet, path: client + "/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/attachments/{attachment}", operation: withoutBody((*call).readAttachment),
			name: "readAttachment", tag: "Incoming e-invoices", summary: "Download an attachment of a revision", status: 200, text: attachmentText},
	}
}

func webhookRoutes() []route {
	return []route{
		{method: http.MethodPost, path: webhooks + "/subscriptions", operation: withBody((*call).createSubscription), idempotent: true,
			name: "createSubscription", tag: "Webhooks", summary: "Create a webhook subscription", status: 201, text: subscribeText,
			codes: []api.Code{api.CodeUnsafeDestination, api.CodeLimitReached}},
		{method: http.MethodGet, path: webhooks + "/subscriptions", operation: withoutBody((*call).listSubscriptions), query: paging,
			name: "listSubscriptions", tag: "Webhooks", summary: "List webhook subscriptions", status: 200, text: "Newest first, the deactivated ones included."},
		{method: http.MethodGet, path: webhooks + "/subscriptions/{subscription_id}", operation: withoutBody((*call).readSubscription),
			name: "readSubscription", tag: "Webhooks", summary: "Read a webhook subscription", status: 200, text: "Never holds the signing secret."},
		{method: http.MethodPost, path: webhooks + "/subscriptions/{subscription_id}/deactivate", operation: withoutBody((*call).deactivateSubscription), idempotent: true,
			name: "deactivateSubscription", tag: "Webhooks", summary: "Deactivate a webhook subscription", status: 200, text: deactivateText},
		{method: http.MethodGet, path: webhooks + "/deliveries", operation: withoutBody((*call).listDeliveries),
			query: append(paging[:2:2], "subscription_id", "event_id", "event", "state"),
			name:  "listDeliveries", tag: "Webhooks", summary: "List deliveries", status: 200, text: deliveriesText},
		{method: http.MethodGet, path: webhooks + "/deliveries/{delivery_id}", operation: withoutBody((*call).readDelivery),
			name: "readDelivery", tag: "Webhooks", summary: "Read a delivery with its attempts", status: 200, text: deliveryText},
		{method: http.MethodPost, path: webhooks + "/deliveries/{delivery_id}/redeliver", operation: withoutBody((*call).redeliver), idempotent: true,
			name: "redeliver", tag: "Webhooks", summary: "Deliver again", status: 200, text: redeliverText, codes: []api.Code{api.CodeSubscriptionInactive}},
		{method: http.MethodGet, path: webhooks + "/events", operation: withoutBody((*call).listEvents), query: []string{"after", "limit"},
			name: "listEvents", tag: "Webhooks", summary: "Read events by cursor", status: 200, text: eventsText},
	}
}

// newRouter returns the router of some operations.
func newRouter(routes []route) *router.Router[route] {
	return router.New(routes, func(rt *route) (method, path string) { return rt.method, rt.path })
}
