package ubl_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"quittance/internal/document/ubl"
)

// TestDisagreements checks that each figure that disagrees has a warning at its path, and that rounding has none.
func TestDisagreements(t *testing.T) {
	const taxTotal = `<cac:TaxTotal><cbc:TaxAmount>1.00</cbc:TaxAmount><cac:TaxSubtotal><cbc:TaxableAmount>20.00</cbc:TaxableAmount><cbc:TaxAmount>1.00</cbc:TaxAmount>` +
		`<cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>5.0</cbc:Percent></cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal>`
	const good = line + taxTotal + `<cac:LegalMonetaryTotal><cbc:LineExtensionAmount>20</cbc:LineExtensionAmount>` +
		`<cbc:TaxExclusiveAmount>20.0</cbc:TaxExclusiveAmount><cbc:TaxInclusiveAmount>21.00</cbc:TaxInclusiveAmount><cbc:PayableAmount>21.00</cbc:PayableAmount></cac:LegalMonetaryTotal>`
	for name, test := range map[string]struct {
		old, with string
		want      []string
	}{
		"nothing":        {"", "", nil},
		"a line":         {"InvoicedQuantity>10<", "InvoicedQuantity>11<", []string{"lines[0].net"}},
		"a rounded line": {"PriceAmount>2<", "PriceAmount>2.001<", nil},
		"a base quantity": {"</cbc:PriceAmount></cac:Price>",
			"</cbc:PriceAmount><cbc:BaseQuantity>100</cbc:BaseQuantity></cac:Price>", []string{"lines[0].net"}},
		"no base quantity": {"</cbc:PriceAmount></cac:Price>",
			"</cbc:PriceAmount><cbc:BaseQuantity>0</cbc:BaseQuantity></cac:Price>", nil},
		"the sum of the lines": {"LineExtensionAmount>20<",
			"LineExtensionAmount>19.99<", []string{"totals.lines", "totals.net"}},
		"the total without tax": {"TaxExclusiveAmount>20.0<",
			"TaxExclusiveAmount>20.01<", []string{"totals.net", "totals.total"}},
		"the total": {"TaxInclusiveAmount>21.00<",
			"TaxInclusiveAmount>22.00<", []string{"totals.payable", "totals.total"}},
		"the amount due": {"PayableAmount>21.00<", "PayableAmount>20.99<", []string{"totals.payable"}},
		"a paid amount": {"<cbc:PayableAmount>", "<cbc:PrepaidAmount>1</cbc:PrepaidAmount><cbc:PayableAmount>",
			[]string{"totals.payable"}},
		"the tax": {"<cac:TaxTotal><cbc:TaxAmount>1.00<", "<cac:TaxTotal><cbc:TaxAmount>2.00<",
			[]string{"totals.tax", "totals.total"}},
		"a rate":           {"Percent>5.0<", "Percent>15.0<", []string{"tax_breakdown", "tax_breakdown[0].tax"}},
		"a taxable amount": {"TaxableAmount>20.00<", "TaxableAmount>20.03<", []string{"tax_breakdown[0].taxable"}},
		"a rounded tax":    {"TaxableAmount>20.00<", "TaxableAmount>20.02<", nil},
		"a category without tax": {"<cbc:ID>S</cbc:ID><cbc:Percent>5.0<", "<cbc:ID>AE</cbc:ID><cbc:Percent>5.0<",
			[]string{"tax_breakdown", "tax_breakdown[0].tax"}},
		"a split payment": {"<cbc:ID>S</cbc:ID><cbc:Percent>5.0<", "<cbc:ID>B</cbc:ID><cbc:Percent>22<",
			[]string{"tax_breakdown", "tax_breakdown[0].tax"}},
		"a category of another country": {"<cbc:ID>S</cbc:ID><cbc:Percent>5.0<", "<cbc:ID>SR</cbc:ID><cbc:Percent>9<",
			[]string{"tax_breakdown", "tax_breakdown[0].tax"}},
		"tax without a rate": {"<cbc:Percent>5.0</cbc:Percent>", "",
			[]string{"tax_breakdown", "tax_breakdown[0].rate"}},
		"a rounded tax of one line": {"<cbc:TaxableAmount>20.00</cbc:TaxableAmount><cbc:TaxAmount>1.00<",
			"<cbc:TaxableAmount>20.00</cbc:TaxableAmount><cbc:TaxAmount>1.03<", []string{"tax_breakdown[0].tax", "totals.tax"}},
		"a tax for each unit": {"<cbc:ID>S</cbc:ID><cbc:Percent>5.0</cbc:Percent>", "<cbc:ID>T</cbc:ID>",
			[]string{"tax_breakdown"}},
		"no tax": {taxTotal, "", []string{"totals.total"}},
		"a tax rounded line by line": {"<cac:TaxTotal><cbc:TaxAmount>1.00</cbc:TaxAmount><cac:TaxSubtotal><cbc:TaxableAmount>20.00</cbc:TaxableAmount><cbc:TaxAmount>1.00<",
			"<cac:TaxTotal><cbc:TaxAmount>1.00</cbc:TaxAmount><cac:TaxSubtotal><cbc:TaxableAmount>20.00</cbc:TaxableAmount><cbc:TaxAmount>1.02<",
			[]string{"totals.tax"}},
		"a net price": {"</cbc:PriceAmount></cac:Price>",
			"</cbc:PriceAmount><cac:AllowanceCharge><cbc:Amount>1</cbc:Amount><cbc:BaseAmount>4</cbc:BaseAmount></cac:AllowanceCharge></cac:Price>",
			[]string{"lines[0].net_unit_price"}},
		"an allowance of a percentage": {"<cac:LegalMonetaryTotal>",
			"<cac:AllowanceCharge><cbc:MultiplierFactorNumeric>50</cbc:MultiplierFactorNumeric><cbc:Amount>1</cbc:Amount><cbc:BaseAmount>20</cbc:BaseAmount></cac:AllowanceCharge><cac:LegalMonetaryTotal>",
			[]string{"allowances[0].amount", "totals.allowances", "totals.net"}},
		"an allowance": {"<cac:LegalMonetaryTotal>",
			"<cac:AllowanceCharge><cbc:Amount>1</cbc:Amount></cac:AllowanceCharge><cac:LegalMonetaryTotal>",
			[]string{"totals.allowances", "totals.net"}},
		"a stated allowance": {"<cbc:TaxExclusiveAmount>",
			"<cbc:AllowanceTotalAmount>1</cbc:AllowanceTotalAmount><cbc:TaxExclusiveAmount>",
			[]string{"totals.allowances", "totals.net"}},
		"a charge": {"<cac:LegalMonetaryTotal>",
			"<cac:AllowanceCharge><cbc:ChargeIndicator>true</cbc:ChargeIndicator><cbc:Amount>1</cbc:Amount></cac:AllowanceCharge><cac:LegalMonetaryTotal>",
			[]string{"totals.charges", "totals.net"}},
		"a currency": {"<cbc:PayableAmount>",
			`<cbc:DocumentCurrencyCode>x</cbc:DocumentCurrencyCode><cbc:PayableAmount currencyID="USD">`, nil},
		"an absent line": {"<cbc:LineExtensionAmount>20.00</cbc:LineExtensionAmount>", "", []string{"lines[0].net"}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, test.old) {
				t.Fatalf("the document has no %s", test.old)
			}
			faults := mustRead(t, []byte(invoice(strings.Replace(good, test.old, test.with, 1)))).Check()
			if got := slices.Sorted(maps.Keys(faults)); !slices.Equal(got, test.want) {
				t.Errorf("warnings at %v, want %v: %v", got, test.want, faults)
			}
			for _, list := range faults {
				if list[0].Rule != ubl.RuleDisagrees || strings.Contains(list[0].Message, "%") {
					t.Errorf("the warning %+v", list[0])
				}
			}
		})
	}
}
