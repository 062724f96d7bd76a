package api

import "time"

// Draft is the creation payload of an invoice. Optional fields are nil if absent. Lengths are in Unicode code points.
// The provider decides about everything that no rule here limits.
//
// The tags of the fields are the model of forms, pages and files too: group is the section of a form, codes the code
// list that it offers, and unit what a number counts. What no layout places is shown by its tags alone.
type Draft struct {
	InvoiceNumber         *string              `json:"invoice_number" required:"true" minLength:"1" maxLength:"64" group:"invoice" doc:"Invoice number (EN 16931 BT-1). Drafts may share a number; submissions may not." example:"INV-2026-0001"`
	RecipientName         *string              `json:"recipient_name" required:"true" minLength:"1" maxLength:"256" group:"buyer" doc:"Buyer name (BT-44)." example:"Palm Trading LLC"`
	BuyerTradingName      *string              `json:"buyer_trading_name" maxLength:"256" group:"buyer" doc:"Name under which the buyer trades, if it is another one (BT-45)." example:"Palm Trading"`
	RecipientNetworkID    *string              `json:"recipient_network_id" maxLength:"64" group:"buyer" doc:"Buyer identifier in the e-invoicing network (BT-49)." example:"1234567890"`
	BuyerEndpointScheme   *string              `json:"buyer_endpoint_scheme" maxLength:"64" group:"buyer" codes:"endpoint-schemes" doc:"Electronic address scheme of the buyer (BT-49-1, EAS code)." example:"0235"`
	BuyerStreet           *string              `json:"buyer_street" maxLength:"256" group:"buyer" doc:"Buyer address line 1 (BT-50)." example:"12 Harbour Road"`
	BuyerStreetAdditional *string              `json:"buyer_street_additional" maxLength:"256" group:"buyer" doc:"Buyer address line 2 (BT-51)." example:"Warehouse 3"`
	BuyerAddressLine      *string              `json:"buyer_address_line" maxLength:"256" group:"buyer" doc:"Buyer address line 3 (BT-163)." example:"Industrial Area 4"`
	BuyerCity             *string              `json:"buyer_city" maxLength:"256" group:"buyer" doc:"Buyer city (BT-52)." example:"Dubai"`
	BuyerPostalCode       *string              `json:"buyer_postal_code" maxLength:"64" group:"buyer" doc:"Buyer postal code (BT-53)." example:"1000"`
	BuyerSubdivision      *string              `json:"buyer_subdivision" maxLength:"64" group:"buyer" codes:"emirates" doc:"Buyer country subdivision (BT-54)." example:"DXB"`
	BuyerCountry          *string              `json:"buyer_country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" group:"buyer" codes:"countries" doc:"Buyer country (BT-55), two capital letters." example:"AE"`
	TypeCode              *string              `json:"type_code" maxLength:"64" group:"invoice" codes:"document-types" doc:"Type of the invoice (BT-3, UNCL1001), such as 386 for a prepayment or 384 for a corrected invoice; by default 380, or 480 of an invoice out of scope of tax in the UAE." example:"380"`
	TotalAmount           *Decimal             `json:"total_amount" required:"true" group:"invoice" unit:"money" doc:"Invoice total with tax (BT-112), within the currency's minor unit." example:"1050.00"`
	Currency              *string              `json:"currency" required:"true" codelist:"currency" group:"invoice" codes:"currencies" doc:"Invoice currency (BT-5, ISO 4217)." example:"AED"`
	IssueDate             *string              `json:"issue_date" required:"true" format:"date" group:"invoice" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-01"`
	IssueTime             *string              `json:"issue_time" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"a time of day HH:MM" group:"invoice" doc:"Issue time, HH:MM (IBT-168)." example:"09:30"`
	DueDate               *string              `json:"due_date" format:"date" group:"invoice" doc:"Payment due date (BT-9), YYYY-MM-DD." example:"2026-03-31"`
	TaxPointDate          *string              `json:"tax_point_date" format:"date" group:"tax" doc:"Date when the tax becomes chargeable, if it is neither the issue date nor that of the delivery (BT-7), YYYY-MM-DD." example:"2026-02-28"`
	TaxPointCode          *string              `json:"tax_point_code" maxLength:"64" group:"tax" codes:"tax-points" doc:"What sets the date when the tax becomes chargeable in the EU (BT-8): 3 for the issue date, 35 for the delivery, 432 for the payment." example:"35"`
	PaymentMeansCode      *string              `json:"payment_means_code" maxLength:"64" group:"invoice" codes:"payment-means" doc:"Payment means (BT-81, UNCL4461)." example:"30"`
	PaymentMeansName      *string              `json:"payment_means_name" maxLength:"256" group:"payment" doc:"Payment means in words (BT-82)." example:"Credit transfer"`
	PaymentTerms          *string              `json:"payment_terms" maxLength:"1024" text:"multi" group:"payment" doc:"Payment terms in words (BT-20); may contain TAB, LF and CR." example:"30 days net"`
	PaymentReference      *string              `json:"payment_reference" maxLength:"64" group:"payment" doc:"Text by which you recognise the payment (BT-83)." example:"RF18 5390 0754 7034"`
	PaymentCard           *PaymentCard         `json:"payment_card" group:"payment" doc:"Card by which the buyer has paid (BG-18)."`
	DirectDebit           *DirectDebit         `json:"direct_debit" group:"payment" doc:"Mandate by which the seller collects the payment (BG-19)."`
	Payee                 *Payee               `json:"payee" group:"payee" doc:"Who is paid, if it is not the seller (BG-10)."`
	Period                *Period              `json:"period" group:"delivery" doc:"Period that the invoice is for (BG-14)."`
	Delivery              *DeliveryInformation `json:"delivery" group:"delivery" doc:"When, where and to whom goods or services were delivered (BG-13)."`
	ExternalID            *string              `json:"external_id" maxLength:"64" group:"references" doc:"Your system's key for the invoice. It has no meaning here and need not be unique." example:"ERP-0815"`
	Note                  *string              `json:"note" maxLength:"1024" text:"multi" group:"notes" doc:"Note on the invoice (BT-22); may contain TAB, LF and CR." example:"Delivered in two parts."`
	BuyerTaxID            *string              `json:"buyer_tax_id" maxLength:"64" group:"buyer" doc:"Buyer tax registration (BT-48)." example:"100200300400003"`
	BuyerLegalID          *string              `json:"buyer_legal_id" maxLength:"64" group:"buyer" doc:"Buyer legal registration (BT-47)." example:"CN-1234567"`
	BuyerLegalIDScheme    *string              `json:"buyer_legal_id_scheme" maxLength:"64" group:"buyer" codes:"registration-types" doc:"Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD (BTAE-16)." example:"TL"`
	BuyerLegalIDIssuer    *string              `json:"buyer_legal_id_issuer" maxLength:"256" group:"buyer" doc:"Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence (BTAE-11), or the country of a passport." example:"Department of Economy and Tourism"`
	BuyerIdentifier       *string              `json:"buyer_identifier" maxLength:"64" group:"buyer" doc:"Another identifier of the buyer, such as your customer number or its GLN (BT-46)." example:"C-1042"`
	BuyerIdentifierScheme *string              `json:"buyer_identifier_scheme" maxLength:"64" group:"buyer" doc:"Scheme of buyer_identifier (BT-46-1, ISO 6523)." example:"0088"`
	BuyerContact          *Contact             `json:"buyer_contact" group:"buyer" doc:"Contact at the buyer (BG-9)."`
	BuyerReference        *string              `json:"buyer_reference" maxLength:"64" group:"references" doc:"Reference that the buyer asked for (BT-10); defaults to that of the company profile." example:"COST-CENTRE-7"`
	OrderReference        *string              `json:"order_reference" maxLength:"64" group:"references" doc:"Purchase order (BT-13)." example:"PO-4711"`
	ContractReference     *string              `json:"contract_reference" maxLength:"64" group:"references" doc:"Contract (BT-12)." example:"FRAME-2026"`
	SalesOrderReference   *string              `json:"sales_order_reference" maxLength:"64" group:"references" doc:"Your own number of the order (BT-14)." example:"SO-118"`
	ProjectReference      *string              `json:"project_reference" maxLength:"64" group:"references" doc:"Project (BT-11)." example:"PROJECT-9"`
	DespatchReference     *string              `json:"despatch_reference" maxLength:"64" group:"references" doc:"Despatch advice, or delivery note (BT-16)." example:"DN-5530"`
	ReceiptReference      *string              `json:"receipt_reference" maxLength:"64" group:"references" doc:"Receiving advice of the buyer (BT-15)." example:"GR-2201"`
	TenderReference       *string              `json:"tender_reference" maxLength:"64" group:"references" doc:"Tender or lot (BT-17)." example:"TENDER-12"`
	AccountingReference   *string              `json:"accounting_reference" maxLength:"64" group:"references" doc:"Where the buyer books the invoice (BT-19)." example:"4217-100"`
	InvoicedObject        *string              `json:"invoiced_object" maxLength:"64" group:"references" doc:"What the invoice is about, such as a meter or a subscription (BT-18)." example:"METER-8891"`
	InvoicedObjectScheme  *string              `json:"invoiced_object_scheme" maxLength:"64" group:"references" doc:"Scheme of invoiced_object (BT-18-1, UNTDID 1153)." example:"MG"`
	CustomsReference      *string              `json:"customs_reference" maxLength:"64" group:"references" doc:"Customs declaration of an export from the UAE (BTAE-21)." example:"EXP010101234"`
	ContractValue         *string              `json:"contract_value" maxLength:"256" group:"references" doc:"Value of the contract of a continuous supply in the UAE (BTAE-05)." example:"AED 1000000"`
	TaxCurrency           *string              `json:"tax_currency" maxLength:"64" group:"tax" codes:"currencies" doc:"Currency in which the tax is stated too, if it is another one (BT-6, ISO 4217); in the UAE always the dirham." example:"AED"`
	TaxExchangeRate       *Decimal             `json:"tax_exchange_rate" exclusiveMinimum:"0" group:"tax" doc:"Units of the tax currency for one unit of the invoice's (BTAE-04)." example:"3.6725"`
	TransactionFlags      *string              `json:"transaction_flags" pattern:"^[01]{8}$" patternDescription:"eight digits, each 0 or 1" group:"tax" doc:"Kinds of supply, one digit each, 1 for yes: free trade zone, deemed supply, profit margin scheme, summary invoice, continuous supply, agent billing, electronic commerce, export (BTAE-02)." example:"00000001"`
	BeneficiaryID         *string              `json:"beneficiary_id" maxLength:"64" group:"tax" doc:"Beneficiary of a supply that involves a free trade zone of the UAE (BTAE-01)." example:"189098765401003"`
	PrincipalID           *string              `json:"principal_id" maxLength:"64" group:"tax" doc:"Tax registration of the principal in whose name an agent invoices in the UAE (BTAE-14)." example:"155667745601003"`
	PrepaidAmount         *Decimal             `json:"prepaid_amount" group:"charges" unit:"money" doc:"What has been paid already (BT-113), within the currency's minor unit." example:"50.00"`
	RoundingAmount        *Decimal             `json:"rounding_amount" group:"charges" unit:"money" doc:"What is added to round the amount due (BT-114), within the currency's minor unit; may be negative." example:"-0.02"`
	Allowances            []Allowance          `json:"allowances" nullable:"true" maxItems:"100" doc:"Allowances on the whole invoice (BG-20), such as a discount."`
	Charges               []Allowance          `json:"charges" nullable:"true" maxItems:"100" doc:"Charges on the whole invoice (BG-21), such as freight."`
	PrecedingInvoices     []PrecedingInvoice   `json:"preceding_invoices" nullable:"true" maxItems:"100" doc:"Invoices that this one corrects or continues (BG-3)."`
	TaxRepresentative     *TaxRepresentative   `json:"tax_representative" group:"representative" doc:"Who represents the seller towards the tax authority (BG-11)."`
	Items                 []Item               `json:"items" required:"true" nullable:"false" minItems:"1" maxItems:"1000" doc:"Invoice lines (BG-25)."`
}

// Item is one invoice line.
type Item struct {
	ItemCode            *string  `json:"item_code" maxLength:"64" doc:"Seller's item identifier (BT-155)." example:"SKU-7"`
	BuyerItemCode       *string  `json:"buyer_item_code" maxLength:"64" doc:"Buyer's item identifier (BT-156)." example:"B-77"`
	StandardItemCode    *string  `json:"standard_item_code" maxLength:"64" doc:"Standard item identifier, such as a GTIN (BT-157)." example:"04012345123456"`
	StandardItemScheme  *string  `json:"standard_item_scheme" maxLength:"64" doc:"Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN." example:"0160"`
	Name                *string  `json:"name" required:"true" minLength:"1" maxLength:"256" doc:"Item name (BT-153)." example:"Consulting"`
	Description         *string  `json:"description" maxLength:"1024" text:"multi" doc:"Item description (BT-154); may contain TAB, LF and CR." example:"Integration workshop"`
	OriginCountry       *string  `json:"origin_country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" codes:"countries" doc:"Country of origin of the item (BT-159), two capital letters." example:"DE"`
	Note                *string  `json:"note" maxLength:"1024" text:"multi" doc:"Note on the line (BT-127); may contain TAB, LF and CR." example:"Replaces the order of May."`
	AccountingReference *string  `json:"accounting_reference" maxLength:"64" doc:"Where the buyer books the line (BT-133)." example:"4217-300"`
	UnitCode            *string  `json:"unit_code" maxLength:"64" codes:"units" doc:"Unit of measure (BT-130, UN/ECE Recommendation 20/21)." example:"HUR"`
	Quantity            *Decimal `json:"quantity" required:"true" doc:"Invoiced quantity (BT-129)." example:"10"`
	BaseQuantity        *Decimal `json:"base_quantity" minimum:"0" doc:"Quantity to which the price applies (BT-149); defaults to 1." example:"1"`
	NetUnitPrice        *Decimal `json:"net_unit_price" required:"true" minimum:"0" unit:"money" doc:"Item net price (BT-146)." example:"100.00"`
	GrossUnitPrice      *Decimal `json:"gross_unit_price" minimum:"0" unit:"money" doc:"Item gross price before the discount (BT-148)." example:"110.00"`
	DiscountAmount      *Decimal `json:"discount_amount" unit:"money" doc:"Discount on the gross price (BT-147)." example:"10.00"`
	VATCategory         *string  `json:"vat_category" maxLength:"64" codes:"tax-categories" doc:"Tax category (BT-151, UNCL5305)." example:"S"`
	VATRate             *Decimal `json:"vat_rate" minimum:"0" unit:"percent" doc:"Tax rate in per cent (BT-152). Above 0 for S; 0 for Z, E, G and K; 0 or absent for O. For AE and N it is information: their tax is 0." example:"5"`

	TaxExemptionCode     *string         `json:"tax_exemption_code" maxLength:"64" codes:"tax-exemptions" doc:"Coded reason why no tax is charged (BT-121)." example:"DL8.46.1"`
	TaxExemptionReason   *string         `json:"tax_exemption_reason" maxLength:"1024" doc:"Why no tax is charged (BT-120)." example:"Certain financial services"`
	CommodityCode        *string         `json:"commodity_code" maxLength:"64" doc:"Classification of the item (BT-158), such as a customs tariff number." example:"84713000"`
	CommodityScheme      *string         `json:"commodity_scheme" maxLength:"64" doc:"Scheme of commodity_code (BT-158-1)." example:"HS"`
	CommodityVersion     *string         `json:"commodity_version" maxLength:"64" doc:"Version of commodity_scheme (BT-158-2)." example:"2022"`
	SupplyType           *string         `json:"supply_type" maxLength:"64" codes:"supply-types" doc:"G for goods, S for services, B for both, in the UAE (BTAE-13)." example:"G"`
	ServiceCode          *string         `json:"service_code" maxLength:"64" doc:"Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too." example:"998311"`
	OrderLine            *string         `json:"order_line_reference" maxLength:"64" doc:"Line of the purchase order (BT-132)." example:"10"`
	OrderReference       *string         `json:"order_reference" maxLength:"64" doc:"Purchase order of the line, in a summary invoice of the UAE (BT-183)." example:"PO-4712"`
	InvoicedObject       *string         `json:"invoiced_object" maxLength:"64" doc:"What the line is about, such as a meter (BT-128)." example:"METER-8892"`
	InvoicedObjectScheme *string         `json:"invoiced_object_scheme" maxLength:"64" doc:"Scheme of invoiced_object (BT-128-1, UNTDID 1153)." example:"MG"`
	Period               *LinePeriod     `json:"period" doc:"Period that the line is for (BG-26)."`
	Allowances           []LineAllowance `json:"allowances" nullable:"true" maxItems:"20" doc:"Allowances on the line (BG-27)."`
	Charges              []LineAllowance `json:"charges" nullable:"true" maxItems:"20" doc:"Charges on the line (BG-28)."`
	Attributes           []Attribute     `json:"attributes" nullable:"true" maxItems:"20" doc:"Properties of the item (BG-32)."`
	LotNumber            *string         `json:"lot_number" maxLength:"64" doc:"Lot of the item, for the UAE (BTAE-24)." example:"LOT-2026-02"`
}

// Invoice is an invoice as returned: every creation field, and information about its submission. The four states are
// the provider's own values, each nil until the provider has reported it; none is derived from anything else.
type Invoice struct {
	ID string `json:"id" doc:"Identifier." format:"uuid"`
	Draft
	AmountDue   *Amount     `json:"amount_due" doc:"What is asked for (BT-115): total_amount less prepaid_amount, plus rounding_amount."`
	Submitted   bool        `json:"submitted" doc:"True as soon as the intent to submit is stored. It does not mean that the document was delivered."`
	SubmittedAt *time.Time  `json:"submitted_at" doc:"When the intent to submit was stored."`
	Complete    bool        `json:"complete" doc:"True if missing is empty: nothing is missing for submission or contradicts itself, including what the document format of the connection needs, if it has one."`
	Missing     []string    `json:"missing" nullable:"false" doc:"JSON paths of the fields that a submission still needs: those that are missing, and those of a tax that contradicts its category in every document format, such as a rate above 0 of a zero-rated item. warnings has the rule of each contradiction."`
	Warnings    Faults      `json:"warnings" nullable:"false" doc:"Advice by JSON path. Warnings about paths that are not in missing do not prevent a submission."`
	Submission  *Submission `json:"submission" doc:"The current submission, or null."`
	States
	Details   StateDetails `json:"states" doc:"Further information about each of the four states."`
	CreatedAt time.Time    `json:"created_at" doc:"When the draft was created (UTC)."`
	UpdatedAt time.Time    `json:"updated_at" doc:"When the draft, or the information about its submission, last changed (UTC)."`
}

// States are the four independent dimensions, with the provider's values verbatim.
type States struct {
	SubmissionState      *string `json:"submission_state" doc:"Provider validation or submission result, verbatim; null if never reported." example:"accepted_by_provider"`
	ProviderInvoiceState *string `json:"provider_invoice_state" doc:"Top-level provider invoice state, verbatim; null if never reported." example:"accepted"`
	TaxAuthorityState    *string `json:"tax_authority_state" doc:"Tax-authority reporting state, verbatim; null if never reported." example:"accepted"`
	ReceiverState        *string `json:"receiver_state" doc:"Receiver state, verbatim; null if never reported." example:"accepted"`
}

// StateDetails has further information about each of the four states; a dimension that was never reported is nil.
type StateDetails struct {
	SubmissionState      *StateDetail `json:"submission_state" doc:"About the provider validation or submission result; null if never reported."`
	ProviderInvoiceState *StateDetail `json:"provider_invoice_state" doc:"About the top-level provider invoice state; null if never reported."`
	TaxAuthorityState    *StateDetail `json:"tax_authority_state" doc:"About the tax-authority reporting state; null if never reported."`
	ReceiverState        *StateDetail `json:"receiver_state" doc:"About the receiver state; null if never reported."`
}

// StateDetail is one state with the provider's information, or that of its adapter's published table, about the value.
// Nothing in it is an interpretation of this service.
type StateDetail struct {
	Value      string    `json:"value" doc:"The state value, verbatim." example:"accepted"`
	Final      bool      `json:"final" doc:"True if the provider calls the value final."`
	Meaning    *Meaning  `json:"meaning" enum:"positive,negative,waiting" doc:"Meaning of the value according to the provider; null if the provider does not state it." example:"positive"`
	ReportedAt time.Time `json:"reported_at" doc:"When the response that reported the value was retained (UTC)."`
	EvidenceID string    `json:"evidence_id" format:"uuid" doc:"Identifier of the retained response that reported the value."`
}

// Meaning is the meaning that a provider publishes for a state value.
type Meaning string

// The meanings.
const (
	MeaningPositive Meaning = "positive"
	MeaningNegative Meaning = "negative"
	MeaningWaiting  Meaning = "waiting"
)

// Meanings lists every meaning.
var Meanings = [...]Meaning{MeaningPositive, MeaningNegative, MeaningWaiting} //nolint:gochecknoglobals // a constant list

// Submission is the service's own record of sending an invoice or a credit note.
type Submission struct {
	ID                string      `json:"id" format:"uuid" doc:"The permanent reference under which the provider has the document."`
	Outcome           Outcome     `json:"outcome" enum:"in_progress,acknowledged,rejected,resolved_rejected,unknown" doc:"What this service knows about the submission; it is not a fifth state. rejected is the provider's decision; resolved_rejected is the decision of an administrator of this service about an unknown outcome."`
	AttemptedAt       time.Time   `json:"attempted_at" doc:"When the intent to submit was stored."`
	ProviderReference *string     `json:"provider_reference" doc:"The provider's own identifier of the document, or null."`
	LastCheckedAt     *time.Time  `json:"last_checked_at" doc:"When the provider last responded about it."`
	NextCheckAt       *time.Time  `json:"next_check_at" doc:"When the provider is queried next, or at the earliest while its connection has failures; null once everything is final."`
	Resolved          *Resolution `json:"resolved" doc:"Decision of an administrator of this service about an unknown outcome; null if there is none."`
}

// Resolution is the decision of an administrator of the service about a submission with an unknown outcome.
type Resolution struct {
	By       string    `json:"by" doc:"Name of the administrator."`
	At       time.Time `json:"at" doc:"When it was decided (UTC)."`
	Decision string    `json:"decision" enum:"resend,reject" doc:"resend: sent again under its reference. reject: counted as rejected, so that the invoice can be corrected and submitted again."`
	Reason   string    `json:"reason" doc:"Reason that the administrator gave."`
	// ContradictedAt means that there may be two documents for one invoice.
	ContradictedAt *time.Time `json:"contradicted_at" doc:"When the provider reported the document although it had been resolved by rejecting it, or null. Two documents may then have been accepted for one invoice."`
}

// Outcome is the result of the service's own call to the provider. It is not a state of the invoice.
type Outcome string

// The outcomes of a submission.
const (
	OutcomeInProgress   Outcome = "in_progress"
	OutcomeAcknowledged Outcome = "acknowledged"
	OutcomeRejected     Outcome = "rejected"
	OutcomeUnknown      Outcome = "unknown"
	// OutcomeResolvedRejected is an administrator's decision about an unknown outcome, not one of the provider.
	OutcomeResolvedRejected Outcome = "resolved_rejected"
)

// Rejected reports whether the invoice may be corrected and submitted again: the provider has rejected the document, or
// an administrator has decided that it counts as rejected.
func (o Outcome) Rejected() bool { return o == OutcomeRejected || o == OutcomeResolvedRejected }

// Deleted confirms a deletion.
type Deleted struct {
	ID      string `json:"id" format:"uuid" doc:"Identifier of what was deleted."`
	Deleted bool   `json:"deleted" doc:"Always true. The deletion is permanent."`
}

// Preflight is the result of checking a draft that is not stored.
type Preflight struct {
	Complete bool     `json:"complete" doc:"True if missing is empty: nothing is missing for submission or contradicts itself, including what the document format of the connection needs, if it has one."`
	Missing  []string `json:"missing" nullable:"false" doc:"JSON paths of the fields that a submission still needs: those that are missing, and those of a tax that contradicts its category in every document format, such as a rate above 0 of a zero-rated item. warnings has the rule of each contradiction."`
	Warnings Faults   `json:"warnings" nullable:"false" doc:"Advice by JSON path. Warnings about paths that are not in missing do not prevent a submission."`
	Computed Computed `json:"computed" doc:"Totals as the server computes them: lines rounded to the minor unit, or to the digits of the document format of the connection; tax rounded per category and rate."`
}

// Computed are the totals of a draft. Each is null if it cannot be computed from the draft.
type Computed struct {
	Lines      *Amount `json:"lines" doc:"Sum of the amounts of the lines (BT-106), each after its own allowances and charges."`
	Allowances *Amount `json:"allowances" doc:"Sum of the allowances on the whole invoice (BT-107)."`
	Charges    *Amount `json:"charges" doc:"Sum of the charges on the whole invoice (BT-108)."`
	Net        *Amount `json:"net" doc:"Total without tax (BT-109): lines less allowances, plus charges."`
	Tax        *Amount `json:"tax" doc:"Sum of the tax per category and rate (BT-110). The categories Z, E, AE, N, G, K and O have no tax."`
	Total      *Amount `json:"total" doc:"Sum of net and tax (BT-112)."`
	AmountDue  *Amount `json:"amount_due" doc:"Total less prepaid_amount, plus rounding_amount (BT-115)."`
}

// Amount is a computed amount: an exact JSON number, which may have more digits than a [Decimal].
type Amount string

// MarshalJSON writes the number; the zero value is null.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a == "" {
		return []byte("null"), nil
	}
	return []byte(a), nil
}

// UnmarshalJSON keeps the text of the number; null becomes the zero value.
func (a *Amount) UnmarshalJSON(text []byte) error {
	if *a = Amount(text); *a == "null" {
		*a = ""
	}
	return nil
}

// SubmissionRecord is one submission in the history of an invoice, with its own four states.
type SubmissionRecord struct {
	Submission
	Current       bool   `json:"current" doc:"True for the submission that the invoice shows."`
	InvoiceNumber string `json:"invoice_number" doc:"The number of the invoice, for a credit note of the credited one, when it was submitted."`
	// CreditNoteNumber is empty for an invoice.
	CreditNoteNumber string `json:"credit_note_number,omitempty" doc:"The number of the credit note; absent for an invoice."`
	States
	Details StateDetails `json:"states" doc:"Further information about each of the four states."`
}

// Evidence is one retained response of the provider. The list of an invoice's evidence is append-only.
type Evidence struct {
	ID           string            `json:"id" format:"uuid" doc:"Identifier."`
	SubmissionID string            `json:"submission_id" format:"uuid" doc:"The submission it is about."`
	Ordinal      int64             `json:"ordinal" minimum:"1" doc:"Position in the chain of its submission, from 1 without gaps."`
	ReceivedAt   time.Time         `json:"received_at" doc:"When it was retained (UTC)."`
	Call         string            `json:"call" enum:"submit,status,event" doc:"Kind of the request: the submission, a status query, or the request for an event of the provider's queue."`
	HTTPStatus   int               `json:"http_status" doc:"HTTP status of the response. Nothing is derived from it."`
	MediaType    string            `json:"media_type" doc:"Content-Type of the response as received."`
	SHA256       string            `json:"sha256" doc:"Lowercase hex digest of the retained bytes."`
	Truncated    bool              `json:"truncated" doc:"True if only the beginning of the response is retained."`
	Withheld     bool              `json:"withheld" doc:"True if the response contains a credential; its body is then sealed."`
	Words        map[string]string `json:"words" nullable:"false" doc:"The reported state values by dimension, verbatim."`
	Previous     string            `json:"previous" doc:"Digest of the previous entry; all zeros for the first."`
	Digest       string            `json:"digest" doc:"Digest of this entry, which covers all its fields and the previous entry."`
}

// RetainedBody is a body exactly as the provider sent it: a purchase document, or a response that was retained as
// evidence. Treat it as data and never render it as a page.
type RetainedBody struct {
	MediaType  string  `json:"media_type" doc:"Content-Type as it was sent; empty if unknown." example:"application/xml"`
	SHA256     string  `json:"sha256" doc:"Lowercase hex SHA-256 of the bytes." example:"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	BodyBase64 *string `json:"body_base64" doc:"The bytes in base64 (RFC 4648, section 4); null if they are withheld or were not retained."`
	Withheld   bool    `json:"withheld" doc:"True if the bytes contain our credential; they are then sealed and never shown."`
}
