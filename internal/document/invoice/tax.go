package invoice

import (
	"fmt"
	"slices"
	"strings"

	"quittance/client/api"
)

// The tax categories (UNCL5305) with rules of their own.
const (
	standardRated = "S"
	splitPayment  = "B"
	exempt        = "E"
	// outOfScope, services outside the scope of tax, is the only category without a rate (BR-O-05).
	outOfScope = "O"
)

// taxCategory returns the tax category of an item, "" if it has none.
func taxCategory(item *api.Item) string { return strings.TrimSpace(text(item.VATCategory)) }

// Taxed reports whether the seller charges tax in a category (UNCL5305). Everything that computes tax asks this
// function: totals and breakdowns, credit notes, documents, pages and the provider sandbox. The rate of a reverse
// charge (AE) or of the margin scheme (N) is information: PINT-AE states it with a tax of 0.
func Taxed(category string) bool {
	return !slices.Contains([]string{"Z", exempt, "AE", "N", "G", "K", outOfScope}, category)
}

// Finding is something that a draft or its document lacks.
type Finding struct {
	// Path is the JSON path of the field to change.
	Path string
	api.Fault
}

// Needs returns what prevents the submission of a draft in every document format: the [Missing] fields, and the
// [Contradictions].
func Needs(d *api.Draft) []Finding {
	var findings []Finding
	for _, path := range Missing(d) {
		findings = append(findings, Finding{Path: path,
			Fault: api.Fault{Rule: ruleRequired, Message: "is needed for submission"}})
	}
	return append(findings, Contradictions(d)...)
}

// Contradictions returns what the official rules of every document format refuse in what a draft says of its tax, in
// the order of its items. The rules are fatal in EN 16931, and PINT-AE has the same rule or does not have the
// category at all. What only one format refuses belongs to that format: a rate of reverse charge (BR-AE-05), O beside
// other categories (BR-O-12), a standard rate other than 5. A fault has its rule in EN 16931.
func Contradictions(d *api.Draft) []Finding {
	c := contradictions{standard: slices.ContainsFunc(d.Items,
		func(item api.Item) bool { return taxCategory(&item) == standardRated })}
	for i := range d.Items {
		c.check(taxCategory(&d.Items[i]), d.Items[i].VATRate, "05", "items", i)
	}
	for i := range d.Allowances {
		c.check(strings.TrimSpace(text(d.Allowances[i].VATCategory)), d.Allowances[i].VATRate, "06", "allowances", i)
	}
	for i := range d.Charges {
		c.check(strings.TrimSpace(text(d.Charges[i].VATCategory)), d.Charges[i].VATRate, "07", "charges", i)
	}
	return c.found
}

// contradictions collects those of a draft.
type contradictions struct {
	standard bool // an item is of the standard rate
	found    []Finding
}

// check checks the category and rate of an entry of a list. The rules of each category have the same numbers.
func (c *contradictions) check(category string, rate *api.Decimal, number, list string, i int) {
	add := func(field, rule, id, message string) {
		c.found = append(c.found, Finding{Path: fmt.Sprintf("%s[%d].%s", list, i, field),
			Fault: api.Fault{Rule: rule, RuleID: id, Message: message}})
	}
	if category == splitPayment && c.standard {
		add("vat_category", ruleNotCombinable, "BR-B-02", "cannot be on one invoice with lines of the standard rate (S)")
	}
	if !given(rate) {
		return
	}
	charged := parse(rate.String()).coefficient > 0
	switch id := zeroRateRule(category, number); {
	case category == standardRated && !charged:
		add("vat_rate", ruleTaxRate, "BR-S-"+number, "must be above 0 in the category S, standard rate")
	case id != "" && charged:
		add("vat_rate", ruleTaxRate, id, "must be 0 in the category "+category+", in which no tax is charged")
	}
}

// zeroRateRule returns the rule of EN 16931 by which a category has no rate above 0 in any format, "" if there is
// none. number is that of the rule of each category.
func zeroRateRule(category, number string) string {
	switch category {
	case "Z", "E", "G", outOfScope:
		return "BR-" + category + "-" + number
	case "K":
		return "BR-IC-" + number
	}
	return ""
}
