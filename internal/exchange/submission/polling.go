package submission

import (
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
)

// Polling sets when the provider is polled again: First after a change, then twice as long each time up to Max, and
// daily once a submission is 90 days old. Polling ends only when all four states are terminal.
type Polling struct {
	First time.Duration // 1 s by default
	Max   time.Duration // 1 h by default
	// MissingGap is the least time between two responses that there is no such document for both to count towards a
	// resend. Zero means one minute.
	MissingGap time.Duration
}

// missingGap returns MissingGap or its default.
func (p Polling) missingGap() time.Duration {
	if p.MissingGap > 0 {
		return p.MissingGap
	}
	return minMissingGap
}

// The polling of a submission that has been open for a long time, or about which the provider can say nothing more.
const (
	longOpen  = 90 * 24 * time.Hour
	dailyPoll = 24 * time.Hour
	// maxWaitAfterFailure is the longest wait after a response without information, so that every submission is polled
	// soon after an outage. The connection's circuit breaker bounds the cost of a long outage: see circuit.go of
	// package invoices.
	maxWaitAfterFailure = time.Minute
)

// schedule sets the time of the next poll, or nothing if no further response can change the submission.
func (r providerResponse) schedule(d *invoices.Decision, s invoices.Submission, changed bool, now time.Time) {
	if d.Outcome == invoices.OutcomeNotSent || d.States.AllTerminal() { //planted:polling-stops-after-an-error
		return
	}
	wait := r.polling.First
	if !changed && s.PollWait > 0 {
		longest := r.polling.Max
		if d.FailureReason != "" {
			longest = min(longest, maxWaitAfterFailure)
		}
		wait = min(2*s.PollWait, longest)
	}
	d.PollWait = wait
	if now.Sub(s.AttemptedAt) >= longOpen {
		wait = dailyPoll
	}
	if r.Settled && d.Outcome == api.OutcomeAcknowledged {
		wait, d.PollWait = dailyPoll, dailyPoll
	}
	// The adapter limits RetryAfter.
	wait = max(wait, r.RetryAfter)
	due := now.Add(wait)
	if d.Outcome == api.OutcomeUnknown && r.saysNotSent(s) {
		// Poll as soon as the next response can count towards a resend, if that is earlier. Never poll later than usual,
		// because the document may appear at any moment.
		counts := s.SentAt.Add(2 * r.timeout)
		if d.MissingSince != nil {
			counts = d.MissingSince.Add(r.polling.missingGap())
		}
		if d.MissingCount < missingCountForResend && counts.After(now) && due.After(counts) {
			due = later(counts, now.Add(max(r.polling.First, r.RetryAfter)))
		}
	}
	d.DueAt = &due
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
