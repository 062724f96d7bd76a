package identity_test

import (
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestRecordVerification: the time and the number of faults of the last verification are known afterwards.
func TestRecordVerification(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		_, err := identity.LastVerification(t.Context(), f.DB)
		fixture.WantErr(t, err, base.ErrNotFound)
		for _, faults := range []int{0, 2} {
			at := f.Clock.Advance(time.Hour)
			kit.Must(t, identity.RecordVerification(t.Context(), f.DB, faults))
			last, err := identity.LastVerification(t.Context(), f.DB)
			kit.Must(t, err)
			if !last.At.Equal(at) || last.Faults != faults {
				t.Errorf("recorded %d faults at %s, and read %+v", faults, at, last)
			}
		}
	})
}
