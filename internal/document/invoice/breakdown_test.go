package invoice_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// shownBreakdown formats a breakdown as "category rate taxable tax" for each line.
func shownBreakdown(lines []invoice.TaxSubtotal) string {
	var out []string
	for _, l := range lines {
		tax := "-"
		if l.Tax != nil {
			tax = l.Tax.String()
		}
		out = append(out, strings.Join([]string{l.Category, l.Rate, l.Taxable.String(), tax}, " "))
	}
	return strings.Join(out, "; ")
}

func taxedLine(quantity, price, category, rate string) api.Item {
	item := api.Item{Quantity: new(api.MustDecimal(quantity)), NetUnitPrice: new(api.MustDecimal(price)),
		VATCategory: &category}
	if rate != "" {
		item.VATRate = new(api.MustDecimal(rate))
	}
	return item
}

// TestBreakdown checks the groups of a tax breakdown and their order.
func TestBreakdown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, currency string
		items          []api.Item
		want           string
	}{
		{"equal rates are one group", "AED", []api.Item{taxedLine("1", "10", "S", "5"), taxedLine("2", "10", "S", "5.00")},
			"S 5 30.00 1.50"},
		{"by category and rate", "AED", []api.Item{taxedLine("1", "1", "Z", "0"), taxedLine("1", "1", "S", "20"),
			taxedLine("1", "1", "S", "5"), taxedLine("1", "1", "O", "")},
			"Z 0 1.00 0.00; S 20 1.00 0.20; S 5 1.00 0.05; O  1.00 0.00"},
		{"a rate is absent", "AED", []api.Item{taxedLine("1", "1", "S", "")}, "S  1.00 -"},
		{"an amount is absent", "AED", []api.Item{taxedLine("1", "1", "S", "5"), {}}, ""},
		{"no currency", "", []api.Item{taxedLine("1", "1", "S", "5")}, ""},
	} {
		sums, _ := invoice.Arithmetic{}.SumDraft(&api.Draft{Currency: &test.currency, Items: test.items})
		if got := shownBreakdown(sums.Breakdown()); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestBreakdownAddsUp checks that the breakdown and the lines of any draft add up to its totals.
func TestBreakdownAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := api.Draft{Currency: new(rapid.SampledFrom([]string{"AED", "JPY", "KWD"}).Draw(t, "currency"))}
		for range rapid.IntRange(1, 8).Draw(t, "lines") {
			d.Items = append(d.Items, taxedLine(fmt.Sprint(rapid.IntRange(-9, 99).Draw(t, "quantity")),
				fmt.Sprintf("%d.%03d", rapid.IntRange(0, 999).Draw(t, "price"), rapid.IntRange(0, 999).Draw(t, "part")),
				rapid.SampledFrom([]string{"S", "Z", "O"}).Draw(t, "category"),
				rapid.SampledFrom([]string{"0", "5", "5.0", "12.5"}).Draw(t, "rate")))
		}
		sums, _ := invoice.Arithmetic{}.SumDraft(&d)
		totals, net, taxable, tax := sums.Totals(), new(big.Rat), new(big.Rat), new(big.Rat)
		add := func(sum *big.Rat, a *invoice.Amount) {
			value, ok := new(big.Rat).SetString(a.String())
			if !ok {
				t.Fatalf("amount %q", a)
			}
			sum.Add(sum, value)
		}
		for _, line := range sums.Lines() {
			add(net, line)
		}
		for _, line := range sums.Breakdown() {
			add(taxable, line.Taxable)
			add(tax, line.Tax)
		}
		for name, pair := range map[string][2]*big.Rat{"lines": {net, amountRat(totals.Net)},
			"taxable": {taxable, amountRat(totals.Net)}, "tax": {tax, amountRat(totals.Tax)}} {
			if pair[0].Cmp(pair[1]) != 0 {
				t.Fatalf("%s: %s, want %s", name, pair[0].FloatString(6), pair[1].FloatString(6))
			}
		}
	})
}

func amountRat(a *invoice.Amount) *big.Rat {
	value, _ := new(big.Rat).SetString(a.String())
	return value
}
