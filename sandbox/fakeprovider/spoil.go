package fakeprovider

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/internal/document/invoice"
)

// hugeBody is the size of a padded response, and bombSize the size of the headers of a header bomb, in bytes.
const (
	hugeBody = 300 << 20
	bombSize = 1 << 20
)

// drips is the maximum number of parts of a dripping response.
const drips = 600

// respondWrongly responds wrongly after the request was served.
func (s *Server) respondWrongly(response *capture, w http.ResponseWriter, r *http.Request, c *call, t *requestState) {
	switch t.misbehaviour {
	case UnavailableAfter:
		s.recordMisbehaviour(r, t.misbehaviour)
		unavailable(w)
	case RefuseAfter:
		s.recordMisbehaviour(r, t.misbehaviour)
		writeError(w, http.StatusUnprocessableEntity, "invalid_document", "The document is not valid.")
	case Arriving:
		s.recordMisbehaviour(r, t.misbehaviour)
		if c.kind == submission {
			panic(http.ErrAbortHandler)
		}
		unknownReference(w)
	case Silence:
		s.recordMisbehaviour(r, t.misbehaviour)
		if !s.wait(r, s.options.Silence) {
			panic(http.ErrAbortHandler) // a return would answer 200, which may still arrive
		}
		response.send(w, response.body.Bytes())
	case Drip:
		s.recordMisbehaviour(r, t.misbehaviour)
		s.drip(response, w, r)
	case HeaderBomb:
		s.recordMisbehaviour(r, t.misbehaviour)
		for range bombSize >> 10 {
			w.Header().Add("X-Padding", strings.Repeat("x", 1<<10))
		}
		response.send(w, response.body.Bytes())
	case Echo:
		s.recordMisbehaviour(r, t.misbehaviour)
		w.Header().Set("X-Debug-Authorization", r.Header.Get("Authorization"))
		response.send(w, response.body.Bytes())
	case DropAfter:
		s.recordMisbehaviour(r, t.misbehaviour)
		panic(http.ErrAbortHandler)
	default:
		if response.status >= http.StatusMultipleChoices {
			response.send(w, response.body.Bytes()) // there is nothing to distort
			return
		}
		s.distort(response, w, r, c, t, s.recordMisbehaviour(r, t.misbehaviour))
	}
}

// distort responds with bytes that differ from the right response; before is how often this happened before.
func (s *Server) distort(response *capture, w http.ResponseWriter, r *http.Request, c *call, t *requestState,
	before int) {
	body := response.body.Bytes()
	switch t.misbehaviour {
	case Truncated:
		response.send(w, body[:len(body)/2])
		// The buffer must be sent before the connection is dropped.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Huge:
		response.sendHuge(w)
		return
	default:
	}
	body, err := s.distorted(body, r, c, t.misbehaviour, before)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	response.send(w, body)
}

// distorted returns the body to send instead of the right one.
func (s *Server) distorted(body []byte, r *http.Request, c *call, wrong Misbehaviour, before int) ([]byte, error) {
	switch wrong {
	case WrongTypes:
		return wrongTypes(body, c.kind, before)
	case EchoBody:
		return withMember(body, r.Header.Get("Authorization"))
	case EchoBase64:
		return withMember(body, base64.StdEncoding.EncodeToString([]byte(r.Header.Get("Authorization"))))
	case Foreign:
		return json.Marshal(s.foreign(c.reference))
	case Stale:
		return json.Marshal(c.document.Report(c.document.AcceptedAt))
	case Repeated:
		return json.Marshal(c.document.Report(c.lastReport))
	case Reformatted:
		return json.MarshalIndent(c.document.Report(c.lastReport), "", "  ")
	case Contradicting:
		return json.Marshal(contradicting(c.document.Report(c.lastReport)))
	default: // Garbage
		return []byte("\x00\xff<html>{\"status\":\"accepted\"}}}"), nil
	}
}

// withMember returns a JSON object with an additional member debug at the beginning.
func withMember(object []byte, text string) ([]byte, error) {
	quoted, err := json.Marshal(text)
	return slices.Concat([]byte(`{"debug":`), quoted, []byte(","), object[1:]), err
}

// contradicting gives every dimension another value.
func contradicting(report Report) Report {
	for dimension := range report.States {
		report.States[dimension] = Reported{Value: "contradicted"}
	}
	return report
}

// foreign returns a report on another document than the requested one: one of the ledger if it has another one.
func (s *Server) foreign(reference string) Report {
	report := Report{Reference: cmp.Or(s.ledger.otherReference(reference), "00000000-0000-7000-8000-000000000000"),
		ProviderReference: "PSB-FOREIGN",
		Status:            invoice.Rejected, Sequence: 999, ReportedAt: s.options.Clock().UTC().Format(timeFormat),
		States: map[invoice.Dimension]Reported{}, Messages: []Message{}}
	for _, dimension := range invoice.Dimensions {
		report.States[dimension] = Reported{Value: valueRejected, Terminal: true}
	}
	return report
}

// wrongTypes returns the right response with one member of a wrong type, a different one for each n.
func wrongTypes(body []byte, kind callKinds, n int) ([]byte, error) {
	type fault struct{ member, value string }
	faults := []fault{{"status", `1`}, {"states", `["accepted","accepted","accepted","accepted"]`}, {"sequence", `"1"`},
		{"reference", `{"id":7}`}, {"states", `{"submission_state":{"value":1,"terminal":true}}`},
		{"states", `{"receiver_state":{"value":"accepted","terminal":"yes"}}`}, {"sequence", `1.5`}}
	if kind == purchasePages {
		faults = []fault{{"purchases", `{"id":"P-1"}`}, {"next_cursor", `7`}, {"has_more", `"no"`}}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("distort an answer: %w", err)
	}
	wrong := faults[n%len(faults)]
	object[wrong.member] = json.RawMessage(wrong.value)
	return json.Marshal(object)
}

// drip sends the right response in small parts.
func (s *Server) drip(response *capture, w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), response.header)
	w.WriteHeader(response.status)
	body := response.body.Bytes()
	size := max(1, len(body)/drips)
	pause := s.options.Silence / time.Duration(max(1, len(body)/size))
	for part := range slices.Chunk(body, size) {
		if _, err := w.Write(part); err != nil {
			return // the client has disconnected
		}
		if http.NewResponseController(w).Flush() != nil || !s.wait(r, pause) {
			panic(http.ErrAbortHandler)
		}
	}
}

// wait waits, unless the client disconnects or the server closes. It reports whether the time has passed.
func (s *Server) wait(r *http.Request, silence time.Duration) (over bool) {
	timer := time.NewTimer(silence)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// capture holds a response back.
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

// send sends the response with the given body.
func (c *capture) send(w http.ResponseWriter, body []byte) {
	maps.Copy(w.Header(), c.header)
	w.Header().Del("Content-Length") // that of the right body
	w.WriteHeader(c.status)
	// The client may disconnect at any time.
	_, _ = w.Write(body) //nolint:gosec // no browser reads it, and its purpose is to echo what was sent
}

// sendHuge sends the response padded to [hugeBody]: a JSON object stays valid, other bytes get a tail.
func (c *capture) sendHuge(w http.ResponseWriter) {
	maps.Copy(w.Header(), c.header)
	w.Header().Del("Content-Length")
	w.WriteHeader(c.status)
	head, end := c.body.Bytes(), []byte(nil)
	if open, isObject := bytes.CutSuffix(head, []byte("}")); isObject {
		head, end = append(slices.Clone(open), `,"padding":"`...), []byte(`"}`)
	}
	padding := bytes.Repeat([]byte("x"), 64<<10)
	left := hugeBody - len(head) - len(end)
	part := head
	for {
		if _, err := w.Write(part); err != nil {
			return // the client has disconnected
		}
		if left <= 0 {
			break
		}
		part = padding[:min(len(padding), left)]
		left -= len(part)
	}
	// The client may disconnect at any time.
	_, _ = w.Write(end)
}
