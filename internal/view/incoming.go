package view

import (
	"encoding/hex"

	"quittance/internal/store"
	"quittance/sdk/go/api"
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
