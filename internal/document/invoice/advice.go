package invoice

import "quittance/client/api"

// SellerPath is the prefix of those paths in [Warnings] that are about the company's profile.
const SellerPath = "seller."

// SellerWarnings returns those [Warnings] whose paths begin with [SellerPath]. It does not need the items of the draft.
// A nil profile is an empty one. The result is never nil.
func SellerWarnings(d *api.Draft, p *api.Profile) api.Faults {
	warnings := api.Faults{}
	if p == nil {
		p = &api.Profile{}
	}
	warnSeller(warnings, p, d)
	return warnings
}
