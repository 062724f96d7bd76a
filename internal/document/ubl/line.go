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
	n.period(&l.Period)
	n.group("cac:OrderLineReference", func(n node) {
		n.text("cbc:LineID", "order_line_reference", &l.OrderLineReference)
	})
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
}

const (
	// serviceScheme is the scheme of service accounting codes, for which PINT-AE has an element of its own.
	serviceScheme = "SAC"
	reverseCharge = "AE"
)

// service describes the service accounting code of an item, which is one of its additional identifiers.
func (n node) service(l *api.ParsedLine) {
	const group, id = "cac:AdditionalItemIdentification", "cbc:ID"
	scheme := attribute{"schemeID", &l.CommodityScheme}
	if n.out != nil {
		if value(l.CommodityScheme) == serviceScheme {
			n.text(group+"/"+id, "commodity_code", &l.CommodityCode, scheme)
		}
		return
	}
	for _, e := range n.e.all(group) {
		if e.child(id).peek("schemeID") == serviceScheme {
			n.e = e
			n.text(id, "commodity_code", &l.CommodityCode, scheme)
			return
		}
	}
}

// classification describes the classification of an item, if another element has not named it already. In PINT-AE it
// has the code of the goods or services of a line with reverse charge too (BTAE-09), which is the coded reason why no
// tax is charged: it tells whether that was described here.
func (n node) classification(l *api.ParsedLine) (nature bool) {
	const group, code = "cac:CommodityClassification", "cbc:ItemClassificationCode"
	if n.out == nil {
		n.with(group, "cbc:NatureCode").text("cbc:NatureCode", "tax_exemption_code", &l.TaxExemptionCode)
		if l.CommodityCode == nil {
			n.with(group, code).text(code, "commodity_code", &l.CommodityCode, attribute{"listID", &l.CommodityScheme})
		}
		return l.TaxExemptionCode != nil
	}
	nature = value(l.VATCategory) == reverseCharge
	n.group(group, func(n node) {
		if nature {
			n.text("cbc:NatureCode", "", &l.TaxExemptionCode)
		}
		if value(l.CommodityScheme) != serviceScheme {
			n.text(code, "", &l.CommodityCode, attribute{"listID", &l.CommodityScheme})
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
