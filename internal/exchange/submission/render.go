package submission

import (
	"fmt"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/provider/adapters"
)

// render returns the exact bytes of a submission, or what the draft lacks. It implements [invoices.Intent].Render.
func render(source invoices.Source) (text []byte, missing api.Faults, err error) {
	profile, d := document.Profile(source.Format), document.Document{ID: source.Invoice.String(), Draft: source.Draft,
		Seller: source.Seller}
	out := envelope.Envelope{Reference: source.Reference, Invoice: source.Draft, Seller: source.Seller}
	if n := source.Credit; n != nil {
		out.CreditNote = &envelope.CreditNote{Number: n.Number, IssueDate: n.IssueDate, Reason: n.Reason,
			ReasonCode: n.ReasonCode, Kind: n.Credit.Kind, TotalAmount: n.Credit.Total, Items: n.Credit.Items}
		d.ID, d.Credit = n.ID.String(), out.Credit()
	}
	if findings := document.Needs(profile, d); len(findings) > 0 {
		return nil, findings.Faults(), nil
	}
	kind, _ := adapters.Describe(source.Kind)
	if faults := kind.Faults(source.Draft, source.Options); len(faults) > 0 {
		return nil, ofDocument(d, faults), nil
	}
	if profile != "" {
		written, err := document.Write(profile, d)
		if err != nil {
			return nil, nil, fmt.Errorf("render the document: %w", err)
		}
		out.Document = envelope.NewXMLFile(profile, written)
	}
	if text, err = out.Marshal(); err != nil {
		return nil, nil, fmt.Errorf("render the document: %w", err)
	}
	return text, nil, nil
}

// ofDocument returns faults of a draft by their paths in a document: in a credit note, the draft is the credited
// invoice.
func ofDocument(d document.Document, faults api.Faults) api.Faults {
	if d.Credit == nil {
		return faults
	}
	credited := api.Faults{}
	for path, list := range faults {
		credited[document.CreditedPath+path] = list
	}
	return credited
}

// ReadSubmitted returns the invoice and the credit note in the document of a submission. It is the function behind
// [proof.Replay].
func ReadSubmitted(text []byte) (proof.Sent, error) {
	sent, err := envelope.ReadSent(text)
	if err != nil {
		return proof.Sent{}, err
	}
	out := proof.Sent{Invoice: *sent.Invoice}
	if n := sent.Credit; n != nil {
		out.Credit = &invoices.NewCreditNote{Number: n.CreditNoteNumber, IssueDate: n.IssueDate, Reason: n.Reason,
			ReasonCode: n.ReasonCode, Credit: invoice.Credit{Kind: n.Kind, Total: n.TotalAmount, Items: n.Items}}
	}
	return out, nil
}

// Unsupported returns a function that says what about a draft the adapter of the account's active connection cannot
// send; nil if it sends every draft. The account is that of a [base.Session].
func Unsupported(account *base.Account) func(*api.Draft) api.Faults {
	kind, known := adapters.Describe(account.Kind)
	if !known || kind.Addresses == nil && len(kind.Currencies) == 0 {
		return nil
	}
	return func(draft *api.Draft) api.Faults { return kind.Faults(draft, account.Options) }
}
