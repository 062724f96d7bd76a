package quittancetest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

// Callback is one webhook request as it arrived at the receiver, with the status of the response.
type Callback = fakeprovider.Callback

// Subscribe delivers events to a handler of the test: it makes a webhook subscription, and the service sends its signed
// requests over HTTPS to the handler that newHandler returns for the signing secret. Without kinds, the handler gets
// every event from now on. It can respond with any status, slowly, or never, and panic with [http.ErrAbortHandler] to
// break the connection.
//
// Subscribe returns the identifier of the subscription.
func (s *Server) Subscribe(newHandler func(secret string) http.Handler, kinds ...api.EventKind) string {
	s.t.Helper()
	base, err := url.Parse(s.ReceiverURL)
	if err != nil {
		s.t.Fatalf("subscribe: %v", err)
	}
	destination := base.JoinPath("handlers", strconv.FormatInt(s.handlers.Add(1), 10))
	var handler http.Handler
	ready := make(chan struct{})
	// an event can arrive before the secret
	s.receiver.Handle(destination.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			handler.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}))
	var events []string
	for _, kind := range kinds {
		events = append(events, string(kind))
	}
	subscription, err := s.client.CreateSubscription(s.t.Context(),
		api.SubscriptionRequest{URL: new(destination.String()), Events: events})
	if err != nil {
		s.t.Fatalf("subscribe: %v", err)
	}
	s.receiver.Trust(subscription.Secret)
	handler = newHandler(subscription.Secret)
	close(ready)
	return subscription.ID
}

// Callbacks returns what has arrived at the receiver so far, oldest first, at most the last 1000. A callback of a
// handler is among them once the handler has returned.
func (s *Server) Callbacks() []Callback { return s.receiver.Callbacks() }

// WaitForCallback waits until a callback has arrived that matches, and returns the first one. The test fails if none
// arrives within [kit.Patience].
func (s *Server) WaitForCallback(matches func(Callback) bool) Callback {
	s.t.Helper()
	late := time.After(kit.Patience())
	for {
		changed := s.receiver.Changed() // before Callbacks, so that none is missed
		callbacks := s.Callbacks()
		if n := slices.IndexFunc(callbacks, matches); n >= 0 {
			return callbacks[n]
		}
		select {
		case <-changed:
		case <-s.t.Context().Done():
			s.t.Fatal("the test ended before the callback arrived")
		case <-late:
			s.t.Fatalf("the callback has not arrived; %d others have", len(callbacks))
		}
	}
}

// WaitForInvoice reads an invoice until it matches, and returns it. The test fails if it does not within
// [kit.Patience].
func (s *Server) WaitForInvoice(id string, matches func(api.Invoice) bool) (invoice api.Invoice) {
	s.t.Helper()
	kit.Eventually(s.t, func() error {
		var err error
		if invoice, err = s.client.Invoice(s.t.Context(), id); err != nil {
			s.t.Fatalf("read the invoice: %v", err)
		}
		if !matches(invoice) {
			return fmt.Errorf("the invoice does not match: %+v", invoice)
		}
		return nil
	})
	return invoice
}
