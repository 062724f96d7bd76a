package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// operation makes a call with its arguments.
type operation func(ctx context.Context, c *client.Client, arguments json.RawMessage) (any, error)

// arguments are those of all operations that are not of webhooks.
type arguments struct {
	ID    string `json:"id"`
	Key   string `json:"idempotency_key"`
	Query struct {
		ExternalID    string            `json:"external_id"`
		InvoiceNumber string            `json:"invoice_number"`
		Sort          string            `json:"sort"`
		InvoiceID     string            `json:"invoice_id"`
		IssueDateFrom string            `json:"issue_date_from"`
		IssueDateTo   string            `json:"issue_date_to"`
		UpdatedSince  time.Time         `json:"updated_since"`
		Name          string            `json:"name"`
		EventID       string            `json:"event_id"`
		State         api.DeliveryState `json:"state"`
		Act           string            `json:"act"`
		SubjectID     string            `json:"subject_id"`
	} `json:"query"`
	PerPage   int    `json:"per_page"`
	Limit     int    `json:"limit"`
	After     string `json:"after"`
	TimeoutMS int    `json:"timeout_ms"`
}

// options returns the options of a call that changes something.
func (a arguments) options() []client.CallOption {
	if a.Key == "" {
		return nil
	}
	return []client.CallOption{client.IdempotencyKey(a.Key)}
}

func (a arguments) page() client.Paging { return client.Paging{PerPage: a.PerPage} }

// operations returns the operations by name.
func operations() map[string]operation {
	all := invoiceOperations()
	maps.Copy(all, otherOperations())
	maps.Copy(all, listOperations())
	maps.Copy(all, peopleOperations())
	maps.Copy(all, fileOperations())
	return all
}

func invoiceOperations() map[string]operation {
	return map[string]operation{
		"invoices.create":    create((*client.Client).CreateInvoice),
		"invoices.get":       one((*client.Client).Invoice),
		"invoices.update":    update((*client.Client).PatchInvoice),
		"invoices.delete":    one((*client.Client).DeleteInvoice),
		"invoices.submit":    one((*client.Client).Submit),
		"invoices.preflight": preflight,
		"invoices.submit_and_wait": of(func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(a.TimeoutMS)*time.Millisecond)
			defer cancel()
			invoice, err := c.SubmitAndWait(ctx, a.ID, nil)
			switch {
			case errors.Is(err, client.ErrDraftAgain):
				return nil, subjectError{err, invoice.ID}
			case errors.Is(err, context.DeadlineExceeded) && invoice.ID != "":
				return invoice, nil
			}
			return invoice, err
		}),
		"invoices.pdf": of(func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			file, err := c.InvoicePDF(ctx, a.ID, "")
			return map[string]any{"size": len(file), "start": string(file[:min(5, len(file))])}, err
		}),
	}
}

func otherOperations() map[string]operation {
	return map[string]operation{
		"account.get": of(func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.Account(ctx) }),

		"credit_notes.create": create((*client.Client).CreateCreditNote),
		"credit_notes.get":    one((*client.Client).CreditNote),
		"credit_notes.update": update((*client.Client).PatchCreditNote),
		"credit_notes.submit": one((*client.Client).SubmitCreditNote),
		"credit_notes.void":   change((*client.Client).VoidCreditNote),
		"incoming.get":        one((*client.Client).IncomingInvoice),

		"customers.create": create((*client.Client).CreateCustomer),
		"customers.get":    one((*client.Client).Customer),
		"customers.update": update((*client.Client).PatchCustomer),
		"customers.delete": one((*client.Client).DeleteCustomer),
		"items.create":     create((*client.Client).CreateItem),
		"items.get":        one((*client.Client).Item),
		"items.update":     update((*client.Client).PatchItem),
		"items.delete":     one((*client.Client).DeleteItem),

		"webhooks.create": create(withID((*client.Client).CreateSubscription,
			func(s api.NewSubscription) string { return s.ID })),
		"webhooks.get":        one((*client.Client).Subscription),
		"webhooks.deactivate": change((*client.Client).DeactivateSubscription),
		"deliveries.get":      one((*client.Client).Delivery),
	}
}

func listOperations() map[string]operation {
	return map[string]operation{
		"invoices.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.InvoiceSummary, error] {
			return c.AllInvoices(ctx, client.InvoiceQuery{Paging: a.page(), ExternalID: a.Query.ExternalID,
				InvoiceNumber: a.Query.InvoiceNumber, Sort: a.Query.Sort})
		}),
		"credit_notes.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.CreditNoteSummary,
			error] {
			return c.AllCreditNotes(ctx, client.CreditNoteQuery{Paging: a.page(), InvoiceID: a.Query.InvoiceID,
				IssueDateFrom: a.Query.IssueDateFrom, IssueDateTo: a.Query.IssueDateTo})
		}),
		"incoming.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.IncomingInvoice, error] {
			return c.AllIncomingInvoices(ctx, client.IncomingInvoiceQuery{Paging: a.page(), IssueDateFrom: a.Query.IssueDateFrom,
				IssueDateTo: a.Query.IssueDateTo, UpdatedSince: a.Query.UpdatedSince})
		}),
		"customers.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.Customer, error] {
			return c.AllCustomers(ctx, client.BookQuery{Paging: a.page(), Name: a.Query.Name})
		}),
		"items.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.CatalogueItem, error] {
			return c.AllItems(ctx, client.BookQuery{Paging: a.page(), Name: a.Query.Name})
		}),
		"webhooks.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.Subscription, error] {
			return c.AllSubscriptions(ctx, a.PerPage)
		}),
		"deliveries.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.Delivery, error] {
			return c.AllDeliveries(ctx, client.DeliveryQuery{Paging: a.page(), EventID: a.Query.EventID, State: a.Query.State})
		}),
		"events.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.Event[json.RawMessage],
			error] {
			return c.AllEvents(ctx, a.After, a.PerPage)
		}),
	}
}

// of returns the operation that calls f with its arguments.
func of[A any](f func(context.Context, *client.Client, A) (any, error)) operation {
	return func(ctx context.Context, c *client.Client, text json.RawMessage) (any, error) {
		var a A
		if len(text) > 0 {
			if err := json.Unmarshal(text, &a); err != nil {
				return nil, err
			}
		}
		return f(ctx, c, a)
	}
}

// one returns an operation with an identifier.
func one[T any](f func(*client.Client, context.Context, string) (T, error)) operation {
	return of(func(ctx context.Context, c *client.Client, a arguments) (any, error) { return f(c, ctx, a.ID) })
}

// change returns an operation with an identifier and options.
func change[T any](f func(*client.Client, context.Context, string, ...client.CallOption) (T, error)) operation {
	return of(func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		return f(c, ctx, a.ID, a.options()...)
	})
}

// update returns an operation with an identifier and a merge patch.
func update[T any](f func(*client.Client, context.Context, string, map[string]any, ...client.CallOption) (T,
	error)) operation {
	type withPatch struct {
		arguments
		Body map[string]json.RawMessage `json:"body"` // raw, so that no number becomes a float
	}
	return of(func(ctx context.Context, c *client.Client, a withPatch) (any, error) {
		patch := map[string]any{}
		for name, value := range a.Body {
			patch[name] = value
		}
		return f(c, ctx, a.ID, patch, a.options()...)
	})
}

// create returns an operation with a body.
func create[B, T any](f func(*client.Client, context.Context, B, ...client.CallOption) (T, error)) operation {
	type withBody struct {
		arguments
		Body B `json:"body"`
	}
	return of(func(ctx context.Context, c *client.Client, a withBody) (any, error) {
		return f(c, ctx, a.Body, a.options()...)
	})
}

// preflight checks a draft.
func preflight(ctx context.Context, c *client.Client, text json.RawMessage) (any, error) {
	return of(func(ctx context.Context, c *client.Client, a struct{ Body api.Draft }) (any, error) {
		return c.Preflight(ctx, a.Body)
	})(ctx, c, text)
}

// withID returns a method that adds the identifier of what exists to its error.
func withID[B, T any](f func(*client.Client, context.Context, B, ...client.CallOption) (T, error),
	id func(T) string) func(*client.Client, context.Context, B, ...client.CallOption) (T, error) {
	return func(c *client.Client, ctx context.Context, body B, options ...client.CallOption) (T, error) {
		created, err := f(c, ctx, body, options...)
		if errors.Is(err, client.ErrSecretLost) || errors.Is(err, client.ErrLinkLost) {
			err = subjectError{err, id(created)}
		}
		return created, err
	}
}

// list returns an operation that reads the entries of a list, up to a limit.
func list[T any](f func(context.Context, *client.Client, arguments) iter.Seq2[T, error]) operation {
	return of(func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		entries := []T{}
		for entry, err := range f(ctx, c, a) {
			if err != nil {
				return nil, err
			}
			entries = append(entries, entry)
			if len(entries) == a.Limit {
				break
			}
		}
		return entries, nil
	})
}
