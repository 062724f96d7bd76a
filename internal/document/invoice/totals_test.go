package invoice

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/client/api"
)

// show formats totals as net/tax/total, with - for a total that was not computed.
func show(t Totals) string {
	one := func(a *Amount) string {
		if a == nil {
			return "-"
		}
		return a.String()
	}
	return one(t.Net) + " " + one(t.Tax) + " " + one(t.Total)
}

func TestCompute(t *testing.T) {
	line := func(quantity, price, category, rate string) api.Item {
		item := api.Item{Quantity: dec(quantity), NetUnitPrice: dec(price), VATCategory: new(category)}
		if rate != "" {
			item.VATRate = dec(rate)
		}
		return item
	}
	per := func(item api.Item, base string) api.Item {
		item.BaseQuantity = dec(base)
		return item
	}
	many := make([]api.Item, 1000)
	for i := range many {
		many[i] = line("999999999999999999", "999999999999999999", "S", "100")
	}
	tests := []struct {
		name     string
		currency string
		items    []api.Item
		want     string
	}{
		{"one line", "AED", []api.Item{line("10", "100.00", "S", "5")}, "1000.00 50.00 1050.00"},
		{"half away from zero", "AED", []api.Item{line("1", "0.005", "S", "0")}, "0.01 0.00 0.01"},
		{"half away from zero, below", "AED", []api.Item{line("-1", "0.005", "S", "0")}, "-0.01 0.00 -0.01"},
		{"just below half", "AED", []api.Item{line("1", "0.004999", "S", "0")}, "0.00 0.00 0.00"},
		{"each line by itself", "AED", []api.Item{line("1", "0.005", "S", "0"), line("1", "0.005", "S", "0")},
			"0.02 0.00 0.02"},
		{"a third", "AED", []api.Item{per(line("1", "100", "O", ""), "3")}, "33.33 0.00 33.33"},
		{"price for a thousand", "EUR", []api.Item{per(line("1500", "12.5", "S", "20"), "1000")}, "18.75 3.75 22.50"},
		{"tax by group", "AED", []api.Item{line("1", "0.10", "S", "5"), line("1", "0.10", "S", "5.00"),
			line("1", "0.10", "Z", "0")}, "0.30 0.01 0.31"},
		{"groups of two rates", "AED", []api.Item{line("1", "0.10", "S", "5"), line("1", "0.10", "S", "5.000001")},
			"0.20 0.02 0.22"},
		{"groups of two categories", "AED", []api.Item{line("1", "0.10", "S", "5"), line("1", "0.10", "L", "5")},
			"0.20 0.02 0.22"},
		{"tax of a negative group", "AED", []api.Item{line("-1", "0.10", "S", "5")}, "-0.10 -0.01 -0.11"},
		{"no minor unit digits", "JPY", []api.Item{line("1", "100.5", "S", "10")}, "101 10 111"},
		{"three digits", "BHD", []api.Item{line("1", "0.0005", "S", "10")}, "0.001 0.000 0.001"},
		{"four digits", "CLF", []api.Item{line("1", "0.00005", "O", "")}, "0.0001 0.0000 0.0001"},
		{"no minor unit", "XAU", []api.Item{per(line("1", "1", "O", ""), "3")}, "0.333333 0.000000 0.333333"},
		{"O with a rate has no tax", "AED", []api.Item{line("1", "100", "O", "5")}, "100.00 0.00 100.00"},
		{"the rates of categories without tax are information",
			"AED", []api.Item{line("10", "100", "AE", "5"), line("1", "7", "N", "5"),
				line("1", "1", "Z", "5"), line("1", "1", "E", ""), line("1", "1", "G", "5"), line("1", "1", "K", "")},
			"1011.00 0.00 1011.00"},
		{"a rate is missing", "AED", []api.Item{line("1", "100", "S", ""), line("1", "1", "O", "")}, "101.00 - -"},
		{"base 0", "AED", []api.Item{line("1", "100", "S", "5"), per(line("1", "100", "S", "5"), "0.0")}, "- - -"},
		{"base below 0", "AED", []api.Item{per(line("1", "100", "S", "5"), "-1")}, "- - -"},
		{"no price", "AED", []api.Item{{Quantity: dec("1"), VATCategory: new("O")}}, "- - -"},
		{"no quantity", "AED", []api.Item{{NetUnitPrice: dec("1"), VATCategory: new("O")}}, "- - -"},
		{"no category", "AED", []api.Item{{NetUnitPrice: dec("1"), Quantity: dec("2"), VATRate: dec("50")}},
			"2.00 1.00 3.00"},
		{"unknown currency", "ABC", []api.Item{line("1", "100", "S", "5")}, "- - -"},
		{"no items", "AED", nil, "- - -"},
		{"larger than any decimal", "AED", many,
			"999999999999999998000000000000000001000.00 999999999999999998000000000000000001000.00 " +
				"1999999999999999996000000000000000002000.00"},
		{"smallest base", "AED", []api.Item{per(line("999999999999999999", "1", "O", ""), "0.000001")},
			"999999999999999999000000.00 0.00 999999999999999999000000.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(Arithmetic{}.Compute(&api.Draft{Currency: &tt.currency, Items: tt.items})); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTotalsJSON(t *testing.T) {
	d := completeDraft()
	got, err := json.Marshal(Arithmetic{}.Compute(d).Wire())
	if want := `{"lines":1000.00,"allowances":0.00,"charges":0.00,"net":1000.00,"tax":50.00,"total":1050.00,"amount_due":1050.00}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	got, err = json.Marshal(Totals{}.Wire())
	if want := `{"lines":null,"allowances":null,"charges":null,"net":null,"tax":null,"total":null,"amount_due":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// decimals generates every decimal that the API accepts, from 0 up if not signed.
func decimals(signed bool) *rapid.Generator[api.Decimal] {
	return rapid.Custom(func(t *rapid.T) api.Decimal {
		scale := rapid.IntRange(0, api.MaxScale).Draw(t, "scale")
		digits := rapid.Int64Range(0, 999_999_999_999_999_999).Draw(t, "digits")
		if rapid.Bool().Draw(t, "small") {
			digits %= 100_000
		}
		text := fmt.Sprintf("%0*d", scale+1, digits)
		if scale > 0 {
			text = text[:len(text)-scale] + "." + text[len(text)-scale:]
		}
		if signed && rapid.Bool().Draw(t, "negative") {
			text = "-" + text
		}
		return api.MustDecimal(text)
	})
}

// oracle computes the totals with rational numbers, independently of the code: floor of |x| + 1/2.
func oracle(d *api.Draft, scale int) (net, tax, total string) {
	rat := func(d *api.Decimal) *big.Rat {
		r, _ := new(big.Rat).SetString(d.String())
		return r
	}
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	round := func(x *big.Rat) *big.Rat {
		scaled := new(big.Rat).Mul(new(big.Rat).Abs(x), unit)
		scaled.Add(scaled, big.NewRat(1, 2))
		whole := new(big.Rat).SetInt(new(big.Int).Div(scaled.Num(), scaled.Denom()))
		whole.Quo(whole, unit)
		if x.Sign() < 0 {
			whole.Neg(whole)
		}
		return whole
	}
	netSum, taxSum := new(big.Rat), new(big.Rat)
	for i := range d.Items {
		base := new(big.Rat)
		first := true // the first line of its group adds the tax of the group
		for j := range d.Items {
			a, b := &d.Items[i], &d.Items[j]
			if *a.VATCategory != *b.VATCategory || !strings.Contains("OZ", *a.VATCategory) &&
				rat(a.VATRate).Cmp(rat(b.VATRate)) != 0 {
				continue
			}
			line := new(big.Rat).Mul(rat(b.Quantity), rat(b.NetUnitPrice))
			if b.BaseQuantity != nil {
				line.Quo(line, rat(b.BaseQuantity))
			}
			if i == j {
				netSum.Add(netSum, round(line))
			}
			base.Add(base, round(line))
			first = first && j >= i
		}
		if first && *d.Items[i].VATCategory == "S" {
			taxSum.Add(taxSum, round(base.Mul(base, new(big.Rat).Quo(rat(d.Items[i].VATRate), big.NewRat(100, 1)))))
		}
	}
	return netSum.FloatString(scale), taxSum.FloatString(scale), new(big.Rat).Add(netSum, taxSum).FloatString(scale)
}

func TestComputeAgainstOracle(t *testing.T) {
	scales := map[string]int{"JPY": 0, "AED": 2, "BHD": 3, "CLF": 4, "XAU": 6}
	rapid.Check(t, func(t *rapid.T) {
		currency := rapid.SampledFrom([]string{"JPY", "AED", "BHD", "CLF", "XAU"}).Draw(t, "currency")
		rates := rapid.SampledFrom([]string{"0", "5", "5.00", "7.5", "19", "33.333333"})
		d := &api.Draft{Currency: &currency}
		for range rapid.IntRange(1, 8).Draw(t, "items") {
			quantity, price := decimals(true).Draw(t, "quantity"), decimals(false).Draw(t, "price")
			category, rate := rapid.SampledFrom([]string{"S", "Z", "O"}).Draw(t, "category"),
				api.MustDecimal(rates.Draw(t, "rate"))
			item := api.Item{Quantity: &quantity, NetUnitPrice: &price, VATCategory: &category, VATRate: &rate}
			if base := decimals(false).Draw(t, "base"); strings.Trim(base.String(), "0.") != "" {
				item.BaseQuantity = &base
			}
			d.Items = append(d.Items, item)
		}
		net, tax, total := oracle(d, scales[currency])
		if got, want := show(Arithmetic{}.Compute(d)), net+" "+tax+" "+total; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}
