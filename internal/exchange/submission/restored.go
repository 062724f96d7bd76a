package submission

import (
	"context"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/ledger/invoices"
	"quittance/internal/provider"
)

// This file is what becomes of an invoice that was created before the database was restored from a backup: its document
// may have left after the backup, under its reference or another one. Nothing is sent before the provider has said that
// it has none of them. It is asked at the moment of sending, because only then it is known over which connection the
// document would leave, and what the company has changed meanwhile; see docs/decisions/074-asked-when-it-is-sent.md.

// lostTimeout is how long the queries of all lost references may take, and then the submit call.
func (s *Service) lostTimeout() time.Duration {
	return (invoices.MaxLaterReferences+1)*s.CallTimeout + s.leaseDuration()
}

// sendRestored sends the document of a restored invoice if the provider has it under no reference. After any response
// that does not say so the outcome is unknown, and polling goes on from there. It returns [base.ErrLeaseLost] if
// another worker has the lease.
func (s *Service) sendRestored(ctx context.Context, lease invoices.SubmissionLease) (invoices.Submission, error) {
	own := s.queryStatus(ctx, lease)
	if own.Kind != provider.UnknownReference {
		return s.record(ctx, lease, own)
	}
	own.stepTimeout = s.lostTimeout()
	recorded, err := s.recordBy(ctx, lease, own, own.retain)
	if err != nil || !lease.Kept(recorded) {
		return recorded, err
	}
	lease.Submission = recorded
	if recorded, free, err := s.queryLost(ctx, lease, own); err != nil || !free {
		return recorded, err
	}
	return s.send(ctx, lease)
}

// retain keeps a response as evidence. Nothing else follows from it, and the caller keeps the lease for the next step.
func (r providerResponse) retain(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error) {
	if !held {
		return r.decide(s, held, now)
	}
	d := s.Unchanged()
	r.keepEvidence(&d, s, invoice.Report{}, false)
	d.KeepUntil = new(now.Add(r.stepTimeout))
	return d, nil
}

// queryLost asks about the references under which a restored document may have been submitted, beside its own, about
// which the provider has given the response own. free is true if the provider has a document under none of them, or has
// rejected those of earlier references. Otherwise queryLost records what it found, and returns the submission that is
// current then.
func (s *Service) queryLost(ctx context.Context, lease invoices.SubmissionLease,
	own providerResponse) (recorded invoices.Submission, free bool, err error) {
	references, err := lease.LostReferences(ctx)
	if err != nil || len(references) == 0 {
		return recorded, err == nil, err
	}
	if own.profile.QueriesByContent { // all references have the same content
		return recorded, own.Kind == provider.UnknownReference, nil
	}
	for _, reference := range references {
		asked := lease
		asked.Submission = invoices.Submission{ID: reference.ID}
		response := s.queryStatus(ctx, asked)
		if response.Kind == provider.UnknownReference {
			s.logCall(ctx, asked, response, asked.Submission, nil)
			continue
		}
		report, known := response.readReport(asked.Submission)
		if known && reference.Earlier && report.Status == invoice.Rejected {
			s.logCall(ctx, asked, response, asked.Submission, nil)
			continue // the draft is what the company has made of it
		}
		if known && reference.Earlier {
			s.Log.ErrorContext(ctx,
				"the provider has a document from before the restore under an earlier reference: nothing is sent",
				"account", lease.Tenant.Account(), "submission", lease.Submission.ID, "reference", reference.ID)
		}
		if !known || reference.Earlier {
			recorded, err = s.record(ctx, lease, response)
			return recorded, false, err
		}
		adopted, err := lease.Adopt(ctx, reference, s.leaseDuration())
		if err != nil {
			return recorded, false, err
		}
		recorded, err = s.record(ctx, adopted, s.queryStatus(ctx, adopted))
		return recorded, false, err
	}
	return recorded, true, nil
}
