package submission

import (
	"crypto/sha256"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/invoices"
	"quittance/internal/provider"
)

// The calls that are about one submission, as evidence names them.
const (
	callSubmit = "submit"
	callStatus = "status"
	callEvent  = "event" // of the provider's queue
)

// A document is sent again when the provider has said missingCountForResend times that it has no such document, with at
// least minMissingGap between the responses.
const (
	missingCountForResend = 2
	minMissingGap         = 60 * time.Second
)

// providerResponse is the response to one call, with everything that is needed to decide what follows from it.
type providerResponse struct {
	provider.Response
	call string // callSubmit, callStatus or callEvent
	// began is when the call began, by the database's clock. The response is treated as the provider's state at that time,
	// because the process may have been suspended before it could record the response.
	began   time.Time
	profile provider.Profile
	// connectionAltered says that no call was made, because the connection's row was altered by another program.
	connectionAltered bool
	timeout           time.Duration
	polling           Polling
	// stepTimeout is how long the step that the response asks for may take, which the caller takes next under the lease
	// that it has; 0 if the caller takes none.
	stepTimeout time.Duration
}

// decide returns what the response changes. It is a pure function of the response and the current, locked submission.
func (r providerResponse) decide(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error) {
	d := s.Unchanged()
	if r.call == callSubmit && r.Kind != provider.NotSent {
		s.SentAt = later(s.SentAt, r.began) // the process may have been suspended between the intent and the call
		d.SentAt = s.SentAt
	}
	report, readable := r.readReport(s)
	readable = readable && !r.mayBeOlder(s, held)
	continues := r.continues(report, readable, held)
	r.keepEvidence(&d, s, report, readable)
	var change invoice.Change
	if readable {
		change = r.mergeReport(&d, s, report)
		if d.Evidence == nil && reportChanged(d, s) {
			// After an upgrade the adapter may read more from an identical body. A changed state must refer to evidence, so the
			// body is stored again.
			d.Evidence = r.newEvidence(report, true)
		}
	} else if !continues {
		r.decideWithoutReport(&d, s, held) //planted:state-from-http-status
	}
	if readable && report.Status == invoice.Unsent && !continues {
		r.decideUnsent(&d, s)
	}
	d.FailureReason, d.RetryAfter = r.failureReason(readable), r.RetryAfter
	r.schedule(&d, s, d.Outcome != s.Outcome || len(d.WriteStates) > 0 && !change.Stale, now)
	if continues {
		d.KeepUntil = new(now.Add(r.stepTimeout))
	}
	return d, nil
}

// mayBeOlder reports whether a report may be older than what another worker has recorded, because it is late and the
// provider does not number its reports. Such a response is kept as evidence, and nothing is read from it. Events have
// the order of their queue.
func (r *providerResponse) mayBeOlder(s invoices.Submission, held bool) bool {
	return !held && r.call != callEvent && s.Sequence != nil && r.vocabulary().Sequence == ""
}

// continues reports whether the caller takes the step that the response asks for, under the lease that it has.
func (r *providerResponse) continues(report invoice.Report, readable, held bool) bool {
	if r.stepTimeout == 0 || !held {
		return false
	}
	if r.Next == provider.NextStatus {
		return r.Kind == provider.Inconclusive
	}
	return readable && report.Status == invoice.Unsent
}

// readReport reads the body as the provider's report on this submission. It returns false if the body is not one.
func (r providerResponse) readReport(s invoices.Submission) (invoice.Report, bool) {
	if r.Kind != provider.Complete {
		return invoice.Report{}, false
	}
	report, err := invoice.ReadReport(r.Body, *r.vocabulary())
	// A report on another document says nothing about this one. A report that would show our credential must not be shown.
	same := concerns(report, s) //planted:report-on-another-document
	return report, err == nil && same && !r.echoesCredential(report)
}

// vocabulary returns the table to read the body with.
func (r *providerResponse) vocabulary() *invoice.Vocabulary {
	if r.Vocabulary != nil {
		return r.Vocabulary
	}
	return &r.profile.Vocabulary
}

// concerns reports whether a report is about a submission. A provider that does not repeat our reference repeats its
// own, which its first report about the submission has introduced.
func concerns(report invoice.Report, s invoices.Submission) bool {
	if report.Reference != "" {
		return report.Reference == s.ID.String()
	}
	return s.ProviderReference == nil || *s.ProviderReference == report.ProviderReference
}

// echoesCredential reports whether a value that would be kept of the report in plain text contains our credential.
func (r providerResponse) echoesCredential(report invoice.Report) bool {
	if !r.Echoed || r.profile.EchoesCredential == nil {
		return false
	}
	echoes := r.profile.EchoesCredential(report.ProviderReference)
	for _, dimension := range invoice.Dimensions {
		value, _, _ := report.States.Get(dimension)
		echoes = echoes || r.profile.EchoesCredential(value)
	}
	return echoes
}

// keepEvidence appends the response to the evidence, after the responses to the earlier requests of the call, unless it
// is identical to the previous one.
func (r providerResponse) keepEvidence(d *invoices.Decision, s invoices.Submission, report invoice.Report,
	readable bool) {
	if r.HTTPStatus == 0 {
		return
	}
	sum := sha256.Sum256(r.Body)
	repeated := s.LastCheckedAt != nil && s.LastStatus == r.HTTPStatus && s.LastSHA256 == sum && s.Evidence > 0
	d.Responded, d.LastStatus, d.LastSHA256 = true, r.HTTPStatus, sum
	if r.Settled && s.PollWait == dailyPoll && s.LastStatus == r.HTTPStatus {
		d.LastSHA256 = s.LastSHA256 // the last retained response was settled too, see schedule
		return
	}
	if repeated {
		return
	}
	d.Evidence = r.newEvidence(report, readable)
	for _, earlier := range r.Earlier {
		if earlier.HTTPStatus != 0 {
			retained := providerResponse{Response: earlier, call: r.call}
			d.Earlier = append(d.Earlier, *retained.newEvidence(invoice.Report{}, false))
		}
	}
}

// newEvidence returns the response as evidence, with the state values that were read from it.
func (r providerResponse) newEvidence(report invoice.Report, readable bool) *invoices.NewEvidence {
	values, retained := map[string]string{}, ""
	if readable {
		values, retained = stateValues(report), report.Retained(r.vocabulary().Name)
	}
	mediaType := r.MediaType
	if r.Echoed {
		mediaType = "" // it may contain the credential
	}
	return &invoices.NewEvidence{Call: r.call, HTTPStatus: r.HTTPStatus, MediaType: mediaType,
		Body: r.Body, Truncated: r.Truncated, Withheld: r.Echoed, StateValues: values,
		Report: retained}
}

// mergeReport merges a readable report into the submission. Of what decide calls, it alone changes states.
func (r providerResponse) mergeReport(d *invoices.Decision, s invoices.Submission,
	report invoice.Report) invoice.Change {
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
		d.ProviderReference = &report.ProviderReference
	}
	if report.Status == invoice.Unsent {
		d.Events = invoice.Events(change, invoice.EventContext{First: s.Sequence == nil,
			TerminalAnnounced: s.TerminalAt != nil})
		return change
	}
	d.MissingSince, d.MissingCount = nil, 0
	// A rejection, by the provider or by an administrator, stays: the customer may have corrected the invoice since.
	if outcome := invoice.Outcome(report.Status); !s.Outcome.Rejected() {
		d.Outcome = outcome
	} else if s.Outcome == api.OutcomeResolvedRejected && outcome != api.OutcomeRejected {
		d.Contradicts = s.Resolved.ContradictedAt == nil
	}
	d.Events = invoice.Events(change, invoice.EventContext{First: s.Sequence == nil,
		OutcomeChanged:    d.Outcome != s.Outcome,
		TerminalAnnounced: s.TerminalAt != nil})
	return change
}

// reportChanged reports whether a report has changed anything about a submission.
func reportChanged(d invoices.Decision, s invoices.Submission) bool {
	return len(d.WriteStates) > 0 || len(d.Events) > 0 || d.Contradicts || d.Outcome != s.Outcome ||
		!equal(d.ProviderReference, s.ProviderReference) || !equal(d.Sequence, s.Sequence)
}

// equal compares what two pointers point to.
func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// decideWithoutReport handles responses that carry no usable report. Such a response can prove only three things: that
// nothing was sent, that the provider refused the call unread, or that it has no such document.
func (r providerResponse) decideWithoutReport(d *invoices.Decision, s invoices.Submission, held bool) {
	if r.call == callEvent {
		return // the call of the submission is another one, and may be in progress
	}
	undecided := s.Outcome == api.OutcomeInProgress
	unread := r.Kind == provider.NotSent || r.Kind == provider.Refused //planted:broken-response-not-sent
	switch {
	case r.call == callSubmit && undecided && held && unread:
		d.Outcome = invoices.OutcomeNotSent
	case undecided:
		d.Outcome = api.OutcomeUnknown
	}
	if r.call == callSubmit && s.Outcome == api.OutcomeUnknown && held && unread {
		// The provider did not receive the document this time either. The reason for the resend is still valid, whether it
		// was an administrator's order or the provider's own responses.
		d.ResendOrdered = s.ResendUnderWay
		if !s.ResendUnderWay {
			d.MissingSince, d.MissingCount = &r.began, missingCountForResend
		}
		return
	}
	if r.call == callSubmit {
		// Responses from before this call no longer prove that the document is missing.
		d.MissingSince, d.MissingCount = nil, 0
		return
	}
	if r.Kind == provider.UnknownReference {
		r.countMissing(d, s)
	}
}

// decideUnsent handles a report that the provider has the document and has not sent it, which does not follow from a
// call under this lease. It is a reason to send the document again like a response that there is none.
func (r providerResponse) decideUnsent(d *invoices.Decision, s invoices.Submission) {
	if s.Outcome == api.OutcomeInProgress {
		d.Outcome = api.OutcomeUnknown
	}
	if r.call == callStatus {
		r.countMissing(d, s)
	}
}

// countMissing counts a response that says that the document was not sent. It may still arrive until two call time-outs
// after it was sent.
func (r providerResponse) countMissing(d *invoices.Decision, s invoices.Submission) {
	arrivedBy := s.SentAt.Add(2 * r.timeout)
	if d.Outcome != api.OutcomeUnknown || r.began.Before(arrivedBy) { //planted:unknown-reference-not-sent
		return
	}
	switch {
	case s.MissingSince == nil:
		d.MissingSince, d.MissingCount = &r.began, 1
	case r.began.Sub(*s.MissingSince) >= r.polling.missingGap():
		d.MissingCount = s.MissingCount + 1
	}
}

// mayResend reports whether the rules allow sending a submission again under its reference: an administrator has
// ordered it, or the provider has said often enough that it has no such document or has not sent it, and guards against
// a second one: its references are idempotent, or it has prepared the document and sends it once.
func mayResend(s invoices.Submission, p provider.Profile) bool {
	missing := s.MissingCount >= missingCountForResend //planted:resend-without-status-query
	guarded := p.Idempotent || p.GuardsSend && s.ProviderReference != nil
	return s.Outcome == api.OutcomeUnknown && (s.ResendOrdered || guarded && missing)
}

// allowsResend reports whether a submission, as it is after this response, is sent again now. The rules must allow it,
// and the provider must have just said that it has no such document. If an administrator has ordered the resend, any
// response from a working provider is enough.
func (r providerResponse) allowsResend(s invoices.Submission) bool {
	confirmed := r.saysNotSent(s)
	if s.ResendOrdered {
		confirmed = confirmed || r.Kind != provider.Refused && r.HTTPStatus != 0 &&
			r.HTTPStatus < http.StatusInternalServerError &&
			r.HTTPStatus != http.StatusForbidden && r.HTTPStatus != http.StatusTooManyRequests
	}
	return confirmed && mayResend(s, r.profile)
}

// saysNotSent reports whether the provider has just said that it has no such document, or that it has not sent it.
func (r providerResponse) saysNotSent(s invoices.Submission) bool {
	if r.Kind == provider.UnknownReference {
		return true
	}
	report, readable := r.readReport(s)
	return readable && report.Status == invoice.Unsent
}

// failureReason names what is wrong with the connection, or returns "" if the response shows a working provider: it is
// a report, says that there is no such document, or complains about the document alone.
func (r providerResponse) failureReason(readable bool) string {
	switch status := r.HTTPStatus; {
	case readable, r.Kind == provider.UnknownReference, r.Kind == provider.Inconclusive,
		r.Kind == provider.Refused && status == http.StatusOK: // the provider says that it would not take this document
		return ""
	case r.ErrorClass != provider.ClassNone:
		return string(r.ErrorClass)
	case r.connectionAltered:
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
