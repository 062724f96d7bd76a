package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
)

// TestGuessingStrangers checks that a source that guesses tokens and paths is rate limited with the default flags, and
// that users with a token at the same source are not.
func TestGuessingStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for _, engine := range anyEngine() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			// 7,000 calls, whose limits have tests of their own with the race detector
			newAbused(t, built(t, commandProduct), engine, false).withstandsGuessing(t)
		})
	}
}

// withstandsGuessing makes 7,000 calls with guessed tokens and paths, of which the process answers as many as its limit
// allows.
func (a *abused) withstandsGuessing(t *testing.T) {
	t.Helper()
	guess := func(n int) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.base+"/api/v1/client/account", http.NoBody)
		if err != nil {
			t.Error(err)
			return 0
		}
		if r.Header.Set("Authorization", fmt.Sprintf("Bearer qt_%d", n)); n%2 == 0 {
			r.URL.Path = fmt.Sprintf("/nowhere/%d", n)
		}
		response, err := a.client.Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
			t.Error("a rejection has no Retry-After")
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Error(err)
		}
		return response.StatusCode
	}
	var responses [600]atomic.Int64
	if err := workers(16, 7000, func(n int) error {
		responses[guess(n)].Add(1)
		return nil
	}); err != nil {
		t.Error(err)
	}
	known := responses[http.StatusUnauthorized].Load() + responses[http.StatusNotFound].Load()
	if limited := responses[http.StatusTooManyRequests].Load(); limited < 500 || known < 2900 || known+limited != 7000 {
		t.Errorf("of 7000 guesses %d were answered and %d rate limited", known, limited)
	}
	for range 50 {
		if status, body := a.ask(t, a.client, http.MethodGet, "/api/v1/client/account", ""); status != http.StatusOK {
			t.Fatalf("a user at the same source got status %d: %s", status, body)
		}
	}
	a.fresh(t, "/readyz")
}
