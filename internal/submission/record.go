package submission

import (
	"crypto/sha256"
	"net/http"
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
	call   string
	answer provider.Response
	// began is when the call began, by the store's clock. An answer is as old as its question, however long the process stood
	// still before it could record it.
	began   time.Time
	profile provider.Profile
	// changed tells that there was no call, because the connection was changed outside of this program.
	changed bool
	timeout time.Duration
	polling Polling
	// hold keeps the lease when a repeat of the submission follows; first tells that nothing was sent yet, and keeps it
	// for the sending when the provider has no such document.
	hold, first bool
}

// decide says what the answer changes. It is pure: a function of the submission as it stands, locked, and the answer.
func (h hearing) decide(s store.Submission, leased bool, now time.Time) (store.Decision, error) {
	d := store.Decision{Outcome: s.Outcome, SentAt: s.SentAt, Reference: s.Reference, Sequence: s.Sequence, MissingSince: s.MissingSince,
		MissingCount: s.MissingCount, ResendOrdered: s.ResendOrdered, States: s.States, LastStatus: s.LastStatus, LastSHA256: s.LastSHA256}
	if h.call == callSubmit && h.answer.Kind != provider.NotSent {
		s.SentAt = later(s.SentAt, h.began) // a process may stand still between its intent and its call
		d.SentAt = s.SentAt
	}
	report, readable := h.report(s)
	h.retain(&d, s, report, readable)
	var change invoice.Change
	if readable {
		change = h.learn(&d, s, report)
		if d.Evidence == nil && h.learnt(d, s) {
			// The same bytes say more than before: the adapter has learnt to read them. What is known names its evidence.
			d.Evidence = h.evidence(report, true)
		}
	} else if !h.clears(s, leased) {
		h.ignorance(&d, s, leased)
	}
	d.FailureReason, d.RetryAfter = h.trouble(readable), h.answer.RetryAfter
	h.schedule(&d, s, d.Outcome != s.Outcome || len(d.WriteStates) > 0 && !change.Stale, now)
	switch {
	case h.first:
		d.KeepLease = h.clears(s, leased)
	case h.hold:
		d.KeepLease = h.allowsResend(after(s, d))
	}
	return d, nil
}

// clears tells that nothing was sent yet and the provider has no such document: now it may be.
func (h hearing) clears(s store.Submission, leased bool) bool {
	return h.first && leased && s.Outcome == api.OutcomeInProgress && h.answer.Kind == provider.UnknownReference
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
	if !h.answer.Echoed || h.profile.EchoesCredential == nil {
		return false
	}
	leaks := h.profile.EchoesCredential(report.ProviderReference)
	for _, dimension := range invoice.Dimensions {
		word, _, _ := report.States.Get(dimension)
		leaks = leaks || h.profile.EchoesCredential(word)
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
	said, retained := map[string]string{}, ""
	if readable {
		said, retained = words(report), report.Retained(h.profile.Vocabulary.Name)
	}
	mediaType := h.answer.MediaType
	if h.answer.Echoed {
		mediaType = "" // it may be where the credential stands
	}
	return &store.NewEvidence{Call: h.call, HTTPStatus: h.answer.HTTPStatus, MediaType: mediaType,
		Body: h.answer.Body, Truncated: h.answer.Truncated, Withheld: h.answer.Echoed, StateValues: said,
		Report: retained}
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
		if merged.Stored(dimension) != s.States.Stored(dimension) {
			d.WriteStates = append(d.WriteStates, dimension)
		}
	}
	d.States, d.Sequence = merged, &report.Sequence
	if report.ProviderReference != "" {
		d.Reference = &report.ProviderReference
	}
	d.MissingSince, d.MissingCount = nil, 0
	// A rejection is final for us, an administrator's too: the customer may have corrected the invoice since.
	if outcome := invoice.Outcome(report.Status); !s.Outcome.Rejected() {
		d.Outcome = outcome
	} else if s.Outcome == api.OutcomeResolvedRejected && outcome != api.OutcomeRejected {
		d.Contradicts = s.Resolved.ContradictedAt == nil
	}
	d.Events = invoice.Events(change, invoice.EventContext{First: s.Sequence == nil, OutcomeChanged: d.Outcome != s.Outcome,
		TerminalAnnounced: s.TerminalAt != nil})
	return change
}

// learnt tells whether a report has changed what is known.
func (h hearing) learnt(d store.Decision, s store.Submission) bool {
	return len(d.WriteStates) > 0 || len(d.Events) > 0 || d.Contradicts || d.Outcome != s.Outcome || !same(d.Reference, s.Reference) || !same(d.Sequence, s.Sequence)
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// ignorance is every answer that is no report. Only two facts can come of it: certainly not sent, and the provider's
// word that it has no such document.
func (h hearing) ignorance(d *store.Decision, s store.Submission, leased bool) {
	first := s.Outcome == api.OutcomeInProgress
	switch {
	case h.call == callSubmit && first && leased && (h.answer.Kind == provider.NotSent || h.answer.Kind == provider.Refused):
		d.Outcome = store.OutcomeNotSent
	case first:
		d.Outcome = api.OutcomeUnknown
	}
	if h.call == callSubmit && s.Outcome == api.OutcomeUnknown && leased && (h.answer.Kind == provider.NotSent || h.answer.Kind == provider.Refused) {
		// Nothing was taken this time either: what justified the repeat still does, be it an administrator's decision or what
		// the provider had said twice.
		if d.ResendOrdered = s.ResendUnderWay; !s.ResendUnderWay {
			d.MissingSince, d.MissingCount = &h.began, provenMissing
		}
		return
	}
	if h.call == callSubmit {
		// What was heard of the missing document before it was sent says nothing any more.
		d.MissingSince, d.MissingCount = nil, 0
		return
	}
	settled := s.SentAt.Add(2 * h.timeout) // before it the document may still be on its way
	if h.answer.Kind != provider.UnknownReference || d.Outcome != api.OutcomeUnknown || h.began.Before(settled) {
		return
	}
	switch {
	case s.MissingSince == nil:
		d.MissingSince, d.MissingCount = &h.began, 1
	case h.began.Sub(*s.MissingSince) >= h.polling.missingGap():
		d.MissingCount = s.MissingCount + 1
	}
}

// mayResend tells whether the rules allow to send a submission again under its reference: the adapter's references are
// idempotent and the provider has twice said that it has no such document, or an administrator has decided it.
func mayResend(s store.Submission, p provider.Profile) bool {
	return s.Outcome == api.OutcomeUnknown && (s.ResendOrdered || p.Idempotent && s.MissingCount >= provenMissing)
}

// allowsResend tells whether a submission, as it stands after the answer, is sent again now: the rules allow it, and the
// provider has just been asked. It says once more that it has no such document, or an administrator knows better than a
// provider that cannot say; one that does not answer at all is not sent anything.
func (h hearing) allowsResend(s store.Submission) bool {
	answered := h.answer.Kind == provider.UnknownReference
	if s.ResendOrdered {
		answered = answered || h.answer.Kind != provider.Refused && h.answer.HTTPStatus != 0 && h.answer.HTTPStatus < http.StatusInternalServerError
	}
	return answered && mayResend(s, h.profile)
}

// trouble names what kept an answer from being a usable one, "" when it is. A report is usable, and so is the word that
// there is no such document; an answer that is about the document alone at least shows that the provider is there.
func (h hearing) trouble(readable bool) string {
	switch status := h.answer.HTTPStatus; {
	case readable, h.answer.Kind == provider.UnknownReference:
		return ""
	case h.answer.ErrorClass != provider.ClassNone:
		return string(h.answer.ErrorClass)
	case h.changed:
		return "changed"
	case status == 0:
		return "unusable" // there is no adapter for the connection
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "refused"
	case status == http.StatusTooManyRequests:
		return "limited"
	case status >= http.StatusInternalServerError:
		return "server_error"
	case status == http.StatusBadRequest, status == http.StatusConflict, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnsupportedMediaType, status == http.StatusUnprocessableEntity:
		return ""
	default:
		return "unreadable"
	}
}
