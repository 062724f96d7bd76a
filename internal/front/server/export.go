package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/front/export"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
)

// exportQuery are the query parameters of every export.
var exportQuery = []string{"format"} //nolint:gochecknoglobals // a constant table

// exportType are the media types of an export, by the query parameter format.
var exportType = tabular.CSV.MediaType() + ", " + tabular.XLSX.MediaType() //nolint:gochecknoglobals // a constant

// exportCodes are the errors of an export.
var exportCodes = []api.Code{api.CodeTooManyRows} //nolint:gochecknoglobals // a constant table

// The values of the query parameter rows.
const (
	rowsOfInvoices = "invoices"
	rowsOfItems    = "items"
)

// exportResponse is the response with a list as a file. It is sent while its rows are read.
type exportResponse struct{ file *export.File }

func (exportResponse) bytes() int { return 0 } // the exporter bounds the files

func (a exportResponse) write(_ context.Context, w http.ResponseWriter, status int) (int, error) {
	header := w.Header()
	header.Set("Content-Type", a.file.MediaType)
	header.Set("Content-Disposition", a.file.Disposition())
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.WriteHeader(status)
	written, err := a.file.WriteTo(w)
	if closed := a.file.Close(); err == nil && closed != nil {
		err = fmt.Errorf("after an export: %w", closed)
	}
	return int(written), err
}

// exported makes a list a file in the format of the query.
func (c *call) exported(ctx context.Context, list export.List) (int, exportResponse, error) {
	query := c.request.URL.Query()
	format := tabular.CSV
	if query.Has("format") {
		format = tabular.Format(query.Get("format"))
	}
	if !slices.Contains(tabular.Formats[:], format) {
		return 0, exportResponse{}, malformedQuery("format", "enum", "must be csv or xlsx")
	}
	file, err := c.Exporter.Open(ctx, c.session.Account.ID, list, format)
	return http.StatusOK, exportResponse{file}, err
}

func (c *call) exportInvoices(ctx context.Context) (int, exportResponse, error) {
	filter, err := c.invoiceFilter()
	if err != nil {
		return 0, exportResponse{}, err
	}
	ids := c.Exporter.InvoiceIDs(c.session.Tenant, filter)
	query := c.request.URL.Query()
	switch rows := query.Get("rows"); {
	case !query.Has("rows") || rows == rowsOfInvoices:
		return c.exported(ctx, c.Exporter.Invoices(c.session.Tenant, ids))
	case rows == rowsOfItems:
		return c.exported(ctx, c.Exporter.InvoiceItems(c.session.Tenant, ids))
	}
	return 0, exportResponse{}, malformedQuery("rows", "enum", "must be invoices or items")
}

func (c *call) exportCreditNotes(ctx context.Context) (int, exportResponse, error) {
	filter, known, err := c.creditNoteFilter()
	if err != nil {
		return 0, exportResponse{}, err
	}
	ids := c.Exporter.CreditNoteIDs(c.session.Tenant, filter)
	if !known {
		ids = export.Selected(nil)
	}
	return c.exported(ctx, c.Exporter.CreditNotes(c.session.Tenant, ids))
}

// creditNoteFilter reads the filter of the list of credit notes. known is false if no credit note can match it.
func (c *call) creditNoteFilter() (filter view.CreditNoteFilter, known bool, err error) {
	query := c.request.URL.Query()
	if filter.IssueDates, err = readIssueDates(query); err != nil || !query.Has("invoice_id") {
		return filter, true, err
	}
	id, err := base.ParseID(query.Get("invoice_id"))
	filter.Invoice = &id
	return filter, err == nil && !id.IsZero(), nil // no credit note credits an invoice that cannot exist
}

func (c *call) exportIncoming(ctx context.Context) (int, exportResponse, error) {
	filter, err := c.incomingFilter()
	if err != nil {
		return 0, exportResponse{}, err
	}
	return c.exported(ctx, c.Exporter.Incoming(c.session.Tenant, filter))
}
