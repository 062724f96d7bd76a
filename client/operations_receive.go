package client

import (
	"context"
	"encoding/json"
	"strconv"

	"quittance/client/api"
)

// IncomingInvoices returns one page of the incoming e-invoices, each in its latest revision, newest first.
func (c *Client) IncomingInvoices(ctx context.Context,
	query IncomingInvoiceQuery) (api.List[api.IncomingInvoice], error) {
	return callList[api.IncomingInvoice](ctx, c, get(clientPath+"/incoming-invoices", query.values()))
}

// IncomingInvoice returns an incoming e-invoice in its latest revision, with what its document says.
func (c *Client) IncomingInvoice(ctx context.Context, id string) (api.IncomingInvoiceDetail, error) {
	return callOne[api.IncomingInvoiceDetail](ctx, c, get(incomingPath(id), nil))
}

// IncomingRevisions returns one page of the revisions of an incoming e-invoice, oldest first.
func (c *Client) IncomingRevisions(ctx context.Context, id string,
	page Paging) (api.List[api.IncomingRevision], error) {
	return callList[api.IncomingRevision](ctx, c, get(incomingPath(id, "revisions"), page.values(nil)))
}

// IncomingAttachment returns the bytes of an attachment of a revision; id is that of the e-invoice, and attachment that
// of one of [api.ParsedDocument.Attachments]. The sender has chosen the content: treat it as data, and do not run or
// open it unchecked.
func (c *Client) IncomingAttachment(ctx context.Context, id string, revision int, attachment string) ([]byte, error) {
	return c.file(ctx, get(incomingPath(id, "revisions", strconv.Itoa(revision), "attachments", attachment), nil))
}

// IncomingPDF returns the latest revision of an incoming e-invoice as pages for people, a PDF/A-3 file with the
// received document attached. A document that cannot be read gives an error with [api.CodeDocumentUnreadable].
func (c *Client) IncomingPDF(ctx context.Context, id string) ([]byte, error) {
	return c.file(ctx, get(incomingPath(id, "document.pdf"), nil))
}

// IncomingRevisionPDF is [Client.IncomingPDF] for a revision, from 1.
func (c *Client) IncomingRevisionPDF(ctx context.Context, id string, revision int) ([]byte, error) {
	return c.file(ctx, get(incomingPath(id, "revisions", strconv.Itoa(revision), "document.pdf"), nil))
}

// IncomingDocument returns the document of a revision, from 1.
func (c *Client) IncomingDocument(ctx context.Context, id string, revision int) (api.RetainedBody, error) {
	return callOne[api.RetainedBody](ctx, c, get(incomingPath(id, "revisions", strconv.Itoa(revision), "document"), nil))
}

// CreateSubscription subscribes an HTTPS destination to webhooks. Only this response has the signing secret: store it.
// If an earlier attempt or call with the same key has created the subscription, it is returned with [ErrSecretLost].
func (c *Client) CreateSubscription(ctx context.Context, subscription api.SubscriptionRequest,
	options ...CallOption) (api.NewSubscription, error) {
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
func (c *Client) DeactivateSubscription(ctx context.Context, id string,
	options ...CallOption) (api.Subscription, error) {
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

// Events returns up to limit events after a cursor, oldest first. The cursor is "" for the beginning,
// [api.CursorLatest] for the end, and then the NextCursor of the previous result. No event is skipped, however late it
// was recorded. limit is from 1 to 100; 0 means the default of the service. For the payloads see [api.Event].
func (c *Client) Events(ctx context.Context, after string,
	limit int) (feed api.Feed[api.Event[json.RawMessage]], err error) {
	query := Paging{}.values(map[string]string{"after": after})
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	feed.Data, feed.Pagination, err = call[[]api.Event[json.RawMessage], api.Cursor](ctx, c,
		get(webhooksPath+"/events", query))
	return feed, err
}
