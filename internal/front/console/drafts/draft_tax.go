package drafts

import (
	"maps"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
)

// emiratiRate is the standard rate of value added tax in the United Arab Emirates.
const emiratiRate = "5"

// rates returns the rates that tax categories set, by category: 0 where no tax is charged, none out of scope, and the
// company's usual rate for the standard rate and the margin scheme, "" if it is not known. That is the rate of the
// country, or else of another line of the form, which has texts as the API takes them. Categories whose rate nothing
// suggests have no entry.
func rates(req *console.Request, values Form) map[string]string {
	usual := ""
	if console.Deref(req.Profile().Country) == "AE" {
		usual = emiratiRate
	}
	for _, item := range values.Items {
		if usual == "" && item.Fields["vat_category"] == "S" && strings.Trim(item.Fields["vat_rate"], "0.") != "" {
			usual = item.Fields["vat_rate"]
		}
	}
	out := map[string]string{"S": usual, "N": usual, "O": ""}
	for category := range codelist.TaxCategories().All() {
		if _, known := out[category.Code]; !known && !invoice.Taxed(category.Code) {
			out[category.Code] = "0"
		}
	}
	return out
}

// formatRates returns rates for the scripts of the form.
func formatRates(rates map[string]string) string {
	var out []string
	for _, category := range slices.Sorted(maps.Keys(rates)) {
		out = append(out, category+"="+rates[category])
	}
	return strings.Join(out, " ")
}

// fillRates fills in the empty rates of what no tax is charged on. values has texts as the API takes them, and
// unread the faults of those that nobody can read.
func fillRates(req *console.Request, values Form, unread api.Faults) {
	rates := rates(req, values)
	fill := func(fields map[string]string, path string) {
		category := fields["vat_category"]
		if fields["vat_rate"] == "" && category != "" && !invoice.Taxed(category) && !unread.Has(path) {
			fields["vat_rate"] = rates[category]
		}
	}
	for n, item := range values.Items {
		fill(item.Fields, linePrefix(n)+"vat_rate")
	}
	paths := entryPaths("", values.Entries)
	for n, e := range values.Entries {
		fill(e.Fields, paths[n]+".vat_rate")
	}
}

// settleRate replaces the rate of something new, which has its tax from another line, if it contradicts its category.
func settleRate(req *console.Request, form *Form, added map[string]string) error {
	tax := map[string]string{"vat_category": added["vat_category"], "vat_rate": added["vat_rate"]}
	values, _, err := readInput(req.Words, Form{Fields: form.Fields, Items: []lineInput{{Fields: tax}}})
	if err != nil {
		return err
	}
	draft, _, err := values.draft()
	if err != nil {
		return err
	}
	if len(invoice.Contradictions(&draft)) > 0 {
		added["vat_rate"] = rates(req, values)[values.Items[0].Fields["vat_category"]]
	}
	return nil
}
