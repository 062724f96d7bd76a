package documents

import (
	"quittance/client/api"
	"quittance/internal/front/console"
)

// detail is an optional field that has a value, by its JSON name.
type detail struct{ Name, Value string }

// invoiceDetails returns the less common fields of an invoice that have a value.
func invoiceDetails(d *api.Draft) []detail {
	rate := ""
	if d.TaxExchangeRate != nil {
		rate = d.TaxExchangeRate.String()
	}
	return nonEmpty([]detail{
		{"buyer_reference", console.Deref(d.BuyerReference)}, {"order_reference", console.Deref(d.OrderReference)},
		{"contract_reference", console.Deref(d.ContractReference)}, {"external_id", console.Deref(d.ExternalID)},
		{"buyer_tax_id", console.Deref(d.BuyerTaxID)}, {"buyer_legal_id", console.Deref(d.BuyerLegalID)},
		{"buyer_legal_id_scheme", console.Deref(d.BuyerLegalIDScheme)},
		{"tax_exchange_rate", rate},
		{"transaction_flags", console.Deref(d.TransactionFlags)},
		{"note", console.Deref(d.Note)},
	})
}

// itemDetails returns the less common fields of a line that have a value.
func itemDetails(item api.Item) []detail {
	return nonEmpty([]detail{
		{"tax_exemption_code", console.Deref(item.TaxExemptionCode)}, {"tax_exemption_reason",
			console.Deref(item.TaxExemptionReason)},
		{"commodity_code", console.Deref(item.CommodityCode)}, {"commodity_scheme", console.Deref(item.CommodityScheme)},
		{"order_line_reference", console.Deref(item.OrderLine)},
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
