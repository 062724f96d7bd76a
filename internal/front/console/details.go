package console

import "quittance/client/api"

// detail is an optional field that has a value, by its JSON name.
type detail struct{ Name, Value string }

// invoiceDetails returns the less common fields of an invoice that have a value.
func invoiceDetails(d *api.Draft) []detail {
	rate := ""
	if d.TaxExchangeRate != nil {
		rate = d.TaxExchangeRate.String()
	}
	return nonEmpty([]detail{
		{"buyer_reference", deref(d.BuyerReference)}, {"order_reference", deref(d.OrderReference)},
		{"contract_reference", deref(d.ContractReference)}, {"external_id", deref(d.ExternalID)},
		{"buyer_tax_id", deref(d.BuyerTaxID)}, {"buyer_legal_id", deref(d.BuyerLegalID)},
		{"buyer_legal_id_scheme", deref(d.BuyerLegalIDScheme)},
		{"tax_exchange_rate", rate},
		{"transaction_flags", deref(d.TransactionFlags)},
		{"note", deref(d.Note)},
	})
}

// itemDetails returns the less common fields of a line that have a value.
func itemDetails(item api.Item) []detail {
	return nonEmpty([]detail{
		{"tax_exemption_code", deref(item.TaxExemptionCode)}, {"tax_exemption_reason", deref(item.TaxExemptionReason)},
		{"commodity_code", deref(item.CommodityCode)}, {"commodity_scheme", deref(item.CommodityScheme)},
		{"order_line_reference", deref(item.OrderLine)},
	})
}

// nonEmpty returns the details that have a value.
func nonEmpty(all []detail) []detail {
	var out []detail
	for _, f := range all {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}
