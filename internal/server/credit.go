package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/strictjson"
)

func (c *call) createCreditNote(ctx context.Context, in func() (api.CreditNoteRequest, error)) (int, api.Data[api.CreditNote], error) {
	var out api.Data[api.CreditNote]
	body, malformed := in()
	if body.InvoiceID == nil {
		return 0, out, malformed
	}
	invoiceID, err := store.ParseID(*body.InvoiceID)
	if err != nil || invoiceID.IsZero() {
		return 0, out, store.ErrNotFound
	}
	// An unknown invoice is refused before a malformed payload, and what the invoice has to say to the payload is reported
	// with the rest of its faults: so even a malformed one is taken to its invoice.
	build := func(draft *api.Draft, live []invoice.Credit) (store.NewCreditNote, error) {
		form, ok := formFaults(malformed)
		if !ok {
			return store.NewCreditNote{}, malformed
		}
		credit, faults := invoice.RequestCredit(draft, live, &body, form)
		if len(faults) > 0 {
			return store.NewCreditNote{}, invalid(api.CodeValidationFailed, faults)
		}
		return store.NewCreditNote{Number: *body.CreditNoteNumber, IssueDate: *body.IssueDate, Reason: *body.Reason, ReasonCode: body.ReasonCode, Credit: credit}, nil
	}
	return act(ctx, c, func(ctx context.Context, t *store.Tenant) (int, api.Data[api.CreditNote], error) {
		created, err := t.CreateCreditNote(ctx, invoiceID, build)
		if err != nil {
			return 0, api.Data[api.CreditNote]{}, err
		}
		return http.StatusCreated, c.answeredCreditNote(created), nil
	})
}

func (c *call) listCreditNotes(ctx context.Context) (int, api.List[api.CreditNoteSummary], error) {
	var out api.List[api.CreditNoteSummary]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	var filter store.CreditNoteFilter
	known := true
	if query := c.request.URL.Query(); query.Has("invoice_id") {
		id, err := store.ParseID(query.Get("invoice_id"))
		known = err == nil && !id.IsZero() // nothing credits an invoice that cannot exist
		filter.Invoice = &id
	}
	var found store.CreditNotePage
	if known {
		if found, err = c.session.Tenant.CreditNotes(ctx, filter, page, perPage); err != nil {
			return 0, out, err
		}
	}
	out.Pagination = paginated(page, perPage, found.Total)
	for _, n := range found.CreditNotes {
		out.Data = append(out.Data, n.WireSummary())
	}
	return http.StatusOK, out, nil
}

func (c *call) readCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	return c.creditNote(ctx, (*store.Tenant).CreditNote)
}

func (c *call) voidCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	return c.creditNote(ctx, (*store.Tenant).VoidCreditNote)
}

// submitCreditNote refuses: regulated submission of credit notes is disabled (specification, part 2.6).
func (c *call) submitCreditNote(ctx context.Context) (int, none, error) {
	if err := c.find(ctx); err != nil {
		return 0, none{}, err
	}
	return 0, none{}, refuse(api.CodeCreditNoteSubmissionDisabled)
}

// creditNote answers with the credit note that the path names, after do.
func (c *call) creditNote(ctx context.Context, do func(*store.Tenant, context.Context, store.ID) (store.CreditNote, error)) (int, api.Data[api.CreditNote], error) {
	id, err := c.id("credit_note_id")
	if err != nil {
		return 0, api.Data[api.CreditNote]{}, err
	}
	return act(ctx, c, func(ctx context.Context, t *store.Tenant) (int, api.Data[api.CreditNote], error) {
		n, err := do(t, ctx, id)
		if err != nil {
			return 0, api.Data[api.CreditNote]{}, err
		}
		return http.StatusOK, c.answeredCreditNote(n), nil
	})
}

// answeredCreditNote is a credit note as it is answered, with its entity tag.
func (c *call) answeredCreditNote(n store.CreditNote) api.Data[api.CreditNote] {
	c.header.Set("ETag", entityTag(n.Version))
	return api.Data[api.CreditNote]{Data: n.Wire()}
}

// creditNoteChanges reads a merge patch against what can be changed of a credit note.
var creditNoteChanges = strictjson.For[api.CreditNoteChange]() //nolint:gochecknoglobals // a plan of a type, read only

func (c *call) patchCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	return c.creditNote(ctx, func(t *store.Tenant, ctx context.Context, id store.ID) (store.CreditNote, error) {
		return t.UpdateCreditNote(ctx, id, c.matches, func(present api.CreditNoteChange) (api.CreditNoteChange, error) {
			target, err := json.Marshal(present)
			if err != nil {
				return present, fmt.Errorf("credit note: %w", err)
			}
			changed, faults, err := creditNoteChanges.Patch(target, c.body)
			if err != nil {
				return present, err
			}
			return changed, invalid(api.CodeValidationFailed, faults)
		})
	})
}
