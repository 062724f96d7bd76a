package api

// The types of a received document.
const (
	ReceivedInvoice              = "invoice"
	ReceivedCreditNote           = "credit_note"
	ReceivedSelfBilledInvoice    = "self_billed_invoice"
	ReceivedSelfBilledCreditNote = "self_billed_credit_note"
)

// IncomingInvoiceDetail is an incoming e-invoice in its latest revision, with what its document says.
type IncomingInvoiceDetail struct {
	IncomingInvoice
	Parsed     *ParsedDocument `json:"parsed" doc:"What the document of this revision says; null if it is not retained, is withheld, or cannot be read. The bytes of the document prevail."`
	ParseError *Fault          `json:"parse_error" doc:"Why the document cannot be read: malformed, unsupported, unsafe or limit. Null if it was read, is not retained or is withheld."`
}

// ParsedDocument is a received UBL document as it was read. Every value is the sender's own: nothing is computed or
// corrected, and a value that the document does not state in a usable form is null. Amounts keep their digits.
type ParsedDocument struct {
	Profile             *string           `json:"profile" enum:"pint-ae,bis3" doc:"The document format, if it is one that this service knows."`
	Specification       *string           `json:"specification" doc:"Specification identifier (EN 16931 BT-24), verbatim."`
	BusinessProcess     *string           `json:"business_process" doc:"Business process type (BT-23), verbatim."`
	Type                string            `json:"type" enum:"invoice,credit_note,self_billed_invoice,self_billed_credit_note" doc:"What the document is."`
	TypeCode            *string           `json:"type_code" doc:"Invoice type code (BT-3)." example:"380"`
	Number              *string           `json:"number" doc:"Invoice number (BT-1)." example:"SUP-4711"`
	UUID                *string           `json:"uuid" doc:"The sender's universally unique identifier of the document."`
	ReasonCode          *string           `json:"reason_code" doc:"Reason of a credit note (BTAE-03)." example:"DL8.61.1.A"`
	TransactionFlags    *string           `json:"transaction_flags" doc:"Transaction type flags (BTAE-02)." example:"00000000"`
	Currency            *string           `json:"currency" doc:"Currency of the amounts (BT-5)." example:"AED"`
	TaxCurrency         *string           `json:"tax_currency" doc:"Accounting currency of the tax (BT-6)."`
	TaxExchangeRate     *Amount           `json:"tax_exchange_rate" doc:"Exchange rate from the currency to the tax currency."`
	AccountingReference *string           `json:"accounting_reference" doc:"Where the buyer books the invoice (BT-19)."`
	IssueDate           *string           `json:"issue_date" format:"date" doc:"Issue date (BT-2), without a time zone."`
	IssueTime           *string           `json:"issue_time" doc:"Issue time (IBT-168), verbatim." example:"09:30:00"`
	DueDate             *string           `json:"due_date" format:"date" doc:"Payment due date (BT-9), without a time zone."`
	TaxPointDate        *string           `json:"tax_point_date" format:"date" doc:"Value added tax point date (BT-7), without a time zone."`
	TaxPointCode        *string           `json:"tax_point_code" doc:"What sets the tax point date (BT-8)."`
	Period              *ParsedPeriod     `json:"period" doc:"Invoicing period (BG-14)."`
	Notes               []string          `json:"notes" nullable:"false" doc:"Notes (BT-22)."`
	Seller              ParsedParty       `json:"seller" doc:"Seller (BG-4)."`
	Buyer               ParsedParty       `json:"buyer" doc:"Buyer (BG-7)."`
	Payee               *ParsedParty      `json:"payee" doc:"Payee, if not the seller (BG-10)."`
	TaxRepresentative   *ParsedParty      `json:"tax_representative" doc:"Tax representative of the seller (BG-11)."`
	BeneficiaryID       *string           `json:"beneficiary_id" doc:"Beneficiary of a supply that involves a free trade zone (BTAE-01)."`
	PrincipalID         *string           `json:"principal_id" doc:"Principal in whose name an agent invoices (BTAE-14)."`
	Delivery            *ParsedDelivery   `json:"delivery" doc:"Delivery (BG-13)."`
	Lines               []ParsedLine      `json:"lines" nullable:"false" doc:"The first lines (BG-25), at most 1000."`
	LineCount           int               `json:"line_count" minimum:"0" doc:"Lines of the document; greater than the length of lines if those are cut."`
	Allowances          []ParsedAllowance `json:"allowances" nullable:"false" doc:"Allowances and charges on the whole document (BG-20, BG-21)."`
	TaxBreakdown        []ParsedTax       `json:"tax_breakdown" nullable:"false" doc:"Tax by category and rate (BG-23)."`
	Totals              ParsedTotals      `json:"totals" doc:"Totals (BG-22), as the document states them."`
	References          ParsedReferences  `json:"references" doc:"References to other documents."`
	Payment             ParsedPayment     `json:"payment" doc:"Payment instructions (BG-16)."`
	Attachments         []ParsedFile      `json:"attachments" nullable:"false" doc:"Supporting documents (BG-24): embedded files, and addresses of external ones. This service does not fetch external ones."`
	Other               []ParsedOther     `json:"other" nullable:"false" doc:"What else the document says: values that have no field here, in the order of the document, and the same again where it repeats what may be there once. The first 500."`
	OtherCount          int               `json:"other_count" minimum:"0" doc:"How many such values the document has; greater than the length of other if that is cut."`
	Warnings            Faults            `json:"warnings" nullable:"false" doc:"Figures that disagree and values that cannot be used, by the path of the value in parsed; {} if there are none."`
}

// ParsedPeriod is the period that a document is for.
type ParsedPeriod struct {
	ParsedDates
	Frequency   *string `json:"frequency" doc:"How often a continuous supply is invoiced (BTAE-06)."`
	Description *string `json:"description" doc:"The period in words."`
}

// ParsedDates are the first and the last day of a period.
type ParsedDates struct {
	Start *string `json:"start" format:"date" doc:"First day (BT-73, BT-134)."`
	End   *string `json:"end" format:"date" doc:"Last day (BT-74, BT-135)."`
}

// ParsedDelivery says when, where and to whom goods or services were delivered.
type ParsedDelivery struct {
	Date           *string `json:"date" format:"date" doc:"Date (BT-72)."`
	Name           *string `json:"name" doc:"Who received the delivery (BT-70)."`
	LocationID     *string `json:"location_id" doc:"Identifier of the place (BT-71)."`
	LocationScheme *string `json:"location_scheme" doc:"Scheme of location_id (BT-71-1)."`
	ParsedAddress
	Incoterms *string `json:"incoterms" doc:"Terms of the delivery (BTAE-22)."`
}

// ParsedAddress is an address in a received document.
type ParsedAddress struct {
	Street           *string `json:"street" doc:"Address line 1."`
	StreetAdditional *string `json:"street_additional" doc:"Address line 2."`
	AddressLine      *string `json:"address_line" doc:"Address line 3."`
	City             *string `json:"city" doc:"City."`
	PostalCode       *string `json:"postal_code" doc:"Postal code."`
	Subdivision      *string `json:"subdivision" doc:"Subdivision, such as an emirate."`
	Country          *string `json:"country" doc:"Country code."`
}

// ParsedParty is a party of a received document.
type ParsedParty struct {
	Name                  *string `json:"name" doc:"Legal name, or else the trading name (BT-27, BT-44)."`
	TradingName           *string `json:"trading_name" doc:"Trading name (BT-28, BT-45)."`
	TaxID                 *string `json:"tax_id" doc:"VAT identifier (BT-31, BT-48)."`
	TaxRegistrationID     *string `json:"tax_registration_id" doc:"Another tax registration identifier (BT-32)."`
	TaxRegistrationScheme *string `json:"tax_registration_scheme" doc:"Tax that tax_registration_id is of."`
	LegalID               *string `json:"legal_id" doc:"Legal registration identifier (BT-30, BT-47)."`
	LegalIDScheme         *string `json:"legal_id_scheme" doc:"Scheme of legal_id (BT-30-1, BT-47-1), or in the UAE its type (BTAE-15, BTAE-16)."`
	LegalIDIssuer         *string `json:"legal_id_issuer" doc:"Authority or country that issued legal_id in the UAE (BTAE-12, BTAE-11)."`
	LegalForm             *string `json:"legal_form" doc:"Additional legal information (BT-33)."`
	Identifier            *string `json:"identifier" doc:"First other identifier (BT-29, BT-46)."`
	IdentifierScheme      *string `json:"identifier_scheme" doc:"Scheme of identifier."`
	NetworkID             *string `json:"network_id" doc:"Electronic address (BT-34, BT-49)."`
	EndpointScheme        *string `json:"endpoint_scheme" doc:"Scheme of network_id."`
	ParsedAddress
	ContactName  *string `json:"contact_name" doc:"Contact point."`
	ContactPhone *string `json:"contact_phone" doc:"Telephone number of the contact."`
	ContactEmail *string `json:"contact_email" doc:"E-mail address of the contact."`
}

// ParsedLine is a line of a received document.
type ParsedLine struct {
	ID                   *string           `json:"id" doc:"Line identifier (BT-126)."`
	Note                 *string           `json:"note" doc:"Line note (BT-127)."`
	Name                 *string           `json:"name" doc:"Item name (BT-153)."`
	Description          *string           `json:"description" doc:"Item description (BT-154)."`
	OriginCountry        *string           `json:"origin_country" doc:"Country of origin of the item (BT-159)."`
	AccountingReference  *string           `json:"accounting_reference" doc:"Where the buyer books the line (BT-133)."`
	ItemCode             *string           `json:"item_code" doc:"Seller's item identifier (BT-155)."`
	BuyerItemCode        *string           `json:"buyer_item_code" doc:"Buyer's item identifier (BT-156)."`
	StandardItemCode     *string           `json:"standard_item_code" doc:"Standard item identifier (BT-157)."`
	StandardItemScheme   *string           `json:"standard_item_scheme" doc:"Scheme of standard_item_code (BT-157-1)."`
	CommodityCode        *string           `json:"commodity_code" doc:"First classification of the item (BT-158), such as a customs tariff number."`
	CommodityScheme      *string           `json:"commodity_scheme" doc:"Scheme of commodity_code (BT-158-1)."`
	CommodityVersion     *string           `json:"commodity_version" doc:"Version of commodity_scheme (BT-158-2)."`
	SupplyType           *string           `json:"supply_type" doc:"G for goods, S for services, B for both (BTAE-13)."`
	ServiceCode          *string           `json:"service_code" doc:"Service accounting code (BTAE-17) of an item with another classification too."`
	Quantity             *Amount           `json:"quantity" doc:"Quantity (BT-129)." example:"10"`
	UnitCode             *string           `json:"unit_code" doc:"Unit of the quantity (BT-130)."`
	NetUnitPrice         *Amount           `json:"net_unit_price" doc:"Net price (BT-146)."`
	BaseQuantity         *Amount           `json:"base_quantity" doc:"Quantity to which the price applies (BT-149); null if the document states none, which means 1."`
	GrossUnitPrice       *Amount           `json:"gross_unit_price" doc:"Gross price (BT-148)."`
	DiscountAmount       *Amount           `json:"discount_amount" doc:"Discount on the gross price (BT-147); null if the document states none, which means 0."`
	Net                  *Amount           `json:"net" doc:"Line amount without tax (BT-131)."`
	VATCategory          *string           `json:"vat_category" doc:"Tax category (BT-151)."`
	VATRate              *Amount           `json:"vat_rate" doc:"Tax rate in percent (BT-152); null if the document states none."`
	TaxExemptionCode     *string           `json:"tax_exemption_code" doc:"Coded reason why no tax is charged, if the line states it as in the UAE; with reverse charge the code of the goods or services (BTAE-09)."`
	TaxExemptionReason   *string           `json:"tax_exemption_reason" doc:"Why no tax is charged, if the line states it."`
	TaxInTaxCurrency     *Amount           `json:"tax_in_tax_currency" doc:"Tax of the line in dirhams (BTAE-08)."`
	TotalInTaxCurrency   *Amount           `json:"total_in_tax_currency" doc:"Amount of the line with tax in dirhams (BTAE-10)."`
	Allowances           []ParsedAllowance `json:"allowances" nullable:"false" doc:"Allowances and charges on the line (BG-27, BG-28)."`
	Period               *ParsedDates      `json:"period" doc:"Period of the line (BG-26)."`
	OrderLineReference   *string           `json:"order_line_reference" doc:"Referenced line of the order (BT-132)."`
	OrderReference       *string           `json:"order_reference" doc:"Purchase order of the line (BT-183)."`
	InvoicedObject       *string           `json:"invoiced_object" doc:"What the line is about (BT-128)."`
	InvoicedObjectScheme *string           `json:"invoiced_object_scheme" doc:"Scheme of invoiced_object (BT-128-1)."`
	LotNumber            *string           `json:"lot_number" doc:"Lot of the item (BTAE-24)."`
	Attributes           []ParsedAttribute `json:"attributes" nullable:"false" doc:"Properties of the item (BG-32), at most 100."`
}

// ParsedAttribute is a property of an item.
type ParsedAttribute struct {
	Name  *string `json:"name" doc:"Name (BT-160)."`
	Value *string `json:"value" doc:"Value (BT-161)."`
}

// ParsedAllowance is an allowance, which lowers an amount, or a charge, which raises it.
type ParsedAllowance struct {
	Charge      bool    `json:"charge" doc:"True for a charge, false for an allowance."`
	Amount      *Amount `json:"amount" doc:"Amount without tax."`
	BaseAmount  *Amount `json:"base_amount" doc:"Amount that the percentage applies to."`
	Percent     *Amount `json:"percent" doc:"Percentage."`
	Reason      *string `json:"reason" doc:"Reason."`
	ReasonCode  *string `json:"reason_code" doc:"Reason code."`
	VATCategory *string `json:"vat_category" doc:"Tax category; null on a line, which has its own."`
	VATRate     *Amount `json:"vat_rate" doc:"Tax rate in percent; null on a line."`
}

// ParsedTax is one row of the tax breakdown.
type ParsedTax struct {
	Category        *string `json:"category" doc:"Tax category (BT-118)." example:"S"`
	Rate            *Amount `json:"rate" doc:"Tax rate in percent (BT-119); null if the document states none." example:"5"`
	Taxable         *Amount `json:"taxable" doc:"Taxable amount (BT-116)." example:"1000.00"`
	Tax             *Amount `json:"tax" doc:"Tax amount (BT-117)." example:"50.00"`
	ExemptionCode   *string `json:"exemption_code" doc:"Exemption reason code (BT-121)."`
	ExemptionReason *string `json:"exemption_reason" doc:"Exemption reason (BT-120)."`
}

// ParsedTotals are the totals of a received document, in its currency unless a field says otherwise.
type ParsedTotals struct {
	Lines              *Amount `json:"lines" doc:"Sum of the line amounts (BT-106)."`
	Allowances         *Amount `json:"allowances" doc:"Sum of the document's allowances (BT-107)."`
	Charges            *Amount `json:"charges" doc:"Sum of the document's charges (BT-108)."`
	Net                *Amount `json:"net" doc:"Total without tax (BT-109)." example:"1000.00"`
	Tax                *Amount `json:"tax" doc:"Total tax (BT-110)." example:"50.00"`
	TaxInTaxCurrency   *Amount `json:"tax_in_tax_currency" doc:"Total tax in the tax currency (BT-111)."`
	Total              *Amount `json:"total" doc:"Total with tax (BT-112)." example:"1050.00"`
	TotalInTaxCurrency *Amount `json:"total_in_tax_currency" doc:"Total with tax in dirhams, which a document of the UAE in another currency states."`
	Prepaid            *Amount `json:"prepaid" doc:"Paid amount (BT-113)."`
	Rounding           *Amount `json:"rounding" doc:"Rounding amount (BT-114)."`
	Payable            *Amount `json:"payable" doc:"Amount due for payment (BT-115)." example:"1050.00"`
}

// ParsedReferences are the documents that a received document refers to.
type ParsedReferences struct {
	Buyer                *string           `json:"buyer" doc:"Buyer reference (BT-10)."`
	Order                *string           `json:"order" doc:"Purchase order (BT-13)."`
	SalesOrder           *string           `json:"sales_order" doc:"Sales order (BT-14)."`
	Contract             *string           `json:"contract" doc:"Contract (BT-12)."`
	Project              *string           `json:"project" doc:"Project (BT-11)."`
	Receipt              *string           `json:"receipt" doc:"Receiving advice (BT-15)."`
	Despatch             *string           `json:"despatch" doc:"Despatch advice (BT-16)."`
	Tender               *string           `json:"tender" doc:"Tender or lot (BT-17)."`
	InvoicedObject       *string           `json:"invoiced_object" doc:"What the invoice is about (BT-18)."`
	InvoicedObjectScheme *string           `json:"invoiced_object_scheme" doc:"Scheme of invoiced_object (BT-18-1)."`
	Customs              *string           `json:"customs" doc:"Customs declaration of an export (BTAE-21)."`
	ContractValue        *string           `json:"contract_value" doc:"Value of the contract (BTAE-05)."`
	PrecedingInvoices    []ParsedPreceding `json:"preceding_invoices" nullable:"false" doc:"Preceding invoices (BG-3)."`
}

// ParsedPreceding is a preceding invoice, such as the one that a credit note credits.
type ParsedPreceding struct {
	Number    *string `json:"number" doc:"Number (BT-25)."`
	IssueDate *string `json:"issue_date" format:"date" doc:"Issue date (BT-26)."`
}

// ParsedPayment says how to pay.
type ParsedPayment struct {
	Terms      *string              `json:"terms" doc:"Payment terms (BT-20)."`
	CreditorID *string              `json:"creditor_id" doc:"Identifier of the creditor of a direct debit that the bank has assigned (BT-90)."`
	Means      []ParsedPaymentMeans `json:"means" nullable:"false" doc:"Ways to pay (BG-16); a document may offer several."`
}

// ParsedPaymentMeans is one way to pay.
type ParsedPaymentMeans struct {
	Code           *string `json:"code" doc:"Payment means code (BT-81)." example:"30"`
	Name           *string `json:"name" doc:"Name of the payment means (BT-82)."`
	Reference      *string `json:"reference" doc:"Remittance information (BT-83)."`
	Account        *string `json:"account" doc:"Payment account, such as an IBAN (BT-84)."`
	AccountName    *string `json:"account_name" doc:"Name of the account (BT-85)."`
	BankID         *string `json:"bank_id" doc:"Payment service provider, such as a BIC (BT-86)."`
	AccountScheme  *string `json:"account_scheme" doc:"Kind of the account (BT-84-1)."`
	Card           *string `json:"card" doc:"Payment card number as stated, usually its last digits (BT-87)."`
	CardNetwork    *string `json:"card_network" doc:"Network of the card."`
	CardHolder     *string `json:"card_holder" doc:"Card holder (BT-88)."`
	Mandate        *string `json:"mandate" doc:"Direct debit mandate (BT-89)."`
	DebitedAccount *string `json:"debited_account" doc:"Account that is debited (BT-91)."`
}

// ParsedOther is a value of a received document that has no field in [ParsedDocument].
type ParsedOther struct {
	Path  string  `json:"path" doc:"Where it stands: elements with the usual prefixes of UBL, a number in brackets where there are several, and @ before the name of an attribute." example:"cac:InvoiceLine[1]/cac:Item/cac:OriginCountry/cbc:IdentificationCode"`
	Value *string `json:"value" doc:"The value, verbatim, and cut after 4096 characters; null for an extension, which is not read."`
}

// ParsedFile is a supporting document.
type ParsedFile struct {
	ID          string  `json:"id" doc:"Identifier of the attachment in its revision." example:"1"`
	Reference   *string `json:"reference" doc:"The document's own identifier of it (BT-122)."`
	Description *string `json:"description" doc:"Description (BT-123)."`
	Name        *string `json:"name" doc:"File name (BT-125), verbatim; null if it is not embedded."`
	MediaType   *string `json:"media_type" doc:"Media type that the sender states, verbatim; null if it is not embedded." example:"application/pdf"`
	Size        *int64  `json:"size" minimum:"0" doc:"Size in bytes; null if it is not embedded or not valid base64, and cannot be downloaded." example:"18234"`
	URL         *string `json:"url" doc:"External address (BT-124), verbatim. Nothing has checked it."`
}
