package api

import "time"

// CreditNoteSummary is a credit note as a list shows it: without its items. The other fields are those of [CreditNote].
type CreditNoteSummary struct {
	ID               string      `json:"id" format:"uuid" doc:"Identifier."`
	InvoiceID        string      `json:"invoice_id" format:"uuid" doc:"Identifier of the credited invoice."`
	CreditNoteNumber string      `json:"credit_note_number" doc:"Number of the credit note (BT-1)." example:"CN-2026-0001"`
	IssueDate        string      `json:"issue_date" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-15"`
	Reason           string      `json:"reason" doc:"Reason for the credit (BT-22)."`
	ReasonCode       *string     `json:"reason_code" doc:"Coded reason, or null." example:"DL8.61.1.C"`
	Kind             CreditKind  `json:"kind" enum:"full,partial" doc:"full credits all lines and the total of the invoice."`
	Currency         string      `json:"currency" doc:"Currency of the invoice (BT-5, ISO 4217)." example:"AED"`
	TotalAmount      Amount      `json:"total_amount" doc:"Credited total with tax (BT-112). full: the total_amount of the invoice; partial: the items and their tax, rounded per category and rate." example:"210.00"`
	ItemCount        int         `json:"item_count" minimum:"0" doc:"Number of credited lines; read the credit note for the lines themselves." example:"1"`
	Submitted        bool        `json:"submitted" doc:"True as soon as the intent to submit is stored. It does not mean that the document was delivered."`
	SubmittedAt      *time.Time  `json:"submitted_at" doc:"When the intent to submit was stored."`
	Submission       *Submission `json:"submission" doc:"The current submission, or null."`
	States
	Details   StateDetails `json:"states" doc:"Further information about each of the four states."`
	VoidedAt  *time.Time   `json:"voided_at" doc:"When it was voided (UTC), which releases its amount; null if it is not void."`
	CreatedAt time.Time    `json:"created_at" doc:"When it was created (UTC)."`
	UpdatedAt time.Time    `json:"updated_at" doc:"When it last changed (UTC)."`
}
