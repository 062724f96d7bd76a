package api

// The groups of terms that an invoice or a line may have. A group without a value is an absent one.

// Contact is a person or department at the buyer (BG-9).
type Contact struct {
	Name  *string `json:"name" maxLength:"256" doc:"Contact point (BT-56)." example:"Accounts payable"`
	Phone *string `json:"phone" maxLength:"64" doc:"Telephone number (BT-57)." example:"+971 4 123 4567"`
	Email *string `json:"email" maxLength:"256" doc:"E-mail address (BT-58)." example:"ap@palm.example"`
}

// Period is the period that an invoice is for (BG-14).
type Period struct {
	Start       *string `json:"start" format:"date" doc:"First day (BT-73), YYYY-MM-DD." example:"2026-02-01"`
	End         *string `json:"end" format:"date" doc:"Last day (BT-74), YYYY-MM-DD." example:"2026-02-28"`
	Frequency   *string `json:"frequency" maxLength:"64" codes:"billing-frequencies" doc:"How often a continuous supply is invoiced in the UAE (BTAE-06): DLY, WKY, Q15, MTH, Q45, Q60, QTR, HYR, YRL, or OTH with an explanation in the note." example:"MTH"`
	Description *string `json:"description" maxLength:"256" doc:"The period in words (BTAE-06)." example:"February"`
}

// LinePeriod is the period that a line is for (BG-26).
type LinePeriod struct {
	Start *string `json:"start" format:"date" doc:"First day (BT-134), YYYY-MM-DD." example:"2026-02-01"`
	End   *string `json:"end" format:"date" doc:"Last day (BT-135), YYYY-MM-DD." example:"2026-02-14"`
}

// DeliveryInformation says when, where and to whom goods or services were delivered (BG-13, BG-15).
type DeliveryInformation struct {
	Date             *string `json:"date" format:"date" doc:"Date of the delivery (BT-72), YYYY-MM-DD." example:"2026-02-27"`
	Name             *string `json:"name" maxLength:"256" doc:"Who received the delivery (BT-70)." example:"Palm Trading, warehouse"`
	LocationID       *string `json:"location_id" maxLength:"64" doc:"Identifier of the place (BT-71), such as a GLN." example:"4012345000009"`
	LocationScheme   *string `json:"location_scheme" maxLength:"64" doc:"Scheme of location_id (BT-71-1, ISO 6523)." example:"0088"`
	Street           *string `json:"street" maxLength:"256" doc:"Address line 1 (BT-75)." example:"7 Quay Street"`
	StreetAdditional *string `json:"street_additional" maxLength:"256" doc:"Address line 2 (BT-76)." example:"Gate 2"`
	AddressLine      *string `json:"address_line" maxLength:"256" doc:"Address line 3 (BT-165)." example:"Ramp 5"`
	City             *string `json:"city" maxLength:"256" doc:"City (BT-77)." example:"Muscat"`
	PostalCode       *string `json:"postal_code" maxLength:"64" doc:"Postal code (BT-78)." example:"111"`
	Subdivision      *string `json:"subdivision" maxLength:"64" codes:"emirates" doc:"Country subdivision (BT-79)." example:"DXB"`
	Country          *string `json:"country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" codes:"countries" doc:"Country (BT-80), two capital letters." example:"OM"`
	Incoterms        *string `json:"incoterms" maxLength:"64" doc:"Terms of the delivery in the UAE, a rule of the Incoterms (BTAE-22)." example:"CIF"`
}

// Payee is who is paid, if it is not the seller (BG-10).
type Payee struct {
	Name             *string `json:"name" maxLength:"256" doc:"Payee name (BT-59)." example:"Factoring Bank PJSC"`
	Identifier       *string `json:"identifier" maxLength:"64" doc:"Payee identifier (BT-60)." example:"F-4711"`
	IdentifierScheme *string `json:"identifier_scheme" maxLength:"64" doc:"Scheme of identifier (BT-60-1, ISO 6523)." example:"0088"`
	LegalID          *string `json:"legal_id" maxLength:"64" doc:"Payee legal registration (BT-61)." example:"CN-7654321"`
	LegalIDScheme    *string `json:"legal_id_scheme" maxLength:"64" doc:"Scheme of legal_id (BT-61-1, ISO 6523)." example:"0060"`
}

// TaxRepresentative represents the seller towards the tax authority (BG-11).
type TaxRepresentative struct {
	Name             *string `json:"name" maxLength:"256" doc:"Name of the tax representative (BT-62)." example:"Tax Agents LLC"`
	TaxID            *string `json:"tax_id" maxLength:"64" doc:"Tax registration of the tax representative (BT-63)." example:"100200300400103"`
	Street           *string `json:"street" maxLength:"256" doc:"Address line 1 (BT-64)." example:"1 Tower Road"`
	StreetAdditional *string `json:"street_additional" maxLength:"256" doc:"Address line 2 (BT-65)." example:"Floor 9"`
	AddressLine      *string `json:"address_line" maxLength:"256" doc:"Address line 3 (BT-164)." example:"Business Bay"`
	City             *string `json:"city" maxLength:"256" doc:"City (BT-66)." example:"Sharjah"`
	PostalCode       *string `json:"postal_code" maxLength:"64" doc:"Postal code (BT-67)." example:"2000"`
	Subdivision      *string `json:"subdivision" maxLength:"64" codes:"emirates" doc:"Country subdivision (BT-68)." example:"SHJ"`
	Country          *string `json:"country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" codes:"countries" doc:"Country (BT-69), two capital letters." example:"AE"`
}

// DirectDebit is the mandate by which the seller collects the payment (BG-19).
type DirectDebit struct {
	Mandate        *string `json:"mandate" maxLength:"64" doc:"Reference of the mandate (BT-89)." example:"MANDATE-77"`
	CreditorID     *string `json:"creditor_id" maxLength:"64" doc:"Identifier of the creditor that the bank has assigned (BT-90)." example:"DE98ZZZ09999999999"`
	DebitedAccount *string `json:"debited_account" maxLength:"64" doc:"Account that is debited (BT-91), such as an IBAN." example:"DE02120300000000202051"`
}

// PaymentCard is the card by which the buyer has paid (BG-18).
type PaymentCard struct {
	Number  *string `json:"number" maxLength:"64" doc:"Card number (BT-87): by the rules of payment cards no more than its first six and last four digits." example:"412345******1234"`
	Network *string `json:"network" maxLength:"64" doc:"Network of the card, which UBL asks for (BG-18)." example:"VISA"`
	Holder  *string `json:"holder" maxLength:"256" doc:"Card holder (BT-88)." example:"A. Palm"`
}

// LineAllowance is an allowance, which lowers the amount of a line, or a charge, which raises it (BG-27, BG-28).
type LineAllowance struct {
	Amount     *Decimal `json:"amount" unit:"money" doc:"Amount without tax (BT-136, of a charge BT-141); if absent, percent of base_amount." example:"5.00"`
	BaseAmount *Decimal `json:"base_amount" minimum:"0" unit:"money" doc:"Amount that percent is of (BT-137, BT-142); goes with percent." example:"100.00"`
	Percent    *Decimal `json:"percent" minimum:"0" unit:"percent" doc:"Per cent of base_amount (BT-138, BT-143)." example:"5"`
	Reason     *string  `json:"reason" maxLength:"256" doc:"Reason (BT-139, BT-144)." example:"Discount"`
	ReasonCode *string  `json:"reason_code" maxLength:"64" codes:"allowance-reasons" doc:"Coded reason: of an allowance UNCL5189 (BT-140), of a charge UNCL7161 (BT-145)." example:"95"`
}

// Allowance is an allowance, which lowers the total of an invoice, or a charge, which raises it (BG-20, BG-21).
type Allowance struct {
	Amount      *Decimal `json:"amount" unit:"money" doc:"Amount without tax (BT-92, of a charge BT-99); if absent, percent of base_amount." example:"50.00"`
	BaseAmount  *Decimal `json:"base_amount" minimum:"0" unit:"money" doc:"Amount that percent is of (BT-93, BT-100); goes with percent." example:"1000.00"`
	Percent     *Decimal `json:"percent" minimum:"0" unit:"percent" doc:"Per cent of base_amount (BT-94, BT-101)." example:"5"`
	Reason      *string  `json:"reason" maxLength:"256" doc:"Reason (BT-97, BT-104)." example:"Discount"`
	ReasonCode  *string  `json:"reason_code" maxLength:"64" codes:"allowance-reasons" doc:"Coded reason: of an allowance UNCL5189 (BT-98), of a charge UNCL7161 (BT-105)." example:"95"`
	VATCategory *string  `json:"vat_category" maxLength:"64" codes:"tax-categories" doc:"Tax category (BT-95, BT-102, UNCL5305)." example:"S"`
	VATRate     *Decimal `json:"vat_rate" minimum:"0" unit:"percent" doc:"Tax rate in per cent (BT-96, BT-103), as in a line." example:"5"`

	TaxExemptionCode   *string `json:"tax_exemption_code" maxLength:"64" codes:"tax-exemptions" doc:"Coded reason why no tax is charged (BT-121), if no line of the category has it." example:"VATEX-EU-AE"`
	TaxExemptionReason *string `json:"tax_exemption_reason" maxLength:"1024" doc:"Why no tax is charged (BT-120), if no line of the category says it." example:"Reverse charge"`
}

// PrecedingInvoice is an invoice that this one corrects or continues, such as one for an advance payment (BG-3).
type PrecedingInvoice struct {
	Number    *string `json:"number" maxLength:"64" doc:"Number of the preceding invoice (BT-25)." example:"INV-2026-0000"`
	IssueDate *string `json:"issue_date" format:"date" doc:"Issue date of the preceding invoice (BT-26), YYYY-MM-DD." example:"2026-01-15"`
}

// Attribute is a property of an item (BG-32).
type Attribute struct {
	Name  *string `json:"name" maxLength:"256" doc:"Name of the property (BT-160)." example:"Colour"`
	Value *string `json:"value" maxLength:"1024" doc:"Value of the property (BT-161)." example:"Black"`
}
