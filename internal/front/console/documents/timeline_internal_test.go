package documents

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
)

var began = time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)

// history returns the events of a submission's changes, a minute apart: the four values after each change, "" for
// unreported ones.
func history(t *testing.T, submission base.ID, changes ...[4]string) []view.EventWithDeliveries {
	t.Helper()
	var out []view.EventWithDeliveries
	for n, words := range changes {
		optional := func(word string) *string {
			if word == "" {
				return nil
			}
			return &word
		}
		payload := api.SubmissionPayload{States: api.States{SubmissionState: optional(words[0]),
			ProviderInvoiceState: optional(words[1]),
			TaxAuthorityState:    optional(words[2]), ReceiverState: optional(words[3])}}
		body, err := json.Marshal(api.Event[api.SubmissionPayload]{Event: api.EventStatusChanged,
			ResourceID: submission.String(), Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, view.EventWithDeliveries{
			Event: events.Event{Kind: api.EventStatusChanged, OccurredAt: began.Add(time.Duration(n+1) * time.Minute),
				Body: body}})
	}
	return out
}

// submissionWith returns a submission with the given values, all final, that were reported the given minutes after it
// began.
func submissionWith(words [4]string, minutes ...int) *invoices.Submission {
	rows, origins := map[invoice.Dimension]invoice.StoredState{}, map[invoice.Dimension]invoices.Origin{}
	for n, dimension := range invoice.Dimensions {
		rows[dimension] = invoice.StoredState{Value: words[n], Terminal: true}
		origins[dimension] = invoices.Origin{ReportedAt: began.Add(time.Duration(minutes[n]) * time.Minute)}
	}
	return &invoices.Submission{ID: base.ID{1}, AttemptedAt: began, States: invoice.RestoreStates(rows), Origins: origins}
}

// drawn returns the segments of a row: value, first column, column after the last.
func drawn(row timelineRow) (out []string) {
	for _, s := range row.Segments {
		mark := ""
		if s.Current {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%s %d-%d%s", s.Value, s.Start, s.End, mark))
	}
	return out
}

// TestTimeline checks that a value lasts from its report to the next one. Unreported dimensions have no segments, and a
// change of one dimension does not affect others.
func TestTimeline(t *testing.T) {
	last := [4]string{"b", "c", "", "x"}
	s := submissionWith(last, 3, 2, 0, 2)
	events := history(t, s.ID, [4]string{"a", "", "", ""}, [4]string{"a", "c", "", "x"}, last)
	events = append(events, history(t, base.ID{2}, [4]string{"another", "another", "another", "another"})...)
	evidence := []invoices.Evidence{
		{Submission: s.ID, Ordinal: 1, ReceivedAt: began,
			NewEvidence: invoices.NewEvidence{StateValues: map[string]string{"submission_state": "a"}}},
		{Submission: s.ID, Ordinal: 2, ReceivedAt: began.Add(3 * time.Minute),
			NewEvidence: invoices.NewEvidence{StateValues: map[string]string{"submission_state": "b"}}},
		{Submission: s.ID, Ordinal: 3, ReceivedAt: began.Add(time.Hour),
			NewEvidence: invoices.NewEvidence{StateValues: map[string]string{"submission_state": "b"}}},
	}
	chart, err := newTimeline(s, events, evidence)
	if err != nil {
		t.Fatal(err)
	}
	if len(chart.Moments) != 4 || chart.Cut {
		t.Errorf("%d moments, cut %v", len(chart.Moments), chart.Cut)
	}
	for n, want := range [][]string{{"a 2-4", "b 4-5!"}, {"c 3-5!"}, nil, {"x 3-5!"}} {
		if got := drawn(chart.Rows[n]); !slices.Equal(got, want) {
			t.Errorf("row %d: %q, want %q", n, got, want)
		}
	}
	first, second := chart.Rows[0].Segments[0], chart.Rows[0].Segments[1]
	if first.Evidence != 1 || second.Evidence != 2 || !second.Final || first.Final {
		t.Errorf("segments %+v and %+v", first, second)
	}
	if chart.Rows[2].Unreported(4) != 4 || chart.Rows[1].Unreported(4) != 2 {
		t.Error("the number of columns before the first value is wrong")
	}
}

// TestTimelineIsTruncated checks that of many changes, the newest are drawn, together with the values before them.
func TestTimelineIsTruncated(t *testing.T) {
	var changes [][4]string
	for n := range 20 {
		changes = append(changes, [4]string{"kept", fmt.Sprintf("word %d", n), "", ""})
	}
	s := submissionWith(changes[19], 1, 20, 0, 0)
	chart, err := newTimeline(s, history(t, s.ID, changes...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(chart.Moments) != maxMoments || !chart.Cut {
		t.Errorf("%d moments, cut %v", len(chart.Moments), chart.Cut)
	}
	if got := drawn(chart.Rows[0]); !slices.Equal(got, []string{"kept 1-9!"}) {
		t.Errorf("the value before the changes: %q", got)
	}
	got := drawn(chart.Rows[1])
	if len(got) != maxMoments || got[0] != "word 12 1-2" || got[maxMoments-1] != "word 19 8-9!" {
		t.Errorf("the changes: %q", got)
	}
}

// TestTimelineWithoutEvents checks that where old events were removed, the current values start at their last change.
func TestTimelineWithoutEvents(t *testing.T) {
	chart, err := newTimeline(submissionWith([4]string{"a", "b", "", ""}, 1, 2, 0, 0), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := drawn(chart.Rows[0]); !slices.Equal(got, []string{"a 2-4!"}) {
		t.Errorf("the first row: %q", got)
	}
	if got := drawn(chart.Rows[1]); !slices.Equal(got, []string{"b 3-4!"}) {
		t.Errorf("the second row: %q", got)
	}
	if draft, err := newTimeline(nil, nil, nil); err != nil || len(draft.Rows) != 4 || len(draft.Moments) != 0 {
		t.Errorf("a draft: %+v, %v", draft, err)
	}
}
