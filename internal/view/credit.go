package view

import (
	"quittance/internal/store"
	"quittance/sdk/go/api"
)

// CreditNote returns a credit note as it is shown by itself.
func CreditNote(n store.CreditNote) api.CreditNote {
	return api.CreditNote{ID: n.ID.String(), InvoiceID: n.Invoice.String(), CreditNoteNumber: n.Number, IssueDate: n.IssueDate, Reason: n.Reason,
		ReasonCode: n.ReasonCode, Kind: n.Credit.Kind, Currency: n.Currency, TotalAmount: n.Credit.Total, Items: n.Credit.Items,
		VoidedAt: n.VoidedAt, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt}
}

// CreditNoteSummary returns a credit note as lists of the API show it.
func CreditNoteSummary(r store.CreditNoteRow) api.CreditNoteSummary {
	return api.CreditNoteSummary{ID: r.ID.String(), InvoiceID: r.Invoice.String(), CreditNoteNumber: r.Number, IssueDate: r.IssueDate, Reason: r.Reason,
		ReasonCode: r.ReasonCode, Kind: r.Credit.Kind, Currency: r.Currency, TotalAmount: r.Credit.Total, ItemCount: r.Items,
		VoidedAt: r.VoidedAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}
