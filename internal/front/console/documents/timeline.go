package documents

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// maxMoments is the number of columns of a time line: the submission and the newest changes.
const maxMoments = 8

// timeline is the history of one submission: a column for each moment at which something changed, and a row for each
// dimension. All columns have the same width, because the moments may be seconds or days apart.
type timeline struct {
	Moments []time.Time
	Rows    []timelineRow
	// Cut reports that older changes are left out.
	Cut bool
}

// timelineRow is the history of one dimension.
type timelineRow struct {
	State    StateView
	Segments []segment
}

// Unreported returns the number of columns before the first value.
func (row timelineRow) Unreported(columns int) int {
	if len(row.Segments) == 0 {
		return columns
	}
	return row.Segments[0].Start - 1
}

// Current returns the segment of the current value, or nil without one.
func (row timelineRow) Current() *segment {
	if len(row.Segments) == 0 {
		return nil
	}
	return &row.Segments[len(row.Segments)-1]
}

// Past returns the earlier segments, newest first.
func (row timelineRow) Past() []segment {
	past := slices.Clone(row.Segments[:max(0, len(row.Segments)-1)])
	slices.Reverse(past)
	return past
}

// segment is one value of a dimension, from the moment it was reported to the next value.
type segment struct {
	StateView
	At time.Time
	// Start and End are grid lines, from 1.
	Start, End int
	// Current reports that this is the current value.
	Current bool
	// Evidence is the number of the evidence entry that the value was read from, or 0 when it is not known.
	Evidence int64
}

// change holds the four values after a change.
type change struct {
	at     time.Time
	values map[invoice.Dimension]string
}

// newTimeline returns the time line of a submission, or an empty one for nil, which stands for a draft. The changes
// come from the events, in their order, and the current values from the submission. Where old events were removed, a
// value starts when its row last changed.
func newTimeline(s *invoices.Submission, events []view.EventWithDeliveries,
	evidence []invoices.Evidence) (timeline, error) {
	if s == nil {
		return timeline{Rows: emptyTimelineRows()}, nil
	}
	changes, err := changesOf(s.ID, events)
	if err != nil {
		return timeline{}, err
	}
	changes = withStates(changes, s)
	chart := timeline{Moments: []time.Time{s.AttemptedAt}}
	before := map[invoice.Dimension]string{}
	if over := len(changes) - (maxMoments - 1); over > 0 {
		before, changes, chart.Cut = changes[over-1].values, changes[over:], true
	}
	for _, c := range changes {
		chart.Moments = append(chart.Moments, c.at)
	}
	views := StateViews(s.States)
	for n, dimension := range invoice.Dimensions {
		chart.Rows = append(chart.Rows, newTimelineRow(views[n], dimension, before[dimension], s.AttemptedAt, changes,
			findEvidence(s.ID, evidence)))
	}
	return chart, nil
}

func emptyTimelineRows() []timelineRow {
	var rows []timelineRow
	for _, view := range StateViews(invoice.States{}) {
		rows = append(rows, timelineRow{State: view})
	}
	return rows
}

// changesOf reads the changes of a submission from its events.
func changesOf(submission base.ID, events []view.EventWithDeliveries) ([]change, error) {
	var changes []change
	for _, e := range events {
		if e.Kind != api.EventStatusChanged {
			continue
		}
		var envelope api.Event[api.SubmissionPayload]
		if err := json.Unmarshal(e.Body, &envelope); err != nil {
			return nil, fmt.Errorf("stored event %s: %w", e.ID, err)
		}
		if envelope.ResourceID != submission.String() {
			continue
		}
		c := change{at: e.OccurredAt, values: map[invoice.Dimension]string{}}
		for dimension, value := range map[invoice.Dimension]*string{
			invoice.DimensionSubmission:      envelope.Payload.SubmissionState,
			invoice.DimensionProviderInvoice: envelope.Payload.ProviderInvoiceState,
			invoice.DimensionTaxAuthority:    envelope.Payload.TaxAuthorityState,
			invoice.DimensionReceiver:        envelope.Payload.ReceiverState,
		} {
			if value != nil {
				c.values[dimension] = *value
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// withStates adds the changes that are only known from the current states of the submission.
func withStates(changes []change, s *invoices.Submission) []change {
	current := map[invoice.Dimension]string{}
	for _, dimension := range invoice.Dimensions {
		value := s.States.Stored(dimension).Value
		if value == "" {
			continue
		}
		current[dimension] = value
		if len(changes) == 0 || changes[len(changes)-1].values[dimension] != value {
			changes = append(changes, change{at: s.Origins[dimension].ReportedAt, values: map[invoice.Dimension]string{}})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	for dimension, value := range current {
		for n := range changes {
			if _, known := changes[n].values[dimension]; !known && !changes[n].at.Before(s.Origins[dimension].ReportedAt) {
				changes[n].values[dimension] = value
			}
		}
	}
	return changes
}

// newTimelineRow returns the segments of one dimension. before is the value before the first of the changes.
func newTimelineRow(view StateView, dimension invoice.Dimension, before string, began time.Time, changes []change,
	evidence func(dimension, value string, at time.Time) int64) timelineRow {
	row := timelineRow{State: view}
	value := ""
	begin := func(next string, column int, at time.Time) {
		if next == "" || next == value {
			return
		}
		if n := len(row.Segments); n > 0 {
			row.Segments[n-1].End = column
		}
		value = next
		row.Segments = append(row.Segments, segment{StateView: StateView{Dimension: view.Dimension, Value: next}, At: at,
			Start: column, Evidence: evidence(view.Dimension, next, at)})
	}
	begin(before, 1, began)
	for n, c := range changes {
		begin(c.values[dimension], n+2, c.at)
	}
	if n := len(row.Segments); n > 0 {
		last := &row.Segments[n-1]
		last.End, last.Current, last.Final, last.Meaning = len(changes)+2, true, view.Final, view.Meaning
	}
	return row
}

// findEvidence returns a function that finds the evidence entry of a value: the last entry with that value that was
// received before the change.
func findEvidence(submission base.ID, evidence []invoices.Evidence) func(dimension, value string, at time.Time) int64 {
	return func(dimension, value string, at time.Time) int64 {
		for _, e := range slices.Backward(evidence) {
			if e.Submission == submission && e.StateValues[dimension] == value && !e.ReceivedAt.After(at) {
				return e.Ordinal
			}
		}
		return 0
	}
}
