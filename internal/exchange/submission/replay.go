package submission

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/provider/adapters"
)

// The ways in which a retained response contradicts what is recorded about it.
var (
	errTable   = errors.New("it was read with a table that no adapter publishes")
	errReading = errors.New("what it was read as does not follow from it")
	errWords   = errors.New("its words are not those that it was read as")
)

// Replay repeats what a retained response changed about a submission, by the rules that applied when it was received.
// The report that was retained with it must follow from its body by the adapter's published table. Replay is the
// function behind [proof.Replay].
func Replay(kind string, before invoices.Submission, e invoices.Evidence, body []byte,
	hasBody bool) (proof.Step, error) {
	report, read, err := reread(kind, before, e, body, hasBody)
	if err != nil || !read {
		return proof.Step{After: before}, err
	}
	d := invoices.Decision{Outcome: before.Outcome, ProviderReference: before.ProviderReference, Sequence: before.Sequence,
		States: before.States}
	providerResponse{call: e.Call}.mergeReport(&d, before, report)
	after := before
	after.Outcome, after.ProviderReference, after.Sequence, after.States = d.Outcome, d.ProviderReference, d.Sequence,
		d.States
	if d.Contradicts {
		after.Resolved = new(*before.Resolved)
		after.Resolved.ContradictedAt = &e.ReceivedAt
	}
	if slices.Contains(d.Events, api.EventTerminal) {
		after.TerminalAt = &e.ReceivedAt
	}
	return proof.Step{After: after, Write: d.WriteStates, Events: d.Events}, nil
}

// reread reads a retained response again. read is false if it is not a report.
func reread(kind string, s invoices.Submission, e invoices.Evidence, body []byte,
	hasBody bool) (report invoice.Report, read bool, err error) {
	if e.Early {
		return rereadEarly(kind, s, e, body, hasBody)
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
	if hasBody {
		vocabulary, published := adapters.PublishedVocabulary(table)
		if !published {
			return report, false, errTable
		}
		if again, err := invoice.ReadReport(body, vocabulary); err != nil || again.Retained(table) != e.Report {
			return report, false, errReading
		}
	}
	if !concerns(report, s) {
		return report, false, errReading
	}
	if !maps.Equal(stateValues(report), e.StateValues) {
		return report, false, errWords
	}
	return report, true, nil
}

// rereadEarly reads a response that was retained before reports were retained with their responses. It reads it with
// the table of that time. The response counts as a report if it is one and the state values retained with it agree.
func rereadEarly(kind string, s invoices.Submission, e invoices.Evidence, body []byte,
	hasBody bool) (report invoice.Report, read bool, err error) {
	if !hasBody {
		return report, false, invoices.ErrNotAtHand
	}
	vocabulary, published := adapters.PublishedVocabulary(kind + "/1")
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
	found := stateValues(report)
	usable := e.HTTPStatus == http.StatusOK || e.HTTPStatus == http.StatusAccepted
	switch {
	case len(e.StateValues) == 0 && (len(found) > 0 || !usable):
		return report, false, nil // it was not read as a report: it had another status, or it echoes our credential
	case !maps.Equal(found, e.StateValues):
		return report, false, errWords
	}
	return report, true, nil
}

// stateValues returns the state values that a report carries, by dimension.
func stateValues(report invoice.Report) map[string]string {
	values := map[string]string{}
	for _, dimension := range invoice.Dimensions {
		if value, _, reported := report.States.Get(dimension); reported {
			values[string(dimension)] = value
		}
	}
	return values
}
