package receiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// MaxBody is the largest callback body that [Handler] reads, in bytes.
const MaxBody = 1 << 20

// Handler returns an HTTP handler for callbacks: register it for the path of the subscription's URL. It verifies each
// callback with v and passes the event to accept, which should only store or queue it, because an attempt lasts at most
// 10 seconds.
//
// The response is 204 if accept returns nil, and 500 if accept fails, so that the delivery is retried. It is 401 if the
// callback cannot be verified, but 500 if v has no secret, because a retry can succeed after the receiver's
// configuration is fixed. It is 413 for a body over [MaxBody], 400 for an incomplete body, and 405 for another method
// than POST. Responses have no body.
func Handler(v Verifier, accept func(context.Context, Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(handle(r.Context(), v, r.Header, body, accept))
	})
}

// handle returns the status of the response.
func handle(ctx context.Context, v Verifier, header http.Header, body []byte,
	accept func(context.Context, Event) error) int {
	event, err := v.Verify(header, body)
	switch {
	case errors.Is(err, ErrNoSecret):
		return http.StatusInternalServerError
	case err != nil:
		return http.StatusUnauthorized
	}
	if err := accept(ctx, event); err != nil {
		return http.StatusInternalServerError
	}
	return http.StatusNoContent
}

// ErrInFlight is returned by the function of [Once] for an event that is still being accepted.
var ErrInFlight = errors.New("receiver: the event is already being accepted")

// Once wraps accept so that each event is accepted once: retries have the UUID of the first attempt. It keeps the last
// capacity accepted UUIDs (at least 1) in memory. An event for which accept returned an error is accepted again with
// its retry. A duplicate that arrives while the first is still being accepted gets [ErrInFlight]: confirming it would
// lose the event if the first failed.
//
// The memory is lost with the process and not shared between processes. If a duplicate would do harm, accept should
// insert the UUID into your database with a unique key, in the transaction that processes the event.
func Once(capacity int, accept func(context.Context, Event) error) func(context.Context, Event) error {
	o := &once{accept: accept, known: make(map[string]bool), ring: make([]string, max(capacity, 1))}
	return o.handle
}

// once is the state of [Once].
type once struct {
	accept func(context.Context, Event) error
	mu     sync.Mutex
	known  map[string]bool // UUID to whether it was accepted; false while it is being accepted
	ring   []string        // accepted UUIDs; next is the oldest
	next   int
}

func (o *once) handle(ctx context.Context, event Event) error {
	o.mu.Lock()
	accepted, known := o.known[event.ID]
	if !known {
		o.known[event.ID] = false
	}
	o.mu.Unlock()
	switch {
	case accepted:
		return nil
	case known:
		return ErrInFlight
	}
	done := false
	defer func() { o.finish(event.ID, done) }() // also if accept panics
	if err := o.accept(ctx, event); err != nil {
		return err
	}
	done = true
	return nil
}

// finish records an accepted event in place of the oldest one, and removes an event that was not accepted.
func (o *once) finish(id string, accepted bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !accepted {
		delete(o.known, id)
		return
	}
	delete(o.known, o.ring[o.next])
	o.known[id] = true
	o.ring[o.next] = id
	o.next = (o.next + 1) % len(o.ring)
}
