package documents

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
)

func incomingRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/incoming", Needs: access.Read, Serve: listIncoming},
		{Method: http.MethodGet, Path: "/incoming/{incoming}", Needs: access.Read, Serve: showIncoming},
		{Method: http.MethodGet, Path: "/incoming/{incoming}/document.pdf", Needs: access.Read,
			Serve: downloadIncomingPDF},
		{Method: http.MethodGet, Path: "/incoming/{incoming}/revisions/{revision}/document", Needs: access.Read,
			Serve: downloadDocument},
		{Method: http.MethodGet, Path: "/incoming/{incoming}/revisions/{revision}/document.pdf", Needs: access.Read,
			Serve: downloadRevisionPDF},
		{Method: http.MethodGet, Path: "/incoming/{incoming}/revisions/{revision}/attachments/{attachment}",
			Needs: access.Read, Serve: downloadAttachment},
	}
}

// incomingPollInterval is the poll interval of the pages of incoming e-invoices.
const incomingPollInterval = 5 * time.Second

// incomingPage is the view model of the list of incoming e-invoices.
type incomingPage struct {
	Filters incomingFilters
	Rows    page.Live
}

// incomingFilters holds the filters of the list.
type incomingFilters struct {
	console.ListFilters
	query view.IncomingFilter
}

// readIncomingFilters reads the filters from the query.
func readIncomingFilters(req *console.Request) incomingFilters {
	f := incomingFilters{ListFilters: console.ListFilters{Path: "/incoming",
		Names: []string{console.SearchParameter, console.IssuedFromParameter, console.IssuedToParameter,
			console.UpdatedSinceParameter}}}
	f.Values, f.Ignored = req.ReadFilters(func(name, value string) bool {
		switch name {
		case console.SearchParameter:
			return console.Assign(&f.query.Text, value, len(value) <= console.MaxSearch)
		case console.UpdatedSinceParameter:
			return console.SetDay(&f.query.UpdatedSince, value)
		}
		return console.SetIssueDate(&f.query.IssueDates, name, value)
	})
	return f
}

// incomingRows is a page of the list.
type incomingRows struct {
	Rows    []incomingRow
	Paging  page.Paging
	Filters incomingFilters
	// Truncated reports that the list has more candidates than it examines.
	Truncated bool
}

// incomingRow is the latest revision of an incoming e-invoice.
type incomingRow struct {
	api.IncomingInvoice
	Overall page.Pill
	// Undelivered is the number of its webhook deliveries that failed or were blocked.
	Undelivered int
}

func listIncoming(req *console.Request) error {
	paging, p := req.Paging(), incomingPage{Filters: readIncomingFilters(req)}
	found, err := view.Of(req.Session.Tenant).IncomingInvoices(req.R.Context(), p.Filters.query, paging.Page,
		paging.PerPage)
	if err != nil {
		return err
	}
	paging.Total = found.Total
	rows, err := readIncomingRows(req, found.Entries)
	if err != nil {
		return err
	}
	count, err := req.Words.Messages.Plural("incoming.count", found.Total)
	if err != nil {
		return err
	}
	p.Rows, err = req.LivePart("incoming", "incoming-rows", incomingRows{Rows: rows, Paging: paging, Filters: p.Filters,
		Truncated: found.Truncated}, incomingPollInterval, count)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("incoming", p.Rows)
	}
	return req.Show(http.StatusOK, "incoming", "incoming.title", page.Layout{Section: "incoming", Body: p,
		Export: console.NewExportMenu("/incoming", p.Filters.Values)})
}

// readIncomingRows returns the rows of a page. It reads the deliveries of all of them in one query.
func readIncomingRows(req *console.Request, invoices []incoming.Incoming) ([]incomingRow, error) {
	ids := make([]base.ID, len(invoices))
	for n, i := range invoices {
		ids[n] = i.ID
	}
	summaries, err := view.Of(req.Session.Tenant).NotificationSummaries(req.R.Context(), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]incomingRow, len(invoices))
	for n, i := range invoices {
		summary := summaries[i.ID]
		rows[n] = incomingRow{IncomingInvoice: view.IncomingInvoice(i), Undelivered: summary.Failed + summary.Blocked}
		if rows[n].Overall, err = incomingPill(req.Words.Messages, receptionOf(&i.Revision,
			console.Deref(i.DocumentType) == api.DocumentUnreadable)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// A reception says what is known of the document of a revision. It is a key in the messages.
const (
	receptionWithheld   = "withheld"   // it contains our credential and stays sealed
	receptionLarge      = "large"      // its size is known, and its bytes are not retained
	receptionIncomplete = "incomplete" // it could not be fetched
	receptionUnreadable = "unreadable" // it is retained and cannot be shown
	receptionChanged    = "changed"    // it replaces an earlier revision
	receptionFirst      = "first"
)

// receptionOf returns the reception of a revision.
func receptionOf(r *incoming.Revision, unreadable bool) string {
	switch {
	case r.Withheld:
		return receptionWithheld
	case !r.Retained && r.Size != nil:
		return receptionLarge
	case !r.Retained:
		return receptionIncomplete
	case unreadable:
		return receptionUnreadable
	case r.Revision > 1:
		return receptionChanged
	}
	return receptionFirst
}

// incomingPill returns the pill of a reception. None has a colour, because nobody publishes a meaning of it.
func incomingPill(c console.Catalogue, reception string) (page.Pill, error) {
	out := page.Pill{Meaning: "unknown", Shape: "blocked"}
	switch reception {
	case receptionLarge, receptionIncomplete:
		out.Shape = "none"
	case receptionUnreadable:
		out.Shape = "unknown"
	case receptionChanged:
		out = page.Pill{Meaning: "neutral", Shape: "warn"}
	case receptionFirst:
		out = page.Pill{Meaning: "neutral", Shape: "save"}
	}
	var err, tipErr error
	out.Text, err = c.Text("incoming.pill." + reception)
	out.Tip, tipErr = c.Text("incoming.tip." + reception)
	return out, errors.Join(err, tipErr)
}

// incomingInvoicePage is the view model of one incoming e-invoice. All of it is live.
type incomingInvoicePage struct {
	api.IncomingInvoice
	// Reception says what is known of the document of the latest revision.
	Reception string
	Overall   page.Pill
	// Revisions are the newest revisions, newest first.
	Revisions []revisionRow
	// Older is the number of older revisions.
	Older int
	// Change says what the latest revision changed, and is nil for the first one.
	Change *revisionChange
	eventHistory
	// Document is what the document of the latest revision says, and Unreadable why it cannot be read. Both are nil if it
	// is not retained or is withheld.
	Document   *receivedDocument
	Unreadable *api.Fault
	Tabs       pageTabs
	// Activity is read for its tab alone.
	Activity []activityRow
	// Every is the poll interval.
	Every time.Duration
}

// Readable reports that the document of the latest revision is shown.
func (p incomingInvoicePage) Readable() bool { return p.Document != nil }

// Downloadable reports that the document of the latest revision can be downloaded.
func (p incomingInvoicePage) Downloadable() bool {
	return p.IncomingInvoice.Evidence.DocumentRetained && !p.IncomingInvoice.Evidence.Withheld
}

// revisionRow is one revision and its changes.
type revisionRow struct {
	api.IncomingRevision
	// Changes are the changes of the provider's metadata.
	Changes []changedValue
	// First reports that this is the first revision, and Known that the previous one was read.
	First, Known bool
	// SameDocument reports that the document has the same bytes as in the previous revision.
	SameDocument bool
}

// maxRevisions is the number of revisions on a page.
const maxRevisions = 100

func showIncoming(req *console.Request) error {
	id, err := req.ID("incoming")
	if err != nil {
		return err
	}
	found, err := incoming.Find(req.R.Context(), req.Session.Tenant, id)
	if err != nil {
		return err
	}
	p, err := readIncomingPage(req, found)
	if err != nil {
		return err
	}
	announcement, err := req.Text("incoming.announcement",
		page.Grouped(strconv.FormatInt(found.Revision.Revision, 10)))
	if err != nil {
		return err
	}
	part, err := req.LivePart("incoming-invoice", "incoming-invoice", p, p.Every, announcement)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("incoming-invoice", part)
	}
	title := console.Deref(found.InvoiceNumber)
	if title == "" {
		title = found.ProviderDocumentID
	}
	return req.Show(http.StatusOK, "incoming-invoice", "", page.Layout{Title: title, Section: "incoming", Body: part})
}

// readIncomingPage reads everything that belongs to an incoming e-invoice.
func readIncomingPage(req *console.Request, found incoming.Incoming) (incomingInvoicePage, error) {
	ctx, tenant := req.R.Context(), req.Session.Tenant
	p := incomingInvoicePage{IncomingInvoice: view.IncomingInvoice(found)}
	revisions, err := addRevisions(req, &p, found)
	if err != nil {
		return p, err
	}
	if err := readDocuments(req, &p, revisions); err != nil {
		return p, err
	}
	p.Reception = receptionOf(&found.Revision, p.Unreadable != nil)
	if p.Overall, err = incomingPill(req.Words.Messages, p.Reception); err != nil {
		return p, err
	}
	events, err := view.Of(tenant).ResourceEvents(ctx, []base.ID{found.ID}, maxEvents)
	if err != nil {
		return p, err
	}
	if p.Events, err = eventRows(req, events); err != nil {
		return p, err
	}
	p.Tabs = newPageTabs(req, "/incoming/"+p.ID, pageTab{Name: tabDocument},
		pageTab{Name: tabRevisions, Count: int(found.Revision.Revision)}, p.webhooksTab(), pageTab{Name: tabActivity})
	if p.Tabs.Current == tabActivity {
		p.Activity, err = activity(ctx, req, p.activitySubjects()...)
	}
	return p, err
}

// activitySubjects returns what an entry of the audit log about the e-invoice can be about: itself, and its newest
// deliveries.
func (p incomingInvoicePage) activitySubjects() []string {
	out := []string{p.ID}
	for _, event := range p.Events {
		for _, delivery := range event.Deliveries {
			if len(out) < maxActivity {
				out = append(out, delivery.ID)
			}
		}
	}
	return out
}

// addRevisions adds the newest revisions to the page, and returns them, oldest first.
func addRevisions(req *console.Request, p *incomingInvoicePage, found incoming.Incoming) ([]incoming.Revision, error) {
	latest := int(found.Revision.Revision)
	// Read the last two pages of the revisions: together they have at least maxRevisions, if there are as many.
	var revisions []incoming.Revision
	last := (latest + maxRevisions - 1) / maxRevisions
	for page := max(1, last-1); page <= last; page++ {
		read, err := view.Of(req.Session.Tenant).Revisions(req.R.Context(), found.ID, page, maxRevisions)
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, read.Entries...)
	}
	for n := len(revisions) - 1; n >= 0 && len(p.Revisions) < maxRevisions; n-- {
		row := revisionRow{IncomingRevision: view.IncomingRevision(revisions[n]), First: revisions[n].Revision == 1,
			Known: n > 0}
		if n > 0 {
			row.SameDocument = revisions[n].SHA256 == revisions[n-1].SHA256
			row.Changes = changedValues(metadataValues(req.Words.Messages, &revisions[n-1]),
				metadataValues(req.Words.Messages, &revisions[n]))
		}
		p.Revisions = append(p.Revisions, row)
	}
	p.Older = latest - len(p.Revisions)
	return revisions, nil
}

// revision returns the revision that the path names, without its document, and the size of that.
func revision(req *console.Request) (found incoming.Revision, size int64, err error) {
	id, err := req.ID("incoming")
	if err != nil {
		return found, 0, err
	}
	text := req.Values["revision"]
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != text { // only the canonical form of a number is valid
		return found, 0, base.ErrNotFound
	}
	return incoming.RevisionSize(req.R.Context(), req.Session.Tenant, id, number)
}

// downloadDocument responds with the retained bytes of a revision, as an attachment.
func downloadDocument(req *console.Request) error {
	r, size, err := revision(req)
	switch {
	case err != nil:
		return err
	case r.Withheld:
		return console.ErrWithheldDocument
	case !r.Retained:
		return console.ErrNotRetained
	}
	if err := req.Reserve(int(size)); err != nil {
		return err
	}
	if r, err = incoming.RevisionDocument(req.R.Context(), req.Session.Tenant, r.Incoming, r.Revision); err != nil {
		return err
	}
	return req.Attachment(fmt.Sprintf("incoming-%s-%d%s", r.Incoming, r.Revision, extension(r.MediaType)), r.Body)
}

// extension returns a file extension for a media type of the provider, or ".bin" for an unknown type. Nothing else
// depends on the media type: the browser always gets plain bytes.
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
