package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
)

// invoiceQuery are the query parameters of the list of invoices, in addition to those for paging.
var invoiceQuery = []string{ //nolint:gochecknoglobals // a constant table
	"invoice_number", "external_id", "recipient_name", "issue_date_from", "issue_date_to", "updated_since", "submitted",
	"submission_state", "provider_invoice_state", "tax_authority_state", "receiver_state", "attention", "sort"}

// sorts are the values of the query parameter sort. A hyphen before a value means descending order.
var sorts = map[string]view.InvoiceOrder{ //nolint:gochecknoglobals // a constant table
	"created_at": view.OrderCreated, "issue_date": view.OrderIssueDate, "total_amount": view.OrderTotal,
	"recipient_name": view.OrderRecipient}

// maxRecipientName is the maximum length in characters of a recipient's name, and of the text that is searched in it.
const maxRecipientName = 256

func (c *call) listInvoices(ctx context.Context) (int, api.List[api.InvoiceSummary], error) {
	var out api.List[api.InvoiceSummary]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	filter, err := c.invoiceFilter()
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).Invoices(ctx, filter, page, perPage)
	if err != nil {
		return 0, out, err
	}
	seller := c.seller()
	if err := view.Of(c.session.Tenant).AddNeeds(ctx, found.Entries, seller, c.reserveLargest()); err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Pagination.Truncated = found.Truncated
	for n := range found.Entries {
		out.Data = append(out.Data, view.InvoiceSummary(found.Entries[n], seller))
	}
	return http.StatusOK, out, nil
}

// reserveLargest returns a function that reserves the memory to parse a document of the given size in bytes. Documents
// are parsed one after the other, so only the largest counts.
func (c *call) reserveLargest() func(bytes int) error {
	reserved := 0
	return func(bytes int) error {
		if bytes <= reserved {
			return nil
		}
		more := bytes - reserved
		reserved = bytes
		return c.reserveResponse(decodedFactor * more)
	}
}

// invoiceFilter reads the filters and the order of the list of invoices.
func (c *call) invoiceFilter() (view.InvoiceFilter, error) {
	query := c.request.URL.Query()
	filter := view.InvoiceFilter{States: map[invoice.Dimension]string{}, Recipient: query.Get("recipient_name")}
	for name, into := range map[string]**string{"invoice_number": &filter.Number, "external_id": &filter.ExternalID} {
		if query.Has(name) {
			*into = new(query.Get(name))
		}
	}
	for _, dimension := range invoice.Dimensions {
		if query.Has(string(dimension)) {
			filter.States[dimension] = query.Get(string(dimension))
		}
	}
	if length := utf8.RuneCountInString(filter.Recipient); query.Has("recipient_name") &&
		(length < 1 || length > maxRecipientName) {
		return filter, malformedQuery("recipient_name", "max_length", "must have 1 to 256 characters")
	}
	for name, into := range map[string]**bool{"submitted": &filter.Submitted, "attention": &filter.Attention} {
		if err := readFlag(query, name, into); err != nil {
			return filter, err
		}
	}
	var err error
	if filter.IssueDates, err = readIssueDates(query); err != nil {
		return filter, err
	}
	if query.Has("updated_since") {
		since, err := readTime(query, "updated_since")
		if err != nil {
			return filter, err
		}
		filter.UpdatedSince = &since
	}
	return filter, readOrder(query, &filter)
}

// readIssueDates reads the optional bounds of the issue date.
func readIssueDates(query url.Values) (dates view.IssueDates, err error) {
	for name, into := range map[string]*string{"issue_date_from": &dates.IssuedFrom, "issue_date_to": &dates.IssuedTo} {
		if !query.Has(name) {
			continue
		}
		*into = query.Get(name)
		if _, err := time.Parse(time.DateOnly, *into); err != nil {
			return dates, malformedQuery(name, "date", "must be a date YYYY-MM-DD")
		}
	}
	return dates, nil
}

// readTime reads an optional time. It is zero if there is none.
func readTime(query url.Values, name string) (time.Time, error) {
	if !query.Has(name) {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, query.Get(name))
	if err != nil {
		return at, malformedQuery(name, "date-time", "must be a time of RFC 3339, such as 2026-03-01T09:30:00Z")
	}
	return at, nil
}

// readFlag reads an optional parameter that is true or false.
func readFlag(query url.Values, name string, into **bool) error {
	switch {
	case !query.Has(name):
	case query.Get(name) == "true":
		*into = new(true)
	case query.Get(name) == "false":
		*into = new(false)
	default:
		return malformedQuery(name, "enum", "must be true or false")
	}
	return nil
}

// readOrder reads the order of the list: newest first when it is not given.
func readOrder(query url.Values, filter *view.InvoiceFilter) error {
	if !query.Has("sort") {
		return nil
	}
	name, descending := strings.CutPrefix(query.Get("sort"), "-")
	order, known := sorts[name]
	if !known {
		return malformedQuery("sort", "enum",
			"must be created_at, issue_date, total_amount or recipient_name, with - before it for descending")
	}
	filter.Order, filter.Ascending = order, !descending
	return nil
}
