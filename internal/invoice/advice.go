package invoice

import "quittance/api"

// SellerPath begins the paths of the advice on the company's profile among [Warnings].
const SellerPath = "seller."

// SellerWarnings returns the part of [Warnings] whose paths begin with [SellerPath]: what depends on the company's profile.
// It needs no items of the draft. A nil profile is an empty one. The result is never nil.
func SellerWarnings(d *api.Draft, p *api.Profile) api.Faults {
	warnings := api.Faults{}
	if p == nil {
		p = &api.Profile{}
	}
	warnSeller(warnings, p, d)
	return warnings
}
