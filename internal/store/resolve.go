package store

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/problem"
)

// ErrOutcomeKnown says that the outcome of a submission is known, so there is nothing to resolve.
var ErrOutcomeKnown = problem.Local("outcome_known", http.StatusConflict,
	"the outcome of this submission is known: nothing to resolve")

// The decisions about a submission with an unknown outcome.
const (
	// DecisionResend orders that it is sent again under its reference.
	DecisionResend = "resend"
	// DecisionReject counts it as rejected by us, so that the customer can correct the invoice and submit it again.
	DecisionReject = "reject"
)

// ResolveSubmission records the decision of the actor of ctx about a submission with an unknown outcome, and the reason
// for it. Polling continues in any case. ResolveSubmission returns [ErrOutcomeKnown] if there is nothing to resolve.
func (db *DB) ResolveSubmission(ctx context.Context, id ID, decision, reason string) (Submission, error) {
	tenant, err := db.findTenant(ctx, func(t *Tenant) error {
		_, err := t.Submission(ctx, id)
		return err
	})
	if err != nil {
		return Submission{}, err
	}
	return tenant.ResolveSubmission(ctx, id, decision, reason)
}

// ResolveSubmission is [DB.ResolveSubmission] for a submission of a known company. It returns [ErrNotFound] if the
// company has no such submission.
func (t *Tenant) ResolveSubmission(ctx context.Context, id ID, decision, reason string) (Submission, error) {
	resolved, err := t.Submission(ctx, id)
	if err != nil {
		return Submission{}, err
	}
	if decision != DecisionResend && decision != DecisionReject || reason == "" {
		return Submission{}, errors.New("resolve submission: a decision and a reason are required")
	}
	err = t.write(ctx, "resolve submission", func(ctx context.Context, tx *tx) error {
		was, err := t.lockCounted(ctx, tx, resolved.Invoice)
		if err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, id, t.db.dialect.ForUpdate())
		if err != nil {
			return err
		}
		s.counted = was
		if s.Outcome != api.OutcomeUnknown {
			return ErrOutcomeKnown
		}
		now := tx.Now()
		s.Resolved = &api.Resolution{Decision: decision, Reason: reason, By: tx.actor.Name, At: now}
		// The provider is polled once more at once, for either decision. A worker that holds the lease loses it, so that its
		// response, to a call from before the decision, does not use up the order. The response is still recorded. If it was
		// a resend whose intent is committed, the document may leave after a rejection: that becomes a contradiction.
		s.DueAt, s.NextCheckAt = &now, &now
		s.fencingToken++
		if decision == DecisionResend {
			s.ResendOrdered = true
		} else {
			s.Outcome, s.ResendOrdered, s.ResendUnderWay = api.OutcomeResolvedRejected, false, false
		}
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		tx.notify(WorkSubmissions)
		resolved = s
		if err := t.touch(ctx, tx, &s, now); err != nil {
			return err
		}
		return tx.audit(Act{Name: "submission.resolve", Account: t.account, SubjectType: "submission", Subject: id.String(),
			Reason: reason, Details: s.identify(map[string]string{"decision": decision, "reference": id.String()})})
	})
	return resolved, err
}

// identify adds to the details of an act which document a submission has sent.
func (s *Submission) identify(details map[string]string) map[string]string {
	details["invoice"], details["number"] = s.Invoice.String(), s.Number
	if !s.CreditNote.IsZero() {
		details["credit_note"] = s.CreditNote.String()
	}
	return details
}

// Correctable reports whether the invoice or the credit note may be changed and submitted again: the provider has
// rejected the document, or an administrator has and the provider has not reported the document since.
func (s *Submission) Correctable() bool {
	return s.Outcome.Rejected() && (s.Resolved == nil || s.Resolved.ContradictedAt == nil)
}

// storedOutcome returns an outcome as its column stores it. An administrator's rejection is stored like the provider's;
// the resolution columns distinguish them.
func storedOutcome(outcome api.Outcome) api.Outcome {
	if outcome == api.OutcomeResolvedRejected {
		return api.OutcomeRejected
	}
	return outcome
}

// OutcomeCondition returns a condition on the outcome in the table submissions. parameter adds an argument to the
// statement and returns the name of its parameter.
func OutcomeCondition(outcome api.Outcome, parameter func(value any) string) string {
	condition := `outcome = ` + parameter(string(storedOutcome(outcome)))
	switch outcome {
	case api.OutcomeRejected:
		condition += ` and coalesce(resolved_decision, '') <> 'reject'`
	case api.OutcomeResolvedRejected:
		condition += ` and resolved_decision = 'reject'`
	case api.OutcomeInProgress, api.OutcomeAcknowledged, api.OutcomeUnknown:
	}
	return condition
}

// resolution holds the resolution columns of a row.
type resolution struct {
	at, contradicted     sql.Null[int64]
	by, decision, reason sql.Null[string]
}

const resolutionColumns = `resolved_at, resolved_by, resolved_decision, resolved_reason, contradicted_at`

func (r *resolution) fields() []any {
	return []any{&r.at, &r.by, &r.decision, &r.reason, &r.contradicted}
}

// restore sets the resolution of a submission, and the outcome that follows from it.
func (r *resolution) restore(s *Submission) {
	if !r.at.Valid {
		return
	}
	s.Resolved = &api.Resolution{Decision: r.decision.V, Reason: r.reason.V, By: r.by.V, At: instant(r.at.V),
		ContradictedAt: instantOrNil(r.contradicted)}
	if s.Outcome == api.OutcomeRejected && r.decision.V == DecisionReject {
		s.Outcome = api.OutcomeResolvedRejected
	}
}

// recordContradiction records that the provider has reported a document that had been resolved by rejecting it.
func (t *Tenant) recordContradiction(ctx context.Context, tx *tx, s *Submission, now time.Time) error {
	resolved := *s.Resolved
	resolved.ContradictedAt = &now
	s.Resolved = &resolved
	if _, err := tx.Exec(ctx, `update submissions set contradicted_at = $3 where tenant_id = $1 and id = $2`, t.id,
		s.ID, micros(now)); err != nil {
		return err
	}
	details := s.identify(map[string]string{"resolved_by": resolved.By,
		"resolved_at": resolved.At.Format(time.RFC3339Nano)})
	if s.ProviderReference != nil {
		details["provider_reference"] = *s.ProviderReference
	}
	return tx.audit(Act{Name: "submission.contradicted", Account: t.account, SubjectType: "submission",
		Subject: s.ID.String(), Details: details})
}

// Contradicted returns the number of submissions that were resolved by rejecting them and that the provider has
// reported nevertheless.
func (db *DB) Contradicted(ctx context.Context) (int64, error) {
	var count int64
	err := db.reader.QueryRowContext(ctx,
		`select count(*) from submissions where contradicted_at is not null`).Scan(&count)
	return count, db.classify(err)
}
