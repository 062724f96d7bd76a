package api

import "time"

// CustomerFields is the creation payload of an entry of the customer book. The fields of the recipient have the names
// and the rules of those of a [Draft]; a test compares them. Optional fields are nil if absent.
type CustomerFields struct {
	DisplayName         *string `json:"display_name" maxLength:"256" doc:"Name by which your people choose the customer, for example of one of several branches; without it, recipient_name." example:"Palm Trading, Dubai"`
	RecipientName       *string `json:"recipient_name" required:"true" minLength:"1" maxLength:"256" doc:"Buyer name (BT-44)." example:"Palm Trading LLC"`
	RecipientNetworkID  *string `json:"recipient_network_id" maxLength:"64" doc:"Buyer identifier in the e-invoicing network (BT-49)." example:"1234567890"`
	BuyerEndpointScheme *string `json:"buyer_endpoint_scheme" maxLength:"64" doc:"Electronic address scheme of the buyer (BT-49-1, EAS code)." example:"0235"`
	BuyerStreet         *string `json:"buyer_street" maxLength:"256" doc:"Buyer address line 1 (BT-50)." example:"12 Harbour Road"`
	BuyerCity           *string `json:"buyer_city" maxLength:"256" doc:"Buyer city (BT-52)." example:"Dubai"`
	BuyerSubdivision    *string `json:"buyer_subdivision" maxLength:"64" doc:"Buyer country subdivision (BT-54)." example:"DXB"`
	BuyerCountry        *string `json:"buyer_country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" doc:"Buyer country (BT-55), two capital letters." example:"AE"`
	BuyerTaxID          *string `json:"buyer_tax_id" maxLength:"64" doc:"Buyer tax registration (BT-48)." example:"100200300400003"`
	BuyerLegalID        *string `json:"buyer_legal_id" maxLength:"64" doc:"Buyer legal registration (BT-47)." example:"CN-1234567"`
	BuyerLegalIDScheme  *string `json:"buyer_legal_id_scheme" maxLength:"64" doc:"Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD." example:"TL"`
	BuyerReference      *string `json:"buyer_reference" maxLength:"64" doc:"Reference that the buyer asked for (BT-10); defaults to that of the company profile." example:"COST-CENTRE-7"`
	Currency            *string `json:"currency" codelist:"currency" doc:"Currency of new invoices to the customer (BT-5, ISO 4217)." example:"AED"`
	PaymentMeansCode    *string `json:"payment_means_code" maxLength:"64" doc:"Payment means of new invoices to the customer (BT-81, UNCL4461)." example:"30"`
	PaymentTermsDays    *int    `json:"payment_terms_days" minimum:"0" maximum:"3650" doc:"Days from the issue date to the due date of new invoices to the customer." example:"30"`
	Note                *string `json:"note" maxLength:"1024" text:"multi" doc:"Note on new invoices to the customer (BT-22); may contain TAB, LF and CR." example:"Please quote the invoice number."`
}

// Name returns the name by which people choose the customer.
func (c *CustomerFields) Name() string {
	if c.DisplayName != nil && *c.DisplayName != "" {
		return *c.DisplayName
	}
	if c.RecipientName == nil {
		return ""
	}
	return *c.RecipientName
}

// Fill replaces the recipient of a draft with the customer. The draft gets a copy: later changes of the customer do not
// change it. Other fields, such as the currency, stay.
func (c *CustomerFields) Fill(d *Draft) {
	d.RecipientName, d.RecipientNetworkID, d.BuyerEndpointScheme = c.RecipientName, c.RecipientNetworkID,
		c.BuyerEndpointScheme
	d.BuyerStreet, d.BuyerCity, d.BuyerSubdivision, d.BuyerCountry = c.BuyerStreet, c.BuyerCity, c.BuyerSubdivision,
		c.BuyerCountry
	d.BuyerTaxID, d.BuyerLegalID, d.BuyerLegalIDScheme, d.BuyerReference = c.BuyerTaxID, c.BuyerLegalID,
		c.BuyerLegalIDScheme, c.BuyerReference
}

// CustomerOf returns the recipient of a draft as a customer.
func CustomerOf(d *Draft) CustomerFields {
	return CustomerFields{RecipientName: d.RecipientName, RecipientNetworkID: d.RecipientNetworkID,
		BuyerEndpointScheme: d.BuyerEndpointScheme, BuyerStreet: d.BuyerStreet, BuyerCity: d.BuyerCity,
		BuyerSubdivision: d.BuyerSubdivision, BuyerCountry: d.BuyerCountry, BuyerTaxID: d.BuyerTaxID,
		BuyerLegalID: d.BuyerLegalID, BuyerLegalIDScheme: d.BuyerLegalIDScheme, BuyerReference: d.BuyerReference}
}

// Customer is an entry of the customer book. Invoices have copies of it: a change or the deletion of a customer changes
// no invoice.
type Customer struct {
	ID string `json:"id" doc:"Identifier." format:"uuid"`
	CustomerFields
	CreatedAt time.Time `json:"created_at" doc:"When the customer was created (UTC)."`
	UpdatedAt time.Time `json:"updated_at" doc:"When the customer last changed (UTC)."`
}

// CatalogueItemFields is the creation payload of an entry of the item catalogue. Its fields have the names and the
// rules of those of an invoice line, [Item]; a test compares them. Optional fields are nil if absent.
type CatalogueItemFields struct {
	ItemCode           *string  `json:"item_code" maxLength:"64" doc:"Seller's item identifier (BT-155), such as your SKU. It need not be unique." example:"SKU-7"`
	Name               *string  `json:"name" required:"true" minLength:"1" maxLength:"256" doc:"Item name (BT-153)." example:"Consulting"`
	Description        *string  `json:"description" maxLength:"1024" text:"multi" doc:"Item description (BT-154); may contain TAB, LF and CR." example:"Integration workshop"`
	UnitCode           *string  `json:"unit_code" maxLength:"64" doc:"Unit of measure (BT-130, UN/ECE Recommendation 20/21)." example:"HUR"`
	BaseQuantity       *Decimal `json:"base_quantity" minimum:"0" doc:"Quantity to which the price applies (BT-149); defaults to 1." example:"1"`
	NetUnitPrice       *Decimal `json:"net_unit_price" minimum:"0" doc:"Item net price (BT-146)." example:"100.00"`
	GrossUnitPrice     *Decimal `json:"gross_unit_price" minimum:"0" doc:"Item gross price before the discount (BT-148)." example:"110.00"`
	DiscountAmount     *Decimal `json:"discount_amount" doc:"Discount on the gross price (BT-147)." example:"10.00"`
	Currency           *string  `json:"currency" codelist:"currency" doc:"Currency of the prices (ISO 4217). The console copies them to invoices in this currency alone." example:"AED"`
	VATCategory        *string  `json:"vat_category" maxLength:"64" doc:"Tax category (BT-151, UNCL5305)." example:"S"`
	VATRate            *Decimal `json:"vat_rate" minimum:"0" doc:"Tax rate in per cent (BT-152)." example:"5"`
	TaxExemptionCode   *string  `json:"tax_exemption_code" maxLength:"64" doc:"Coded reason why no tax is charged (BT-121)." example:"DL8.46.1"`
	TaxExemptionReason *string  `json:"tax_exemption_reason" maxLength:"1024" doc:"Why no tax is charged (BT-120)." example:"Certain financial services"`
	CommodityCode      *string  `json:"commodity_code" maxLength:"64" doc:"Classification of the item (BT-158), such as a customs tariff number." example:"84713000"`
	CommodityScheme    *string  `json:"commodity_scheme" maxLength:"64" doc:"Scheme of commodity_code (BT-158-1)." example:"HS"`
}

// Fill replaces the fields of an invoice line that an item has, which are all but the quantity and the reference to an
// order. The line gets a copy: later changes of the item do not change it.
func (i *CatalogueItemFields) Fill(line *Item) {
	line.ItemCode, line.Name, line.Description, line.UnitCode, line.BaseQuantity = i.ItemCode, i.Name, i.Description,
		i.UnitCode, i.BaseQuantity
	line.NetUnitPrice, line.GrossUnitPrice, line.DiscountAmount = i.NetUnitPrice, i.GrossUnitPrice, i.DiscountAmount
	line.VATCategory, line.VATRate, line.TaxExemptionCode, line.TaxExemptionReason = i.VATCategory, i.VATRate,
		i.TaxExemptionCode, i.TaxExemptionReason
	line.CommodityCode, line.CommodityScheme = i.CommodityCode, i.CommodityScheme
}

// CatalogueItemOf returns a line of a draft as an item, with the currency of the draft.
func CatalogueItemOf(line *Item, currency *string) CatalogueItemFields {
	return CatalogueItemFields{ItemCode: line.ItemCode, Name: line.Name, Description: line.Description,
		UnitCode: line.UnitCode, BaseQuantity: line.BaseQuantity, NetUnitPrice: line.NetUnitPrice,
		GrossUnitPrice: line.GrossUnitPrice, DiscountAmount: line.DiscountAmount, Currency: currency,
		VATCategory: line.VATCategory, VATRate: line.VATRate, TaxExemptionCode: line.TaxExemptionCode,
		TaxExemptionReason: line.TaxExemptionReason, CommodityCode: line.CommodityCode, CommodityScheme: line.CommodityScheme}
}

// CatalogueItem is an entry of the item catalogue. Invoices have copies of it: a change or the deletion of an item
// changes no invoice.
type CatalogueItem struct {
	ID string `json:"id" doc:"Identifier." format:"uuid"`
	CatalogueItemFields
	CreatedAt time.Time `json:"created_at" doc:"When the item was created (UTC)."`
	UpdatedAt time.Time `json:"updated_at" doc:"When the item last changed (UTC)."`
}
