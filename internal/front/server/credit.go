package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

func (c *call) createCreditNote(ctx context.Context, body api.CreditNoteRequest,
	faults api.Faults) (int, api.Data[api.CreditNote], error) {
	var out api.Data[api.CreditNote]
	if body.InvoiceID == nil {
		return 0, out, problem.For(api.CodeValidationFailed).In(faults)
	}
	invoiceID, err := base.ParseID(*body.InvoiceID)
	if err != nil || invoiceID.IsZero() {
		return 0, out, base.ErrNotFound
	}
	// An unknown invoice is reported before faults of the body, and all faults are reported together: those of the body,
	// and those that only show beside the invoice.
	arithmetic := c.seller().Format.Arithmetic()
	build := func(draft *api.Draft, live []invoice.Credit) (invoices.NewCreditNote, error) {
		credit, faults := invoice.RequestCredit(draft, live, &body, arithmetic, maps.Clone(faults))
		if err := problem.For(api.CodeValidationFailed).In(faults); err != nil {
			return invoices.NewCreditNote{}, err
		}
		return invoices.NewCreditNote{Number: *body.CreditNoteNumber, IssueDate: *body.IssueDate, Reason: *body.Reason,
			ReasonCode: body.ReasonCode, Credit: credit}, nil
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.CreditNote], error) {
		created, err := invoices.CreateCreditNote(ctx, t, invoiceID, build)
		if err != nil {
			return 0, api.Data[api.CreditNote]{}, err
		}
		return http.StatusCreated, c.creditNoteData(created), nil
	})
}

// creditNoteQuery are the query parameters of the list of credit notes, in addition to those for paging.
var creditNoteQuery = []string{"invoice_id", "issue_date_from", "issue_date_to"} //nolint:gochecknoglobals // a constant table

func (c *call) listCreditNotes(ctx context.Context) (int, api.List[api.CreditNoteSummary], error) {
	var out api.List[api.CreditNoteSummary]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	filter, known, err := c.creditNoteFilter()
	if err != nil {
		return 0, out, err
	}
	var found view.Page[invoices.CreditNoteRow]
	if known {
		if found, err = view.Of(c.session.Tenant).CreditNotes(ctx, filter, page, perPage); err != nil {
			return 0, out, err
		}
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Pagination.Truncated = found.Truncated
	out.Data = present(found.Entries, view.CreditNoteSummary)
	return http.StatusOK, out, nil
}

func (c *call) readCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	return c.creditNote(ctx, invoices.FindCreditNote)
}

func (c *call) voidCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	return c.creditNote(ctx, invoices.VoidCreditNote)
}

func (c *call) submitCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	id, err := c.id("credit_note_id")
	if err != nil {
		return 0, api.Data[api.CreditNote]{}, err
	}
	submitted, err := c.Submissions.SubmitCreditNote(ctx, c.session.Tenant, id)
	if err != nil {
		return 0, api.Data[api.CreditNote]{}, err
	}
	return submitStatus(submitted.Submission), c.creditNoteData(submitted), nil
}

// creditNoteHistory returns the history of the credit note that the path names, and the page of it that the query
// names.
func (c *call) creditNoteHistory() (history view.History, page, perPage int, err error) {
	return c.history("credit_note_id", view.OfCreditNote)
}

func (c *call) listCreditNoteSubmissions(ctx context.Context) (int, api.List[api.SubmissionRecord], error) {
	return c.submissionList(ctx, c.creditNoteHistory)
}

func (c *call) listCreditNoteEvidence(ctx context.Context) (int, api.List[api.Evidence], error) {
	return c.evidenceList(ctx, c.creditNoteHistory)
}

// creditNote calls do for the credit note that the path names, and responds with the result.
func (c *call) creditNote(ctx context.Context, do func(context.Context, *base.Tenant, base.ID) (invoices.CreditNote,
	error)) (int, api.Data[api.CreditNote], error) {
	id, err := c.id("credit_note_id")
	if err != nil {
		return 0, api.Data[api.CreditNote]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.CreditNote], error) {
		n, err := do(ctx, t, id)
		if err != nil {
			return 0, api.Data[api.CreditNote]{}, err
		}
		return http.StatusOK, c.creditNoteData(n), nil
	})
}

// creditNoteData returns the response for a credit note and sets its entity tag.
func (c *call) creditNoteData(n invoices.CreditNote) api.Data[api.CreditNote] {
	c.header.Set("ETag", entityTag(n.Version))
	return api.Data[api.CreditNote]{Data: view.CreditNote(n)}
}

// creditNoteDecoder applies merge patches to the fields of a credit note that can be changed.
var creditNoteDecoder = strictjson.For[api.CreditNoteChange]() //nolint:gochecknoglobals // a plan of a type, read only

func (c *call) patchCreditNote(ctx context.Context) (int, api.Data[api.CreditNote], error) {
	return c.creditNote(ctx, func(ctx context.Context, t *base.Tenant, id base.ID) (invoices.CreditNote, error) {
		return invoices.UpdateCreditNote(ctx, t, id, c.matches,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) {
				target, err := json.Marshal(present)
				if err != nil {
					return present, fmt.Errorf("credit note: %w", err)
				}
				changed, faults, err := creditNoteDecoder.Patch(target, c.body)
				if err != nil {
					return present, err
				}
				return changed, problem.For(api.CodeValidationFailed).In(faults)
			})
	})
}
