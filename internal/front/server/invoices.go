package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

func (c *call) createInvoice(ctx context.Context, draft api.Draft,
	faults api.Faults) (int, api.Data[api.Invoice], error) {
	if err := checkDraft(&draft, faults); err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.Invoice], error) {
		created, err := invoices.Create(ctx, t, &draft)
		if err != nil {
			return 0, api.Data[api.Invoice]{}, err
		}
		return http.StatusCreated, c.invoice(created), nil
	})
}

func (c *call) preflight(ctx context.Context, draft api.Draft,
	faults api.Faults) (int, api.Data[api.Preflight], error) {
	profile, err := c.profile()
	if err != nil {
		return 0, api.Data[api.Preflight]{}, err
	}
	if err := checkDraft(&draft, faults); err != nil {
		return 0, api.Data[api.Preflight]{}, err
	}
	warnings := invoice.Warnings(&draft, &c.session.Account.Profile, profile.Arithmetic())
	holder, err := invoices.NumberHolder(ctx, c.session.Tenant, *draft.InvoiceNumber)
	if err != nil {
		return 0, api.Data[api.Preflight]{}, err
	}
	if !holder.IsZero() {
		invoice.WarnNumber(warnings, holder.String())
	}
	d := document.Document{Draft: &draft, Seller: &c.session.Account.Profile}
	out := api.Data[api.Preflight]{Data: api.Preflight{Warnings: warnings}}
	seller := c.seller()
	if profile != seller.Format {
		seller = view.Seller{Profile: d.Seller, Format: profile}
	}
	out.Data.Missing, out.Data.Computed = seller.Needs(d.Draft, warnings), document.Totals(profile, d)
	out.Data.Complete = len(out.Data.Missing) == 0
	// A preflight has no effect: with an idempotency key, only the response is stored.
	return perform(ctx, c, func(context.Context, *base.Tenant) (int, api.Data[api.Preflight], error) {
		return http.StatusOK, out, nil
	})
}

// seller returns what the company's drafts need for submission.
func (c *call) seller() view.Seller {
	return view.SellerOf(&c.session.Account, submission.Unsupported(&c.session.Account))
}

// checkDraft returns an error with all faults of a draft: those that decoding found, and those that only the domain
// knows.
func checkDraft(draft *api.Draft, faults api.Faults) error {
	return problem.For(api.CodeValidationFailed).In(faults.With(invoice.Faults(draft)))
}

// invoice returns the response for an invoice and sets its entity tag.
func (c *call) invoice(i invoices.Invoice) api.Data[api.Invoice] {
	c.header.Set("ETag", entityTag(i.Version))
	return api.Data[api.Invoice]{Data: view.Invoice(i, c.seller())}
}

// entityTag returns the entity tag of a version.
func entityTag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

func (c *call) readInvoice(ctx context.Context) (int, api.Data[api.Invoice], error) {
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	found, err := invoices.FindWithin(ctx, c.session.Tenant, id,
		func(bytes int) error { return c.reserveResponse(decodedFactor * bytes) })
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	return http.StatusOK, c.invoice(found), nil
}

func (c *call) submit(ctx context.Context) (int, api.Data[api.Invoice], error) {
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	submitted, err := c.Submissions.Submit(ctx, c.session.Tenant, id)
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	return submitStatus(submitted.Submission), c.invoice(submitted), nil
}

// submitStatus returns the status of the response to a submit with this result.
func submitStatus(s *invoices.Submission) int {
	if s == nil || s.Outcome == api.OutcomeUnknown || s.Outcome == api.OutcomeInProgress {
		return http.StatusAccepted // the outcome is not known
	}
	return http.StatusOK
}

// draftDecoder applies merge patches to drafts.
var draftDecoder = strictjson.For[api.Draft]() //nolint:gochecknoglobals // a plan of a type, read only

// patchInvoice applies a merge patch to a draft.
func (c *call) patchInvoice(ctx context.Context) (int, api.Data[api.Invoice], error) {
	var out api.Data[api.Invoice]
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, out, err
	}
	// Apply the patch before the transaction locks anything, and again in the transaction if the draft has changed since.
	before, err := invoices.DraftText(ctx, c.session.Tenant, id)
	if err != nil {
		return 0, out, err
	}
	patched, invalid := c.applyPatch(before)
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.Invoice], error) {
		updated, err := invoices.Update(ctx, t, id, c.matches, func(current []byte) (api.Draft, error) {
			if bytes.Equal(current, before) {
				return patched, invalid
			}
			return c.applyPatch(current)
		})
		if err != nil {
			return 0, api.Data[api.Invoice]{}, err
		}
		return http.StatusOK, c.invoice(updated), nil
	})
}

// applyPatch applies the body to the JSON text of a draft.
func (c *call) applyPatch(current []byte) (api.Draft, error) {
	draft, faults, err := draftDecoder.Patch(current, c.body)
	if err != nil {
		return draft, err
	}
	return draft, checkDraft(&draft, faults)
}

func (c *call) deleteInvoice(ctx context.Context) (int, api.Data[api.Deleted], error) {
	var out api.Data[api.Deleted]
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, out, err
	}
	if err := invoices.Delete(ctx, c.session.Tenant, id, c.matches); err != nil {
		return 0, out, err
	}
	out.Data = api.Deleted{ID: id.String(), Deleted: true}
	return http.StatusOK, out, nil
}

// matches reports whether a version satisfies If-Match (RFC 9110, section 13.1.1); without the header every version
// does.
func (c *call) matches(version int64) bool {
	values := c.request.Header.Values("If-Match")
	if len(values) == 0 {
		return true
	}
	tag := entityTag(version)
	for candidate := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if candidate = strings.TrimSpace(candidate); candidate == "*" || candidate == tag {
			return true
		}
	}
	return false
}

// historyPerPage is the default page size of the history of one invoice or credit note: most have one page.
const historyPerPage = maxPerPage

// history returns the history of what the path parameter names, and the page of it that the query names.
func (c *call) history(parameter string,
	of func(base.ID) view.History) (history view.History, page, perPage int, err error) {
	if page, perPage, err = c.page(historyPerPage); err != nil {
		return history, 0, 0, err
	}
	id, err := c.id(parameter)
	return of(id), page, perPage, err
}

func (c *call) invoiceHistory() (history view.History, page, perPage int, err error) {
	return c.history("invoice_id", view.OfInvoice)
}

func (c *call) listSubmissions(ctx context.Context) (int, api.List[api.SubmissionRecord], error) {
	return c.submissionList(ctx, c.invoiceHistory)
}

func (c *call) listEvidence(ctx context.Context) (int, api.List[api.Evidence], error) {
	return c.evidenceList(ctx, c.invoiceHistory)
}

// submissionList returns a page of the submissions in a history.
func (c *call) submissionList(ctx context.Context,
	of func() (view.History, int, int, error)) (int, api.List[api.SubmissionRecord], error) {
	var out api.List[api.SubmissionRecord]
	history, page, perPage, err := of()
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).SubmissionHistory(ctx, history, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Data = present(found.Entries, view.SubmissionRecord)
	return http.StatusOK, out, nil
}

// evidenceList returns a page of the evidence in a history.
func (c *call) evidenceList(ctx context.Context,
	of func() (view.History, int, int, error)) (int, api.List[api.Evidence], error) {
	var out api.List[api.Evidence]
	history, page, perPage, err := of()
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).EvidenceHistory(ctx, history, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Data = present(found.Entries, view.Evidence)
	return http.StatusOK, out, nil
}

func (c *call) readEvidence(ctx context.Context) (int, retainedResponse, error) {
	id, err := c.id("evidence_id")
	if err != nil {
		return 0, retainedResponse{}, err
	}
	tenant := c.session.Tenant
	e, size, err := invoices.EvidenceSize(ctx, tenant, id)
	if err != nil {
		return 0, retainedResponse{}, err
	}
	out := retainedResponse{body: api.RetainedBody{MediaType: e.MediaType, SHA256: hex.EncodeToString(e.SHA256[:]),
		Withheld: e.Withheld}, size: size}
	if !e.Withheld {
		out.read = func(ctx context.Context, offset int64, size int) ([]byte, error) {
			return invoices.EvidenceChunk(ctx, tenant, id, offset, size)
		}
	}
	return http.StatusOK, out, nil
}
