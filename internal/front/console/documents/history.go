package documents

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/webhooks"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// documentHistory is what has happened to an invoice or a credit note, as its page shows it.
type documentHistory struct {
	// Timeline is that of the current submission.
	Timeline timeline
	Evidence []evidenceRow
	// Remarks are the provider's messages to people in its latest response about the current submission.
	Remarks []invoice.Remark
	// Submissions are all submissions, newest first.
	Submissions []submissionRow
	// History is the position in the submissions and the evidence. Its Total is the larger of the two totals.
	History page.Paging
	eventHistory
	// EvidencePath is the address of the page that lists the evidence, or "" for the page itself.
	EvidencePath string
}

// Contradicted returns the submissions that were resolved as rejected and that the provider reported nevertheless.
func (p documentHistory) Contradicted() []submissionRow {
	return slices.DeleteFunc(slices.Clone(p.Submissions),
		func(s submissionRow) bool { return s.Resolved == nil || s.Resolved.ContradictedAt == nil })
}

// Accepted returns the number of submissions that the provider has: those it acknowledged, and the contradicted ones.
func (p documentHistory) Accepted() int {
	acknowledged := 0
	for _, s := range p.Submissions {
		if s.Outcome == api.OutcomeAcknowledged {
			acknowledged++
		}
	}
	return acknowledged + len(p.Contradicted())
}

// evidenceRow is one retained response of the provider.
type evidenceRow struct {
	api.Evidence
	// States are the state values in the response, in the order of the dimensions.
	States []StateView
	// Remarks are the messages to people in the response.
	Remarks []invoice.Remark
	// Earlier reports that the response concerns an earlier submission.
	Earlier bool
}

// submissionRow is one submission with its states.
type submissionRow struct {
	api.SubmissionRecord
	States []StateView
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

// pollInterval returns the poll interval of the page; moving reports that the states may change. Polling never ends,
// because events may be redelivered and somebody else may submit a draft.
func (p documentHistory) pollInterval(moving bool) time.Duration {
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
func announcement(req *console.Request, outcome string, states timeline) (string, error) {
	outcome, err := req.Text("outcome." + outcome)
	parts := []string{outcome}
	for _, row := range states.Rows {
		name, nameErr := req.Text("state." + row.State.Dimension)
		value := row.State.Label()
		if !row.State.Reported() {
			value = req.TextOr("state.none", "")
		}
		sentence, sayErr := req.Text("invoice.announcement", name, value)
		parts, err = append(parts, sentence), errors.Join(err, nameErr, sayErr)
	}
	return strings.Join(parts, ". "), err
}

// readHistory reads a page of the history of an invoice or a credit note with this current submission, which is nil for
// a draft.
func readHistory(ctx context.Context, req *console.Request, of view.History,
	current *invoices.Submission) (documentHistory, error) {
	p := documentHistory{History: req.Paging()}
	p.History.PerPage = page.MaxPerPage
	submissions, evidence, err := view.Of(req.Session.Tenant).History(ctx, of, p.History.Page, p.History.PerPage)
	if err != nil {
		return p, err
	}
	p.History.Total = max(submissions.Total, evidence.Total)
	var resources []base.ID
	for _, s := range submissions.Entries {
		p.Submissions = append(p.Submissions, submissionRow{SubmissionRecord: view.SubmissionRecord(s),
			States: StateViews(s.States)})
		resources = append(resources, s.ID)
	}
	if err := showEvidence(ctx, req, &p, current, evidence.Entries); err != nil {
		return p, err
	}
	if current != nil && !slices.Contains(resources, current.ID) {
		resources = append(resources, current.ID) // every page shows the time line of the current submission
	}
	events, err := view.Of(req.Session.Tenant).ResourceEvents(ctx, resources, maxEvents)
	if err != nil {
		return p, err
	}
	if p.Events, err = eventRows(req, events); err != nil {
		return p, err
	}
	if p.History.Page > 1 {
		evidence.Entries = nil // the time line links to responses on the first page
	}
	p.Timeline, err = newTimeline(current, events, evidence.Entries)
	return p, err
}

// maxRead is the number of responses whose bodies are searched for messages to people.
const maxRead = 40

// showEvidence adds the retained responses, with the messages in the newest of them. It reads their bodies in one
// query. Withheld bodies stay sealed.
func showEvidence(ctx context.Context, req *console.Request, p *documentHistory, current *invoices.Submission,
	evidence []invoices.Evidence) error {
	var ids []base.ID
	for _, e := range evidence[max(0, len(evidence)-maxRead):] {
		ids = append(ids, e.ID)
	}
	bodies, err := view.Of(req.Session.Tenant).EvidenceBodies(ctx, ids)
	if err != nil {
		return err
	}
	for _, e := range evidence {
		row := evidenceRow{Evidence: view.Evidence(e), States: stateViewsOf(e.StateValues),
			Remarks: invoice.ReadRemarks(bodies[e.ID]), Earlier: current == nil || e.Submission != current.ID}
		if !row.Earlier && p.History.Page == 1 {
			p.Remarks = slices.DeleteFunc(slices.Clone(row.Remarks),
				func(r invoice.Remark) bool { return r.Code == invoice.Discovery })
		}
		p.Evidence = append(p.Evidence, row)
	}
	return nil
}

// stateViewsOf returns the state values in a response, in the order of the dimensions.
func stateViewsOf(values map[string]string) []StateView {
	var out []StateView
	for _, dimension := range invoice.Dimensions {
		if value, ok := values[string(dimension)]; ok {
			out = append(out, StateView{Dimension: string(dimension), Value: value})
		}
	}
	return out
}

// eventRows returns events with their destinations, newest first.
func eventRows(req *console.Request, events []view.EventWithDeliveries) ([]eventRow, error) {
	if len(events) == 0 {
		return nil, nil
	}
	known, err := webhooks.Destinations(req)
	if err != nil {
		return nil, err
	}
	var rows []eventRow
	for _, e := range slices.Backward(events) {
		row := eventRow{ID: e.ID.String(), Kind: e.Kind, OccurredAt: e.OccurredAt}
		for _, d := range e.Deliveries {
			row.Deliveries = append(row.Deliveries, deliveryRow{Delivery: view.Delivery(d), URL: known[d.Subscription].URL,
				Description: console.Deref(known[d.Subscription].Description)})
		}
		rows = append(rows, row)
	}
	return rows, nil
}
