package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"quittance/sdk/go/api"
)

const (
	clientPath   = "/api/v1/client"
	webhooksPath = "/api/v1/webhooks"
)

// ErrSecretLost means that a webhook subscription exists, but the only response with its signing secret did not arrive. Deactivate
// the subscription that is returned with the error, and create another one with another key.
var ErrSecretLost = errors.New("client: the response with the signing secret of the subscription was lost")

// path appends escaped segments to a path.
func path(fixed string, segments ...string) string {
	for _, segment := range segments {
		fixed += "/" + url.PathEscape(segment)
	}
	return fixed
}

func invoicePath(id string, more ...string) string {
	return path(path(clientPath+"/invoices", id), more...)
}

func creditNotePath(id string) string { return path(clientPath+"/credit-notes", id) }

func incomingPath(id string, more ...string) string {
	return path(path(clientPath+"/incoming-invoices", id), more...)
}

func subscriptionPath(id string) string { return path(webhooksPath+"/subscriptions", id) }

func deliveryPath(id string) string { return path(webhooksPath+"/deliveries", id) }

// Account returns the company that the user belongs to, its profile and its provider connection.
func (c *Client) Account(ctx context.Context) (api.Account, error) {
	return callOne[api.Account](ctx, c, get(clientPath+"/account", nil))
}

// CreateInvoice stores a draft. Nothing is sent to the provider. The call has an Idempotency-Key, a random one
// unless you pass your own, so that it creates one invoice even if it is sent several times.
func (c *Client) CreateInvoice(ctx context.Context, draft api.Draft, options ...CallOption) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, post(clientPath+"/invoices", draft), options...)
}

// Preflight checks a draft as [Client.CreateInvoice] does and stores nothing.
func (c *Client) Preflight(ctx context.Context, draft api.Draft) (api.Preflight, error) {
	return callOne[api.Preflight](ctx, c, request{method: http.MethodPost, path: clientPath + "/invoices/preflight", body: draft, repeatable: true})
}

// PreflightFor is [Client.Preflight] for a document format, such as pint-ae: it also returns what that format needs.
func (c *Client) PreflightFor(ctx context.Context, draft api.Draft, profile string) (api.Preflight, error) {
	return callOne[api.Preflight](ctx, c, request{method: http.MethodPost, path: clientPath + "/invoices/preflight", query: profileQuery(profile), body: draft, repeatable: true})
}

// InvoiceDocument returns an invoice as an XML document (UBL 2.1) in a document format, pint-ae or bis3. An invoice that lacks something
// that the format needs gives an error with [api.CodeInvoiceIncomplete].
func (c *Client) InvoiceDocument(ctx context.Context, id, profile string) ([]byte, error) {
	return c.file(ctx, get(invoicePath(id, "document"), profileQuery(profile)))
}

// CreditNoteDocument is [Client.InvoiceDocument] for a credit note.
func (c *Client) CreditNoteDocument(ctx context.Context, id, profile string) ([]byte, error) {
	return c.file(ctx, get(creditNotePath(id)+"/document", profileQuery(profile)))
}

func profileQuery(profile string) url.Values { return url.Values{"profile": {profile}} }

// file returns the bytes of a response that is a file.
func (c *Client) file(ctx context.Context, r request) ([]byte, error) {
	a, err := c.send(ctx, &r)
	return a.body, err
}

// Invoices returns one page of the invoices, newest first unless the query has another order, each without its items.
func (c *Client) Invoices(ctx context.Context, query InvoiceQuery) (api.List[api.InvoiceSummary], error) {
	return callList[api.InvoiceSummary](ctx, c, get(clientPath+"/invoices", query.values()))
}

// Invoice returns the current state of an invoice.
func (c *Client) Invoice(ctx context.Context, id string) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, get(invoicePath(id), nil))
}

// PatchInvoice changes a draft, or an invoice that the provider has rejected, which is then a draft again. The patch is a
// JSON merge patch (RFC 7396): nil removes a field, and items are replaced as a whole.
func (c *Client) PatchInvoice(ctx context.Context, id string, patch map[string]any, options ...CallOption) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, request{method: http.MethodPatch, path: invoicePath(id), body: patch}, options...)
}

// DeleteInvoice deletes a draft permanently. The error has the code not_found if the draft is already deleted, which can be the
// effect of an earlier attempt of the same call whose response was lost.
func (c *Client) DeleteInvoice(ctx context.Context, id string) (api.Deleted, error) {
	return callOne[api.Deleted](ctx, c, request{method: http.MethodDelete, path: invoicePath(id), repeatable: true})
}

// Submit submits a complete draft once; a repeated call returns the recorded result. The result is Submission.Outcome of the
// invoice. [api.OutcomeUnknown] and [api.OutcomeInProgress] are not errors: the service does not know yet whether the provider has
// the document, and keeps asking.
//
// If an attempt is interrupted while the service is still submitting, the next one fails with submission_in_progress: read the
// invoice, or use [Client.SubmitAndWait].
func (c *Client) Submit(ctx context.Context, id string) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, request{method: http.MethodPost, path: invoicePath(id, "submit"), repeatable: true})
}

// Submissions returns one page of all submissions of an invoice.
func (c *Client) Submissions(ctx context.Context, invoiceID string, page Paging) (api.List[api.SubmissionRecord], error) {
	return callList[api.SubmissionRecord](ctx, c, get(invoicePath(invoiceID, "submissions"), page.values(nil)))
}

// Evidence returns one page of the provider responses about an invoice.
func (c *Client) Evidence(ctx context.Context, invoiceID string, page Paging) (api.List[api.Evidence], error) {
	return callList[api.Evidence](ctx, c, get(invoicePath(invoiceID, "evidence"), page.values(nil)))
}

// EvidenceBody returns the bytes of one entry of the evidence.
func (c *Client) EvidenceBody(ctx context.Context, evidenceID string) (api.RetainedBody, error) {
	return callOne[api.RetainedBody](ctx, c, get(path(clientPath+"/evidence", evidenceID), nil))
}

// CreateCreditNote stores a credit note for an invoice. Credit notes are not submitted.
func (c *Client) CreateCreditNote(ctx context.Context, note api.CreditNoteRequest, options ...CallOption) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, post(clientPath+"/credit-notes", note), options...)
}

// CreditNotes returns one page of the credit notes, newest first, the void ones included, each without its items.
func (c *Client) CreditNotes(ctx context.Context, query CreditNoteQuery) (api.List[api.CreditNoteSummary], error) {
	return callList[api.CreditNoteSummary](ctx, c, get(clientPath+"/credit-notes", query.values()))
}

// CreditNote returns a credit note.
func (c *Client) CreditNote(ctx context.Context, id string) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, get(creditNotePath(id), nil))
}

// PatchCreditNote changes the issue_date, reason and reason_code of a credit note. The patch is a JSON merge patch (RFC
// 7396): nil removes reason_code.
func (c *Client) PatchCreditNote(ctx context.Context, id string, patch map[string]any, options ...CallOption) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, request{method: http.MethodPatch, path: creditNotePath(id), body: patch}, options...)
}

// VoidCreditNote voids a credit note, so that another one can credit its amount.
func (c *Client) VoidCreditNote(ctx context.Context, id string, options ...CallOption) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, post(creditNotePath(id)+"/void", nil), options...)
}

// IncomingInvoices returns one page of the incoming e-invoices, each in its latest revision, newest first.
func (c *Client) IncomingInvoices(ctx context.Context, page Paging) (api.List[api.IncomingInvoice], error) {
	return callList[api.IncomingInvoice](ctx, c, get(clientPath+"/incoming-invoices", page.values(nil)))
}

// IncomingInvoice returns an incoming e-invoice in its latest revision, with what its document says.
func (c *Client) IncomingInvoice(ctx context.Context, id string) (api.IncomingInvoiceDetail, error) {
	return callOne[api.IncomingInvoiceDetail](ctx, c, get(incomingPath(id), nil))
}

// IncomingRevisions returns one page of the revisions of an incoming e-invoice, oldest first.
func (c *Client) IncomingRevisions(ctx context.Context, id string, page Paging) (api.List[api.IncomingRevision], error) {
	return callList[api.IncomingRevision](ctx, c, get(incomingPath(id, "revisions"), page.values(nil)))
}

// IncomingAttachment returns the bytes of an attachment of a revision; id is that of the e-invoice, and attachment that of one of
// [api.ParsedDocument.Attachments]. The sender has chosen the content: treat it as data, and do not run or open it unchecked.
func (c *Client) IncomingAttachment(ctx context.Context, id string, revision int, attachment string) ([]byte, error) {
	return c.file(ctx, get(incomingPath(id, "revisions", strconv.Itoa(revision), "attachments", attachment), nil))
}

// IncomingDocument returns the document of a revision, from 1.
func (c *Client) IncomingDocument(ctx context.Context, id string, revision int) (api.RetainedBody, error) {
	return callOne[api.RetainedBody](ctx, c, get(incomingPath(id, "revisions", strconv.Itoa(revision), "document"), nil))
}

// CreateSubscription subscribes an HTTPS destination to webhooks. Only this response has the signing secret: store it.
// If an earlier attempt or call with the same key has created the subscription, it is returned with [ErrSecretLost].
func (c *Client) CreateSubscription(ctx context.Context, subscription api.SubscriptionRequest, options ...CallOption) (api.NewSubscription, error) {
	created, err := callOne[api.NewSubscription](ctx, c, post(webhooksPath+"/subscriptions", subscription), options...)
	if err == nil && created.Secret == "" {
		err = ErrSecretLost
	}
	return created, err
}

// Subscriptions returns one page of the webhook subscriptions, newest first, the deactivated ones included.
func (c *Client) Subscriptions(ctx context.Context, page Paging) (api.List[api.Subscription], error) {
	return callList[api.Subscription](ctx, c, get(webhooksPath+"/subscriptions", page.values(nil)))
}

// Subscription returns a webhook subscription, without its secret.
func (c *Client) Subscription(ctx context.Context, id string) (api.Subscription, error) {
	return callOne[api.Subscription](ctx, c, get(subscriptionPath(id), nil))
}

// DeactivateSubscription permanently deactivates a webhook subscription. Its history is kept.
func (c *Client) DeactivateSubscription(ctx context.Context, id string, options ...CallOption) (api.Subscription, error) {
	return callOne[api.Subscription](ctx, c, post(subscriptionPath(id)+"/deactivate", nil), options...)
}

// Deliveries returns one page of the webhook deliveries, newest first.
func (c *Client) Deliveries(ctx context.Context, query DeliveryQuery) (api.List[api.Delivery], error) {
	return callList[api.Delivery](ctx, c, get(webhooksPath+"/deliveries", query.values()))
}

// Delivery returns a webhook delivery with every attempt.
func (c *Client) Delivery(ctx context.Context, id string) (api.DeliveryDetail, error) {
	return callOne[api.DeliveryDetail](ctx, c, get(deliveryPath(id), nil))
}

// Redeliver starts a delivery again, with the same event UUID and the same bytes.
func (c *Client) Redeliver(ctx context.Context, id string, options ...CallOption) (api.DeliveryDetail, error) {
	return callOne[api.DeliveryDetail](ctx, c, post(deliveryPath(id)+"/redeliver", nil), options...)
}

// Events returns up to limit events after a cursor, oldest first. The cursor is "" for the beginning, and then the NextCursor of
// the previous result. No event is skipped, however late it was recorded. limit is from 1 to 100; 0 means the default of the
// service. For the payloads see [api.Event].
func (c *Client) Events(ctx context.Context, after string, limit int) (feed api.Feed[api.Event[json.RawMessage]], err error) {
	query := Paging{}.values(map[string]string{"after": after})
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	feed.Data, feed.Pagination, err = call[[]api.Event[json.RawMessage], api.Cursor](ctx, c, get(webhooksPath+"/events", query))
	return feed, err
}
