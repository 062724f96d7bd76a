package server

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

func (c *call) listIncoming(ctx context.Context) (int, api.List[api.IncomingInvoice], error) {
	var out api.List[api.IncomingInvoice]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).IncomingInvoices(ctx, "", page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Data = present(found.Entries, view.IncomingInvoice)
	return http.StatusOK, out, nil
}

func (c *call) readIncoming(ctx context.Context) (int, api.Data[api.IncomingInvoice], error) {
	var out api.Data[api.IncomingInvoice]
	id, err := c.id("incoming_invoice_id")
	if err != nil {
		return 0, out, err
	}
	found, err := c.session.Tenant.IncomingInvoice(ctx, id)
	if err != nil {
		return 0, out, err
	}
	out.Data = view.IncomingInvoice(found)
	return http.StatusOK, out, nil
}

func (c *call) listRevisions(ctx context.Context) (int, api.List[api.IncomingRevision], error) {
	var out api.List[api.IncomingRevision]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	id, err := c.id("incoming_invoice_id")
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).Revisions(ctx, id, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Data = present(found.Entries, view.IncomingRevision)
	return http.StatusOK, out, nil
}

func (c *call) readDocument(ctx context.Context) (int, retainedResponse, error) {
	id, err := c.id("incoming_invoice_id")
	if err != nil {
		return 0, retainedResponse{}, err
	}
	text := c.path["revision"]
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != text { // each revision has one spelling
		return 0, retainedResponse{}, store.ErrNotFound
	}
	tenant := c.session.Tenant
	r, size, err := tenant.RevisionSize(ctx, id, number)
	if err != nil {
		return 0, retainedResponse{}, err
	}
	out := retainedResponse{body: api.RetainedBody{MediaType: r.MediaType, SHA256: hex.EncodeToString(r.SHA256[:]), Withheld: r.Withheld}, size: size}
	if r.Retained && !r.Withheld {
		out.read = func(ctx context.Context, offset int64, size int) ([]byte, error) {
			return tenant.RevisionChunk(ctx, id, number, offset, size)
		}
	}
	return http.StatusOK, out, nil
}
