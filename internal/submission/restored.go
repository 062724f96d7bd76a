package submission

import (
	"context"

	"quittance/client/api"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// maxQueryFirstCalls is the largest number of calls of [Service.queryBeforeSend]: the status query of the submission's
// own reference, the status queries of the later references, and then either the submit call or the status query of an
// adopted reference.
const maxQueryFirstCalls = 1 + store.MaxLaterReferences + 1

// queryBeforeSend submits an invoice that was created before this database was restored from a backup. The provider may
// have its document, so it is sent only if the provider has none under this reference or a later one. After any other
// response the outcome is unknown, and polling continues from there. queryBeforeSend returns [store.ErrLeaseLost] if
// another worker has the lease.
func (s *Service) queryBeforeSend(ctx context.Context, lease store.SubmissionLease) (store.Submission, error) {
	response := s.queryStatus(ctx, lease, lease.Submission.ID)
	response.sendFollows = true
	recorded, err := s.record(ctx, lease, response)
	if err != nil || recorded.Outcome != api.OutcomeInProgress {
		return recorded, err
	}
	recorded, free, err := s.queryLaterReferences(ctx, lease)
	if err != nil || !free {
		return recorded, err
	}
	return s.send(ctx, lease)
}

// queryLaterReferences queries the references under which the invoice may have been submitted before the database was
// restored. free is true if the provider has a document under none of them, if there are no such references, or if it
// does not know our references: the caller has then searched for the content of the document, which all of them share.
// Otherwise queryLaterReferences records and returns what it found.
func (s *Service) queryLaterReferences(ctx context.Context,
	lease store.SubmissionLease) (recorded store.Submission, free bool, err error) {
	references, err := lease.LaterReferences(ctx)
	if err != nil || len(references) == 0 {
		return store.Submission{}, err == nil, err
	}
	if adapter, err := s.Adapters.For(lease.Connection); err == nil && adapter.Profile().QueriesByContent {
		return store.Submission{}, true, nil // the query of the content has found no document of any reference
	}
	for _, reference := range references {
		response := s.queryStatus(ctx, lease, reference.ID)
		if response.Kind == provider.UnknownReference {
			s.logCall(ctx, lease, response, lease.Submission, nil)
			continue
		}
		if _, found := response.readReport(store.Submission{ID: reference.ID}); !found {
			recorded, err := s.record(ctx, lease, response)
			return recorded, false, err
		}
		adopted, err := lease.AdoptLater(ctx, reference, s.leaseDuration())
		if err != nil {
			return store.Submission{}, false, err
		}
		recorded, err := s.record(ctx, adopted, s.queryStatus(ctx, adopted, adopted.Submission.ID))
		return recorded, false, err
	}
	return store.Submission{}, true, nil
}
