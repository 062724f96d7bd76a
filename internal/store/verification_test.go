package store_test

import (
	"testing"
	"time"

	"quittance/internal/store"
)

// TestRecordVerification: the time and the number of faults of the last verification are known afterwards.
func TestRecordVerification(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		_, err := f.LastVerification(t.Context())
		wantErr(t, err, store.ErrNotFound)
		for _, faults := range []int{0, 2} {
			at := f.Clock.Advance(time.Hour)
			must(t, f.RecordVerification(t.Context(), faults))
			last, err := f.LastVerification(t.Context())
			must(t, err)
			if !last.At.Equal(at) || last.Faults != faults {
				t.Errorf("recorded %d faults at %s, and read %+v", faults, at, last)
			}
		}
	})
}
