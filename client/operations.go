package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"quittance/api"
)

const (
	clientPath   = "/api/v1/client"
	webhooksPath = "/api/v1/webhooks"
)

// The pages of a list that is read to its end.
const (
	maxPerPage     = 100 // what the service gives at most (contract, section 4)
	defaultPerPage = 50
)

// The waits between two looks at a submitted invoice: the first, doubled each time up to the last.
const (
	pollFirst = 500 * time.Millisecond
	pollMax   = 30 * time.Second
)

// ErrDraftAgain says that an invoice that was waited for is a draft: the provider certainly did not take it, or
// somebody has changed it after a rejection. Submitting it again is a decision of yours.
var ErrDraftAgain = errors.New("client: the invoice is a draft again")

// ErrSecretLost says that a webhook subscription exists, but the one answer that held its signing secret did not arrive.
// Deactivate the subscription that comes with the error, and create another under another key.
var ErrSecretLost = errors.New("client: the subscription's signing secret was in an answer that got lost")

// CreateInvoice stores a draft. Nothing is sent to the provider. It is made under an Idempotency-Key, a random one
// unless you pass your own, so that it creates one invoice however often it has to be sent.
func (c *Client) CreateInvoice(ctx context.Context, draft api.Draft, options ...CallOption) (api.Invoice, error) {
	return one[api.Invoice](ctx, c, request{method: http.MethodPost, path: clientPath + "/invoices", body: draft}, options...)
}

// Invoice returns an invoice as it stands.
func (c *Client) Invoice(ctx context.Context, id string) (api.Invoice, error) {
	return one[api.Invoice](ctx, c, get(invoicePath(id), nil))
}

// InvoiceQuery chooses invoices of a list.
type InvoiceQuery struct {
	// Page is the number of the page, from 1, which 0 means too.
	Page int
	// PerPage is the number of invoices on a page, from 1 to 100; 0 leaves it to the service.
	PerPage int
}

func (q InvoiceQuery) values() url.Values {
	values := url.Values{}
	if q.Page != 0 {
		values.Set("page", strconv.Itoa(q.Page))
	}
	if q.PerPage != 0 {
		values.Set("per_page", strconv.Itoa(q.PerPage))
	}
	return values
}

// Invoices returns one page of the invoices, newest first.
func (c *Client) Invoices(ctx context.Context, query InvoiceQuery) (api.List[api.Invoice], error) {
	return call[api.List[api.Invoice]](ctx, c, get(clientPath+"/invoices", query.values()))
}

// AllInvoices reads all pages, each when it is needed, newest first; query.Page does not matter. An invoice comes once,
// even when new ones push it onto the next page meanwhile; some of those may come too. After an error nothing more comes.
func (c *Client) AllInvoices(ctx context.Context, query InvoiceQuery) iter.Seq2[api.Invoice, error] {
	return all(query.PerPage, func(i *api.Invoice) string { return i.ID },
		func(page, perPage int) (api.List[api.Invoice], error) {
			query := query
			query.Page, query.PerPage = page, perPage
			return c.Invoices(ctx, query)
		})
}

// all reads the pages of a list. A page that is too large to read is asked for in halves: one entry always fits.
func all[T any](perPage int, id func(*T) string, fetch func(page, perPage int) (api.List[T], error)) iter.Seq2[T, error] {
	if perPage == 0 {
		perPage = defaultPerPage
	}
	return func(yield func(T, error) bool) {
		page, perPage := 1, min(perPage, maxPerPage) // its own, because a sequence can be read twice
		seen := map[string]bool{}
		for {
			list, err := fetch(page, perPage)
			if errors.Is(err, ErrTooLarge) && perPage > 1 {
				first := (page - 1) * perPage
				perPage /= 2
				page = first/perPage + 1 // the smaller page that first is on; what stands before it there was seen
				continue
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for n := range list.Data {
				entry := &list.Data[n]
				if seen[id(entry)] {
					continue
				}
				seen[id(entry)] = true
				if !yield(*entry, nil) {
					return
				}
			}
			if !list.Pagination.HasMore || len(list.Data) == 0 {
				return
			}
			page++
		}
	}
}

// Submit submits a complete draft, once: repeating the call returns what is recorded. What came of it is in the
// invoice's Submission.Outcome. [api.OutcomeUnknown], and [api.OutcomeInProgress], are no errors: the service does not
// know yet whether the provider has the document, and goes on asking (specification, part 4; contract, section 5).
//
// When an attempt broke off and the service is still at it, the next one is refused with submission_in_progress: read
// the invoice, or use [Client.SubmitAndWait].
func (c *Client) Submit(ctx context.Context, id string) (api.Invoice, error) {
	return one[api.Invoice](ctx, c, request{method: http.MethodPost, path: invoicePath(id) + "/submit", repeatable: true})
}

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

// settled tells whether an invoice will not change by itself any more: the provider rejected it, and then it reports
// nothing more on the other dimensions, or the service has nothing left to ask.
func settled(i api.Invoice) bool {
	s := i.Submission
	return s != nil && (s.Outcome == api.OutcomeRejected || s.Outcome != api.OutcomeInProgress && s.NextCheckAt == nil)
}

// CreateSubscription subscribes an HTTPS destination to webhooks. The signing secret is in this answer only: keep it.
// The error is [ErrSecretLost], with the subscription, when an earlier attempt or call under the same key had created it.
func (c *Client) CreateSubscription(ctx context.Context, subscription api.SubscriptionRequest, options ...CallOption) (api.NewSubscription, error) {
	created, err := one[api.NewSubscription](ctx, c,
		request{method: http.MethodPost, path: webhooksPath + "/subscriptions", body: subscription}, options...)
	if err == nil && created.Secret == "" {
		err = ErrSecretLost
	}
	return created, err
}

func invoicePath(id string) string { return clientPath + "/invoices/" + url.PathEscape(id) }
