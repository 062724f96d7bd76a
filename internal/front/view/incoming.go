package view

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
)

// IncomingInvoice returns an incoming e-invoice in its latest revision.
func IncomingInvoice(i incoming.Incoming) api.IncomingInvoice {
	return api.IncomingInvoice{ID: i.ID.String(), ProviderDocumentID: i.ProviderDocumentID,
		IncomingRevision: IncomingRevision(i.Revision)}
}

// IncomingRevision returns one retained revision of an incoming e-invoice.
func IncomingRevision(r incoming.Revision) api.IncomingRevision {
	return api.IncomingRevision{
		Revision: int(r.Revision), DocumentType: r.DocumentType, InvoiceNumber: r.InvoiceNumber, SupplierName: r.SupplierName,
		SupplierNetworkID: r.SupplierNetworkID, IssueDate: r.IssueDate, DueDate: r.DueDate, Currency: r.Currency,
		TotalAmount: r.TotalAmount, ReceivedAt: r.ReceivedAt, SHA256: hex.EncodeToString(r.SHA256[:]),
		Evidence: api.RetentionEvidence{RetainedAt: r.RetainedAt, MediaType: r.MediaType, Size: r.Size,
			DocumentRetained: r.Retained, Withheld: r.Withheld, MetadataSHA256: hex.EncodeToString(r.MetadataSHA256[:]),
			ClaimedSHA256: r.ClaimedSHA256, Previous: hex.EncodeToString(r.Previous[:]),
			Digest: hex.EncodeToString(r.Digest[:])},
	}
}

// IncomingFilter filters a list of incoming e-invoices by their latest revisions. Zero fields have no effect.
type IncomingFilter struct {
	IssueDates
	// UpdatedSince is the earliest time at which the latest revision was retained.
	UpdatedSince time.Time
	// Text is text in the number, in the supplier's name or network identifier, or in the provider's identifier, ignoring
	// case (on SQLite only the case of Latin letters).
	Text string
}

// IncomingInvoices returns a page of the incoming e-invoices, newest first. A revision does not move an e-invoice in
// the list. Without a filter a page is a range of an index, so every page costs the same. With one the list examines
// [SearchDepth] candidates: those changed since the time of the filter, or those with a revision of its issue dates, or
// the newest.
func (t Tenant) IncomingInvoices(ctx context.Context, filter IncomingFilter, number,
	perPage int) (out Page[incoming.Incoming], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if filter != (IncomingFilter{}) {
			out, err = searchPage(number, perPage, func(offset, limit int) (searched, error) {
				return filter.search(ctx, r, SearchDepth, offset, limit)
			}, func(ids []base.ID) ([]incoming.Incoming, error) {
				return rowsByID(ctx, r, `i.id`, ids, func(i *incoming.Incoming) base.ID { return i.ID }, incoming.Select)
			})
			return err
		}
		if err := r.Query(ctx, func(row base.Row) error { return row.Scan(&out.Total) },
			`select incoming from tenants where id = $1`); err != nil {
			return err
		}
		high, low := pageRange(out.Total, number, perPage)
		out.Entries, err = incoming.Select(ctx, r, `i.position <= $2 and i.position > $3`, `order by i.position desc`,
			high, low)
		return err
	})
	return out, err
}

// search finds the incoming e-invoices of a filter, and returns a range of them. The candidates are at most depth and
// one more.
func (f IncomingFilter) search(ctx context.Context, r base.Reader, depth, offset, limit int) (searched, error) {
	var s statement
	candidates := f.candidates(&s) + ` limit ` + s.value(depth+1)
	conditions := append(f.IssueDates.bounds(&s, `r.issue_date`), `i.tenant_id = $1`, `i.id `+r.InSubquery(examinedIDs))
	if !f.UpdatedSince.IsZero() {
		conditions = append(conditions, `i.updated_at >= `+s.value(f.UpdatedSince.UnixMicro()))
	}
	if f.Text != "" {
		pattern := ` like lower(` + s.value(containing(f.Text)) + `) escape '\'`
		conditions = append(conditions, `(lower(r.invoice_number)`+pattern+` or lower(r.supplier_name)`+pattern+`
			or lower(r.supplier_network_id)`+pattern+` or lower(i.provider_document_id)`+pattern+`)`)
	}
	matched := `select i.id, i.position from incoming i join revisions r on r.tenant_id = i.tenant_id and r.incoming_id = i.id and r.revision = i.revision
		where ` + strings.Join(conditions, ` and `)
	return s.search(ctx, r, candidates, matched, ` order by position desc`, offset, limit)
}

// candidates returns a query for the identifiers of the incoming e-invoices to examine, from the index that finds the
// fewest.
func (f IncomingFilter) candidates(s *statement) string {
	switch {
	case !f.UpdatedSince.IsZero():
		return `select id from incoming where tenant_id = $1 and updated_at >= ` + s.value(f.UpdatedSince.UnixMicro()) +
			` order by updated_at desc, id desc`
	case f.IssueDates.narrow(): // an e-invoice is examined once for each of its revisions with such a date
		return `select incoming_id as id from revisions where tenant_id = $1 and issue_date is not null` + f.IssueDates.and(s,
			`issue_date`) +
			` order by issue_date desc, incoming_id desc`
	}
	return `select id from incoming where tenant_id = $1 order by position desc`
}

// Revisions returns a page of the revisions of an incoming e-invoice, oldest first.
func (t Tenant) Revisions(ctx context.Context, id base.ID, number,
	perPage int) (out Page[incoming.Revision], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		latest, err := incoming.Select(ctx, r, `i.id = $2`, ``, id)
		if err == nil && len(latest) == 0 {
			err = base.ErrNotFound
		}
		if err != nil {
			return err
		}
		out.Total = int(latest[0].Revision.Revision)
		if number-1 > out.Total/perPage { // the product below could overflow
			return nil
		}
		out.Entries, err = incoming.SelectRevisions(ctx, r, `i.id = $2 and r.revision > $3 and r.revision <= $4`, `order by r.revision`, id,
			int64(number-1)*int64(perPage), int64(number)*int64(perPage))
		return err
	})
	return out, err
}
