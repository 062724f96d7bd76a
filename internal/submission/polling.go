package submission

import (
	"time"

	"quittance/api"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// Polling is when the provider is asked again: First after a change, then doubling to Max, and daily once a submission
// is 90 days old. It never ends before all four states are terminal (contract, section 5).
type Polling struct {
	First time.Duration // 1 s by default
	Max   time.Duration // 1 h by default
	// MissingGap is the least time between two answers that there is no such document for both to count towards sending it
	// again; 0 for the minute that is promised.
	MissingGap time.Duration
}

// missingGap is the gap that is promised (contract, section 5), or the one that stands for it.
func (p Polling) missingGap() time.Duration {
	if p.MissingGap > 0 {
		return p.MissingGap
	}
	return missingGap
}

// The pace of a submission that has been open for long.
const (
	longOpen  = 90 * 24 * time.Hour
	dailyPoll = 24 * time.Hour
	// troublePoll is the longest wait after an answer that says nothing, so that everything is asked for again soon after
	// an outage. What a long outage costs is bounded by the connection: see the store's circuit.go.
	troublePoll = time.Minute
)

// schedule sets when to ask next, or nil once there is nothing left to learn.
func (h hearing) schedule(d *store.Decision, s store.Submission, changed bool, now time.Time) {
	if d.Outcome == store.OutcomeNotSent || d.States.AllTerminal() {
		return
	}
	wait := h.polling.First
	if !changed && s.PollWait > 0 {
		longest := h.polling.Max
		if d.FailureReason != "" {
			longest = min(longest, troublePoll)
		}
		wait = min(2*s.PollWait, longest)
	}
	d.PollWait = wait
	if now.Sub(s.AttemptedAt) >= longOpen {
		wait = dailyPoll
	}
	// The provider's own wish counts, up to the adapter's cap.
	wait = max(wait, h.answer.RetryAfter)
	due := now.Add(wait)
	if d.Outcome == api.OutcomeUnknown && h.answer.Kind == provider.UnknownReference {
		// The next answer that can count towards a resend is asked for when it can, where the pace would come later. It
		// never comes later than the pace: the document may appear at any moment.
		counts := s.SentAt.Add(2 * h.timeout)
		if d.MissingSince != nil {
			counts = d.MissingSince.Add(h.polling.missingGap())
		}
		if d.MissingCount < provenMissing && counts.After(now) && due.After(counts) {
			due = later(counts, now.Add(max(h.polling.First, h.answer.RetryAfter)))
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
