package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

func incomingRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/incoming", serve: (*request).listIncoming},
		{method: http.MethodGet, path: "/incoming/{incoming}", serve: (*request).showIncoming},
		{method: http.MethodGet, path: "/incoming/{incoming}/revisions/{revision}/document", serve: (*request).downloadDocument},
		{method: http.MethodGet, path: "/incoming/{incoming}/revisions/{revision}/attachments/{attachment}", serve: (*request).downloadAttachment},
	}
}

// incomingPollInterval is the poll interval of the pages of incoming e-invoices.
const incomingPollInterval = 5 * time.Second

// incomingPage is the view model of the list of incoming e-invoices.
type incomingPage struct {
	Search string
	Rows   live
}

// incomingRows is a page of the list.
type incomingRows struct {
	Rows     []incomingRow
	Paging   paging
	Filtered bool
}

// incomingRow is the latest revision of an incoming e-invoice.
type incomingRow struct {
	api.IncomingInvoice
	Total string
	// Webhooks summarizes the webhook deliveries.
	Webhooks view.NotificationSummary
}

func (req *request) listIncoming() error {
	paging, search := req.paging(), req.search()
	found, err := view.Of(req.session.Tenant).IncomingInvoices(req.r.Context(), search, paging.Page, paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := req.incomingRows(found.Entries)
	if err != nil {
		return err
	}
	count, err := req.pages.messages.plural("incoming.count", found.Total)
	if err != nil {
		return err
	}
	part, err := req.livePart("incoming", "incoming-rows", incomingRows{Rows: rows, Paging: paging, Filtered: search != ""}, incomingPollInterval, count)
	if err != nil {
		return err
	}
	if req.isFragment() {
		return req.respondLive("incoming", part)
	}
	title, err := req.pages.messages.text("incoming.title")
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "incoming", pageData{Title: title, Section: "incoming", Body: incomingPage{Search: search, Rows: part}})
}

// incomingRows returns the rows of a page. It reads the deliveries of all of them in one query.
func (req *request) incomingRows(invoices []store.Incoming) ([]incomingRow, error) {
	ids := make([]store.ID, len(invoices))
	for n, i := range invoices {
		ids[n] = i.ID
	}
	summaries, err := view.Of(req.session.Tenant).NotificationSummaries(req.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]incomingRow, len(invoices))
	for n, i := range invoices {
		rows[n] = incomingRow{IncomingInvoice: view.IncomingInvoice(i), Webhooks: summaries[i.ID]}
		if i.TotalAmount != nil {
			rows[n].Total = grouped(i.TotalAmount.String())
		}
	}
	return rows, nil
}

// incomingInvoicePage is the view model of one incoming e-invoice. All of it is live.
type incomingInvoicePage struct {
	api.IncomingInvoice
	// Revisions are the newest revisions, newest first.
	Revisions []revisionRow
	// Older is the number of older revisions.
	Older  int
	Events []eventRow
	// Document is what the document of the latest revision says, and Unreadable why it cannot be read. Both are nil if it is not
	// retained or is withheld.
	Document   *receivedDocument
	Unreadable *api.Fault
	// Every is the poll interval.
	Every time.Duration
}

// revisionRow is one revision and its changes.
type revisionRow struct {
	api.IncomingRevision
	// Size is the size of the document in bytes, or "" when it is not known.
	Size    string
	Changes []changedValue
	// First reports that this is the first revision, and Known that the previous one was read.
	First, Known bool
	// SameDocument reports that the document has the same bytes as in the previous revision.
	SameDocument bool
}

// changedValue is a value that differs from the previous revision. It is "" when absent.
type changedValue struct {
	// Field is the JSON name.
	Field, Before, After string
}

// maxRevisions is the number of revisions on a page.
const maxRevisions = 100

func (req *request) showIncoming() error {
	id, err := req.id("incoming")
	if err != nil {
		return err
	}
	found, err := req.session.Tenant.IncomingInvoice(req.r.Context(), id)
	if err != nil {
		return err
	}
	p, err := req.incomingInvoicePage(found)
	if err != nil {
		return err
	}
	announcement, err := req.pages.messages.text("incoming.announcement", grouped(strconv.FormatInt(found.Revision.Revision, 10)))
	if err != nil {
		return err
	}
	part, err := req.livePart("incoming-invoice", "incoming-invoice", p, p.Every, announcement)
	if err != nil {
		return err
	}
	if req.isFragment() {
		return req.respondLive("incoming-invoice", part)
	}
	title := deref(found.InvoiceNumber)
	if title == "" {
		title = found.ProviderDocumentID
	}
	return req.page(http.StatusOK, "incoming-invoice", pageData{Title: title, Section: "incoming", Body: part})
}

// incomingInvoicePage reads everything that belongs to an incoming e-invoice.
func (req *request) incomingInvoicePage(found store.Incoming) (incomingInvoicePage, error) {
	ctx, tenant := req.r.Context(), req.session.Tenant
	p := incomingInvoicePage{IncomingInvoice: view.IncomingInvoice(found)}
	if err := req.readDocument(&p, &found.Revision); err != nil {
		return p, err
	}
	latest := int(found.Revision.Revision)
	// Read the last two pages of the revisions: together they have at least maxRevisions, if there are as many.
	var revisions []store.Revision
	last := (latest + maxRevisions - 1) / maxRevisions
	for page := max(1, last-1); page <= last; page++ {
		read, err := view.Of(tenant).Revisions(ctx, found.ID, page, maxRevisions)
		if err != nil {
			return p, err
		}
		revisions = append(revisions, read.Entries...)
	}
	for n := len(revisions) - 1; n >= 0 && len(p.Revisions) < maxRevisions; n-- {
		row := revisionRow{IncomingRevision: view.IncomingRevision(revisions[n]), First: revisions[n].Revision == 1, Known: n > 0}
		if size := revisions[n].Size; size != nil {
			row.Size = grouped(strconv.FormatInt(*size, 10))
		}
		if n > 0 {
			row.SameDocument = revisions[n].SHA256 == revisions[n-1].SHA256
			row.Changes = changedValues(&revisions[n-1], &revisions[n])
		}
		p.Revisions = append(p.Revisions, row)
	}
	p.Older = latest - len(p.Revisions)
	events, err := view.Of(tenant).ResourceEvents(ctx, []store.ID{found.ID}, maxEvents)
	if err != nil {
		return p, err
	}
	p.Events, err = req.eventRows(events)
	return p, err
}

// changedValues returns the values that differ between two revisions.
func changedValues(before, after *store.Revision) []changedValue {
	total := func(r *store.Revision) *string {
		if r.TotalAmount == nil {
			return nil
		}
		return new(grouped(r.TotalAmount.String()))
	}
	var out []changedValue
	for _, field := range []struct {
		name          string
		before, after *string
	}{
		{"document_type", before.DocumentType, after.DocumentType}, {"invoice_number", before.InvoiceNumber, after.InvoiceNumber},
		{"supplier_name", before.SupplierName, after.SupplierName}, {"supplier_network_id", before.SupplierNetworkID, after.SupplierNetworkID},
		{"issue_date", before.IssueDate, after.IssueDate}, {"due_date", before.DueDate, after.DueDate},
		{"currency", before.Currency, after.Currency}, {"total_amount", total(before), total(after)},
	} {
		if deref(field.before) != deref(field.after) {
			out = append(out, changedValue{Field: field.name, Before: deref(field.before), After: deref(field.after)})
		}
	}
	return out
}

// revision returns the revision that the path names, without its document, and the size of that.
func (req *request) revision() (found store.Revision, size int64, err error) {
	id, err := req.id("incoming")
	if err != nil {
		return found, 0, err
	}
	text := req.values["revision"]
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != text { // only the canonical form of a number is valid
		return found, 0, store.ErrNotFound
	}
	return req.session.Tenant.RevisionSize(req.r.Context(), id, number)
}

// downloadDocument responds with the retained bytes of a revision, as an attachment.
func (req *request) downloadDocument() error {
	r, size, err := req.revision()
	switch {
	case err != nil:
		return err
	case r.Withheld:
		return &problem{status: http.StatusForbidden, messageKey: "withheld_document"}
	case !r.Retained:
		return &problem{status: http.StatusNotFound, messageKey: "not_retained"}
	}
	if err := req.reserve(int(size)); err != nil {
		return err
	}
	if r, err = req.session.Tenant.RevisionDocument(req.r.Context(), r.Incoming, r.Revision); err != nil {
		return err
	}
	return req.attachment(fmt.Sprintf("incoming-%s-%d%s", r.Incoming, r.Revision, extension(r.MediaType)), r.Body)
}

// extension returns a file extension for a media type of the provider, or ".bin" for an unknown type. Nothing else depends
// on the media type: the browser always gets plain bytes.
func extension(mediaType string) string {
	name, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	switch strings.TrimSpace(name) {
	case "application/xml", "text/xml":
		return ".xml"
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	}
	return ".bin"
}
