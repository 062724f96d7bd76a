package account

import (
	"testing"
	"time"

	"quittance/test/ledgertest"
)

// TestLimitEnds checks that a window of the call limit ends after a minute, and the token may then call again.
func TestLimitEnds(t *testing.T) {
	clock := ledgertest.NewClock()
	limiter := NewCallLimiter(2, clock.Now)
	spend := func(token byte, want bool) {
		t.Helper()
		if _, err := limiter.Spend([32]byte{token}); (err == nil) != want {
			t.Errorf("token %d: %v", token, err)
		}
	}
	spend(1, true)
	clock.Advance(callWindow - time.Microsecond)
	spend(1, true)
	spend(1, false)
	spend(2, true) // another token has its own window
	clock.Advance(time.Microsecond)
	spend(1, true)
	clock.Advance(2 * callWindow)
	spend(3, true)
	if len(limiter.windows) != 1 {
		t.Errorf("%d windows are kept, and one is live", len(limiter.windows))
	}
}
