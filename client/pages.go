package client

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"time"

	"quittance/api"
)

// The pages of a list that is read to its end.
const (
	maxPerPage     = 100 // what the service gives at most (contract, section 4)
	defaultPerPage = 50
)

// Paging chooses a page of a list.
type Paging struct {
	// Page is the number of the page, from 1, which 0 means too.
	Page int
	// PerPage is the number of entries on a page, from 1 to 100; 0 leaves it to the service.
	PerPage int
}

// InvoiceQuery chooses invoices of a list. What is empty or nil chooses them all.
type InvoiceQuery struct {
	Paging
	// InvoiceNumber is the exact number.
	InvoiceNumber string
	// Submitted chooses submitted invoices, or drafts.
	Submitted *bool
	// The states are the provider's own words, exactly.
	SubmissionState, ProviderInvoiceState, TaxAuthorityState, ReceiverState string
	// ExternalID is your own system's key, exactly.
	ExternalID string
	// RecipientName is text that the recipient's name holds, whatever the case of its letters.
	RecipientName string
	// IssueDateFrom and IssueDateTo bound the issue date, both inclusive: YYYY-MM-DD.
	IssueDateFrom, IssueDateTo string
	// UpdatedSince chooses invoices that changed then or later; zero chooses them all.
	UpdatedSince time.Time
	// Attention chooses invoices that need a person, or the others: an outcome unknown for over ten minutes, a rejected submission, or
	// a word that the provider calls negative.
	Attention *bool
	// Sort is created_at, issue_date, total_amount or recipient_name, with a hyphen before it for descending; newest first when
	// it is empty.
	Sort string
}

// CreditNoteQuery chooses credit notes of a list. What is empty chooses them all.
type CreditNoteQuery struct {
	Paging
	// InvoiceID is the invoice that is credited.
	InvoiceID string
}

// DeliveryQuery chooses webhook deliveries of a list. What is empty chooses them all.
type DeliveryQuery struct {
	Paging
	// SubscriptionID is the subscription that is told.
	SubscriptionID string
	// EventID is the UUID of the event.
	EventID string
	// Event is the kind of the event.
	Event api.EventKind
	// State is where the delivery stands.
	State api.DeliveryState
}

// values are the query parameters of a page and of filters by name, of which the empty ones are left out.
func (p Paging) values(filters map[string]string) url.Values {
	values := url.Values{}
	if p.Page != 0 {
		values.Set("page", strconv.Itoa(p.Page))
	}
	if p.PerPage != 0 {
		values.Set("per_page", strconv.Itoa(p.PerPage))
	}
	for name, value := range filters {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

func (q InvoiceQuery) values() url.Values {
	since := ""
	if !q.UpdatedSince.IsZero() {
		since = q.UpdatedSince.UTC().Format(time.RFC3339Nano)
	}
	return q.Paging.values(map[string]string{"invoice_number": q.InvoiceNumber, "submitted": flag(q.Submitted), "attention": flag(q.Attention),
		"external_id": q.ExternalID, "recipient_name": q.RecipientName, "issue_date_from": q.IssueDateFrom, "issue_date_to": q.IssueDateTo,
		"updated_since": since, "sort": q.Sort,
		"submission_state": q.SubmissionState, "provider_invoice_state": q.ProviderInvoiceState,
		"tax_authority_state": q.TaxAuthorityState, "receiver_state": q.ReceiverState})
}

// flag is an optional flag as a query parameter, "" for nil.
func flag(on *bool) string {
	if on == nil {
		return ""
	}
	return strconv.FormatBool(*on)
}

func (q CreditNoteQuery) values() url.Values {
	return q.Paging.values(map[string]string{"invoice_id": q.InvoiceID})
}

func (q DeliveryQuery) values() url.Values {
	return q.Paging.values(map[string]string{"subscription_id": q.SubscriptionID, "event_id": q.EventID,
		"event": string(q.Event), "state": string(q.State)})
}

// AllInvoices reads all pages, each when it is needed, newest first; query.Page does not matter. An invoice comes once,
// even when new ones push it onto the next page meanwhile; some of those may come too. After an error nothing more comes.
//
// Beware of changing what the query filters by while you read: an invoice that leaves the list pulls another one over
// the edge of a page, where it is missed. Collect the identifiers first.
func (c *Client) AllInvoices(ctx context.Context, query InvoiceQuery) iter.Seq2[api.InvoiceSummary, error] {
	return all(query.PerPage, func(i *api.InvoiceSummary) string { return i.ID },
		func(page Paging) (api.List[api.InvoiceSummary], error) {
			query := query
			query.Paging = page
			return c.Invoices(ctx, query)
		})
}

// all reads the pages of a list. A page that is too large to read is asked for in halves: one entry always fits.
func all[T any](perPage int, id func(*T) string, fetch func(Paging) (api.List[T], error)) iter.Seq2[T, error] {
	if perPage == 0 {
		perPage = defaultPerPage
	}
	return func(yield func(T, error) bool) {
		page, perPage := 1, min(perPage, maxPerPage) // its own, because a sequence can be read twice
		seen := map[string]bool{}
		for {
			list, err := fetch(Paging{Page: page, PerPage: perPage})
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
