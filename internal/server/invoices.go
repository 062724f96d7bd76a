package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"strings"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/strictjson"
)

func (c *call) preflight(ctx context.Context, in func() (api.Draft, error)) (int, api.Data[api.Preflight], error) {
	draft, err := c.draft(in)
	if err != nil {
		return 0, api.Data[api.Preflight]{}, err
	}
	warnings := invoice.Warnings(&draft, &c.session.Account.Profile)
	holder, err := c.session.Tenant.NumberHolder(ctx, *draft.InvoiceNumber)
	if err != nil {
		return 0, api.Data[api.Preflight]{}, err
	}
	if !holder.IsZero() {
		invoice.WarnNumber(warnings, holder.String())
	}
	missing, totals := invoice.Missing(&draft), invoice.Compute(&draft)
	out := api.Data[api.Preflight]{Data: api.Preflight{Complete: len(missing) == 0, Missing: missing,
		Warnings: warnings,
		Computed: api.Computed{Net: amount(totals.Net), Tax: amount(totals.Tax), Total: amount(totals.Total)}}}
	// It has no effect: with an idempotency key, only the answer is kept.
	return act(ctx, c, func(context.Context, *store.Tenant) (int, api.Data[api.Preflight], error) {
		return http.StatusOK, out, nil
	})
}

func amount(a *invoice.Amount) *api.Amount {
	if a == nil {
		return nil
	}
	return new(api.Amount(a.String()))
}

// drafts reads a merge patch against a draft.
var drafts = strictjson.For[api.Draft]() //nolint:gochecknoglobals // a plan of a type, read only

// patchInvoice applies a merge patch. The body's type is documented as a draft; what it means depends on the invoice.
func (c *call) patchInvoice(ctx context.Context) (int, api.Data[api.Invoice], error) {
	var out api.Data[api.Invoice]
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, out, err
	}
	// The patch is applied to the draft as it stands, before anything is locked; if the draft is another by then, once more.
	before, err := c.session.Tenant.DraftText(ctx, id)
	if err != nil {
		return 0, out, err
	}
	patched, refused := c.patched(before)
	return act(ctx, c, func(ctx context.Context, t *store.Tenant) (int, api.Data[api.Invoice], error) {
		updated, err := t.UpdateInvoice(ctx, id, c.matches, func(current []byte) (api.Draft, error) {
			if bytes.Equal(current, before) {
				return patched, refused
			}
			return c.patched(current)
		})
		if err != nil {
			return 0, api.Data[api.Invoice]{}, err
		}
		return http.StatusOK, c.invoice(updated), nil
	})
}

// patched applies the body to the text of a draft.
func (c *call) patched(current []byte) (api.Draft, error) {
	draft, faults, err := drafts.Patch(current, c.body)
	if err != nil {
		return draft, err
	}
	return draft, withFaults(invalid(api.CodeValidationFailed, faults), invoice.Faults(&draft))
}

func (c *call) deleteInvoice(ctx context.Context) (int, api.Data[api.Deleted], error) {
	var out api.Data[api.Deleted]
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, out, err
	}
	if err := c.session.Tenant.DeleteInvoice(ctx, id, c.matches); err != nil {
		return 0, out, err
	}
	out.Data = api.Deleted{ID: id.String(), Deleted: true}
	return http.StatusOK, out, nil
}

// matches evaluates If-Match (RFC 9110, section 13.1.1) against a version; without the header every version matches.
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

// historyPerPage is the page size of the histories of one invoice: most have one page.
const historyPerPage = maxPerPage

// history reads what the pages of the histories of one invoice are asked for by.
func (c *call) history() (id store.ID, page, perPage int, err error) {
	if page, perPage, err = c.page(historyPerPage); err != nil {
		return id, 0, 0, err
	}
	id, err = c.id("invoice_id")
	return id, page, perPage, err
}

func (c *call) listSubmissions(ctx context.Context) (int, api.List[api.SubmissionRecord], error) {
	var out api.List[api.SubmissionRecord]
	id, page, perPage, err := c.history()
	if err != nil {
		return 0, out, err
	}
	found, err := c.session.Tenant.SubmissionHistory(ctx, id, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = paginated(page, perPage, found.Total)
	for _, s := range found.Submissions {
		out.Data = append(out.Data, s.WireRecord())
	}
	return http.StatusOK, out, nil
}

func (c *call) listEvidence(ctx context.Context) (int, api.List[api.Evidence], error) {
	var out api.List[api.Evidence]
	id, page, perPage, err := c.history()
	if err != nil {
		return 0, out, err
	}
	found, err := c.session.Tenant.EvidenceHistory(ctx, id, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = paginated(page, perPage, found.Total)
	for _, e := range found.Evidence {
		out.Data = append(out.Data, e.Wire())
	}
	return http.StatusOK, out, nil
}

func (c *call) readEvidence(ctx context.Context) (int, chunked, error) {
	id, err := c.id("evidence_id")
	if err != nil {
		return 0, chunked{}, err
	}
	tenant := c.session.Tenant
	e, size, err := tenant.EvidenceSize(ctx, id)
	if err != nil {
		return 0, chunked{}, err
	}
	out := chunked{body: api.RetainedBody{MediaType: e.MediaType, SHA256: hex.EncodeToString(e.SHA256[:]), Withheld: e.Withheld}, size: size}
	if !e.Withheld {
		out.read = func(ctx context.Context, offset int64, size int) ([]byte, error) {
			return tenant.EvidenceChunk(ctx, id, offset, size)
		}
	}
	return http.StatusOK, out, nil
}
