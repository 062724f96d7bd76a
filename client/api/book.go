package api

import (
	"reflect"
	"strings"
	"time"
)

// CustomerFields is the creation payload of an entry of the customer book. The fields of the recipient have the names
// and the rules of those of a [Draft]; a test compares them. Optional fields are nil if absent.
type CustomerFields struct {
	DisplayName           *string  `json:"display_name" maxLength:"256" doc:"Name by which your people choose the customer, for example of one of several branches; without it, recipient_name." example:"Palm Trading, Dubai"`
	RecipientName         *string  `json:"recipient_name" required:"true" minLength:"1" maxLength:"256" doc:"Buyer name (BT-44)." example:"Palm Trading LLC"`
	BuyerTradingName      *string  `json:"buyer_trading_name" maxLength:"256" doc:"Name under which the buyer trades, if it is another one (BT-45)." example:"Palm Trading"`
	RecipientNetworkID    *string  `json:"recipient_network_id" maxLength:"64" doc:"Buyer identifier in the e-invoicing network (BT-49)." example:"1234567890"`
	BuyerEndpointScheme   *string  `json:"buyer_endpoint_scheme" maxLength:"64" doc:"Electronic address scheme of the buyer (BT-49-1, EAS code)." example:"0235"`
	BuyerStreet           *string  `json:"buyer_street" maxLength:"256" doc:"Buyer address line 1 (BT-50)." example:"12 Harbour Road"`
	BuyerStreetAdditional *string  `json:"buyer_street_additional" maxLength:"256" doc:"Buyer address line 2 (BT-51)." example:"Warehouse 3"`
	BuyerAddressLine      *string  `json:"buyer_address_line" maxLength:"256" doc:"Buyer address line 3 (BT-163)." example:"Industrial Area 4"`
	BuyerCity             *string  `json:"buyer_city" maxLength:"256" doc:"Buyer city (BT-52)." example:"Dubai"`
	BuyerPostalCode       *string  `json:"buyer_postal_code" maxLength:"64" doc:"Buyer postal code (BT-53)." example:"1000"`
	BuyerSubdivision      *string  `json:"buyer_subdivision" maxLength:"64" doc:"Buyer country subdivision (BT-54)." example:"DXB"`
	BuyerCountry          *string  `json:"buyer_country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" doc:"Buyer country (BT-55), two capital letters." example:"AE"`
	BuyerTaxID            *string  `json:"buyer_tax_id" maxLength:"64" doc:"Buyer tax registration (BT-48)." example:"100200300400003"`
	BuyerLegalID          *string  `json:"buyer_legal_id" maxLength:"64" doc:"Buyer legal registration (BT-47)." example:"CN-1234567"`
	BuyerLegalIDScheme    *string  `json:"buyer_legal_id_scheme" maxLength:"64" doc:"Kind of the legal registration: its identification scheme (BT-47-1), or in the UAE its type, TL, EID, PAS or CD (BTAE-16)." example:"TL"`
	BuyerLegalIDIssuer    *string  `json:"buyer_legal_id_issuer" maxLength:"256" doc:"Issuer of the legal registration, which some kinds require in the UAE: the authority of a trade licence (BTAE-11), or the country of a passport." example:"Department of Economy and Tourism"`
	BuyerIdentifier       *string  `json:"buyer_identifier" maxLength:"64" doc:"Another identifier of the buyer, such as your customer number or its GLN (BT-46)." example:"C-1042"`
	BuyerIdentifierScheme *string  `json:"buyer_identifier_scheme" maxLength:"64" doc:"Scheme of buyer_identifier (BT-46-1, ISO 6523)." example:"0088"`
	BuyerContact          *Contact `json:"buyer_contact" doc:"Contact at the buyer (BG-9)."`
	BuyerReference        *string  `json:"buyer_reference" maxLength:"64" doc:"Reference that the buyer asked for (BT-10); defaults to that of the company profile." example:"COST-CENTRE-7"`
	Currency              *string  `json:"currency" codelist:"currency" doc:"Currency of new invoices to the customer (BT-5, ISO 4217)." example:"AED"`
	PaymentMeansCode      *string  `json:"payment_means_code" maxLength:"64" doc:"Payment means of new invoices to the customer (BT-81, UNCL4461)." example:"30"`
	PaymentTermsDays      *int     `json:"payment_terms_days" minimum:"0" maximum:"3650" doc:"Days from the issue date to the due date of new invoices to the customer." example:"30"`
	Note                  *string  `json:"note" maxLength:"1024" text:"multi" doc:"Note on new invoices to the customer (BT-22); may contain TAB, LF and CR." example:"Please quote the invoice number."`
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
func (c *CustomerFields) Fill(d *Draft) { copyFields(d, c, usualOfCustomer) }

// CustomerOf returns the recipient of a draft as a customer.
func CustomerOf(d *Draft) CustomerFields {
	var c CustomerFields
	copyFields(&c, d, usualOfCustomer)
	return c
}

// usualOfCustomer are the fields of a customer that are usual for new invoices, and not of the recipient.
const usualOfCustomer = " Currency PaymentMeansCode Note "

// copyFields copies the fields that two structs have under one name, except some.
func copyFields(to, from any, except string) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for n := range target.NumField() {
		name := target.Type().Field(n).Name
		value := source.FieldByName(name)
		if !value.IsValid() || strings.Contains(except, " "+name+" ") {
			continue
		}
		if target.Field(n).Set(value); value.Type() == reflect.TypeFor[*Contact]() && !value.IsNil() {
			target.Field(n).Set(reflect.ValueOf(new(value.Elem().Interface().(Contact))))
		}
	}
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
	BuyerItemCode      *string  `json:"buyer_item_code" maxLength:"64" doc:"Buyer's item identifier (BT-156)." example:"B-77"`
	StandardItemCode   *string  `json:"standard_item_code" maxLength:"64" doc:"Standard item identifier, such as a GTIN (BT-157)." example:"04012345123456"`
	StandardItemScheme *string  `json:"standard_item_scheme" maxLength:"64" doc:"Scheme of standard_item_code (BT-157-1, ISO 6523); 0160 for a GTIN." example:"0160"`
	Name               *string  `json:"name" required:"true" minLength:"1" maxLength:"256" doc:"Item name (BT-153)." example:"Consulting"`
	Description        *string  `json:"description" maxLength:"1024" text:"multi" doc:"Item description (BT-154); may contain TAB, LF and CR." example:"Integration workshop"`
	OriginCountry      *string  `json:"origin_country" pattern:"^[A-Z]{2}$" patternDescription:"two capital letters (ISO 3166-1 alpha-2)" doc:"Country of origin of the item (BT-159), two capital letters." example:"DE"`
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
	CommodityVersion   *string  `json:"commodity_version" maxLength:"64" doc:"Version of commodity_scheme (BT-158-2)." example:"2022"`
	SupplyType         *string  `json:"supply_type" maxLength:"64" doc:"G for goods, S for services, B for both, in the UAE (BTAE-13)." example:"G"`
	ServiceCode        *string  `json:"service_code" maxLength:"64" doc:"Service accounting code in the UAE (BTAE-17), of an item that has a tariff number too." example:"998311"`
}

// Fill replaces the fields of an invoice line that an item has, which are all but the quantity, the note and the
// references of the line. The line gets a copy: later changes of the item do not change it.
func (i *CatalogueItemFields) Fill(line *Item) { copyFields(line, i, "") }

// CatalogueItemOf returns a line of a draft as an item, with the currency of the draft.
func CatalogueItemOf(line *Item, currency *string) CatalogueItemFields {
	i := CatalogueItemFields{Currency: currency}
	copyFields(&i, line, "")
	return i
}

// CatalogueItem is an entry of the item catalogue. Invoices have copies of it: a change or the deletion of an item
// changes no invoice.
type CatalogueItem struct {
	ID string `json:"id" doc:"Identifier." format:"uuid"`
	CatalogueItemFields
	CreatedAt time.Time `json:"created_at" doc:"When the item was created (UTC)."`
	UpdatedAt time.Time `json:"updated_at" doc:"When the item last changed (UTC)."`
}
