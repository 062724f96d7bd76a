package documents

import (
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

// shownAllowance is an allowance or a charge with its amount, which is "" when it cannot be calculated.
type shownAllowance struct {
	Charge bool
	Amount string
	// Percent and Base are what the amount is a share of, and Reason says why. Each may be "".
	Percent, Base, Reason string
	// Details are the other fields that have a value.
	Details []detail
}

// Sum is a sum of a document by its name.
type Sum struct {
	Name   string
	Amount *invoice.Amount
}

// Parts returns the sums that make the total without tax, if it is not simply that of the lines.
func Parts(t invoice.Totals) []Sum {
	var out []Sum
	for _, sum := range []Sum{{"allowances", t.Allowances}, {"charges", t.Charges}} {
		if sum.Amount != nil && strings.Trim(sum.Amount.String(), "-0.") != "" {
			out = append(out, sum)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]Sum{{"lines", t.Lines}}, out...)
}

// newAllowances returns the allowances and charges on an invoice.
func newAllowances(w *console.Words, d *api.Draft, arithmetic invoice.Arithmetic) []shownAllowance {
	amounts := arithmetic.Parts(d.Currency, invoice.AllowancesOf(d))
	out := appendAllowances(nil, w, d, d.Allowances, false, amounts)
	return appendAllowances(out, w, d, d.Charges, true, amounts)
}

// lineAllowances returns the allowances and charges on a line.
func lineAllowances(w *console.Words, d *api.Draft, item *api.Item, arithmetic invoice.Arithmetic) []shownAllowance {
	amounts := arithmetic.Parts(d.Currency, invoice.LineAllowancesOf(item))
	out := appendAllowances(nil, w, d, item.Allowances, false, amounts)
	return appendAllowances(out, w, d, item.Charges, true, amounts)
}

// appendAllowances appends a list of allowances or of charges with their amounts, of which out has the first ones.
func appendAllowances[T any](out []shownAllowance, w *console.Words, d *api.Draft, list []T, charge bool,
	amounts []*invoice.Amount) []shownAllowance {
	if len(list) == 0 {
		return out
	}
	all, others := invoice.FieldsOf[T](), allowanceDetails[T](charge)
	for n := range list {
		texts := invoice.Texts(all, &list[n])
		shown := shownAllowance{Charge: charge, Percent: page.Grouped(texts["percent"]),
			Base: moneyText(texts["base_amount"], d), Reason: texts["reason"], Details: detailsOf(w, others, &list[n])}
		switch calculated := amounts[len(out)]; {
		case texts["amount"] != "":
			shown.Amount = moneyText(texts["amount"], d)
		case calculated != nil:
			shown.Amount = moneyText(calculated.String(), d)
		}
		out = append(out, shown)
	}
	return out
}

// moneyText returns an amount in the currency of an invoice, which is not shown, and "" for an absent one.
func moneyText(amount string, d *api.Draft) string {
	if money := page.MoneyOf(amount, d.Currency); money != nil {
		return money.Text
	}
	return ""
}

// allowanceDetails are the fields of an allowance or a charge that the layout does not place.
func allowanceDetails[T any](charge bool) []invoice.Field[T] {
	fields := unplaced[T]("amount", "base_amount", "percent", "reason")
	for n := range fields {
		if tag := &fields[n].Tag; charge && tag.Get("codes") == "allowance-reasons" { // charges have a list of their own
			*tag = `codes:"charge-reasons"`
		}
	}
	return fields
}
