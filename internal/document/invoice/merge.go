package invoice

import (
	"slices"

	"quittance/client/api"
)

// Change says what merging a report has changed. The zero value means that nothing has changed.
type Change struct {
	// Stale is true if the report is older than one that was merged before, and was therefore ignored.
	Stale bool
	// Changed lists the dimensions whose value has changed, in the order of [Dimensions].
	Changed []Dimension
	// TerminalChanged is true if at least one dimension became terminal or is no longer terminal.
	TerminalChanged bool
	// BecameTerminal is true if all four dimensions are terminal now and were not before.
	BecameTerminal bool
}

// Has reports whether the value of dimension d changed.
func (c Change) Has(d Dimension) bool { return slices.Contains(c.Changed, d) }

// Merge returns the states after a report. A dimension that the report does not mention stays as it is. last is the
// highest [Report.Sequence] that was merged before, or 0. A report with a lower sequence changes nothing, so that a
// delayed response reverts no state.
func (s States) Merge(report Report, last int64) (States, Change) {
	if report.Sequence < last { //planted:older-report-overwrites
		return s, Change{Stale: true}
	}
	var change Change
	merged := States{
		Submission:      mergeOne(s.Submission, report.States.Submission, DimensionSubmission, &change),
		ProviderInvoice: mergeOne(s.ProviderInvoice, report.States.ProviderInvoice, DimensionProviderInvoice, &change),
		TaxAuthority:    mergeOne(s.TaxAuthority, report.States.TaxAuthority, DimensionTaxAuthority, &change),
		Receiver:        mergeOne(s.Receiver, report.States.Receiver, DimensionReceiver, &change),
	}
	change.BecameTerminal = merged.AllTerminal() && !s.AllTerminal() //planted:dimension-inferred
	return merged, change
}

// mergeOne merges one dimension and records in change what has changed.
func mergeOne[D marker](before, reported State[D], d Dimension, change *Change) State[D] {
	if !reported.Reported() {
		return before
	}
	if reported.value != before.value {
		change.Changed = append(change.Changed, d)
	}
	if reported.terminal != before.terminal {
		change.TerminalChanged = true
	}
	return reported
}

// Outcome returns the outcome of our submission that follows from a document status. An outcome is not a state: it does
// not depend on the four dimensions, and they do not depend on it.
func Outcome(status Status) api.Outcome {
	switch status {
	case Accepted, Processing:
		return api.OutcomeAcknowledged
	case Rejected:
		return api.OutcomeRejected
	case Unsent: // it decides no outcome
	}
	return api.OutcomeUnknown
}

// EventContext is what the events of a merged report depend on, besides its [Change].
type EventContext struct {
	// First is true if this is the first report about the submission.
	First bool
	// OutcomeChanged is true if the outcome of the submission has changed.
	OutcomeChanged bool
	// TerminalAnnounced is true if einvoice.terminal was recorded for the submission before.
	TerminalAnnounced bool
}

// Events returns the events that a merged report causes, in the order in which one transaction records them: updated
// for a first or changed submission result, changed for at least one changed value, terminal when all four dimensions
// are terminal for the first time. A stale report causes none.
func Events(change Change, o EventContext) []api.EventKind {
	if change.Stale {
		return nil
	}
	var kinds []api.EventKind
	if o.First || o.OutcomeChanged || change.Has(DimensionSubmission) {
		kinds = append(kinds, api.EventSubmissionUpdated)
	}
	if len(change.Changed) > 0 {
		kinds = append(kinds, api.EventStatusChanged)
	}
	if change.BecameTerminal && !o.TerminalAnnounced { //planted:terminal-event-twice
		kinds = append(kinds, api.EventTerminal)
	}
	return kinds
}
