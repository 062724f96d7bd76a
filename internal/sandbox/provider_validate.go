package sandbox

import (
	"cmp"
	"slices"
	"strings"

	"quittance/api"
	"quittance/internal/invoice"
)

// validate is the provider sandbox's regulated validation: a few rules of EN 16931 and Peppol, as verdicts. What the
// service only advises on, a provider refuses, so the rules are the ones behind that advice; gaps of the seller's
// profile and rules of taste are left out. The messages are in the order of the fields' paths; none means accepted.
func validate(d *api.Draft) []Message {
	var messages []Message
	for _, field := range invoice.Missing(d) {
		messages = append(messages, Message{Code: "SANDBOX-MISSING", Text: field + ": is missing"})
	}
	for field, faults := range invoice.Warnings(d, nil) {
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

// fatal tells whether a broken rule makes the provider sandbox refuse a document.
func fatal(rule string) bool {
	switch rule {
	case "BR-CL-14", // country (BT-55)
		"BR-CL-18",            // tax category (BT-151)
		"BR-CL-25",            // electronic address scheme (BT-49-1)
		"BR-CO-15",            // total with tax (BT-112), away by more than one minor unit per item
		"PEPPOL-EN16931-R121": // base quantity (BT-149) above zero
		return true
	default:
		return false
	}
}
