package sandbox

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Misbehaviour is a way to get the answer to a request wrong. The ones named Before answer without having done
// anything; the ones named After, and all that distort an answer, have done what was asked.
type Misbehaviour string

// The misbehaviours.
const (
	Behave            Misbehaviour = ""
	TooMany           Misbehaviour = "too_many_requests"  // 429 with Retry-After: 1, before
	DropBefore        Misbehaviour = "drop_before"        // the connection is dropped
	UnavailableBefore Misbehaviour = "unavailable_before" // 503
	Redirect          Misbehaviour = "redirect"           // 307 to an address of no use, before
	DropAfter         Misbehaviour = "drop_after"         // the connection is dropped
	UnavailableAfter  Misbehaviour = "unavailable_after"  // 503
	Silence           Misbehaviour = "silence"            // the right answer, very late
	Garbage           Misbehaviour = "garbage"            // 200 with bytes that are no JSON
	Truncated         Misbehaviour = "truncated"          // half the right answer, then the connection is dropped
	Echo              Misbehaviour = "echo"               // the right answer, and the credential in it
)

// Call is what a request is about.
type Call struct {
	// Method and Path are those of the request.
	Method, Path string
	// Reference and Recipient are those of a submission; "" for any other request, and for what cannot be read.
	Reference, Recipient string
}

// misbehaving gets requests wrong, by magic recipient or by the chance of [ProviderOptions].Misbehave. It stands in
// front of the protocol, which knows nothing of it.
func (s *ProviderServer) misbehaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/control/") {
			next.ServeHTTP(w, r)
			return
		}
		switch wrong := s.choose(s.peek(r)); wrong {
		case Behave:
			next.ServeHTTP(w, r)
		case TooMany:
			w.Header().Set("Retry-After", "1")
			answerError(w, http.StatusTooManyRequests, "rate_limited", "Too many requests.")
		case UnavailableBefore:
			unavailable(w)
		case DropBefore:
			panic(http.ErrAbortHandler) // net/http's way to drop a connection
		case Redirect:
			w.Header().Set("Location", "https://elsewhere.invalid"+r.URL.EscapedPath())
			answerError(w, http.StatusTemporaryRedirect, "moved", "The provider has moved.")
		default:
			answer := &capture{header: http.Header{}, status: http.StatusOK}
			next.ServeHTTP(answer, r)
			s.distort(wrong, answer, w, r)
		}
	})
}

// choose says how a call goes wrong.
func (s *ProviderServer) choose(call Call) Misbehaviour {
	if scenario := s.scenarioFor(call.Recipient); scenario.wrong != Behave {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.attempts[call.Reference]++
		if s.attempts[call.Reference] <= scenario.times {
			return scenario.wrong
		}
		return Behave
	}
	if s.options.Misbehave == nil {
		return Behave
	}
	return s.options.Misbehave(call)
}

// peek reads what a request is about and puts the body back. It reads a submission only where something could come of
// it.
func (s *ProviderServer) peek(r *http.Request) Call {
	call := Call{Method: r.Method, Path: r.URL.Path}
	if r.Method != http.MethodPost {
		return call
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxDocument))
	// The handler meets the same error, or the rest of the body, behind what was read.
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	if err != nil || s.options.Misbehave == nil && !bytes.Contains(body, []byte("sandbox-")) {
		return call
	}
	var doc struct {
		Reference string `json:"reference"`
		Invoice   struct {
			Recipient string `json:"recipient_network_id"`
		} `json:"invoice"`
	}
	if json.Unmarshal(body, &doc) == nil {
		call.Reference, call.Recipient = doc.Reference, doc.Invoice.Recipient
	}
	return call
}

// distort answers wrongly after the request was served.
func (s *ProviderServer) distort(wrong Misbehaviour, answer *capture, w http.ResponseWriter, r *http.Request) {
	switch wrong {
	case UnavailableAfter:
		unavailable(w)
	case Silence:
		if s.wait(r) {
			answer.send(w, answer.body.Bytes())
		}
	case Garbage:
		w.Header().Set("Content-Type", "application/json")
		// The caller may hang up at any time.
		_, _ = w.Write([]byte("\x00\xff<html>{\"status\":\"accepted\"}}}"))
	case Truncated:
		answer.send(w, answer.body.Bytes()[:answer.body.Len()/2])
		// What is in the buffer has to leave before the connection is dropped.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Echo:
		w.Header().Set("X-Debug-Authorization", r.Header.Get("Authorization"))
		answer.send(w, answer.body.Bytes())
	default: // DropAfter
		panic(http.ErrAbortHandler)
	}
}

// wait is silent, unless the caller hangs up or the server closes.
func (s *ProviderServer) wait(r *http.Request) (over bool) {
	timer := time.NewTimer(s.options.Silence)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// capture holds an answer back.
type capture struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (c *capture) Header() http.Header { return c.header }

// WriteHeader implements [http.ResponseWriter].
func (c *capture) WriteHeader(status int) { c.status = status }

// Write implements [http.ResponseWriter].
func (c *capture) Write(text []byte) (int, error) { return c.body.Write(text) }

// send lets the answer go with the given body.
func (c *capture) send(w http.ResponseWriter, body []byte) {
	maps.Copy(w.Header(), c.header)
	w.WriteHeader(c.status)
	// The caller may hang up at any time.
	_, _ = w.Write(body)
}
