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

// Handler returns an endpoint for callbacks: mount it at the subscription's URL. It verifies with v and hands each
// event to accept, which should do no more than store or queue it, since an attempt lasts at most 10 seconds
// (specification, part 6.5, rules 1 and 2).
//
// It answers 204 when accept returns nil and 500 when accept fails, so that the delivery is retried. What does not
// verify is answered 401, or 500 when v has no secret, because that is the receiver's own fault and a retry can fix
// it. A body over [MaxBody] is 413, one that breaks off 400, a method other than POST 405. Answers carry no text.
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

// handle returns the status of the answer.
func handle(ctx context.Context, v Verifier, header http.Header, body []byte, accept func(context.Context, Event) error) int {
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

// ErrInFlight is what [Once] returns for an event that is being accepted at this moment.
var ErrInFlight = errors.New("receiver: the event is being accepted already")

// Once wraps accept so that an event that was accepted is not accepted again: retries carry the UUID of the first
// attempt. It remembers the last capacity accepted UUIDs (at least 1) in memory. An event that accept refused is not
// remembered, and comes again with its retry. A duplicate that arrives while the first is still being accepted gets
// [ErrInFlight]: to confirm it would lose the event if the first one failed.
//
// Memory ends with the process and is not shared between several. Where a duplicate would do harm, let accept insert
// the UUID into your database under a unique key, in the transaction that processes the event.
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
	defer func() { o.finish(event.ID, done) }() // also when accept panics
	if err := o.accept(ctx, event); err != nil {
		return err
	}
	done = true
	return nil
}

// finish remembers an accepted event in place of the oldest one, and forgets one that was not accepted.
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
