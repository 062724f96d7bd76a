package submission

import (
	"context"

	"quittance/api"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// lookFirstCalls is how many calls follow each other at most when nothing is sent before the provider was asked: the
// question, those about the references that may follow, and the submission, or the question about one that was found.
const lookFirstCalls = 1 + store.MaxLaterReferences + 1

// lookFirst submits an invoice that is older than the restore of this database from a backup. The provider may have its
// document: only when it has none under this reference, nor under those that may have followed, is anything sent. Trouble
// on the way leaves the outcome unknown, and reconciliation goes on from there.
func (s *Service) lookFirst(ctx context.Context, call store.SubmissionLease) (store.Submission, error) {
	recorded, _, err := s.ask(ctx, call, hearing{first: true})
	if err != nil || recorded.Outcome != api.OutcomeInProgress {
		return recorded, err
	}
	recorded, free, err := s.lookAhead(ctx, call)
	if err != nil || !free {
		return recorded, ignoreLost(err)
	}
	return s.send(ctx, call)
}

// lookAhead asks for the document of a submission that is about to be sent under the references that may have followed it
// before the database was restored. free tells that the provider has none of them, or that there is nothing to ask for;
// otherwise what was found instead is recorded, and returned.
func (s *Service) lookAhead(ctx context.Context, call store.SubmissionLease) (recorded store.Submission, free bool, err error) {
	successors, err := call.LaterReferences(ctx)
	if err != nil || len(successors) == 0 {
		return store.Submission{}, err == nil, err
	}
	for _, next := range successors {
		adapter, profile, err := s.adapter(ctx, call.Connection)
		heard := hearing{call: callStatus, profile: profile, timeout: s.CallTimeout, polling: s.Polling, answer: provider.Response{Kind: provider.NotSent}}
		if err == nil {
			heard.answer, heard.began = s.exchange(ctx, callStatus, func(ctx context.Context) provider.Response { return adapter.Status(ctx, next.ID.String()) })
		}
		if heard.answer.Kind == provider.UnknownReference {
			s.note(ctx, call, heard, call.Submission, nil)
			continue
		}
		if _, found := heard.report(store.Submission{ID: next.ID}); !found {
			recorded, err := s.record(ctx, call, heard)
			s.note(ctx, call, heard, recorded, err)
			return recorded, false, err
		}
		adopted, err := call.AdoptLater(ctx, next, s.lease())
		if err != nil {
			return store.Submission{}, false, err
		}
		recorded, _, err := s.ask(ctx, adopted, hearing{})
		return recorded, false, err
	}
	return store.Submission{}, true, nil
}
