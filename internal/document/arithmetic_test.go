package document_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/document/ubl"
)

// invoiced is a random invoice in any currency and category, with the total that its format computes or one that its
// author has rounded differently.
func invoiced(t *rapid.T, p document.Profile) document.Document {
	categories := map[document.Profile][]string{document.BIS3: {"S", "Z", "E", "AE", "G", "K", "O"},
		document.PINTAE: {"S", "Z", "E", "AE", "O", "N"}}[p]
	currency := rapid.SampledFrom([]string{"AED", "EUR", "JPY", "BHD", "KWD", "XXX"}).Draw(t, "currency")
	d := document.Document{ID: "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90", Seller: &api.Profile{},
		Draft: &api.Draft{Currency: &currency, TaxExchangeRate: new(api.MustDecimal("9.74"))}}
	for range rapid.IntRange(1, 5).Draw(t, "lines") {
		item := api.Item{Quantity: drawn(t, "quantity", 1, 5000, 3), NetUnitPrice: drawn(t, "price", 0, 99_999, 4),
			VATCategory: new(rapid.SampledFrom(categories).Draw(t, "category")),
			VATRate:     new(api.MustDecimal(rapid.SampledFrom([]string{"0", "5", "7.7", "21"}).Draw(t, "rate")))}
		if base := rapid.SampledFrom([]string{"", "1", "3", "100", "0.5"}).Draw(t, "base"); base != "" {
			item.BaseQuantity = new(api.MustDecimal(base))
		}
		d.Draft.Items = append(d.Draft.Items, item)
	}
	reduced(t, d.Draft, currency)
	total := document.Totals(p, d).Total
	if total == nil {
		t.Fatalf("no totals: %+v", d.Draft)
	}
	d.Draft.TotalAmount = new(api.MustDecimal(string(*total)))
	return d
}

// reduced adds allowances and charges on both levels, in any category, and what is paid already.
func reduced(t *rapid.T, d *api.Draft, currency string) {
	digits := min(invoice.FormatDigits, map[string]int{"JPY": 0}[currency]+2*min(1, len(strings.Trim(currency, "JPY"))))
	entry := func(name string) (x api.LineAllowance) {
		if x.Amount = drawn(t, name, 0, 400, digits); rapid.IntRange(0, 2).Draw(t, name+" by") == 0 {
			x.Amount, x.BaseAmount, x.Percent = nil, drawn(t, name+" base", 0, 50_000, 2), drawn(t, name+" percent", 0, 300, 2)
		}
		return x
	}
	list := func(name string, likely int) (out []api.LineAllowance) {
		for rapid.IntRange(0, 9).Draw(t, name) < likely && len(out) < 3 {
			out = append(out, entry(name))
		}
		return out
	}
	for n := range d.Items {
		d.Items[n].Allowances, d.Items[n].Charges = list("line allowance", 2), list("line charge", 2)
	}
	for name, on := range map[string]*[]api.Allowance{"allowance": &d.Allowances, "charge": &d.Charges} {
		for _, x := range list(name, 3) {
			like := rapid.SampledFrom(d.Items).Draw(t, name+" like")
			*on = append(*on, api.Allowance{Amount: x.Amount, BaseAmount: x.BaseAmount, Percent: x.Percent,
				VATCategory: like.VATCategory, VATRate: like.VATRate})
		}
	}
	if rapid.Bool().Draw(t, "prepaid") {
		d.PrepaidAmount, d.RoundingAmount = drawn(t, "paid", 0, 9999, digits), drawn(t, "rounding", -9, 9, digits)
	}
}

// drawn draws a decimal of 10^-scale at most.
func drawn(t *rapid.T, name string, from, to, scale int) *api.Decimal {
	scale = rapid.IntRange(0, scale).Draw(t, name+" digits")
	value := big.NewRat(int64(rapid.IntRange(from, to).Draw(t, name)), 1)
	value.Quo(value, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	return new(api.MustDecimal(value.FloatString(scale)))
}

// aboutAmounts are the findings about the amounts of a document.
func aboutAmounts(p document.Profile, d document.Document) (found []document.Finding) {
	for _, f := range document.Check(p, d) {
		if f.Rule == "total_mismatch" || f.Rule == "not_computable" {
			found = append(found, f)
		}
	}
	return found
}

// TestOneArithmetic checks that what the API computes of a draft is what its document says, that nothing in either
// contradicts it, and that the whole of it can be credited in parts: every part has a document that asks for exactly
// the amount of the credit note, and the parts add up to the invoice.
func TestOneArithmetic(t *testing.T) {
	t.Parallel()
	for _, p := range document.Profiles {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				d := invoiced(t, p)
				if found := aboutAmounts(p, d); len(found) > 0 {
					t.Fatalf("the computed total of %s is refused: %v", *d.Draft.Currency, found)
				}
				if advice := invoice.Warnings(d.Draft, nil, p.Arithmetic())["total_amount"]; len(advice) > 0 {
					t.Fatalf("advice on the computed total: %v", advice)
				}
				written := readBack(t, p, d)
				same(t, "payable", written.Totals.Payable, string(*document.Totals(p, d).AmountDue))
				same(t, "net", written.Totals.Net, string(*document.Totals(p, d).Net))
				same(t, "tax", written.Totals.Tax, string(*document.Totals(p, d).Tax))
				creditInFull(t, p, d)
				if worth := invoice.Remain(d.Draft, nil, p.Arithmetic()); slices.ContainsFunc(worth.Lines,
					func(l invoice.RemainingLine) bool { return strings.Trim(string(l.NetAmount), "0.") != "" }) {
					creditInParts(t, p, d)
				} // otherwise no line has an amount that a part could take
			})
		})
	}
}

// TestRoundedByItsAuthor checks that a document never asks for another amount than the draft states: a difference that
// rounding explains is its rounding amount, and any other makes the draft incomplete, with both figures.
func TestRoundedByItsAuthor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(document.Profiles[:]).Draw(t, "profile")
		d := invoiced(t, p)
		total, _ := new(big.Rat).SetString(d.Draft.TotalAmount.String())
		away := drawn(t, "away", -600, 600, 3)
		off, _ := new(big.Rat).SetString(away.String())
		stated := new(big.Rat).Add(total, off)
		d.Draft.TotalAmount = new(api.MustDecimal(stated.FloatString(3)))
		found := aboutAmounts(p, d)
		if len(found) == 0 {
			same(t, "payable", readBack(t, p, d).Totals.Payable,
				invoice.AmountDue(d.Draft.TotalAmount.String(), d.Draft).String())
			unit := map[string]int64{"JPY": 100}[*d.Draft.Currency]
			if limit := big.NewRat(max(unit, 1)*int64(len(d.Draft.Items)+len(d.Draft.Allowances)+
				len(d.Draft.Charges)), 100); new(big.Rat).Abs(off).Cmp(limit) > 0 {
				t.Fatalf("%s is accepted instead of %s", stated.FloatString(3), total.FloatString(3))
			}
		}
		for _, f := range found {
			want := "add up to " + string(*document.Totals(p, d).Total) + ", not to " + d.Draft.TotalAmount.String()
			if !strings.Contains(f.Message, want) {
				t.Fatalf("%q does not say %q", f.Message, want)
			}
		}
	})
}

// creditInFull credits all of an invoice. The credit note asks for what was invoiced, what was paid before included.
func creditInFull(t *rapid.T, p document.Profile, d document.Document) {
	credit, faults := invoice.NewCredit(d.Draft, nil, &api.CreditNoteRequest{Kind: new(api.CreditFull)}, p.Arithmetic())
	if len(faults) > 0 {
		t.Fatalf("the whole cannot be credited: %v", faults)
	}
	d.Credit = &api.CreditNote{Kind: credit.Kind, TotalAmount: credit.Total, Items: credit.Items,
		Currency: *d.Draft.Currency}
	if found := aboutAmounts(p, d); len(found) > 0 {
		t.Fatalf("the credit note of the whole cannot be sent: %v", found)
	}
	unpaid := *d.Draft
	unpaid.PrepaidAmount = nil
	same(t, "payable of the whole", readBack(t, p, d).Totals.Payable,
		invoice.AmountDue(unpaid.TotalAmount.String(), &unpaid).String())
}

// creditInParts credits an invoice line by line, in parts, until nothing is left of it.
func creditInParts(t *rapid.T, p document.Profile, d document.Document) {
	var live []invoice.Credit
	sum, rest := new(big.Rat), false
	for part := range 40 {
		left := invoice.Remain(d.Draft, live, p.Arithmetic())
		request := api.CreditNoteRequest{Kind: new(api.CreditPartial)}
		for n, line := range left.Lines {
			if net, _ := new(big.Rat).SetString(string(line.NetAmount)); net.Sign() == 0 {
				continue
			}
			if !rest && len(request.Items) > 0 && rapid.IntRange(0, 2).Draw(t, "skip") == 0 {
				continue
			}
			if quantity, _ := new(big.Rat).SetString(string(line.Quantity)); quantity.Sign() > 0 &&
				rapid.IntRange(0, 2).Draw(t, "counted") == 0 && !rest {
				counted := api.MustDecimal(string(line.Quantity))
				request.Items = append(request.Items, api.CreditItemRequest{Position: new(n), Quantity: &counted})
				continue
			}
			amount := api.MustDecimal(string(line.NetAmount))
			if !rest && part < 3 && rapid.Bool().Draw(t, "half") {
				amount = halved(amount)
			}
			request.Items = append(request.Items, api.CreditItemRequest{Position: new(n), NetAmount: &amount})
		}
		if len(request.Items) == 0 {
			break
		}
		credit, faults := invoice.NewCredit(d.Draft, live, &request, p.Arithmetic())
		if len(faults) > 0 && !rest {
			rest = true // the taxes of the parts, each rounded, are more than is left: then all of the rest must be possible
			continue
		}
		if len(faults) > 0 {
			t.Fatalf("the rest cannot be credited: %v", faults)
		}
		note := d
		note.Credit = &api.CreditNote{Kind: credit.Kind, TotalAmount: credit.Total, Items: credit.Items,
			Currency: *d.Draft.Currency}
		if found := aboutAmounts(p, note); len(found) > 0 {
			t.Fatalf("credit %d of %s cannot be sent: %v", part, *d.Draft.Currency, found)
		}
		for n, line := range document.Statement(p, note).Lines {
			same(t, "the amount of a credited line", line.Net, string(*credit.Items[n].NetAmount))
		}
		same(t, "payable of the credit note", readBack(t, p, note).Totals.Payable, string(credit.Total))
		value, _ := new(big.Rat).SetString(string(credit.Total))
		sum.Add(sum, value)
		live = append(live, credit)
	}
	if total, _ := new(big.Rat).SetString(d.Draft.TotalAmount.String()); sum.Cmp(total) != 0 {
		t.Fatalf("the parts add up to %s of %s", sum.FloatString(3), d.Draft.TotalAmount)
	}
}

// halved is about the half of an amount, with its digits.
func halved(amount api.Decimal) api.Decimal {
	value, _ := new(big.Rat).SetString(amount.String())
	half := api.MustDecimal(value.Quo(value, big.NewRat(2, 1)).FloatString(2))
	if half.String() == "0.00" {
		return amount
	}
	return half
}

// readBack reads the document that is written of d, whatever else it lacks.
func readBack(t *rapid.T, p document.Profile, d document.Document) *ubl.Document {
	read, err := ubl.Read(document.Draw(p, d))
	if err != nil {
		t.Fatal(err)
	}
	if warnings := read.Check(); len(warnings) > 0 {
		t.Fatalf("the figures of the document disagree: %v", warnings)
	}
	return read
}

func same(t *rapid.T, what string, got *api.Amount, want string) {
	t.Helper()
	if got == nil {
		t.Fatalf("no %s", what)
	}
	a, _ := new(big.Rat).SetString(string(*got))
	if b, _ := new(big.Rat).SetString(want); a.Cmp(b) != 0 {
		t.Fatalf("%s is %s instead of %s", what, *got, want)
	}
}

// TestRoundedPages checks that the pages of a credit note for which no format is in effect, and whose total was rounded
// in another way than its lines, state the computed tax, once, and the difference as the rounding amount.
func TestRoundedPages(t *testing.T) {
	item := api.CreditNoteItem{Name: "x", NetAmount: new(api.Amount("0.10")), VATCategory: new("S"), VATRate: number("5")}
	credited := &api.Draft{Currency: new("EUR"), TotalAmount: number("1.05"), Items: make([]api.Item, 1)}
	note := &api.CreditNote{Kind: api.CreditPartial, TotalAmount: "0.06", Items: []api.CreditNoteItem{item}}
	got := document.Statement("", document.Document{Draft: credited, Credit: note})
	for name, pair := range map[string]struct {
		got  *api.Amount
		want api.Amount
	}{
		"net": {got.Totals.Net, "0.10"}, "tax": {got.Totals.Tax, "0.01"}, "breakdown": {got.TaxBreakdown[0].Tax, "0.01"},
		"total": {got.Totals.Total, "0.11"}, "rounding": {got.Totals.Rounding, "-0.05"},
		"payable": {got.Totals.Payable, "0.06"},
	} {
		if pair.got == nil || *pair.got != pair.want {
			t.Errorf("%s is %v instead of %s", name, pair.got, pair.want)
		}
	}
}
