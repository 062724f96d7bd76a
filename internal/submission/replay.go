package submission

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// The ways in which a retained answer is not what it was read as.
var (
	errTable   = errors.New("it was read with a table that no adapter publishes")
	errReading = errors.New("what it was read as does not follow from it")
	errWords   = errors.New("its words are not those that it was read as")
)

// Replay takes one retained answer about a submission and returns what is known after it, by the same rules as when it
// came: the report that was retained with it, which has to follow from its body by the adapter's published table, and
// learn. It is the judgement behind [store.Replay].
func Replay(kind string, before store.Submission, e store.Evidence, body []byte, atHand bool) (store.Step, error) {
	report, read, err := reread(kind, before, e, body, atHand)
	if err != nil || !read {
		return store.Step{After: before}, err
	}
	d := store.Decision{Outcome: before.Outcome, Reference: before.Reference, Sequence: before.Sequence, States: before.States}
	hearing{call: e.Call}.learn(&d, before, report)
	after := before
	after.Outcome, after.Reference, after.Sequence, after.States = d.Outcome, d.Reference, d.Sequence, d.States
	if d.Contradicts {
		after.Resolved = new(*before.Resolved)
		after.Resolved.ContradictedAt = &e.ReceivedAt
	}
	if slices.Contains(d.Events, api.EventTerminal) {
		after.TerminalAt = &e.ReceivedAt
	}
	return store.Step{After: after, Write: d.WriteStates, Events: d.Events}, nil
}

// reread reads a retained answer again. read is false for one that was no report.
func reread(kind string, s store.Submission, e store.Evidence, body []byte, atHand bool) (report invoice.Report, read bool, err error) {
	if e.Early() {
		return rereadEarly(kind, s, e, body, atHand)
	}
	if e.Report == "" {
		if len(e.StateValues) > 0 {
			return report, false, errWords
		}
		return report, false, nil
	}
	report, table, err := invoice.ReadRetained(e.Report)
	if err != nil {
		return report, false, errReading
	}
	if atHand {
		vocabulary, published := provider.PublishedVocabulary(table)
		if !published {
			return report, false, errTable
		}
		if again, err := invoice.ReadReport(body, vocabulary); err != nil || again.Retained(table) != e.Report {
			return report, false, errReading
		}
	}
	if report.Reference != s.ID.String() {
		return report, false, errReading
	}
	if !maps.Equal(words(report), e.StateValues) {
		return report, false, errWords
	}
	return report, true, nil
}

// rereadEarly reads an answer of before its reading was retained: by the table of that time, and as a report if it is one and
// the words retained with it say so.
func rereadEarly(kind string, s store.Submission, e store.Evidence, body []byte, atHand bool) (report invoice.Report, read bool, err error) {
	if !atHand {
		return report, false, store.ErrNotAtHand
	}
	vocabulary, published := provider.PublishedVocabulary(kind + "/1")
	if !published {
		return report, false, errTable
	}
	report, unreadable := invoice.ReadReport(body, vocabulary)
	if unreadable != nil || report.Reference != s.ID.String() {
		if len(e.StateValues) > 0 {
			return report, false, errWords
		}
		return report, false, nil
	}
	found := words(report)
	answered := e.HTTPStatus == http.StatusOK || e.HTTPStatus == http.StatusAccepted
	switch {
	case len(e.StateValues) == 0 && (len(found) > 0 || !answered):
		return report, false, nil // it was not taken for a report: an answer of another status, or one that echoes our credential
	case !maps.Equal(found, e.StateValues):
		return report, false, errWords
	}
	return report, true, nil
}

// words are the states that a report carries, by dimension.
func words(report invoice.Report) map[string]string {
	out := map[string]string{}
	for _, dimension := range invoice.Dimensions {
		if word, _, reported := report.States.Get(dimension); reported {
			out[string(dimension)] = word
		}
	}
	return out
}
