package protocol_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"quittance/internal/provider"
	"quittance/test/providertest"
)

// TestCallsAtOnce checks that as many calls as there may be connections run at the same time, and that later calls use
// the same connections.
func TestCallsAtOnce(t *testing.T) {
	const atOnce, waves = 128, 3
	var mu sync.Mutex
	peers, inside, full := map[string]bool{}, 0, make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		peers[r.RemoteAddr] = true
		wave := full
		if inside++; inside == atOnce {
			inside, full = 0, make(chan struct{})
			close(wave)
		}
		mu.Unlock()
		<-wave // all calls have arrived
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(make([]byte, 20<<10))
	}))
	t.Cleanup(server.Close)
	h := adapter(t, server.URL, func(config *provider.Config) { config.MaxConns, config.Timeout = atOnce, time.Minute })
	for range waves {
		var running sync.WaitGroup
		for range atOnce {
			running.Go(func() {
				if response := h.Submit(t.Context(), providertest.Document("ref-1")); response.Kind != provider.Complete {
					t.Errorf("%+v", response)
				}
			})
		}
		running.Wait()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(peers) != atOnce {
		t.Errorf("%d connections for %d times %d calls at once, want %d", len(peers), waves, atOnce, atOnce)
	}
}
