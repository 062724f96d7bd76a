package quittancetest_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/quittancetest"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestSubscribe: a handler of the test gets signed requests, and none before the clock says that the next attempt is
// due. It fails in every way that a handler can: with a status, without a response, and by taking no event.
func TestSubscribe(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			s := quittancetest.Start(t, on(t, engine), quittancetest.WithStoppedClock())
			var requests atomic.Int64
			var accepted []receiver.Event
			id := s.Subscribe(func(secret string) http.Handler {
				verified := receiver.Handler(receiver.Verifier{Secrets: []string{secret}, Now: s.Now},
					func(_ context.Context, event receiver.Event) error {
						accepted = append(accepted, event)
						return nil
					})
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch requests.Add(1) {
					case 1:
						w.WriteHeader(http.StatusServiceUnavailable)
					case 2:
						panic(http.ErrAbortHandler)
					default:
						verified.ServeHTTP(w, r)
					}
				})
			}, api.EventIncomingReceived)
			s.Advance(0) // the first query for incoming e-invoices is done, and the next one due with the following advance
			s.Provider().AddIncoming("P-1")
			s.Advance(time.Minute)
			for n, c := range []struct {
				advance  time.Duration
				requests int
				state    api.DeliveryState
			}{
				{0, 1, "pending"},
				{3 * time.Second, 1, "pending"}, // the second attempt is due after 5 s, give or take a fifth
				{3 * time.Second, 2, "pending"},
				{11 * time.Second, 2, "pending"}, // the third after another 15 s
				{7 * time.Second, 3, "delivered"},
				{24 * time.Hour, 3, "delivered"},
			} {
				s.Advance(c.advance)
				deliveries, err := s.Client().Deliveries(t.Context(), deliveriesOf(id))
				if err != nil || len(deliveries.Data) != 1 || deliveries.Data[0].State != c.state ||
					len(s.Callbacks()) != c.requests {
					t.Fatalf("step %d: %d callbacks, deliveries %+v, %v", n, len(s.Callbacks()), deliveries.Data, err)
				}
			}
			if len(accepted) != 1 || accepted[0].Event != api.EventIncomingReceived {
				t.Errorf("accepted: %+v", accepted)
			}
			for n, status := range []int{http.StatusServiceUnavailable, 0, http.StatusNoContent} {
				if c := s.Callbacks()[n]; c.Status != status || c.Verified == nil || c.Delivery != accepted[0].ID {
					t.Errorf("callback %d: %+v", n, c)
				}
			}
		})
	}
}

// TestHandlersAreApart: each handler gets the events of its own subscription, signed with its own secret.
func TestHandlersAreApart(t *testing.T) {
	s := quittancetest.Start(t, quittancetest.WithPace(time.Millisecond))
	handler := func(events chan<- receiver.Event) func(string) http.Handler {
		return func(secret string) http.Handler {
			return receiver.Handler(receiver.Verifier{Secrets: []string{secret}},
				func(_ context.Context, event receiver.Event) error {
					events <- event
					return nil
				})
		}
	}
	terminal, incoming := make(chan receiver.Event, 10), make(chan receiver.Event, 10)
	s.Subscribe(handler(terminal), api.EventTerminal)
	s.Subscribe(handler(incoming), api.EventIncomingReceived)
	submit(t, s, "INV-1", "1234567890")
	s.Provider().AddIncoming("P-1")
	for kind, events := range map[api.EventKind]chan receiver.Event{api.EventTerminal: terminal,
		api.EventIncomingReceived: incoming} {
		if event := kit.Receive(t, events, string(kind)); event.Event != kind {
			t.Errorf("%s instead of %s", event.Event, kind)
		}
	}
	if len(terminal)+len(incoming) > 0 {
		t.Errorf("%d and %d more events", len(terminal), len(incoming))
	}
	if c := s.WaitForCallback(func(c quittancetest.Callback) bool {
		return c.Event == string(api.EventIncomingReceived)
	}); c.Status != http.StatusNoContent {
		t.Errorf("%+v", c)
	}
}

// TestClock: a stopped clock moves only with Advance, and what expires does so at once; another clock advances too, and
// by itself.
func TestClock(t *testing.T) {
	stopped := quittancetest.Start(t, quittancetest.WithStoppedClock())
	began := stopped.Now()
	if again := stopped.Now(); !again.Equal(began) {
		t.Errorf("the stopped clock went from %s to %s", began, again)
	}
	running := quittancetest.Start(t)
	before := running.Now()
	for _, s := range []*quittancetest.Server{stopped, running} {
		user := logIn(t, s)
		if _, err := user.Account(t.Context()); err != nil {
			t.Fatal(err)
		}
		login, err := user.Login(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Advance(13 * time.Hour)
		if status := statusWith(t, s, login.Token); status != http.StatusUnauthorized {
			t.Errorf("a token of 12 hours after 13: status %d", status)
		}
	}
	if now := stopped.Now(); !now.Equal(began.Add(13 * time.Hour)) {
		t.Errorf("the stopped clock went from %s to %s", began, now)
	}
	if now := running.Now(); !now.After(before.Add(13 * time.Hour)) {
		t.Errorf("the running clock went from %s to %s", before, now)
	}
}
