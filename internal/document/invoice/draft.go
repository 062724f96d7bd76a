package invoice

import (
	"fmt"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// Faults checks the form rules of a draft that struct tags cannot express: the currency must be one of ISO 4217 (EN
// 16931 BR-CL-04), and total_amount and the amounts that it is added up from must not have a smaller unit than that
// currency's minor unit, by value, so that 100.00 JPY passes. Package strictjson checks the rest. An absent field has
// no fault here. The result is never nil.
func Faults(d *api.Draft) api.Faults {
	faults := api.Faults{}
	if d.Currency == nil {
		return faults
	}
	currency, ok := codelist.Currencies().Lookup(*d.Currency)
	if !ok {
		faults.Add("currency", "currency", "must be a currency code of ISO 4217, in capital letters")
		return faults
	}
	if currency.MinorUnits == codelist.NoMinorUnits {
		return faults
	}
	check := func(amount *api.Decimal, format string, at ...any) {
		if given(amount) && places(amount) > currency.MinorUnits {
			faults.Add(fmt.Sprintf(format, at...), ruleMinorUnit,
				fmt.Sprintf("must have at most %d digits after the point in %s", currency.MinorUnits, currency.Code))
		}
	}
	check(d.TotalAmount, "total_amount")
	check(d.PrepaidAmount, "prepaid_amount")
	check(d.RoundingAmount, "rounding_amount")
	for i := range d.Allowances {
		check(d.Allowances[i].Amount, "allowances[%d].amount", i)
	}
	for i := range d.Charges {
		check(d.Charges[i].Amount, "charges[%d].amount", i)
	}
	for n := range d.Items {
		for i := range d.Items[n].Allowances {
			check(d.Items[n].Allowances[i].Amount, "items[%d].allowances[%d].amount", n, i)
		}
		for i := range d.Items[n].Charges {
			check(d.Items[n].Charges[i].Amount, "items[%d].charges[%d].amount", n, i)
		}
	}
	return faults
}

// Missing returns the JSON paths of the fields that a submission still needs, in the order of the document, such as
// items[2].unit_code. A text of white space counts as missing, and vat_rate does not in tax category O. Fields
// that it does not name are optional. The result is never nil.
func Missing(d *api.Draft) []string {
	missing := []string{}
	need := func(path string, present bool) {
		if !present {
			missing = append(missing, path)
		}
	}
	need("invoice_number", !blank(d.InvoiceNumber))
	need("recipient_name", !blank(d.RecipientName))
	need("recipient_network_id", !blank(d.RecipientNetworkID))
	need("buyer_endpoint_scheme", !blank(d.BuyerEndpointScheme))
	need("buyer_street", !blank(d.BuyerStreet))
	need("buyer_city", !blank(d.BuyerCity))
	need("buyer_country", !blank(d.BuyerCountry))
	need("total_amount", given(d.TotalAmount))
	need("currency", !blank(d.Currency))
	need("issue_date", !blank(d.IssueDate))
	need("due_date", !blank(d.DueDate))
	need("payment_means_code", !blank(d.PaymentMeansCode))
	missingAllowances(d, need)
	need("items", len(d.Items) > 0)
	for i := range d.Items {
		item := &d.Items[i]
		needInItem := func(field string, present bool) {
			if !present { // a thousand complete items build no paths
				need(itemPath(i, field), false)
			}
		}
		needInItem("name", !blank(item.Name))
		needInItem("unit_code", !blank(item.UnitCode))
		needInItem("quantity", given(item.Quantity))
		needInItem("net_unit_price", given(item.NetUnitPrice))
		needInItem("vat_category", !blank(item.VATCategory))
		needInItem("vat_rate", given(item.VATRate) || taxCategory(item) == outOfScope)
		missingLineAllowances(item, needInItem)
	}
	return missing
}

// itemPath is the JSON path of a field of the item at index i.
func itemPath(i int, field string) string { return fmt.Sprintf("items[%d].%s", i, field) }

// text returns the text of an optional field, "" when it is absent.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// blank reports whether an optional text is absent, empty or white space alone.
func blank(s *string) bool { return strings.TrimSpace(text(s)) == "" }

// given reports whether an optional number is present.
func given(d *api.Decimal) bool { return d != nil && !d.IsZero() }
