package invoices

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
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

// ResolveAnySubmission records the decision of the actor of ctx about a submission with an unknown outcome, and the
// reason for it. Polling continues in any case. ResolveSubmission returns [ErrOutcomeKnown] if there is nothing to
// resolve.
func ResolveAnySubmission(ctx context.Context, db *base.DB, id base.ID, decision, reason string) (Submission, error) {
	tenant, err := db.FindTenant(ctx, func(t *base.Tenant) error {
		_, err := FindSubmission(ctx, t, id)
		return err
	})
	if err != nil {
		return Submission{}, err
	}
	return ResolveSubmission(ctx, tenant, id, decision, reason)
}

// ResolveSubmission is [ResolveAnySubmission] for a submission of a known company. It returns [base.ErrNotFound] if the
// company has no such submission.
func ResolveSubmission(ctx context.Context, t *base.Tenant, id base.ID, decision, reason string) (Submission, error) {
	resolved, err := FindSubmission(ctx, t, id)
	if err != nil {
		return Submission{}, err
	}
	if decision != DecisionResend && decision != DecisionReject || reason == "" {
		return Submission{}, errors.New("resolve submission: a decision and a reason are required")
	}
	err = t.Write(ctx, "resolve submission", func(ctx context.Context, tx *base.Tx) error {
		was, err := lockCounted(ctx, t, tx, resolved.Invoice)
		if err != nil {
			return err
		}
		s, err := ReadSubmission(ctx, t, tx, id, t.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		s.counted = was
		if s.Outcome != api.OutcomeUnknown {
			return ErrOutcomeKnown
		}
		now := tx.Now()
		s.Resolved = &api.Resolution{Decision: decision, Reason: reason, By: tx.Actor.Name, At: now}
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
		if err := SaveSubmission(ctx, t, tx, &s); err != nil {
			return err
		}
		tx.Notify(base.WorkSubmissions)
		resolved = s
		if err := touch(ctx, t, tx, &s, now); err != nil {
			return err
		}
		return tx.Audit(base.Act{Name: "submission.resolve", Account: t.Account(), SubjectType: "submission",
			Subject: id.String(),
			Reason:  reason, Details: s.identify(map[string]string{"decision": decision, "reference": id.String()})})
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
	s.Resolved = &api.Resolution{Decision: r.decision.V, Reason: r.reason.V, By: r.by.V, At: base.Instant(r.at.V),
		ContradictedAt: base.InstantOrNil(r.contradicted)}
	if s.Outcome == api.OutcomeRejected && r.decision.V == DecisionReject {
		s.Outcome = api.OutcomeResolvedRejected
	}
}

// recordContradiction records that the provider has reported a document that had been resolved by rejecting it.
func recordContradiction(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, now time.Time) error {
	resolved := *s.Resolved
	resolved.ContradictedAt = &now
	s.Resolved = &resolved
	if _, err := tx.Exec(ctx, `update submissions set contradicted_at = $3 where tenant_id = $1 and id = $2`, t.ID(),
		s.ID, base.Micros(now)); err != nil {
		return err
	}
	details := s.identify(map[string]string{"resolved_by": resolved.By,
		"resolved_at": resolved.At.Format(time.RFC3339Nano)})
	if s.ProviderReference != nil {
		details["provider_reference"] = *s.ProviderReference
	}
	return tx.Audit(base.Act{Name: "submission.contradicted", Account: t.Account(), SubjectType: "submission",
		Subject: s.ID.String(), Details: details})
}

// Contradicted returns the number of submissions that were resolved by rejecting them and that the provider has
// reported nevertheless.
func Contradicted(ctx context.Context, db *base.DB) (int64, error) {
	var count int64
	err := db.Querier().QueryRowContext(ctx,
		`select count(*) from submissions where contradicted_at is not null`).Scan(&count)
	return count, db.Classify(err)
}
