package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quittance/client/api"
)

// The intervals between reads of a submitted invoice: pollFirst, doubled each time up to pollMax.
const (
	pollFirst = 500 * time.Millisecond
	pollMax   = 30 * time.Second
)

// ErrDraftAgain means that the submitted invoice is a draft: the provider certainly did not accept it, or somebody has
// changed it after a rejection. It is your decision whether to submit it again.
var ErrDraftAgain = errors.New("client: the invoice is a draft again")

// SubmitAndWait submits an invoice and polls it, at growing intervals of up to about half a minute, until all four
// states are final as [Final] says, or until the function until returns true if it is not nil. It also returns when no
// more changes can come, because the provider has rejected the document or the service no longer asks. So check the
// returned invoice.
//
// SubmitAndWait waits while the outcome is unknown. It submits the invoice once: if it turns out that the provider did
// not accept it, the error is [ErrDraftAgain]. A state may never become final, so give ctx a deadline. With an error
// SubmitAndWait returns the invoice as it was last read, or the zero value.
func (c *Client) SubmitAndWait(ctx context.Context, id string, until func(api.Invoice) bool) (api.Invoice, error) {
	if until == nil {
		until = Final
	}
	seen, err := c.Submit(ctx, id)
	inProgress := hasCode(err, api.CodeSubmissionInProgress)
	if err != nil && !inProgress {
		return api.Invoice{}, err
	}
	for wait := pollFirst; ; wait = min(2*wait, pollMax) {
		switch {
		case inProgress: // by another call: there is no invoice to check yet
			inProgress = false
		case !seen.Submitted:
			return seen, ErrDraftAgain
		case until(seen) || settled(seen):
			return seen, nil
		}
		if err := c.sleep(ctx, c.jittered(wait)); err != nil {
			return seen, fmt.Errorf("client: wait for invoice %s: %w", id, err)
		}
		now, err := c.Invoice(ctx, id)
		if err != nil {
			return seen, err
		}
		seen = now
	}
}

// Final reports whether each of the four states of an invoice is final. A state is final because the provider says so,
// so none of them says that the document was accepted: see [api.StateDetail.Meaning].
func Final(i api.Invoice) bool {
	for _, detail := range []*api.StateDetail{i.Details.SubmissionState, i.Details.ProviderInvoiceState,
		i.Details.TaxAuthorityState, i.Details.ReceiverState} {
		if detail == nil || !detail.Final {
			return false
		}
	}
	return true
}

// settled reports whether an invoice can no longer change by itself: it was rejected, after which the provider reports
// no other states, or the service no longer asks the provider.
func settled(i api.Invoice) bool {
	s := i.Submission
	return s != nil && (s.Outcome.Rejected() || s.Outcome != api.OutcomeInProgress && s.NextCheckAt == nil)
}
