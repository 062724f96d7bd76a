package client

import (
	"context"
	"net/http"

	"quittance/client/api"
)

// CreateCustomer adds a customer to the customer book. The call has an Idempotency-Key, as [Client.CreateInvoice] has.
// Fill a draft with [api.CustomerFields.Fill].
func (c *Client) CreateCustomer(ctx context.Context, customer api.CustomerFields,
	options ...CallOption) (api.Customer, error) {
	return callOne[api.Customer](ctx, c, post(clientPath+"/customers", customer), options...)
}

// Customers returns one page of the customer book, in the order of the names.
func (c *Client) Customers(ctx context.Context, query BookQuery) (api.List[api.Customer], error) {
	return callList[api.Customer](ctx, c, get(clientPath+"/customers", query.values()))
}

// Customer returns one customer.
func (c *Client) Customer(ctx context.Context, id string) (api.Customer, error) {
	return callOne[api.Customer](ctx, c, get(customerPath(id), nil))
}

// PatchCustomer changes a customer. The patch is a JSON merge patch (RFC 7396): nil removes a field. Invoices do not
// change.
func (c *Client) PatchCustomer(ctx context.Context, id string, patch map[string]any,
	options ...CallOption) (api.Customer, error) {
	return callOne[api.Customer](ctx, c, request{method: http.MethodPatch, path: customerPath(id), body: patch},
		options...)
}

// DeleteCustomer deletes a customer permanently. Invoices do not change. The error has the code not_found if the
// customer is already deleted, which can be the effect of an earlier attempt of the same call whose response was lost.
func (c *Client) DeleteCustomer(ctx context.Context, id string) (api.Deleted, error) {
	return callOne[api.Deleted](ctx, c, request{method: http.MethodDelete, path: customerPath(id), repeatable: true})
}

// CreateItem adds an item to the item catalogue. The call has an Idempotency-Key, as [Client.CreateInvoice] has. Fill
// an invoice line with [api.CatalogueItemFields.Fill].
func (c *Client) CreateItem(ctx context.Context, item api.CatalogueItemFields,
	options ...CallOption) (api.CatalogueItem, error) {
	return callOne[api.CatalogueItem](ctx, c, post(clientPath+"/items", item), options...)
}

// Items returns one page of the item catalogue, in the order of the names.
func (c *Client) Items(ctx context.Context, query BookQuery) (api.List[api.CatalogueItem], error) {
	return callList[api.CatalogueItem](ctx, c, get(clientPath+"/items", query.values()))
}

// Item returns one item.
func (c *Client) Item(ctx context.Context, id string) (api.CatalogueItem, error) {
	return callOne[api.CatalogueItem](ctx, c, get(itemPath(id), nil))
}

// PatchItem changes an item, as [Client.PatchCustomer] does a customer.
func (c *Client) PatchItem(ctx context.Context, id string, patch map[string]any,
	options ...CallOption) (api.CatalogueItem, error) {
	return callOne[api.CatalogueItem](ctx, c, request{method: http.MethodPatch, path: itemPath(id), body: patch},
		options...)
}

// DeleteItem deletes an item permanently, as [Client.DeleteCustomer] does a customer.
func (c *Client) DeleteItem(ctx context.Context, id string) (api.Deleted, error) {
	return callOne[api.Deleted](ctx, c, request{method: http.MethodDelete, path: itemPath(id), repeatable: true})
}
