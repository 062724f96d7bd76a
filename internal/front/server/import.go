package server

import (
	"context"
	"net/http"
	"reflect"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
)

// fileBody is the type of a request body that is a file.
type fileBody struct{}

// withFile makes an operation of a handler whose body is a file, which is in [call.raw].
func withFile[Out any](handle func(c *call, ctx context.Context) (status int, out Out, err error)) operation {
	return operation{
		in: reflect.TypeFor[fileBody](), out: reflect.TypeFor[Out](),
		serve: func(ctx context.Context, c *call) (int, any, error) { return handle(c, ctx) },
	}
}

// importTypes are the media types of files with drafts.
var importTypes = []string{"text/csv", tabular.XLSX.MediaType()} //nolint:gochecknoglobals // a constant list

// importInvoices creates the drafts of a file, all or none, or says only what is in it.
func (c *call) importInvoices(ctx context.Context) (int, api.Data[api.Import], error) {
	var out api.Data[api.Import]
	query := c.request.URL.Query()
	dry := query.Get("dry_run")
	if query.Has("dry_run") && dry != "true" && dry != "false" {
		return 0, out, malformedQuery("dry_run", "enum", "must be true or false")
	}
	end, err := c.Importer.Turn(ctx, c.session.Account.ID)
	if err != nil {
		return 0, out, err
	}
	defer end()
	file, err := c.Importer.Read(ctx, c.raw, query.Get("sheet"), nil)
	if err != nil {
		return 0, out, err
	}
	if out.Data, err = file.Describe(ctx, c.session.Tenant, c.seller()); err != nil {
		return 0, out, err
	}
	if dry == "true" {
		return perform(ctx, c, func(context.Context, *base.Tenant) (int, api.Data[api.Import], error) {
			return http.StatusOK, out, nil
		})
	}
	if err := problem.For(api.CodeValidationFailed).In(view.ImportFaults(&out.Data)); err != nil {
		return 0, api.Data[api.Import]{}, err
	}
	drafts := file.Payloads()
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.Import], error) {
		imported, err := invoices.Import(ctx, t, drafts, file.Source(invoices.UploadKey{}))
		if err != nil {
			return 0, api.Data[api.Import]{}, err
		}
		out.Data.Invoices = make([]api.ImportedInvoice, len(imported))
		for n, i := range imported {
			out.Data.Invoices[n] = api.ImportedInvoice{ID: i.ID.String(), InvoiceNumber: i.Number}
		}
		return http.StatusCreated, out, nil
	})
}
