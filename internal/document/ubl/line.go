package ubl

import "quittance/client/api"

func (n node) line(l *api.ParsedLine) {
	n.text("cbc:ID", "id", &l.ID)
	n.prose("cbc:Note", "note", &l.Note)
	quantity, other := "cbc:InvoicedQuantity", "cbc:CreditedQuantity"
	if n.credit || n.out == nil && n.e.child(quantity) == nil {
		quantity = other
	}
	n.quantity(quantity, "quantity", &l.Quantity, &l.UnitCode)
	n.amount("cbc:LineExtensionAmount", "net", &l.Net)
	n.text("cbc:AccountingCost", "accounting_reference", &l.AccountingReference)
	optional(n, "cac:InvoicePeriod", "period", &l.Period, node.dates)
	n.group("cac:OrderLineReference", func(n node) {
		n.text("cbc:LineID", "order_line_reference", &l.OrderLineReference)
		n.text("cac:OrderReference/cbc:ID", "order_reference", &l.OrderReference)
	})
	n.object(l)
	each(n, "cac:AllowanceCharge", "allowances", &l.Allowances, node.allowance)
	n.only("cac:Item", "name", func(n node) { n.item(l) })
	n.only("cac:Price", "net_unit_price", func(n node) { n.price(l) })
	n.group("cac:ItemPriceExtension", func(n node) {
		currency := new("AED") // PINT-AE has these amounts in no other currency
		n.amountIn(currency, "cbc:Amount", "total_in_tax_currency", &l.TotalInTaxCurrency)
		n.amountIn(currency, "cac:TaxTotal/cbc:TaxAmount", "tax_in_tax_currency", &l.TaxInTaxCurrency)
	})
}

// item describes what was sold.
func (n node) item(l *api.ParsedLine) {
	n.prose("cbc:Description", "description", &l.Description)
	n.text("cbc:Name", "name", &l.Name)
	n.text("cac:BuyersItemIdentification/cbc:ID", "buyer_item_code", &l.BuyerItemCode)
	n.text("cac:SellersItemIdentification/cbc:ID", "item_code", &l.ItemCode)
	n.text("cac:StandardItemIdentification/cbc:ID", "standard_item_code", &l.StandardItemCode,
		attribute{"schemeID", &l.StandardItemScheme})
	n.service(l)
	n.text("cac:OriginCountry/cbc:IdentificationCode", "origin_country", &l.OriginCountry)
	nature := n.classification(l)
	n.only("cac:ClassifiedTaxCategory", "vat_category", func(n node) {
		n.text("cbc:ID", "vat_category", &l.VATCategory)
		n.number("cbc:Percent", "vat_rate", &l.VATRate)
		if !nature {
			n.text("cbc:TaxExemptionReasonCode", "tax_exemption_code", &l.TaxExemptionCode)
		}
		n.text("cbc:TaxExemptionReason", "tax_exemption_reason", &l.TaxExemptionReason)
		n.taxScheme(true)
	})
	each(n, "cac:AdditionalItemProperty", "attributes", &l.Attributes, node.attribute)
	n.text("cac:ItemInstance/cac:LotIdentification/cbc:LotNumberID", "lot_number", &l.LotNumber)
}

// attribute describes a property of an item.
func (n node) attribute(a *api.ParsedAttribute) {
	n.text("cbc:Name", "name", &a.Name)
	n.text("cbc:Value", "value", &a.Value)
}

// object describes what the line is about, which the schema takes for a document.
func (n node) object(l *api.ParsedLine) {
	if n.out != nil && value(l.InvoicedObject) == "" {
		return
	}
	n.group("cac:DocumentReference", func(n node) {
		n.text("cbc:ID", "invoiced_object", &l.InvoicedObject, attribute{"schemeID", &l.InvoicedObjectScheme})
		n.fixed("cbc:DocumentTypeCode", objectType)
	})
}

const (
	// serviceScheme is the scheme of service accounting codes, for which PINT-AE has an element of its own.
	serviceScheme = "SAC"
	reverseCharge = "AE"
)

// service describes the service accounting code of an item, which is one of its additional identifiers. It is the
// classification of an item that has no other.
func (n node) service(l *api.ParsedLine) {
	const group, id, scheme = "cac:AdditionalItemIdentification", "cbc:ID", "schemeID"
	if n.out != nil {
		code := &l.ServiceCode
		if value(l.CommodityScheme) == serviceScheme {
			code = &l.CommodityCode
		}
		n.text(group+"/"+id, "service_code", code, attribute{scheme, new(new(serviceScheme))})
		return
	}
	for _, e := range n.e.all(group) {
		if e.child(id).peek(scheme) != serviceScheme {
			continue
		}
		other := n.classified(classificationCode).e != nil
		if n.e = e; other {
			n.text(id, "service_code", &l.ServiceCode, attribute{scheme, new(*string)})
		} else {
			n.text(id, "commodity_code", &l.CommodityCode, attribute{scheme, &l.CommodityScheme})
		}
		return
	}
}

// The elements of the classification of an item.
const (
	classification     = "cac:CommodityClassification"
	classificationCode = "cbc:ItemClassificationCode"
)

// classification describes the classification of an item, if another element has not named it already. In PINT-AE it
// has the code of the goods or services of a line with reverse charge too (BTAE-09), which is the coded reason why no
// tax is charged: it tells whether that was described here.
func (n node) classification(l *api.ParsedLine) (nature bool) {
	const natureCode, supplyType = "cbc:NatureCode", "cbc:CommodityCode"
	attributes := []attribute{{"listID", &l.CommodityScheme}, {"listVersionID", &l.CommodityVersion}}
	if n.out == nil {
		n.classified(natureCode).text(natureCode, "tax_exemption_code", &l.TaxExemptionCode)
		n.classified(supplyType).text(supplyType, "supply_type", &l.SupplyType)
		if l.CommodityCode == nil {
			n.classified(classificationCode).text(classificationCode, "commodity_code", &l.CommodityCode,
				attributes...)
		}
		return l.TaxExemptionCode != nil
	}
	nature = value(l.VATCategory) == reverseCharge
	n.group(classification, func(n node) {
		if nature {
			n.text(natureCode, "", &l.TaxExemptionCode)
		}
		n.text(supplyType, "", &l.SupplyType)
		if value(l.CommodityScheme) != serviceScheme {
			n.text(classificationCode, "", &l.CommodityCode, attributes...)
		}
	})
	return nature
}

// price describes the net price, and the gross price with its discount.
func (n node) price(l *api.ParsedLine) {
	n.amount("cbc:PriceAmount", "net_unit_price", &l.NetUnitPrice)
	n.number("cbc:BaseQuantity", "base_quantity", &l.BaseQuantity, attribute{"unitCode", &l.UnitCode})
	if n.out != nil && l.GrossUnitPrice == nil {
		return
	}
	n.group("cac:AllowanceCharge", func(n node) {
		n.fixed("cbc:ChargeIndicator", "false")
		n.amount("cbc:Amount", "discount_amount", &l.DiscountAmount)
		n.amount("cbc:BaseAmount", "gross_unit_price", &l.GrossUnitPrice)
	})
}
