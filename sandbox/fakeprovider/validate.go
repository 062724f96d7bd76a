package fakeprovider

import (
	"cmp"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// validate applies the provider sandbox's regulated validation: a few rules of EN 16931. A provider refuses what the
// service only advises against, so these are the rules behind that advice, without gaps of the seller's profile and
// questions of style. The messages are in the order of the fields' paths; a document without messages is accepted.
func validate(d *api.Draft) []Message {
	var messages []Message
	for _, field := range invoice.Missing(d) {
		messages = append(messages, Message{Code: "SANDBOX-MISSING", Text: field + ": is missing"})
	}
	for field, faults := range invoice.Warnings(d, nil, invoice.Arithmetic{}) {
		if strings.HasPrefix(field, "seller.") {
			continue
		}
		for _, fault := range faults {
			if fatal(fault.Rule) {
				messages = append(messages, Message{Code: fault.Rule, Text: field + ": " + fault.Message})
			}
		}
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(a.Text, b.Text) })
	return messages
}

// fatal reports whether the provider sandbox refuses a document that breaks a rule.
func fatal(rule string) bool {
	switch rule {
	case "country_unknown", // BT-55
		"tax_rate",                   // rate that contradicts its category (BT-152)
		"tax_category_unknown",       // BT-151
		"endpoint_scheme_unknown",    // BT-49-1
		"total_mismatch",             // total with tax (BT-112), away by more than one minor unit per item
		"base_quantity_not_positive": // BT-149
		return true
	default:
		return false
	}
}
