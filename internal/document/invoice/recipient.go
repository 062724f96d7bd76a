package invoice

import (
	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// RecipientFaults returns the faults of a look-up that its tags cannot express: the scheme must be on the EAS list
// (BR-CL-25).
func RecipientFaults(q *api.RecipientQuery) api.Faults {
	faults := api.Faults{}
	if q.Scheme != nil && !codelist.EndpointSchemes().Has(*q.Scheme) {
		faults.AddOfficial("scheme", ruleSchemeUnknown, "BR-CL-25", "is not an electronic address scheme of the EAS list")
	}
	return faults
}
