package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

// invoicePage is the view model of one invoice. All of it is live.
type invoicePage struct {
	ID      string
	Invoice api.Invoice
	// Version is the version that is shown.
	Version int64
	// Outcome is the outcome of the submission, or "draft".
	Outcome string
	// Correctable reports that the document was rejected and may be corrected.
	Correctable bool
	Timeline    timeline
	Totals      invoice.Totals
	// Warnings is the advice by field, sorted by path.
	Warnings []advice
	Evidence []evidenceRow
	// Remarks are the provider's messages to people in its latest response about the current submission.
	Remarks []invoice.Remark
	// Details are the less common fields.
	Details []detail
	// Means is the name of the payment means, or "".
	Means string
	// Submissions are all submissions, newest first.
	Submissions []submissionRow
	// History is the position in the submissions and the evidence. Its Total is the larger of the two totals.
	History paging
	Events  []eventRow
	// Credits are the credit notes, newest first.
	Credits []creditRow
}

// Draft reports that there is no submission that still counts.
func (p invoicePage) Draft() bool { return p.Outcome == "draft" }

// Editable reports that the document can be changed.
func (p invoicePage) Editable() bool {
	return (p.Draft() || p.Correctable) && !slices.ContainsFunc(p.Credits, creditRow.Live)
}

// Contradicted returns the submissions that were resolved as rejected and that the provider reported nevertheless.
func (p invoicePage) Contradicted() []submissionRow {
	return slices.DeleteFunc(slices.Clone(p.Submissions), func(s submissionRow) bool { return s.Resolved == nil || s.Resolved.ContradictedAt == nil })
}

// Accepted returns the number of submissions that the provider has: those it acknowledged, and the contradicted ones.
func (p invoicePage) Accepted() int {
	acknowledged := 0
	for _, s := range p.Submissions {
		if s.Outcome == api.OutcomeAcknowledged {
			acknowledged++
		}
	}
	return acknowledged + len(p.Contradicted())
}

// Deletable reports that nothing on the page refers to the draft.
func (p invoicePage) Deletable() bool {
	return p.Draft() && p.History.Total == 0 && len(p.Credits) == 0
}

// advice is the advice on one field.
type advice struct {
	Path   string
	Faults []api.Fault
}

// evidenceRow is one retained response of the provider.
type evidenceRow struct {
	api.Evidence
	// States are the state values in the response, in the order of the dimensions.
	States []stateView
	// Remarks are the messages to people in the response.
	Remarks []invoice.Remark
	// Earlier reports that the response concerns an earlier submission.
	Earlier bool
}

// submissionRow is one submission with its states.
type submissionRow struct {
	api.SubmissionRecord
	States []stateView
	id     store.ID
}

// eventRow is an event with its deliveries.
type eventRow struct {
	ID         string
	Kind       api.EventKind
	OccurredAt time.Time
	Deliveries []deliveryRow
}

// deliveryRow is the delivery of an event to one subscription.
type deliveryRow struct {
	api.Delivery
	// URL is the destination, or "" for one of very many old ones, and Description is its description.
	URL, Description string
}

// The poll intervals of an invoice's page: while states may change, and otherwise.
const (
	invoicePollInterval      = time.Second
	invoiceQuietPollInterval = 10 * time.Second
)

// maxEvents is the number of events on the page of an invoice.
const maxEvents = 100

func (req *request) showInvoice() error {
	id, err := req.id("invoice")
	if err != nil {
		return err
	}
	return req.respondInvoice(http.StatusOK, id, nil)
}

// respondInvoice responds with the page of an invoice and an optional notice.
func (req *request) respondInvoice(status int, id store.ID, flash *notice) error {
	ctx := req.r.Context()
	if err := req.acquireForInvoice(id); err != nil {
		return err
	}
	found, err := req.session.Tenant.Invoice(ctx, id)
	if err != nil {
		return err
	}
	p, err := req.invoicePage(ctx, found)
	if err != nil {
		return err
	}
	announcement, err := req.announcement(p)
	if err != nil {
		return err
	}
	part, err := req.livePart("invoice", "invoice", p, p.pollInterval(found.States().AllTerminal()), announcement)
	if err != nil {
		return err
	}
	if req.isFragment() {
		return req.respondLive("invoice", part)
	}
	return req.page(status, "invoice", pageData{Title: deref(found.Draft.InvoiceNumber), Section: "invoices", Notice: flash, Body: part})
}

// pollInterval returns the poll interval of the page. Polling never ends, because events may be redelivered and somebody
// else may submit a draft.
func (p invoicePage) pollInterval(terminal bool) time.Duration {
	moving := !p.Draft() && !terminal
	for _, event := range p.Events {
		for _, delivery := range event.Deliveries {
			moving = moving || delivery.State == api.DeliveryPending
		}
	}
	if moving {
		return invoicePollInterval
	}
	return invoiceQuietPollInterval
}

// announcement returns the text for screen readers: the outcome and the four state values.
func (req *request) announcement(p invoicePage) (string, error) {
	outcome, err := req.pages.messages.text("outcome." + p.Outcome)
	parts := []string{outcome}
	for _, row := range p.Timeline.Rows {
		name, nameErr := req.pages.messages.text("state." + row.State.Dimension)
		value := row.State.Value
		if !row.State.Reported() {
			value = req.pages.messages.textOr("state.none", "")
		}
		sentence, sayErr := req.pages.messages.text("invoice.announcement", name, value)
		parts, err = append(parts, sentence), errors.Join(err, nameErr, sayErr)
	}
	return strings.Join(parts, ". "), err
}

// invoicePage reads everything that belongs to an invoice, with one query for each kind of record.
func (req *request) invoicePage(ctx context.Context, found store.Invoice) (invoicePage, error) {
	tenant := req.session.Tenant
	p := invoicePage{ID: found.ID.String(), Version: found.Version, Invoice: view.Invoice(found, req.profile()), Details: invoiceDetails(&found.Draft), Outcome: outcomeOf(found), Totals: invoice.Compute(&found.Draft),
		Means: codeLists["payment-means"].name(deref(found.Draft.PaymentMeansCode))}
	p.Correctable = found.Submission != nil && found.Submission.Correctable()
	for _, path := range slices.Sorted(maps.Keys(p.Invoice.Warnings)) {
		p.Warnings = append(p.Warnings, advice{Path: path, Faults: p.Invoice.Warnings[path]})
	}
	credits, err := view.Of(tenant).CreditNotes(ctx, view.CreditNoteFilter{Invoice: &found.ID}, 1, maxPerPage)
	if err != nil {
		return p, err
	}
	for _, n := range credits.Entries {
		p.Credits = append(p.Credits, creditRow{CreditNote: view.CreditNote(n.CreditNote)})
	}
	evidence, err := req.showHistory(ctx, &p, found)
	if err != nil {
		return p, err
	}
	var resources []store.ID
	for _, s := range p.Submissions {
		resources = append(resources, s.id)
	}
	if current := found.Submission; current != nil && !slices.Contains(resources, current.ID) {
		resources = append(resources, current.ID) // every page shows the time line of the current submission
	}
	events, err := view.Of(tenant).ResourceEvents(ctx, resources, maxEvents)
	if err != nil {
		return p, err
	}
	if p.Events, err = req.eventRows(events); err != nil {
		return p, err
	}
	if p.History.Page > 1 {
		evidence = nil // the time line links to responses on the first page
	}
	p.Timeline, err = newTimeline(found.Submission, events, evidence)
	return p, err
}

// showHistory adds a page of the submissions and of the evidence, and returns the evidence.
func (req *request) showHistory(ctx context.Context, p *invoicePage, found store.Invoice) ([]store.Evidence, error) {
	p.History = req.paging()
	p.History.PerPage = maxPerPage
	submissions, evidence, err := view.Of(req.session.Tenant).InvoiceHistory(ctx, found.ID, p.History.Page, p.History.PerPage)
	if err != nil {
		return nil, err
	}
	p.History.Total = max(submissions.Total, evidence.Total)
	for _, s := range submissions.Entries {
		p.Submissions = append(p.Submissions, submissionRow{SubmissionRecord: view.SubmissionRecord(s), States: stateViews(s.States), id: s.ID})
	}
	return evidence.Entries, req.showEvidence(ctx, p, found.Submission, evidence.Entries)
}

// maxRead is the number of responses whose bodies are searched for messages to people.
const maxRead = 40

// showEvidence adds the retained responses, with the messages in the newest of them. It reads their bodies in one query.
// Withheld bodies stay sealed.
func (req *request) showEvidence(ctx context.Context, p *invoicePage, current *store.Submission, evidence []store.Evidence) error {
	var ids []store.ID
	for _, e := range evidence[max(0, len(evidence)-maxRead):] {
		ids = append(ids, e.ID)
	}
	bodies, err := view.Of(req.session.Tenant).EvidenceBodies(ctx, ids)
	if err != nil {
		return err
	}
	for _, e := range evidence {
		row := evidenceRow{Evidence: view.Evidence(e), States: stateViewsOf(e.StateValues), Remarks: invoice.ReadRemarks(bodies[e.ID]), Earlier: current == nil || e.Submission != current.ID}
		if !row.Earlier && p.History.Page == 1 {
			p.Remarks = slices.DeleteFunc(slices.Clone(row.Remarks), func(r invoice.Remark) bool { return r.Code == invoice.Discovery })
		}
		p.Evidence = append(p.Evidence, row)
	}
	return nil
}

// stateViewsOf returns the state values in a response, in the order of the dimensions.
func stateViewsOf(values map[string]string) []stateView {
	var out []stateView
	for _, dimension := range invoice.Dimensions {
		if value, ok := values[string(dimension)]; ok {
			out = append(out, stateView{Dimension: string(dimension), Value: value})
		}
	}
	return out
}

// eventRows returns events with their destinations, newest first.
func (req *request) eventRows(events []view.EventWithDeliveries) ([]eventRow, error) {
	if len(events) == 0 {
		return nil, nil
	}
	known, err := req.destinations()
	if err != nil {
		return nil, err
	}
	var rows []eventRow
	for _, e := range slices.Backward(events) {
		row := eventRow{ID: e.ID.String(), Kind: e.Kind, OccurredAt: e.OccurredAt}
		for _, d := range e.Deliveries {
			row.Deliveries = append(row.Deliveries, deliveryRow{Delivery: view.Delivery(d), URL: known[d.Subscription].URL, Description: deref(known[d.Subscription].Description)})
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// submit submits an invoice and shows the result.
func (req *request) submit() error {
	id, err := req.id("invoice")
	if err != nil {
		return err
	}
	submitted, err := req.Submissions.Submit(req.r.Context(), req.session.Tenant, id)
	if err != nil {
		return req.respondSubmitError(id, err)
	}
	key := "good.submitted"
	if s := submitted.Submission; s == nil || s.Outcome == api.OutcomeUnknown || s.Outcome == api.OutcomeInProgress {
		key = "good.unknown"
	}
	return req.redirect(withFlash("/invoices/"+id.String(), key))
}

// respondSubmitError responds to a rejected submission with the page of the invoice.
func (req *request) respondSubmitError(id store.ID, err error) error {
	_, incomplete := errors.AsType[*store.IncompleteError](err)
	duplicate, isDuplicate := errors.AsType[*store.DuplicateNumberError](err)
	var key string
	status := http.StatusConflict
	switch {
	case incomplete:
		key, status = "bad.incomplete", http.StatusUnprocessableEntity
	case isDuplicate:
		key = "bad.duplicate"
	case errors.Is(err, store.ErrSubmissionInProgress):
		key = "bad.in_progress"
	case errors.Is(err, store.ErrConnectionRequired):
		key = "bad.connection"
	case errors.Is(err, store.ErrNotApproved):
		key = "bad.not_approved"
	case errors.Is(err, submission.ErrNotSubmitted):
		key, status = "bad.not_taken", http.StatusBadGateway
	case errors.Is(err, submission.ErrBusy):
		key, status = "bad.busy", http.StatusServiceUnavailable
	default:
		return err
	}
	flash := req.pages.notice(key)
	if flash == nil {
		return fmt.Errorf("console: no message flash.%s", key)
	}
	if isDuplicate {
		flash.Link = "/invoices/" + duplicate.Invoice.String()
	}
	return req.respondInvoice(status, id, flash)
}

// downloadEvidence responds with the retained bytes of a response, as an attachment.
func (req *request) downloadEvidence() error {
	id, err := req.id("evidence")
	if err != nil {
		return err
	}
	e, size, err := req.session.Tenant.EvidenceSize(req.r.Context(), id)
	if err != nil {
		return err
	}
	if e.Withheld {
		return &problem{status: http.StatusForbidden, messageKey: "withheld"}
	}
	if err := req.reserve(int(size)); err != nil {
		return err
	}
	if e, err = req.session.Tenant.EvidenceBody(req.r.Context(), id); err != nil {
		return err
	}
	ending := ".bin"
	if json.Valid(e.Body) { // so that a double click opens it as text
		ending = ".json"
	}
	return req.attachment("evidence-"+strconv.FormatInt(e.Ordinal, 10)+"-"+id.String()+ending, e.Body)
}
