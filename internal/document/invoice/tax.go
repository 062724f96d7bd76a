package invoice

import (
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
	var out []Finding
	add := func(i int, field, rule, id, message string) {
		out = append(out, Finding{Path: itemPath(i, field), Fault: api.Fault{Rule: rule, RuleID: id, Message: message}})
	}
	standard := slices.ContainsFunc(d.Items, func(item api.Item) bool { return taxCategory(&item) == standardRated })
	for i := range d.Items {
		category, rate := taxCategory(&d.Items[i]), d.Items[i].VATRate
		if category == splitPayment && standard {
			add(i, "vat_category", ruleNotCombinable, "BR-B-02", "cannot be on one invoice with lines of the standard rate (S)")
		}
		if !given(rate) {
			continue
		}
		charged := parse(rate.String()).coefficient > 0
		switch id := zeroRateRule(category); {
		case category == standardRated && !charged:
			add(i, "vat_rate", ruleTaxRate, "BR-S-05", "must be above 0 in the category S, standard rate")
		case id != "" && charged:
			add(i, "vat_rate", ruleTaxRate, id, "must be 0 in the category "+category+", in which no tax is charged")
		}
	}
	return out
}

// zeroRateRule returns the rule of EN 16931 by which a category has no rate above 0 in any format, "" if there is
// none.
func zeroRateRule(category string) string {
	switch category {
	case "Z", "E", "G", outOfScope:
		return "BR-" + category + "-05"
	case "K":
		return "BR-IC-05"
	}
	return ""
}
