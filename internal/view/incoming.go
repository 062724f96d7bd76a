package view

import (
	"context"
	"encoding/hex"

	"quittance/client/api"
	"quittance/internal/store"
)

// IncomingInvoice returns an incoming e-invoice in its latest revision.
func IncomingInvoice(i store.Incoming) api.IncomingInvoice {
	return api.IncomingInvoice{ID: i.ID.String(), ProviderDocumentID: i.ProviderDocumentID, IncomingRevision: IncomingRevision(i.Revision)}
}

// IncomingRevision returns one retained revision of an incoming e-invoice.
func IncomingRevision(r store.Revision) api.IncomingRevision {
	return api.IncomingRevision{
		Revision: int(r.Revision), DocumentType: r.DocumentType, InvoiceNumber: r.InvoiceNumber, SupplierName: r.SupplierName,
		SupplierNetworkID: r.SupplierNetworkID, IssueDate: r.IssueDate, DueDate: r.DueDate, Currency: r.Currency,
		TotalAmount: r.TotalAmount, ReceivedAt: r.ReceivedAt, SHA256: hex.EncodeToString(r.SHA256[:]),
		Evidence: api.RetentionEvidence{RetainedAt: r.RetainedAt, MediaType: r.MediaType, Size: r.Size, DocumentRetained: r.Retained,
			Withheld: r.Withheld, MetadataSHA256: hex.EncodeToString(r.MetadataSHA256[:]), ClaimedSHA256: r.ClaimedSHA256,
			Previous: hex.EncodeToString(r.Previous[:]), Digest: hex.EncodeToString(r.Digest[:])},
	}
}

// incomingMatching is the condition for incoming e-invoices i among the newest $3 with the pattern $2 in their latest revisions r.
const incomingMatching = `i.position > (select incoming from tenants where id = $1) - $3 and (
	lower(r.invoice_number) like lower($2) escape '\' or lower(r.supplier_name) like lower($2) escape '\'
	or lower(r.supplier_network_id) like lower($2) escape '\' or lower(i.provider_document_id) like lower($2) escape '\')`

// IncomingInvoices returns a page of the incoming e-invoices, newest first. A revision does not move an e-invoice in the list. Without
// a search text a page is a range of an index, so every page costs the same. With one the list has the e-invoices among the newest
// [SearchDepth] whose latest revision has the text in its number, in the supplier's name or network identifier, or in the provider's
// identifier, ignoring case (on SQLite only the case of Latin letters).
func (t Tenant) IncomingInvoices(ctx context.Context, search string, number, perPage int) (out Page[store.Incoming], err error) {
	err = t.tenant.ReadSnapshot(ctx, func(ctx context.Context, r store.Reader) error {
		if search != "" {
			out, err = readPage(ctx, r, &statement{args: []any{containing(search), SearchDepth}}, number, perPage, `select count(*) from incoming i
				join revisions r on r.tenant_id = i.tenant_id and r.incoming_id = i.id where i.tenant_id = $1 and r.revision = i.revision and `+incomingMatching,
				r.Incoming, incomingMatching, `order by i.position desc`)
			return err
		}
		if err := r.Query(ctx, func(row store.Row) error { return row.Scan(&out.Total) }, `select incoming from tenants where id = $1`); err != nil {
			return err
		}
		high, low := pageRange(out.Total, number, perPage)
		out.Entries, err = r.Incoming(ctx, `i.position <= $2 and i.position > $3`, `order by i.position desc`, high, low)
		return err
	})
	return out, err
}

// Revisions returns a page of the revisions of an incoming e-invoice, oldest first.
func (t Tenant) Revisions(ctx context.Context, id store.ID, number, perPage int) (out Page[store.Revision], err error) {
	err = t.tenant.ReadSnapshot(ctx, func(ctx context.Context, r store.Reader) error {
		latest, err := r.Incoming(ctx, `i.id = $2`, ``, id)
		if err == nil && len(latest) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		out.Total = int(latest[0].Revision.Revision)
		if number-1 > out.Total/perPage { // the product below could overflow
			return nil
		}
		out.Entries, err = r.Revisions(ctx, `i.id = $2 and r.revision > $3 and r.revision <= $4`, `order by r.revision`, id, int64(number-1)*int64(perPage), int64(number)*int64(perPage))
		return err
	})
	return out, err
}
