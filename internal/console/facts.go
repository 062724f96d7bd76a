package console

import "quittance/api"

// fact is an optional field that was given: its JSON name and what stands in it.
type fact struct{ Name, Value string }

// furtherFacts are the fields of an invoice that few need, as far as they were given.
func furtherFacts(d *api.Draft) []fact {
	rate := ""
	if d.TaxExchangeRate != nil {
		rate = d.TaxExchangeRate.String()
	}
	return given([]fact{
		{"buyer_reference", optional(d.BuyerReference)}, {"order_reference", optional(d.OrderReference)}, {"contract_reference", optional(d.ContractReference)},
		{"external_id", optional(d.ExternalID)}, {"buyer_tax_id", optional(d.BuyerTaxID)}, {"buyer_legal_id", optional(d.BuyerLegalID)},
		{"buyer_legal_id_scheme", optional(d.BuyerLegalIDScheme)}, {"tax_exchange_rate", rate}, {"transaction_flags", optional(d.TransactionFlags)},
		{"note", optional(d.Note)},
	})
}

// itemFacts are the same of a line.
func itemFacts(item api.Item) []fact {
	return given([]fact{
		{"tax_exemption_code", optional(item.TaxExemptionCode)}, {"tax_exemption_reason", optional(item.TaxExemptionReason)},
		{"commodity_code", optional(item.CommodityCode)}, {"commodity_scheme", optional(item.CommodityScheme)}, {"order_line_reference", optional(item.OrderLine)},
	})
}

// given are the facts in which something stands.
func given(all []fact) []fact {
	var out []fact
	for _, f := range all {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}
