package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quittance/api"
)

// The waits between two looks at a submitted invoice: the first, doubled each time up to the last.
const (
	pollFirst = 500 * time.Millisecond
	pollMax   = 30 * time.Second
)

// ErrDraftAgain says that an invoice that was waited for is a draft: the provider certainly did not take it, or
// somebody has changed it after a rejection. Submitting it again is a decision of yours.
var ErrDraftAgain = errors.New("client: the invoice is a draft again")

// SubmitAndWait submits an invoice and reads it, less and less often and at last every half minute or so, until the
// provider has reported all four states. With until, that is what decides instead, on every answer; the waiting also
// ends when nothing more is to come, because the provider has rejected the document or the service asks it no more.
// So look at the invoice for what you wanted.
//
// An unknown outcome is waited out. The invoice is submitted once and not again: should it turn out that the provider
// did not take it, the error is [ErrDraftAgain]. A state may never be reported, so give ctx a deadline. With an error
// comes the invoice as it was last seen, the zero value when it was not.
func (c *Client) SubmitAndWait(ctx context.Context, id string, until func(api.Invoice) bool) (api.Invoice, error) {
	if until == nil {
		until = allReported
	}
	seen, err := c.Submit(ctx, id)
	underWay := says(err, api.CodeSubmissionInProgress)
	if err != nil && !underWay {
		return api.Invoice{}, err
	}
	for wait := pollFirst; ; wait = min(2*wait, pollMax) {
		switch {
		case underWay: // by another call: there is no answer to look at yet
			underWay = false
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

// allReported tells whether the provider has reported every dimension, whatever it said.
func allReported(i api.Invoice) bool {
	return i.SubmissionState != nil && i.ProviderInvoiceState != nil && i.TaxAuthorityState != nil && i.ReceiverState != nil
}

// settled tells whether an invoice will not change by itself any more: it was rejected, and then the provider reports
// nothing more on the other dimensions, or the service has nothing left to ask.
func settled(i api.Invoice) bool {
	s := i.Submission
	return s != nil && (s.Outcome.Rejected() || s.Outcome != api.OutcomeInProgress && s.NextCheckAt == nil)
}
