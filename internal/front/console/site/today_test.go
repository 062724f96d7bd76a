package site_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
)

// TestIssueDateOfTheCompany checks that forms propose the date of the company's country, in new invoices, copies and
// credit notes. At any time it is another day than in UTC in one of the countries.
func TestIssueDateOfTheCompany(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	id := v.created(complete("INV-1"))
	account, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	zones := map[string]string{"TO": "Pacific/Tongatapu", "AS": "Pacific/Pago_Pago", "AE": "Asia/Dubai", "US": "UTC"}
	for country, name := range zones {
		zone, err := time.LoadLocation(name)
		kit.Must(t, err)
		kit.Must(t, identity.SetProfile(t.Context(), s.DB(), account, api.Profile{Country: &country}))
		for _, path := range []string{"/invoices/new", "/invoices/" + id + "/duplicate", "/invoices/" + id + "/credit"} {
			before := time.Now().In(zone).Format(time.DateOnly)
			got := controls(t, v.read(path).body).Get("issue_date")
			if after := time.Now().In(zone).Format(time.DateOnly); got != before && got != after {
				t.Errorf("%s of a company in %s proposes %s on %s", path, country, got, after)
			}
		}
	}
}
