package document_test

import (
	"maps"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
)

// withAllowances adds golden documents with allowances, charges and what is paid: an invoice, a credit note of the
// whole, and one of a part.
func withAllowances(t *testing.T, all map[string]document.Document,
	of func() document.Document) map[string]document.Document {
	t.Helper()
	part := api.CreditItemRequest{Position: new(0), Quantity: number("3")}
	maps.Copy(all, map[string]document.Document{
		"allowances":             of(),
		"credit-note-allowances": credited(t, of(), "DL8.61.1.D"),
		"credit-note-part":       credited(t, of(), "DL8.61.1.C", part),
	})
	return all
}

// reduce gives an invoice of 10 hours allowances and charges on both levels. rate is that of its line.
func reduce(d *api.Draft, rate, total string) {
	d.Items[0].Allowances = []api.LineAllowance{
		{BaseAmount: number("1000.00"), Percent: number("5"), Reason: new("Loyalty"), ReasonCode: new("95")},
		{Amount: number("7.77"), Reason: new("Rounded <down>")}}
	d.Items[0].Charges = []api.LineAllowance{{Amount: number("12.5"), ReasonCode: new("FC")}}
	d.Allowances = []api.Allowance{{BaseAmount: number("954.73"), Percent: number("2.5"), Reason: new("Early order"),
		VATCategory: new("S"), VATRate: number(rate)}}
	d.Charges = []api.Allowance{{Amount: number("33.33"), Reason: new("Delivery"), ReasonCode: new("FC"),
		VATCategory: new("S"), VATRate: number(rate)},
		{Amount: number("-1.00"), Reason: new("Deposit returned"), VATCategory: new("S"), VATRate: number(rate)}}
	d.PrepaidAmount, d.RoundingAmount, d.TotalAmount = number("500"), number("-0.04"), number(total)
}

// TestCreditNoteTakesItsPart names what a credit note of three of ten hours takes of each allowance and charge.
func TestCreditNoteTakesItsPart(t *testing.T) {
	d := credited(t, emirati(func(d *api.Draft) { reduce(d, "5", "1011.36") }), "DL8.61.1.C",
		api.CreditItemRequest{Position: new(0), Quantity: number("3")})
	said := document.Statement(document.PINTAE, d)
	for name, pair := range map[string]struct {
		got  *api.Amount
		want string
	}{
		"the line":                           {said.Lines[0].Net, "286.42"}, // 954.73 × 3 ÷ 10
		"its allowance of 50.00":             {said.Lines[0].Allowances[0].Amount, "15.00"},
		"its allowance of 7.77":              {said.Lines[0].Allowances[1].Amount, "2.33"},
		"its charge":                         {said.Lines[0].Allowances[2].Amount, "3.75"},
		"the allowance of 23.87":             {said.Allowances[0].Amount, "7.16"},
		"the charge of 33.33":                {said.Allowances[1].Amount, "10.00"},
		"the charge of -1.00":                {said.Allowances[2].Amount, "-0.30"},
		"what is paid, which it has no part": {said.Totals.Prepaid, ""},
		"the total":                          {said.Totals.Total, string(d.Credit.TotalAmount)},
	} {
		got := ""
		if pair.got != nil {
			got = string(*pair.got)
		}
		if got != pair.want {
			t.Errorf("%s is %q instead of %q", name, got, pair.want)
		}
	}
}

// TestAllowancesThatNoDocumentHas: what the official rules refuse of allowances and charges makes a draft incomplete.
func TestAllowancesThatNoDocumentHas(t *testing.T) {
	charge := func(category, rate string) api.Allowance {
		return api.Allowance{Amount: number("10.00"), ReasonCode: new("FC"), VATCategory: &category, VATRate: number(rate)}
	}
	german := func(change func(x *api.Allowance)) document.Document {
		return union(func(d *api.Draft) {
			x := charge("S", "19")
			change(&x)
			d.Charges = []api.Allowance{x}
		})
	}
	for name, test := range map[string]struct {
		profile document.Profile
		of      document.Document
		path    string
		rule    string
	}{
		"too many digits for a receiver": {document.PINTAE, emirati(func(d *api.Draft) {
			x := charge("S", "5")
			x.Amount, x.BaseAmount, x.Percent = nil, number("4324486162467614.46"), number("67.138304")
			d.Charges = []api.Allowance{x}
		}), "charges[0].percent", "ibr-146-ae"},
		"taxed beside exempt lines": {document.PINTAE, emirati(func(d *api.Draft) {
			d.Items[0].VATCategory, d.Items[0].VATRate = new("O"), nil
			d.Charges = []api.Allowance{charge("S", "5")}
		}), "charges[0].vat_category", "ibr-122-ae"},
		"in the margin scheme": {document.PINTAE, emirati(func(d *api.Draft) {
			d.Charges = []api.Allowance{charge("N", "5")}
		}), "charges[0].vat_category", "ibr-114-ae"},
		"without a reason": {document.BIS3, german(func(x *api.Allowance) { x.ReasonCode = nil }),
			"charges[0].reason", "BR-38"},
		"for an unknown reason": {document.BIS3, german(func(x *api.Allowance) { x.ReasonCode = new("95") }),
			"charges[0].reason_code", "BR-CL-20"},
		"with half a percentage": {document.BIS3, german(func(x *api.Allowance) { x.Percent = number("5") }),
			"charges[0].base_amount", "PEPPOL-EN16931-R041"},
		"of another percentage": {document.BIS3, german(func(x *api.Allowance) {
			x.Percent, x.BaseAmount = number("5"), number("100")
		}), "charges[0].amount", "PEPPOL-EN16931-R040"},
		"out of scope": {document.BIS3, german(func(x *api.Allowance) { x.VATCategory, x.VATRate = new("O"), nil }),
			"charges[0].vat_category", "BR-O-12"},
		"without tax and with a rate": {document.BIS3, german(func(x *api.Allowance) { x.VATCategory = new("Z") }),
			"charges[0].vat_rate", "BR-Z-07"},
		"without an amount": {document.BIS3, german(func(x *api.Allowance) { x.Amount = nil }), "charges[0].amount", "BR-36"},
	} {
		found := false
		for _, f := range document.Check(test.profile, test.of) {
			found = found || f.Path == test.path && f.RuleID == test.rule
		}
		if !found {
			t.Errorf("%s: no %s at %s: %v", name, test.rule, test.path, document.Check(test.profile, test.of))
		}
	}
}

// TestWorthlessLines: an invoice whose lines have no amount is credited as a whole, because its charges follow none.
func TestWorthlessLines(t *testing.T) {
	d := union(func(d *api.Draft) {
		d.Items[0].Allowances = []api.LineAllowance{{Amount: number("1000.00"), Reason: new("Free")}}
		d.Charges = []api.Allowance{{Amount: number("10.00"), ReasonCode: new("FC"), VATCategory: new("S"),
			VATRate: number("19")}}
		d.TotalAmount = number("11.90")
	})
	part := api.CreditNoteRequest{Kind: new(api.CreditPartial),
		Items: []api.CreditItemRequest{{Position: new(0), Quantity: number("1")}}}
	if _, faults := invoice.NewCredit(d.Draft, nil, &part, document.BIS3.Arithmetic()); !faults.Has("kind") {
		t.Errorf("a part is credited: %v", faults)
	}
	if note := credited(t, d, ""); note.Credit.TotalAmount != "11.90" {
		t.Errorf("the whole is %s", note.Credit.TotalAmount)
	}
}
