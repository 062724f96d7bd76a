package api

import "time"

// CreditNoteRequest is the creation payload of a credit note. Lengths are in Unicode code points.
type CreditNoteRequest struct {
	InvoiceID        *string             `json:"invoice_id" required:"true" doc:"Identifier of the credited invoice." example:"0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"`
	CreditNoteNumber *string             `json:"credit_note_number" required:"true" minLength:"1" maxLength:"64" doc:"Number of the credit note (EN 16931 BT-1). Drafts may share a number, submitted credit notes may not." example:"CN-2026-0001"`
	IssueDate        *string             `json:"issue_date" required:"true" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-15"`
	Reason           *string             `json:"reason" required:"true" minLength:"1" maxLength:"1024" text:"multi" doc:"Reason for the credit (BT-22); may contain TAB, LF and CR." example:"Two hours were not worked."`
	ReasonCode       *string             `json:"reason_code" maxLength:"64" doc:"Coded reason, if the document format has a list of them; in the UAE DL8.61.1.A to E, or VD for a volume discount." example:"DL8.61.1.C"`
	Kind             *CreditKind         `json:"kind" required:"true" enum:"full,partial" doc:"full credits all lines and the total of the invoice; partial credits the given items."`
	Items            []CreditItemRequest `json:"items" nullable:"true" minItems:"1" maxItems:"1000" doc:"Items of a partial credit note; absent if kind is full."`
}

// CreditItemRequest is the part of one invoice line that a partial credit note credits: exactly one of Quantity and
// NetAmount.
type CreditItemRequest struct {
	Position  *int     `json:"position" required:"true" minimum:"0" doc:"Position of the line in the items of the invoice, from 0." example:"0"`
	Quantity  *Decimal `json:"quantity" doc:"Credited quantity, not 0, with the sign of the line's quantity. Its net amount is computed with the price of the line." example:"2"`
	NetAmount *Decimal `json:"net_amount" doc:"Credited amount without tax, not 0, with the sign of the line's amount, within the currency's minor unit."`
}

// CreditNoteChange has the fields of a credit note that can be changed. It is the target of a merge patch: fields that
// a patch does not name are unchanged, and null removes ReasonCode.
type CreditNoteChange struct {
	IssueDate  *string `json:"issue_date" required:"true" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-15"`
	Reason     *string `json:"reason" required:"true" minLength:"1" maxLength:"1024" text:"multi" doc:"Reason for the credit (BT-22); may contain TAB, LF and CR." example:"Two hours were not worked."`
	ReasonCode *string `json:"reason_code" maxLength:"64" doc:"Coded reason, if the document format has a list of them." example:"DL8.61.1.C"`
}

// CreditKind says whether a credit note credits an invoice in full or in part.
type CreditKind string

// The kinds of credit notes.
const (
	// CreditFull credits every line and the total of the invoice, so that no other credit note is possible.
	CreditFull CreditKind = "full"
	// CreditPartial credits parts of some lines.
	CreditPartial CreditKind = "partial"
)

// CreditNote is a credit note as returned. It counts against its invoice until it is voided.
type CreditNote struct {
	ID               string           `json:"id" format:"uuid" doc:"Identifier."`
	InvoiceID        string           `json:"invoice_id" format:"uuid" doc:"Identifier of the credited invoice."`
	CreditNoteNumber string           `json:"credit_note_number" doc:"Number of the credit note (BT-1)." example:"CN-2026-0001"`
	IssueDate        string           `json:"issue_date" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-15"`
	Reason           string           `json:"reason" doc:"Reason for the credit (BT-22)."`
	ReasonCode       *string          `json:"reason_code" doc:"Coded reason, or null." example:"DL8.61.1.C"`
	Kind             CreditKind       `json:"kind" enum:"full,partial" doc:"full credits all lines and the total of the invoice."`
	Currency         string           `json:"currency" doc:"Currency of the invoice (BT-5, ISO 4217)." example:"AED"`
	TotalAmount      Amount           `json:"total_amount" doc:"Credited total with tax (BT-112). full: the total_amount of the invoice; partial: the items and their tax, rounded per category and rate." example:"210.00"`
	Items            []CreditNoteItem `json:"items" nullable:"false" doc:"Credited lines. full: in the order of the invoice; partial: in the order in which they were given."`
	Submitted        bool             `json:"submitted" doc:"True as soon as the intent to submit is stored. It does not mean that the document was delivered."`
	SubmittedAt      *time.Time       `json:"submitted_at" doc:"When the intent to submit was stored."`
	Submission       *Submission      `json:"submission" doc:"The current submission, or null."`
	States
	Details   StateDetails `json:"states" doc:"Further information about each of the four states."`
	VoidedAt  *time.Time   `json:"voided_at" doc:"When it was voided (UTC), which releases its amount; null if it is not void."`
	CreatedAt time.Time    `json:"created_at" doc:"When it was created (UTC)."`
	UpdatedAt time.Time    `json:"updated_at" doc:"When it last changed (UTC)."`
}

// CreditNoteItem is the credited part of one invoice line. Name, unit, category and rate are those of the line.
type CreditNoteItem struct {
	Position    int      `json:"position" minimum:"0" doc:"Position of the line in the items of the invoice, from 0."`
	Name        string   `json:"name" doc:"Item name (BT-153)." example:"Consulting"`
	UnitCode    *string  `json:"unit_code" doc:"Unit of measure (BT-130)." example:"HUR"`
	Quantity    *Decimal `json:"quantity" doc:"Credited quantity (BT-129); null if an amount is credited." example:"2"`
	NetAmount   *Amount  `json:"net_amount" doc:"Credited amount without tax (BT-131); null in a full credit note if the amount of the line cannot be computed." example:"200.00"`
	VATCategory *string  `json:"vat_category" doc:"Tax category (BT-151)." example:"S"`
	VATRate     *Decimal `json:"vat_rate" doc:"Tax rate in per cent (BT-152)." example:"5"`
}
