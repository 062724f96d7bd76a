package store_test

import (
	"testing"
	"time"

	"quittance/internal/store"
	"quittance/test/kit"
)

// TestRecordVerification: the time and the number of faults of the last verification are known afterwards.
func TestRecordVerification(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		_, err := f.LastVerification(t.Context())
		wantErr(t, err, store.ErrNotFound)
		for _, faults := range []int{0, 2} {
			at := f.Clock.Advance(time.Hour)
			kit.Must(t, f.RecordVerification(t.Context(), faults))
			last, err := f.LastVerification(t.Context())
			kit.Must(t, err)
			if !last.At.Equal(at) || last.Faults != faults {
				t.Errorf("recorded %d faults at %s, and read %+v", faults, at, last)
			}
		}
	})
}
