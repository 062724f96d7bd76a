package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// tripwire is a provider that counts connections and calls. It has no purchase documents, and aborts all other calls.
type tripwire struct {
	*httptest.Server
	dialed, purchases, others atomic.Int64
}

func newTripwire(t *testing.T) *tripwire {
	t.Helper()
	w := &tripwire{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path != "/v1/purchases" {
			w.others.Add(1)
			panic(http.ErrAbortHandler)
		}
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, `{"purchases":[],"next_cursor":"","has_more":false}`)
		w.purchases.Add(1)
	}))
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.dialed.Add(1)
		}
	}
	w.Start()
	t.Cleanup(w.Close)
	return w
}

// TestDraftsSendNothing checks that creating drafts opens no network connection. It creates, reads and lists two
// hundred drafts while a connection and a subscription are active: the provider is not called, no event is recorded
// and no webhook is sent. A submission then shows that the tripwire is in the provider's place.
func TestDraftsSendNothing(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		wire := newTripwire(t)
		c := s.company(t)
		c.connect(t, wire.URL, service.Sandbox)
		// the next is an hour away
		kit.Until(t, "the purchase sync that follows an activation", func() bool { return wire.purchases.Load() == 1 })
		dialed := wire.dialed.Load()
		c.post(t, subscriptions, fmt.Sprintf(`{"url":%q}`, s.sandbox.Info.ReceiverURL)).want(t, http.StatusCreated, "")
		token := c.token(t)
		send := func(method, path, body string, status int) response {
			a := s.send(t, request{method: method, path: path, body: body, token: token})
			a.want(t, status, "")
			return a
		}
		var last string
		for n := range 200 {
			last = send(http.MethodPost, invoicesPath, c.numbered(""), http.StatusCreated).textAt(t, "/data/id")
			read := send(http.MethodGet, invoicesPath+"/"+last, "", http.StatusOK)
			wantRaw(t, read, "/data/submitted", "false")
			wantRaw(t, read, "/data/submission", "null")
			if n%20 == 0 {
				send(http.MethodGet, invoicesPath+"?per_page=100", "", http.StatusOK)
				send(http.MethodPatch, invoicesPath+"/"+last, `{"buyer_city":"Ajman"}`, http.StatusOK)
				send(http.MethodPost, invoicesPath+"/preflight", c.numbered(""), http.StatusOK)
				send(http.MethodPost, creditNotes, credit(last), http.StatusCreated)
			}
		}
		if n := wire.dialed.Load() - dialed; n != 0 || wire.others.Load() != 0 {
			t.Fatalf("drafts caused %d connections and %d calls to the provider", n, wire.others.Load())
		}
		wantRaw(t, send(http.MethodGet, "/api/v1/webhooks/events", "", http.StatusOK), "/data", "[]")
		if calls := s.sandbox.Receiver.Callbacks(); len(calls) != 0 {
			t.Fatalf("drafts caused %d callbacks", len(calls))
		}
		a := send(http.MethodPost, invoicesPath+"/"+c.draft(t, complete)+"/submit", "", http.StatusAccepted)
		wantRaw(t, a, "/data/submission/outcome", `"unknown"`)
		if wire.others.Load() == 0 {
			t.Fatal("the submission did not reach the tripwire: it is not in the provider's place")
		}
	})
}
