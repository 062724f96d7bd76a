package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"time"

	"quittance/client/api"
)

// The page sizes of [Client.AllInvoices] and the other iterators.
const (
	maxPerPage     = 100 // the limit of the service
	defaultPerPage = 50
)

// Paging selects a page of a list.
type Paging struct {
	// Page is the number of the page, from 1; 0 also means the first page.
	Page int
	// PerPage is the number of entries on a page, from 1 to 100; 0 means the default of the service.
	PerPage int
}

// InvoiceQuery selects invoices of a list. Fields that are empty or nil do not restrict it.
type InvoiceQuery struct {
	Paging
	// InvoiceNumber is the exact number.
	InvoiceNumber string
	// Submitted selects submitted invoices, or drafts.
	Submitted *bool
	// The states are exact values of the provider.
	SubmissionState, ProviderInvoiceState, TaxAuthorityState, ReceiverState string
	// ExternalID is the exact key of your own system.
	ExternalID string
	// RecipientName is a part of the recipient's name, ignoring case.
	RecipientName string
	// IssueDateFrom and IssueDateTo bound the issue date, both inclusive: YYYY-MM-DD.
	IssueDateFrom, IssueDateTo string
	// UpdatedSince selects invoices that changed at this time or later.
	UpdatedSince time.Time
	// Attention selects invoices that need a person, or the others: those whose outcome has been unknown for over ten
	// minutes, that were rejected, or that have a state that the provider calls negative.
	Attention *bool
	// Sort is created_at, issue_date, total_amount or recipient_name, with a hyphen before it for descending order. If it
	// is empty, the newest invoices come first.
	Sort string
}

// CreditNoteQuery selects credit notes of a list. Fields that are empty do not restrict it.
type CreditNoteQuery struct {
	Paging
	// InvoiceID is the invoice that is credited.
	InvoiceID string
	// IssueDateFrom and IssueDateTo bound the issue date, both inclusive: YYYY-MM-DD.
	IssueDateFrom, IssueDateTo string
}

// IncomingInvoiceQuery selects incoming e-invoices of a list, by their latest revisions. Fields that are empty do not
// restrict it.
type IncomingInvoiceQuery struct {
	Paging
	// IssueDateFrom and IssueDateTo bound the issue date, both inclusive: YYYY-MM-DD.
	IssueDateFrom, IssueDateTo string
	// UpdatedSince selects e-invoices whose latest revision was retained at this time or later.
	UpdatedSince time.Time
}

// DeliveryQuery selects webhook deliveries of a list. Fields that are empty do not restrict it.
type DeliveryQuery struct {
	Paging
	// SubscriptionID is the identifier of the subscription.
	SubscriptionID string
	// EventID is the UUID of the event.
	EventID string
	// Event is the kind of the event.
	Event api.EventKind
	// State is the state of the delivery.
	State api.DeliveryState
}

// BookQuery selects customers or items of a list. Fields that are empty do not restrict it.
type BookQuery struct {
	Paging
	// Name is text in the name, ignoring case. It also finds the network identifier of a customer and the code of an item.
	Name string
}

// AuditQuery selects entries of the audit log. Fields that are empty do not restrict it.
type AuditQuery struct {
	Paging
	// Actor is the e-mail address of a user, the identifier of an API key, administrator or system.
	Actor string
	// Act is an act, such as draft.create, or a family of acts, such as draft.
	Act string
	// SubjectID is the identifier of what the act was done to.
	SubjectID string
	// From is the earliest time. To is the time before which the acts were done.
	From, To time.Time
}

// values returns the query parameters of a page and of filters by name. Empty filters are omitted.
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
	return q.Paging.values(map[string]string{"invoice_number": q.InvoiceNumber, "submitted": flag(q.Submitted),
		"attention": flag(q.Attention), "external_id": q.ExternalID, "recipient_name": q.RecipientName,
		"issue_date_from": q.IssueDateFrom, "issue_date_to": q.IssueDateTo, "updated_since": moment(q.UpdatedSince),
		"sort": q.Sort, "submission_state": q.SubmissionState, "provider_invoice_state": q.ProviderInvoiceState,
		"tax_authority_state": q.TaxAuthorityState, "receiver_state": q.ReceiverState})
}

// moment formats an optional time as a query parameter, "" for the zero time.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

func (q AuditQuery) values() url.Values {
	return q.Paging.values(map[string]string{"actor": q.Actor, "act": q.Act, "subject_id": q.SubjectID,
		"from": moment(q.From), "to": moment(q.To)})
}

func (q BookQuery) values() url.Values {
	return q.Paging.values(map[string]string{"name": q.Name})
}

// flag formats an optional flag as a query parameter, "" for nil.
func flag(on *bool) string {
	if on == nil {
		return ""
	}
	return strconv.FormatBool(*on)
}

func (q CreditNoteQuery) values() url.Values {
	return q.Paging.values(map[string]string{"invoice_id": q.InvoiceID, "issue_date_from": q.IssueDateFrom,
		"issue_date_to": q.IssueDateTo})
}

func (q IncomingInvoiceQuery) values() url.Values {
	return q.Paging.values(map[string]string{"issue_date_from": q.IssueDateFrom, "issue_date_to": q.IssueDateTo,
		"updated_since": moment(q.UpdatedSince)})
}

func (q DeliveryQuery) values() url.Values {
	return q.Paging.values(map[string]string{"subscription_id": q.SubscriptionID, "event_id": q.EventID,
		"event": string(q.Event), "state": string(q.State)})
}

// AllInvoices iterates over all invoices that match the query, and reads each page when it is needed. It ignores
// query.Page. It yields each invoice once, even if new invoices move it to the next page meanwhile, and may also yield
// the new ones. It stops after an error.
//
// Do not change properties that the query filters by during the iteration: if an invoice leaves the list, another one
// moves to the previous page and is missed. Collect the identifiers first.
func (c *Client) AllInvoices(ctx context.Context, query InvoiceQuery) iter.Seq2[api.InvoiceSummary, error] {
	return all(query.PerPage, func(i *api.InvoiceSummary) string { return i.ID },
		func(page Paging) (api.List[api.InvoiceSummary], error) {
			query := query
			query.Paging = page
			return c.Invoices(ctx, query)
		})
}

// AllCreditNotes iterates over all credit notes that match the query, as [Client.AllInvoices] does over invoices.
func (c *Client) AllCreditNotes(ctx context.Context, query CreditNoteQuery) iter.Seq2[api.CreditNoteSummary, error] {
	return all(query.PerPage, func(one *api.CreditNoteSummary) string { return one.ID },
		func(page Paging) (api.List[api.CreditNoteSummary], error) {
			query := query
			query.Paging = page
			return c.CreditNotes(ctx, query)
		})
}

// AllIncomingInvoices iterates over all incoming e-invoices that match the query, as [Client.AllInvoices] does over
// invoices.
func (c *Client) AllIncomingInvoices(ctx context.Context,
	query IncomingInvoiceQuery) iter.Seq2[api.IncomingInvoice, error] {
	return all(query.PerPage, func(one *api.IncomingInvoice) string { return one.ID },
		func(page Paging) (api.List[api.IncomingInvoice], error) {
			query := query
			query.Paging = page
			return c.IncomingInvoices(ctx, query)
		})
}

// AllSubscriptions iterates over all webhook subscriptions, as [Client.AllInvoices] does over invoices. perPage is the
// size of a page; 0 means the default.
func (c *Client) AllSubscriptions(ctx context.Context, perPage int) iter.Seq2[api.Subscription, error] {
	return all(perPage, func(one *api.Subscription) string { return one.ID },
		func(page Paging) (api.List[api.Subscription], error) {
			return c.Subscriptions(ctx, page)
		})
}

// AllDeliveries iterates over all webhook deliveries that match the query, as [Client.AllInvoices] does over invoices.
func (c *Client) AllDeliveries(ctx context.Context, query DeliveryQuery) iter.Seq2[api.Delivery, error] {
	return all(query.PerPage, func(one *api.Delivery) string { return one.ID },
		func(page Paging) (api.List[api.Delivery], error) {
			query := query
			query.Paging = page
			return c.Deliveries(ctx, query)
		})
}

// AllEvents iterates over all events after a cursor, oldest first, up to those that are there now. The cursor is "" for
// the beginning. perPage is the number of events in a response; 0 means the default. To go on later, keep the cursor of
// [Client.Events] instead.
func (c *Client) AllEvents(ctx context.Context, after string,
	perPage int) iter.Seq2[api.Event[json.RawMessage], error] {
	if perPage == 0 {
		perPage = defaultPerPage
	}
	return func(yield func(api.Event[json.RawMessage], error) bool) {
		after := after // a local variable, because a sequence can be iterated twice
		for {
			feed, err := c.Events(ctx, after, min(perPage, maxPerPage))
			if err != nil {
				yield(api.Event[json.RawMessage]{}, err)
				return
			}
			for n := range feed.Data {
				if !yield(feed.Data[n], nil) {
					return
				}
			}
			if !feed.Pagination.HasMore || len(feed.Data) == 0 {
				return
			}
			after = feed.Pagination.NextCursor
		}
	}
}

// AllCustomers iterates over all customers that match the query, as [Client.AllInvoices] does over invoices.
func (c *Client) AllCustomers(ctx context.Context, query BookQuery) iter.Seq2[api.Customer, error] {
	return all(query.PerPage, func(one *api.Customer) string { return one.ID },
		func(page Paging) (api.List[api.Customer], error) {
			return c.Customers(ctx, BookQuery{Paging: page, Name: query.Name})
		})
}

// AllItems iterates over all items that match the query, as [Client.AllInvoices] does over invoices.
func (c *Client) AllItems(ctx context.Context, query BookQuery) iter.Seq2[api.CatalogueItem, error] {
	return all(query.PerPage, func(one *api.CatalogueItem) string { return one.ID },
		func(page Paging) (api.List[api.CatalogueItem], error) {
			return c.Items(ctx, BookQuery{Paging: page, Name: query.Name})
		})
}

// AllSubmissions iterates over all submissions of an invoice, as [Client.AllInvoices] does over invoices. perPage is
// the size of a page; 0 means the default, also in the methods below.
func (c *Client) AllSubmissions(ctx context.Context, invoiceID string,
	perPage int) iter.Seq2[api.SubmissionRecord, error] {
	return all(perPage, func(one *api.SubmissionRecord) string { return one.ID },
		func(page Paging) (api.List[api.SubmissionRecord], error) {
			return c.Submissions(ctx, invoiceID, page)
		})
}

// AllEvidence iterates over all provider responses about an invoice.
func (c *Client) AllEvidence(ctx context.Context, invoiceID string, perPage int) iter.Seq2[api.Evidence, error] {
	return all(perPage, func(one *api.Evidence) string { return one.ID },
		func(page Paging) (api.List[api.Evidence], error) {
			return c.Evidence(ctx, invoiceID, page)
		})
}

// AllCreditNoteSubmissions iterates over all submissions of a credit note.
func (c *Client) AllCreditNoteSubmissions(ctx context.Context, id string,
	perPage int) iter.Seq2[api.SubmissionRecord, error] {
	return all(perPage, func(one *api.SubmissionRecord) string { return one.ID },
		func(page Paging) (api.List[api.SubmissionRecord], error) {
			return c.CreditNoteSubmissions(ctx, id, page)
		})
}

// AllCreditNoteEvidence iterates over all provider responses about a credit note.
func (c *Client) AllCreditNoteEvidence(ctx context.Context, id string, perPage int) iter.Seq2[api.Evidence, error] {
	return all(perPage, func(one *api.Evidence) string { return one.ID },
		func(page Paging) (api.List[api.Evidence], error) {
			return c.CreditNoteEvidence(ctx, id, page)
		})
}

// AllIncomingRevisions iterates over all revisions of an incoming e-invoice, oldest first.
func (c *Client) AllIncomingRevisions(ctx context.Context, id string,
	perPage int) iter.Seq2[api.IncomingRevision, error] {
	return all(perPage, func(one *api.IncomingRevision) string { return strconv.Itoa(one.Revision) },
		func(page Paging) (api.List[api.IncomingRevision], error) {
			return c.IncomingRevisions(ctx, id, page)
		})
}

// AllUsers iterates over all users of the company, oldest first.
func (c *Client) AllUsers(ctx context.Context, perPage int) iter.Seq2[api.User, error] {
	return all(perPage, func(one *api.User) string { return one.ID }, func(page Paging) (api.List[api.User], error) {
		return c.Users(ctx, page)
	})
}

// AllInvitations iterates over all invitations that were not used yet, newest first.
func (c *Client) AllInvitations(ctx context.Context, perPage int) iter.Seq2[api.Invitation, error] {
	return all(perPage, func(one *api.Invitation) string { return one.ID },
		func(page Paging) (api.List[api.Invitation], error) {
			return c.Invitations(ctx, page)
		})
}

// AllAPIKeys iterates over all API keys, newest first, including those that were revoked or have expired.
func (c *Client) AllAPIKeys(ctx context.Context, perPage int) iter.Seq2[api.APIKey, error] {
	return all(perPage, func(one *api.APIKey) string { return one.ID }, func(page Paging) (api.List[api.APIKey], error) {
		return c.APIKeys(ctx, page)
	})
}

// AllSessions iterates over all sessions of a user that have not ended, the last begun first. user is as in
// [Client.Sessions].
func (c *Client) AllSessions(ctx context.Context, user string, perPage int) iter.Seq2[api.Session, error] {
	return all(perPage, func(one *api.Session) string { return one.ID }, func(page Paging) (api.List[api.Session], error) {
		return c.Sessions(ctx, user, page)
	})
}

// AllAuditEntries iterates over all entries of the audit log that match the query, newest first. Only owners read it.
func (c *Client) AllAuditEntries(ctx context.Context, query AuditQuery) iter.Seq2[api.AuditEntry, error] {
	return all(query.PerPage, func(one *api.AuditEntry) string { return one.ID },
		func(page Paging) (api.List[api.AuditEntry], error) {
			query := query
			query.Paging = page
			return c.AuditLog(ctx, query)
		})
}

// all iterates over the pages of a list. If a page is too large to read, it continues with half the page size; one
// entry always fits.
func all[T any](perPage int, id func(*T) string, fetch func(Paging) (api.List[T], error)) iter.Seq2[T, error] {
	if perPage == 0 {
		perPage = defaultPerPage
	}
	return func(yield func(T, error) bool) {
		page, perPage := 1, min(perPage, maxPerPage) // local variables, because a sequence can be iterated twice
		seen := map[string]bool{}
		for {
			list, err := fetch(Paging{Page: page, PerPage: perPage})
			if errors.Is(err, ErrTooLarge) && perPage > 1 {
				first := (page - 1) * perPage
				perPage /= 2
				page = first/perPage + 1 // the smaller page with entry first; the entries before it have been seen
				continue
			}
			if err != nil {
				var zero T
				yield(zero, err)
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
