package submission

import (
	"crypto/sha256"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// The calls that are about one submission, as evidence names them.
const (
	callSubmit = "submit"
	callStatus = "status"
)

// provenMissing is how often the provider has to say that it has no such document before it is sent again, and
// missingGap the least time between these answers (contract, section 5).
const (
	provenMissing = 2
	missingGap    = 60 * time.Second
)

// hearing is one answer of the provider, and what is needed to judge it.
type hearing struct {
	call    string
	answer  provider.Answer
	profile provider.Profile
	timeout time.Duration
	polling Polling
	hold    bool
}

// decide says what the answer changes. It is pure: a function of the submission as it stands, locked, and the answer.
func (h hearing) decide(s store.Submission, leased bool, now time.Time) (store.Decision, error) {
	d := store.Decision{Outcome: s.Outcome, Reference: s.Reference, Sequence: s.Sequence, MissingSince: s.MissingSince,
		MissingCount: s.MissingCount, States: s.States, LastStatus: s.LastStatus, LastSHA256: s.LastSHA256}
	report, readable := h.report(s)
	h.retain(&d, s, report, readable)
	var change invoice.Change
	if readable {
		change = h.learn(&d, s, report)
		if d.Evidence == nil && len(d.Write) > 0 {
			// The same bytes say more than before: the adapter has learnt to read them. A state names its evidence.
			d.Evidence = h.evidence(report, true)
		}
	} else {
		h.ignorance(&d, s, leased, now)
	}
	h.schedule(&d, s, d.Outcome != s.Outcome || len(d.Write) > 0 && !change.Stale, now)
	if h.hold && mayResend(after(s, d), h.profile) {
		d.Hold = true
	}
	return d, nil
}

// after is the submission with a decision's knowledge.
func after(s store.Submission, d store.Decision) store.Submission {
	s.Outcome, s.MissingCount = d.Outcome, d.MissingCount
	return s
}

// report reads the retained body as the provider's report on this very submission.
func (h hearing) report(s store.Submission) (invoice.Report, bool) {
	if h.answer.Kind != provider.Answered {
		return invoice.Report{}, false
	}
	report, err := invoice.ReadReport(h.answer.Body, h.profile.Vocabulary)
	// A report on another document says nothing about this one, and one whose words hold our credential is not shown.
	return report, err == nil && report.Reference == s.ID.String() && !h.leaks(report)
}

// leaks tells whether what would be kept of a report in clear holds our credential.
func (h hearing) leaks(report invoice.Report) bool {
	if !h.answer.Echoed || h.profile.Echoes == nil {
		return false
	}
	leaks := h.profile.Echoes(report.ProviderReference)
	for _, dimension := range invoice.Dimensions {
		word, _, _ := report.States.Get(dimension)
		leaks = leaks || h.profile.Echoes(word)
	}
	return leaks
}

// retain appends the answer to the evidence, unless it is to the byte what was answered before.
func (h hearing) retain(d *store.Decision, s store.Submission, report invoice.Report, readable bool) {
	if h.answer.HTTPStatus == 0 {
		return
	}
	sum := sha256.Sum256(h.answer.Body)
	repeated := s.LastCheckedAt != nil && s.LastStatus == h.answer.HTTPStatus && s.LastSHA256 == sum && s.Evidence > 0
	d.Answered, d.LastStatus, d.LastSHA256 = true, h.answer.HTTPStatus, sum
	if repeated {
		return
	}
	d.Evidence = h.evidence(report, readable)
}

// evidence is the answer as it is retained, with the words that were read from it.
func (h hearing) evidence(report invoice.Report, readable bool) *store.NewEvidence {
	words := map[string]string{}
	if readable {
		for _, dimension := range invoice.Dimensions {
			if word, _, reported := report.States.Get(dimension); reported {
				words[string(dimension)] = word
			}
		}
	}
	mediaType := h.answer.MediaType
	if h.answer.Echoed {
		mediaType = "" // it may be where the credential stands
	}
	return &store.NewEvidence{Call: h.call, HTTPStatus: h.answer.HTTPStatus, MediaType: mediaType,
		Body: h.answer.Body, Truncated: h.answer.Truncated, Withheld: h.answer.Echoed, Words: words}
}

// learn merges a readable report: the only place where evidence becomes state.
func (h hearing) learn(d *store.Decision, s store.Submission, report invoice.Report) invoice.Change {
	var last int64
	if s.Sequence != nil {
		last = *s.Sequence
	}
	merged, change := s.States.Merge(report, last)
	if change.Stale {
		return change
	}
	for _, dimension := range invoice.Dimensions {
		word, terminal, _ := merged.Get(dimension)
		if before, final, _ := s.States.Get(dimension); word != before || terminal != final {
			d.Write = append(d.Write, dimension)
		}
	}
	d.States, d.Sequence = merged, &report.Sequence
	if report.ProviderReference != "" {
		d.Reference = &report.ProviderReference
	}
	d.MissingSince, d.MissingCount = nil, 0
	// A rejection is final for us: the customer may have corrected the invoice since.
	if s.Outcome != api.OutcomeRejected {
		d.Outcome = invoice.Outcome(report.Status)
	}
	d.Events = invoice.Events(change, invoice.Occasion{First: s.Sequence == nil, OutcomeChanged: d.Outcome != s.Outcome,
		TerminalAnnounced: s.TerminalAt != nil})
	return change
}

// ignorance is every answer that is no report. Only two facts can come of it: certainly not sent, and the provider's
// word that it has no such document.
func (h hearing) ignorance(d *store.Decision, s store.Submission, leased bool, now time.Time) {
	first := s.Outcome == api.OutcomeInProgress
	switch {
	case h.call == callSubmit && first && leased && (h.answer.Kind == provider.NotSent || h.answer.Kind == provider.Refused):
		d.Outcome = store.OutcomeNotSent
	case first:
		d.Outcome = api.OutcomeUnknown
	}
	if h.call == callSubmit && s.Outcome == api.OutcomeUnknown && leased && (h.answer.Kind == provider.NotSent || h.answer.Kind == provider.Refused) {
		// Nothing was taken this time either: what the provider said of the missing document before still stands.
		d.MissingSince, d.MissingCount = &now, provenMissing
		return
	}
	settled := s.SentAt.Add(2 * h.timeout) // before it the document may still be on its way
	if h.answer.Kind != provider.UnknownReference || d.Outcome != api.OutcomeUnknown || now.Before(settled) {
		return
	}
	switch {
	case s.MissingSince == nil:
		d.MissingSince, d.MissingCount = &now, 1
	case now.Sub(*s.MissingSince) >= missingGap:
		d.MissingCount = s.MissingCount + 1
	}
}

// mayResend tells whether the rules allow to send a submission again under its reference: the adapter's references are
// idempotent and the provider has twice said that it has no such document, or an administrator has decided it.
func mayResend(s store.Submission, p provider.Profile) bool {
	return s.Outcome == api.OutcomeUnknown && (s.Resend || p.Idempotent && s.MissingCount >= provenMissing)
}
