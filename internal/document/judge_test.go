package document_test

import (
	"fmt"
	"math/big"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/ubl"
	"quittance/sandbox/rules"
)

// judge returns the rules of its profile that a document violates, with their places.
func judge(p document.Profile, text []byte) (violated []string) {
	profile, findings := rules.Judge(text)
	if string(profile) != string(p) {
		violated = append(violated, fmt.Sprintf("profile %q", profile))
	}
	for _, f := range findings {
		violated = append(violated, f.Rule+" at "+f.Location)
	}
	return append(violated, inexact(text)...)
}

// inexact returns the amounts of a document that the official rules tolerate and exact arithmetic does not: lines and
// taxes more than a cent away, and entries of the breakdown that are not the sum of their lines.
func inexact(text []byte) (wrong []string) {
	read, err := ubl.Read(text)
	if err != nil {
		return []string{err.Error()}
	}
	group := func(category *string, rate *api.Amount) string {
		if taxed(category) {
			return *category + " " + exact(rate).RatString()
		}
		return *category
	}
	sums := map[string]*big.Rat{}
	add := func(of string, amount *big.Rat) {
		if sums[of] == nil {
			sums[of] = new(big.Rat)
		}
		sums[of].Add(sums[of], amount)
	}
	for n, line := range read.Lines {
		want := new(big.Rat).Mul(exact(line.Quantity), exact(line.NetUnitPrice))
		want.Quo(want, exact(line.BaseQuantity))
		for _, x := range line.Allowances {
			want.Add(want, effect(x))
		}
		if apart(exact(line.Net), want) {
			wrong = append(wrong, fmt.Sprintf("the amount of line %d", n+1))
		}
		add(group(line.VATCategory, line.VATRate), exact(line.Net))
	}
	for _, x := range read.Allowances {
		add(group(x.VATCategory, x.VATRate), effect(x))
	}
	for _, tax := range read.TaxBreakdown {
		of, want := group(tax.Category, tax.Rate), new(big.Rat)
		if sums[of] == nil || exact(tax.Taxable).Cmp(sums[of]) != 0 {
			wrong = append(wrong, "the taxable amount of "+of)
		}
		if taxed(tax.Category) {
			want.Mul(exact(tax.Taxable), exact(tax.Rate)).Mul(want, big.NewRat(1, 100))
		}
		if apart(exact(tax.Tax), want) {
			wrong = append(wrong, "the tax of "+of)
		}
	}
	return wrong
}

// effect is the amount of an allowance or a charge with its sign.
func effect(x api.ParsedAllowance) *big.Rat {
	if x.Charge {
		return exact(x.Amount)
	}
	return new(big.Rat).Neg(exact(x.Amount))
}

// taxed tells whether tax is charged in a category.
func taxed(category *string) bool { return *category == "S" || *category == "L" || *category == "M" }

// exact returns an amount as a number; 0 if it is absent.
func exact(a *api.Amount) *big.Rat {
	n := new(big.Rat)
	if a != nil {
		n.SetString(string(*a))
	}
	return n
}

// apart reports whether two numbers are more than a cent apart.
func apart(a, b *big.Rat) bool {
	distance := new(big.Rat).Sub(a, b)
	return distance.Abs(distance).Cmp(big.NewRat(1, 100)) > 0
}
