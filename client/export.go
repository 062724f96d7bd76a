package client

import (
	"context"
	"io"
	"net/url"

	"quittance/client/api"
)

// ExportInvoices returns the invoices that match the query as a file, one row for each. The paging of the query has no
// effect. A list that is too long gives an error with [api.CodeTooManyRows].
//
// The caller reads the file and closes it. It is whole if reading ends with [io.EOF]. Only ctx bounds how long that
// takes, not the time-out of the client.
func (c *Client) ExportInvoices(ctx context.Context, query InvoiceQuery,
	format api.ExportFormat) (io.ReadCloser, error) {
	return c.export(ctx, clientPath+"/invoices/export", query.values(), format)
}

// ExportInvoiceItems is [Client.ExportInvoices] with one row for each item, in the columns of an import.
func (c *Client) ExportInvoiceItems(ctx context.Context, query InvoiceQuery,
	format api.ExportFormat) (io.ReadCloser, error) {
	values := query.values()
	values.Set("rows", "items")
	return c.export(ctx, clientPath+"/invoices/export", values, format)
}

// ExportCreditNotes is [Client.ExportInvoices] for credit notes.
func (c *Client) ExportCreditNotes(ctx context.Context, query CreditNoteQuery,
	format api.ExportFormat) (io.ReadCloser, error) {
	return c.export(ctx, clientPath+"/credit-notes/export", query.values(), format)
}

// ExportIncomingInvoices is [Client.ExportInvoices] for incoming e-invoices, in their latest revisions.
func (c *Client) ExportIncomingInvoices(ctx context.Context, query IncomingInvoiceQuery,
	format api.ExportFormat) (io.ReadCloser, error) {
	return c.export(ctx, clientPath+"/incoming-invoices/export", query.values(), format)
}

func (c *Client) export(ctx context.Context, path string, query url.Values,
	format api.ExportFormat) (io.ReadCloser, error) {
	query.Del("page")
	query.Del("per_page")
	query.Set("format", string(format))
	r := get(path, query)
	r.stream = true
	a, err := c.send(ctx, &r)
	return a.file, err
}
