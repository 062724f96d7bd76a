package server

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
)

// incomingQuery are the query parameters of the list of incoming e-invoices, in addition to those for paging.
var incomingQuery = []string{"issue_date_from", "issue_date_to", "updated_since"} //nolint:gochecknoglobals // a constant table

func (c *call) listIncoming(ctx context.Context) (int, api.List[api.IncomingInvoice], error) {
	var out api.List[api.IncomingInvoice]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	filter, err := c.incomingFilter()
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).IncomingInvoices(ctx, filter, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Pagination.Truncated = found.Truncated
	out.Data = present(found.Entries, view.IncomingInvoice)
	return http.StatusOK, out, nil
}

// incomingFilter reads the filter of the list of incoming e-invoices.
func (c *call) incomingFilter() (filter view.IncomingFilter, err error) {
	query := c.request.URL.Query()
	if filter.IssueDates, err = readIssueDates(query); err != nil {
		return filter, err
	}
	filter.UpdatedSince, err = readTime(query, "updated_since")
	return filter, err
}

func (c *call) readIncoming(ctx context.Context) (int, api.Data[api.IncomingInvoiceDetail], error) {
	var out api.Data[api.IncomingInvoiceDetail]
	id, err := c.id("incoming_invoice_id")
	if err != nil {
		return 0, out, err
	}
	found, err := incoming.Find(ctx, c.session.Tenant, id)
	if err != nil {
		return 0, out, err
	}
	out.Data.IncomingInvoice = view.IncomingInvoice(found)
	if err := c.reserveResponse(view.DocumentBytes(&found.Revision)); err != nil {
		return 0, out, err
	}
	out.Data.Parsed, out.Data.ParseError, err = view.ReadDocument(ctx, c.session.Tenant, &found.Revision)
	if found.Size != nil { // the document itself is not in memory any more
		c.ticket.releaseBytes(min(int(*found.Size), c.ticket.bytes))
	}
	return http.StatusOK, out, err
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

// revision returns the revision that the path names, without its document, and the size of that.
func (c *call) revision(ctx context.Context) (found incoming.Revision, size int64, err error) {
	id, err := c.id("incoming_invoice_id")
	if err != nil {
		return found, 0, err
	}
	text := c.path["revision"]
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != text { // each revision has one spelling
		return found, 0, base.ErrNotFound
	}
	return incoming.RevisionSize(ctx, c.session.Tenant, id, number)
}

func (c *call) readDocument(ctx context.Context) (int, retainedResponse, error) {
	r, size, err := c.revision(ctx)
	if err != nil {
		return 0, retainedResponse{}, err
	}
	tenant := c.session.Tenant
	out := retainedResponse{body: api.RetainedBody{MediaType: r.MediaType, SHA256: hex.EncodeToString(r.SHA256[:]),
		Withheld: r.Withheld}, size: size}
	if r.Retained && !r.Withheld {
		out.read = func(ctx context.Context, offset int64, size int) ([]byte, error) {
			return incoming.RevisionChunk(ctx, tenant, r.Incoming, r.Revision, offset, size)
		}
	}
	return http.StatusOK, out, nil
}

func (c *call) readAttachment(ctx context.Context) (int, fileResponse, error) {
	r, _, err := c.revision(ctx)
	if err != nil {
		return 0, fileResponse{}, err
	}
	if err := c.reserveResponse(view.DocumentBytes(&r)); err != nil {
		return 0, fileResponse{}, err
	}
	file, err := view.ReadAttachment(ctx, c.session.Tenant, &r, c.path["attachment"])
	return http.StatusOK, fileResponse{file}, err
}

// incomingPDF returns the latest revision of an incoming e-invoice as pages for people.
func (c *call) incomingPDF(ctx context.Context) (int, fileResponse, error) {
	id, err := c.id("incoming_invoice_id")
	if err != nil {
		return 0, fileResponse{}, err
	}
	found, err := incoming.Find(ctx, c.session.Tenant, id)
	if err != nil {
		return 0, fileResponse{}, err
	}
	return c.printRevision(ctx, &found.Revision)
}

// revisionPDF is incomingPDF for the revision that the path names.
func (c *call) revisionPDF(ctx context.Context) (int, fileResponse, error) {
	r, _, err := c.revision(ctx)
	if err != nil {
		return 0, fileResponse{}, err
	}
	return c.printRevision(ctx, &r)
}

func (c *call) printRevision(ctx context.Context, r *incoming.Revision) (int, fileResponse, error) {
	if err := c.reserveResponse(view.DocumentBytes(r)); err != nil {
		return 0, fileResponse{}, err
	}
	file, err := c.Printer.Received(ctx, &c.session, r)
	return http.StatusOK, fileResponse{file}, err
}
