package invoice

import "quittance/client/api"

// Category is what the overview and the tabs of lists count an invoice as. An invoice is in exactly one category. It is
// no state: it follows from the outcome of the current submission and from the meanings that the provider publishes,
// and nothing follows from it.
type Category string

// The categories.
const (
	// CategoryDraft is an invoice without a submission of which something is known.
	CategoryDraft Category = "draft"
	// CategoryUnknown is an invoice whose outcome is unknown. After some time it needs a person.
	CategoryUnknown Category = "unknown"
	// CategoryWaiting is an acknowledged invoice that is in no other category.
	CategoryWaiting Category = "waiting"
	// CategoryAttention is an invoice that needs a person at once: it was rejected, or a state value has the published
	// meaning negative.
	CategoryAttention Category = "attention"
	// CategoryAccepted is an acknowledged invoice of which every reported state value has the published meaning positive,
	// and which the tax authority's value or the provider invoice's value is among: that the provider has accepted the
	// document is not enough.
	CategoryAccepted Category = "accepted"
)

// CategoryOf returns the category of an invoice whose current submission has an outcome and states.
func CategoryOf(outcome api.Outcome, states States) Category {
	waiting := !states.TaxAuthority.Reported() && !states.ProviderInvoice.Reported()
	for _, dimension := range Dimensions {
		switch state := states.Stored(dimension); {
		case state.Value == "", state.Meaning == api.MeaningPositive:
		case state.Meaning == api.MeaningNegative:
			return CategoryAttention
		default: // waiting, or a value whose meaning nobody has published
			waiting = true
		}
	}
	switch {
	case outcome.Rejected():
		return CategoryAttention
	case outcome != api.OutcomeAcknowledged:
		return CategoryUnknown
	case waiting:
		return CategoryWaiting
	}
	return CategoryAccepted
}
