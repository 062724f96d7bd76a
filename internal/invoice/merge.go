package invoice

import (
	"slices"

	"quittance/api"
)

// Change says what merging a report has changed. The zero value means that nothing has.
type Change struct {
	// Stale is true when the report is older than what was merged before, and was therefore left out.
	Stale bool
	// Changed holds the dimensions whose word is a different one now, in the order of [Dimensions].
	Changed []Dimension
	// TerminalChanged is true when at least one dimension became final, or is final no longer.
	TerminalChanged bool
	// BecameTerminal is true when all four dimensions are final now and were not before.
	BecameTerminal bool
}

// Has tells whether the word of dimension d changed.
func (c Change) Has(d Dimension) bool { return slices.Contains(c.Changed, d) }

// Merge returns the states after a report. A dimension the report does not mention stays as it is. last is the
// highest [Report.Sequence] merged before, 0 when there was none: a report below it changes nothing, so that an answer
// that was overtaken on its way turns no state back (contract, section 5).
func (s States) Merge(report Report, last int64) (States, Change) {
	if report.Sequence < last {
		return s, Change{Stale: true}
	}
	var change Change
	merged := States{
		Submission:      mergeOne(s.Submission, report.States.Submission, DimensionSubmission, &change),
		ProviderInvoice: mergeOne(s.ProviderInvoice, report.States.ProviderInvoice, DimensionProviderInvoice, &change),
		TaxAuthority:    mergeOne(s.TaxAuthority, report.States.TaxAuthority, DimensionTaxAuthority, &change),
		Receiver:        mergeOne(s.Receiver, report.States.Receiver, DimensionReceiver, &change),
	}
	change.BecameTerminal = merged.AllTerminal() && !s.AllTerminal()
	return merged, change
}

// mergeOne merges one dimension and notes in change what became different.
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

// Outcome returns what a document status says about our own call. It is no state and makes none: the four dimensions
// are not an input (contract, section 5).
func Outcome(status Status) api.Outcome {
	switch status {
	case Accepted, Processing:
		return api.OutcomeAcknowledged
	case Rejected:
		return api.OutcomeRejected
	}
	return api.OutcomeUnknown
}

// EventContext is what the events of a merged report depend on besides its [Change].
type EventContext struct {
	// First is true when no report about this submission was retained before.
	First bool
	// OutcomeChanged is true when the submission's outcome is a different one now.
	OutcomeChanged bool
	// TerminalAnnounced is true when einvoice.terminal was recorded for this submission before.
	TerminalAnnounced bool
}

// Events returns the events a merged report gives rise to, in the order in which one transaction records them:
// updated for a first or changed submission result, changed for at least one different word, terminal when all four
// dimensions are final for the first time (contract, section 9). A stale report gives rise to none.
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
	if change.BecameTerminal && !o.TerminalAnnounced {
		kinds = append(kinds, api.EventTerminal)
	}
	return kinds
}
