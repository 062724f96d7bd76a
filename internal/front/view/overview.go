package view

import (
	"context"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
)

// OverviewDays is how many days the chart of the overview has. The last one is today, in UTC.
const OverviewDays = 30

// Overview is what the first page shows of the invoices.
type Overview struct {
	Tabs map[Tab]TabCount
	// Days are the last [OverviewDays] days, oldest first.
	Days []OverviewDay
}

// OverviewDay says how many invoices were submitted on a day, in UTC, by the tab that they are in now.
type OverviewDay struct {
	Day      time.Time
	Invoices map[Tab]int
}

// Overview returns the counts of the first page. Like [Tenant.TabCounts], it reads counters.
func (t Tenant) Overview(ctx context.Context) (Overview, error) {
	firstDay := func(now time.Time) time.Time {
		return now.UTC().Truncate(invoices.SubmittedPeriod).AddDate(0, 0, 1-OverviewDays)
	}
	counts, err := t.counts(ctx, firstDay)
	if err != nil {
		return Overview{}, err
	}
	first := firstDay(counts.at)
	out := Overview{Tabs: counts.tabs(), Days: make([]OverviewDay, OverviewDays)}
	for n := range out.Days {
		out.Days[n] = OverviewDay{Day: first.AddDate(0, 0, n), Invoices: map[Tab]int{}}
	}
	for _, counted := range counts.counts {
		day := int(counted.From.Sub(first) / invoices.SubmittedPeriod)
		if counted.Invoices != 0 && !counted.From.Before(first) && day < OverviewDays {
			out.Days[day].Invoices[counts.tabOf(counted)] += int(counted.Invoices)
		}
	}
	return out, nil
}

// attentionDepth is how many submissions [Tenant.AttentionCreditNotes] examines for each reason.
const attentionDepth = 1000

// AttentionCreditNotes returns the newest credit notes that need a person, at most most, for the reasons of
// [TabAttention]. It examines the newest 1,000 submissions for each reason, those of invoices included.
func (t Tenant) AttentionCreditNotes(ctx context.Context, most int) (out []invoices.CreditNoteRow, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		var s statement
		depth := s.value(attentionDepth)
		long := s.value(unknownSince(r.Now()).UnixMicro())
		needing := r.InSubquery(`select credit_note_id from (
			select credit_note_id, id from (select credit_note_id, id, outcome, attempted_at from submissions where tenant_id = $1 and current = 2 and outcome in ('rejected', 'unknown')
				order by id desc limit ` + depth + `) undecided where outcome = 'rejected' or attempted_at < ` + long + `
			union select c.credit_note_id, c.id from (select submission_id from states where tenant_id = $1 and meaning = 'negative' order by submission_id desc limit ` + depth + `) reported
				join submissions c on c.tenant_id = $1 and c.id = reported.submission_id and c.current = 2
			) needing order by id desc limit ` + s.value(most))
		out, err = invoices.SelectCreditNotes(ctx, r, `voided_at is null and id `+needing, `order by id desc`, s.args...)
		return err
	})
	return out, err
}

// LatestResponses returns the evidence of the latest response about each of the given submissions that has one.
func (t Tenant) LatestResponses(ctx context.Context, submissions []base.ID) (map[base.ID]base.ID, error) {
	return byID[base.ID](ctx, t, submissions,
		`select id, (select e.id from evidence e where e.tenant_id = $1 and e.submission_id = submissions.id and e.ordinal = submissions.evidence_count)
		from submissions where tenant_id = $1 and evidence_count > 0`)
}

// A provider connection is in trouble after so many calls in a row without a usable response, or after two if they go
// on for so long. One failed call is none: the next one usually succeeds.
const (
	troubleFailures = 5
	troubleAfter    = 10 * time.Minute
)

// InTrouble reports whether a company should know that calls over a connection fail.
func InTrouble(c invoices.Connection, now time.Time) bool {
	return c.State == invoices.ConnectionActive && c.FailingSince != nil &&
		(c.Failures >= troubleFailures || c.Failures > 1 && now.Sub(*c.FailingSince) >= troubleAfter)
}

// DeactivatedFor is how long a subscription is shown that the service has deactivated.
const DeactivatedFor = 30 * 24 * time.Hour

// TroubledSubscriptions returns the subscriptions that need a person, newest first: those that the service has
// deactivated within [DeactivatedFor], and those for which [events.Subscription.IsFailing] is true.
func (t Tenant) TroubledSubscriptions(ctx context.Context) (out []events.Subscription, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		now := r.Now()
		out, err = events.SelectSubscriptions(ctx, r,
			`active = 1 and failing_since <= $2 or active = 0 and deactivated_at >= $3 and deactivation_reason <> $4`,
			`order by id desc`,
			now.Add(-events.FailingAfter).UnixMicro(), now.Add(-DeactivatedFor).UnixMicro(), events.DeactivationRequested)
		return err
	})
	return out, err
}
