package receiver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"quittance/client/api"
	"quittance/client/receiver"
)

// post sends a callback to handler and returns the status of the response.
func post(t *testing.T, handler http.Handler, header http.Header, body io.Reader) int {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook", body)
	request.Header = header
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if recorder.Body.Len() != 0 {
		t.Errorf("the response is %q", recorder.Body)
	}
	return recorder.Code
}

func TestHandlerConfirmsWhatWasAccepted(t *testing.T) {
	var accepted []receiver.Event
	handler := receiver.Handler(verifier(), func(_ context.Context, event receiver.Event) error {
		accepted = append(accepted, event)
		return nil
	})
	if status := post(t, handler, headers(), strings.NewReader(body)); status != http.StatusNoContent {
		t.Errorf("status %d, want 204", status)
	}
	if len(accepted) != 1 || accepted[0].ID != eventID {
		t.Errorf("accepted %+v, want the event", accepted)
	}
}

func TestHandlerAsksForARetryWhenAcceptFails(t *testing.T) {
	handler := receiver.Handler(verifier(),
		func(context.Context, receiver.Event) error { return errors.New("queue is full") })
	if status := post(t, handler, headers(), strings.NewReader(body)); status != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", status)
	}
}

func TestHandlerAcceptsNothingThatDoesNotVerify(t *testing.T) {
	never := func(context.Context, receiver.Event) error {
		t.Error("accepted")
		return nil
	}
	handler := receiver.Handler(verifier(), never)
	forged := headers("X-Webhook-Signature", strings.Replace(signature, "v1=", "v1=0", 1))
	late := verifier()
	late.Now = clock(2 * receiver.DefaultTolerance)
	for name, c := range map[string]struct {
		handler http.Handler
		header  http.Header
		body    io.Reader
		want    int
	}{
		"forged":         {handler, forged, strings.NewReader(body), 401},
		"no header":      {handler, http.Header{}, strings.NewReader(body), 401},
		"changed body":   {handler, headers(), strings.NewReader(body + "\n"), 401},
		"wrong delivery": {handler, headers("X-Webhook-Delivery", "other"), strings.NewReader(body), 401},
		"stale":          {receiver.Handler(late, never), headers(), strings.NewReader(body), 401},
		"no secret":      {receiver.Handler(receiver.Verifier{}, never), headers(), strings.NewReader(body), 500},
		"largest body":   {handler, headers(), strings.NewReader(strings.Repeat("a", receiver.MaxBody)), 401},
		"larger body":    {handler, headers(), strings.NewReader(strings.Repeat("a", receiver.MaxBody+1)), 413},
		"broken body":    {handler, headers(), iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(body))), 400},
	} {
		if status := post(t, c.handler, c.header, c.body); status != c.want {
			t.Errorf("%s: status %d, want %d", name, status, c.want)
		}
	}
}

func TestHandlerAcceptsOnlyPOST(t *testing.T) {
	handler := receiver.Handler(verifier(), func(context.Context, receiver.Event) error { return nil })
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), method, "/hook", strings.NewReader(body))
		request.Header = headers()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: status %d, Allow %q", method, recorder.Code, recorder.Header().Get("Allow"))
		}
	}
}

// event returns an event that has only an identifier.
func event(id string) receiver.Event {
	return receiver.Event{ID: id, Event: api.EventTerminal}
}

func TestOnceDropsDuplicatesButNotRetriesOfFailures(t *testing.T) {
	failing := true
	var calls []string
	accept := receiver.Once(10, func(_ context.Context, e receiver.Event) error {
		calls = append(calls, e.ID)
		if failing && e.ID == "b" {
			return errors.New("not yet")
		}
		return nil
	})
	for _, step := range []struct {
		id    string
		fails bool
	}{{"a", false}, {"a", false}, {"b", true}, {"b", true}, {"a", false}} {
		if err := accept(t.Context(), event(step.id)); (err != nil) != step.fails {
			t.Errorf("%s: error %v, want failure %v", step.id, err, step.fails)
		}
	}
	failing = false
	for range 2 {
		if err := accept(t.Context(), event("b")); err != nil {
			t.Errorf("b: error %v", err)
		}
	}
	if got := strings.Join(calls, ""); got != "abbb" {
		t.Errorf("accepted %s, want abbb", got)
	}
}

func TestOnceForgetsTheOldestBeyondItsCapacity(t *testing.T) {
	for _, c := range []struct {
		capacity int
		ids      string
		want     string
	}{
		{3, "abcabc", "abc"},
		{3, "abcdbcd", "abcd"},
		{3, "abcda", "abcda"},
		{1, "aabba", "aba"},
		{0, "aabba", "aba"},
		{-1, "aabba", "aba"},
	} {
		var calls strings.Builder
		accept := receiver.Once(c.capacity, func(_ context.Context, e receiver.Event) error {
			calls.WriteString(e.ID)
			return nil
		})
		for id := range strings.SplitSeq(c.ids, "") {
			if err := accept(t.Context(), event(id)); err != nil {
				t.Fatal(err)
			}
		}
		if calls.String() != c.want {
			t.Errorf("capacity %d, events %s: accepted %s, want %s", c.capacity, c.ids, calls.String(), c.want)
		}
	}
}

// TestOnceDoesNotConfirmADuplicateInFlight checks that a duplicate is not confirmed while the first callback is still
// being accepted. If that failed, the event would be lost.
func TestOnceDoesNotConfirmADuplicateInFlight(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	accept := receiver.Once(10, func(context.Context, receiver.Event) error {
		close(started)
		<-finish
		return nil
	})
	first := make(chan error)
	go func() { first <- accept(t.Context(), event("a")) }()
	<-started
	if err := accept(t.Context(), event("a")); !errors.Is(err, receiver.ErrInFlight) {
		t.Errorf("duplicate in flight: error %v, want ErrInFlight", err)
	}
	close(finish)
	if err := <-first; err != nil {
		t.Errorf("first: error %v", err)
	}
	if err := accept(t.Context(), event("a")); err != nil {
		t.Errorf("duplicate afterwards: error %v", err)
	}
}

func TestOnceForgetsAnEventWhoseAcceptPanicked(t *testing.T) {
	calls := 0
	accept := receiver.Once(10, func(context.Context, receiver.Event) error {
		if calls++; calls == 1 {
			panic("first time")
		}
		return nil
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_ = accept(t.Context(), event("a"))
	}()
	if err := accept(t.Context(), event("a")); err != nil || calls != 2 {
		t.Errorf("error %v after %d calls, want the event accepted by the second", err, calls)
	}
}

func TestOnceUnderConcurrency(t *testing.T) {
	const events, copies = 50, 8
	var calls [events]atomic.Int32
	accept := receiver.Once(events, func(_ context.Context, e receiver.Event) error {
		var n int
		if _, err := fmt.Sscan(e.ID, &n); err != nil {
			return err
		}
		calls[n].Add(1)
		return nil
	})
	var running sync.WaitGroup
	for n := range events {
		for range copies {
			running.Go(func() {
				if err := accept(t.Context(), event(fmt.Sprint(n))); err != nil && !errors.Is(err, receiver.ErrInFlight) {
					t.Errorf("event %d: %v", n, err)
				}
			})
		}
	}
	running.Wait()
	for n := range calls {
		if calls[n].Load() != 1 {
			t.Errorf("event %d was accepted %d times", n, calls[n].Load())
		}
	}
}
