package api

import "time"

// InvoiceSummary is an invoice as a list shows it: without its items, and with only the first [MaxSummaryPaths] paths
// of Missing and Warnings. The other fields are those of [Invoice].
type InvoiceSummary struct {
	ID                  string      `json:"id" doc:"Identifier." format:"uuid"`
	InvoiceNumber       *string     `json:"invoice_number" required:"true" minLength:"1" maxLength:"64" doc:"Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not." example:"INV-2026-0001"`
	RecipientName       *string     `json:"recipient_name" required:"true" minLength:"1" maxLength:"256" doc:"Buyer name (BT-44)." example:"Palm Trading LLC"`
	RecipientNetworkID  *string     `json:"recipient_network_id" maxLength:"64" doc:"Buyer identifier in the e-invoicing network (BT-49)." example:"1234567890"`
	BuyerEndpointScheme *string     `json:"buyer_endpoint_scheme" maxLength:"64" doc:"Electronic address scheme of the buyer (BT-49-1, EAS code)." example:"0235"`
	BuyerStreet         *string     `json:"buyer_street" maxLength:"256" doc:"Buyer address line 1 (BT-50)." example:"12 Harbour Road"`
	BuyerCity           *string     `json:"buyer_city" maxLength:"256" doc:"Buyer city (BT-52)." example:"Dubai"`
	BuyerSubdivision    *string     `json:"buyer_subdivision" maxLength:"64" doc:"Buyer country subdivision (BT-54)." example:"DXB"`
	BuyerCountry        *string     `json:"buyer_country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" doc:"Buyer country (BT-55), two capital letters." example:"AE"`
	TotalAmount         *Decimal    `json:"total_amount" required:"true" doc:"Invoice total with tax (BT-112), within the currency's minor unit." example:"1050.00"`
	Currency            *string     `json:"currency" required:"true" codelist:"currency" doc:"Invoice currency (BT-5, ISO 4217)." example:"AED"`
	IssueDate           *string     `json:"issue_date" required:"true" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-01"`
	IssueTime           *string     `json:"issue_time" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"a time of day HH:MM" doc:"Issue time, HH:MM." example:"09:30"`
	DueDate             *string     `json:"due_date" format:"date" doc:"Payment due date (BT-9), YYYY-MM-DD." example:"2026-03-31"`
	PaymentMeansCode    *string     `json:"payment_means_code" maxLength:"64" doc:"Payment means (BT-81, UNCL4461)." example:"30"`
	ExternalID          *string     `json:"external_id" maxLength:"64" doc:"Your system's key for the invoice. It has no meaning here and need not be unique." example:"ERP-0815"`
	Note                *string     `json:"note" maxLength:"1024" text:"multi" doc:"Note on the invoice (BT-22); may contain TAB, LF and CR." example:"Delivered in two parts."`
	BuyerTaxID          *string     `json:"buyer_tax_id" maxLength:"64" doc:"Buyer tax registration (BT-48)." example:"100200300400003"`
	BuyerLegalID        *string     `json:"buyer_legal_id" maxLength:"64" doc:"Buyer legal registration (BT-47)." example:"CN-1234567"`
	BuyerLegalIDScheme  *string     `json:"buyer_legal_id_scheme" maxLength:"64" doc:"Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD." example:"TL"`
	BuyerReference      *string     `json:"buyer_reference" maxLength:"64" doc:"Reference that the buyer asked for (BT-10); defaults to that of the company profile." example:"COST-CENTRE-7"`
	OrderReference      *string     `json:"order_reference" maxLength:"64" doc:"Purchase order (BT-13)." example:"PO-4711"`
	ContractReference   *string     `json:"contract_reference" maxLength:"64" doc:"Contract (BT-12)." example:"FRAME-2026"`
	TaxExchangeRate     *Decimal    `json:"tax_exchange_rate" exclusiveMinimum:"0" doc:"Units of the tax authority's currency for one unit of the invoice's." example:"3.6725"`
	TransactionFlags    *string     `json:"transaction_flags" pattern:"^[01]{8}$" patternDescription:"eight digits, each 0 or 1" doc:"Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin scheme, summary invoice, continuous supply, agent billing, electronic commerce, export." example:"00000001"`
	ItemCount           int         `json:"item_count" minimum:"0" doc:"Number of invoice lines; read the invoice for the lines themselves." example:"1"`
	Submitted           bool        `json:"submitted" doc:"True as soon as the intent to submit is stored. It does not mean that the document was delivered."`
	SubmittedAt         *time.Time  `json:"submitted_at" doc:"When the intent to submit was stored."`
	Complete            bool        `json:"complete" doc:"True if no field is missing for submission."`
	Missing             []string    `json:"missing" nullable:"false" doc:"JSON paths of the fields that are missing for submission: the first 20."`
	MissingCount        int         `json:"missing_count" minimum:"0" doc:"Number of fields that are missing for submission."`
	Warnings            Faults      `json:"warnings" nullable:"false" doc:"Advice by JSON path, as of the last change of the draft: the first 20 paths, and those of the company profile. Warnings do not prevent a submission."`
	WarningCount        int         `json:"warning_count" minimum:"0" doc:"Number of paths with advice."`
	Submission          *Submission `json:"submission" doc:"The current submission, or null."`
	States
	Details   StateDetails `json:"states" doc:"Further information about each of the four states."`
	CreatedAt time.Time    `json:"created_at" doc:"When the draft was created (UTC)."`
	UpdatedAt time.Time    `json:"updated_at" doc:"When the draft, or the information about its submission, last changed (UTC)."`
}

// MaxSummaryPaths is the maximum number of paths of Missing, and of Warnings, in an [InvoiceSummary].
const MaxSummaryPaths = 20
