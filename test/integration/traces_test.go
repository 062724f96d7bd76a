package integration_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"quittance/internal/ledger/base"
	"quittance/test/ledgertest"
	"quittance/test/tracingtest"
)

// receiveTraces starts a receiver of traces, which requires a credential.
func (s *canaryStory) receiveTraces() {
	credential := "Bearer " + s.canary("credential of the receiver of traces", "")
	if err := os.WriteFile(filepath.Join(s.dir, "otlp-headers"), []byte("Authorization: "+credential+"\n"),
		0o600); err != nil {
		s.t.Fatal(err)
	}
	s.traces = &tracingtest.Receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != credential {
			http.Error(w, "not "+credential, http.StatusUnauthorized)
			return
		}
		s.traces.ServeHTTP(w, r)
	}))
	s.t.Cleanup(server.Close)
	s.tracesURL = server.URL
}

// exportedTraces checks that the exported traces contain neither a secret nor anything else of the company.
func (s *canaryStory) exportedTraces() {
	s.t.Helper()
	spans, err := s.traces.Spans()
	if err != nil {
		s.t.Error(err)
	}
	names := map[string]bool{}
	for _, span := range spans {
		names[span.Name] = true
	}
	for _, want := range []string{"POST " + invoicesPath + "/{invoice_id}/submit", "provider submit",
		"store record answer", "webhook attempt", "purchase sync", "provider purchases"} {
		if !names[want] {
			s.t.Errorf("there is no span %q: %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
	foreign := map[string]string{"the marker": marker, "the e-mail address": s.email, "a domain": "canary.example",
		"the address of a party": "127.0.0.1", "the recipient": "Palm Trading", "an address": "Harbour Road",
		"an item": "Consulting", "an amount": "1050", "a supplier": "Harmless", "a path": "/200/none"}
	for name, id := range map[string]string{"account": s.account, "connection": s.connectionID, "invoice": s.invoices[0]} {
		parsed, err := base.ParseID(id)
		if err != nil {
			s.t.Fatal(err)
		}
		foreign["the identifier of the "+name], foreign["the hexadecimal identifier of the "+
			name], foreign["the binary identifier of the "+name] = id, hex.EncodeToString(parsed[:]), string(parsed[:])
	}
	if s.provider.traceSeen.seen.Load() || s.receiver.traceSeen.seen.Load() {
		s.t.Error("the provider or a destination got a header field of a trace")
	}
	for _, body := range s.traces.Bodies() {
		s.scan("trace", body)
		for name, text := range foreign {
			if bytes.Contains(body, []byte(text)) {
				s.t.Errorf("%s was exported: %q", name, body)
			}
		}
	}
}

// TestTraces follows one submission from the client's request to the provider and its event to a webhook.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, engine := range anyEngine() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newCanaryStory(t, engine)
			submitted := s.submitOnce()
			if err := s.server.stop(); err != nil {
				t.Fatal(err)
			}
			s.exportedTraces()
			spans, err := s.traces.Spans()
			if err != nil {
				t.Fatal(err)
			}
			s.submissionTrace(spans, submitted)
			var delivered int
			for _, span := range spans {
				if span.Name == "webhook attempt" && span.Attributes["quittance.webhook.verdict"] == "delivered" &&
					span.Attributes["quittance.webhook.attempt"] == int64(1) {
					delivered++
					if line := s.logLine("webhook attempt", span.TraceID); line["verdict"] != "delivered" {
						t.Errorf("no log line names the trace of the attempt: %v", line)
					}
				}
			}
			if delivered == 0 {
				t.Error("there is no span of a delivery")
			}
		})
	}
}

// The client's own trace, and what it must not pass on.
const (
	clientTraceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpanID  = "00f067aa0ba902b7"
)

// submitOnce serves a company with a webhook subscription, submits an invoice as a part of a client's trace, and waits
// until the event is delivered and incoming e-invoices are stored. It returns the path of the call.
func (s *canaryStory) submitOnce() (path string) {
	s.t.Helper()
	s.accounts()
	s.connection("connection", "add", "--account", s.account, "--base-url", s.providerURL, "--environment", "sandbox",
		"--json")
	s.must("connection", "activate", s.connectionID, "--json")
	s.serve("json")
	s.token = s.field(s.want(200, "POST", loginPath, jsonOf("email", s.email, "password", s.password), nil).body,
		"/data/token")
	s.want(201, "POST", subscriptionsPath, jsonOf("url", s.receiverURL+"/200/none"), nil)
	id := s.field(s.want(201, "POST", invoicesPath, draftBody(marker, "plain"), nil).body, "/data/id")
	s.invoices = append(s.invoices, id)
	path = invoicesPath + "/" + id + "/submit"
	s.want(200, "POST", path, "", map[string]string{"Traceparent": "00-" + clientTraceID + "-" + clientSpanID + "-00",
		"Tracestate": "vendor=" + marker, "Baggage": "company=" + marker, "X-Request-Id": marker})
	for list, least := range map[string]int{"/api/v1/webhooks/deliveries?state=delivered": 1,
		"/api/v1/client/incoming-invoices": 4} {
		if err := s.server.await(func() error {
			var got struct{ Pagination struct{ Total int } }
			err := json.Unmarshal(s.want(200, "GET", list, "", nil).body, &got)
			if err == nil && got.Pagination.Total < least {
				err = fmt.Errorf("%s has %d entries, want %d", list, got.Pagination.Total, least)
			}
			return err
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	return path
}

// submissionTrace checks the client's trace: the request below the client's span, and below that the commits around the
// provider call.
func (s *canaryStory) submissionTrace(spans []tracingtest.Span, path string) {
	s.t.Helper()
	parents := map[string]string{}
	var request tracingtest.Span
	for _, span := range spans {
		if span.TraceID == clientTraceID {
			parents[span.Name] = span.Parent
			if span.Parent == clientSpanID {
				request = span
			}
		}
	}
	if request.Name != "POST "+invoicesPath+"/{invoice_id}/submit" ||
		request.Attributes["http.response.status_code"] != int64(200) {
		s.t.Fatalf("the client's trace has %v, and its request is %+v", parents, request)
	}
	for _, name := range []string{"store begin submission", "provider submit", "store record answer"} {
		if parents[name] != request.ID {
			s.t.Errorf("%q is not below the request: %v", name, parents)
		}
	}
	for _, message := range []string{"request", "provider call"} {
		if line := s.logLine(message, clientTraceID); line == nil {
			s.t.Errorf("no line %q names the trace of the call of %s", message, path)
		}
	}
}

// logLine returns a line of the server's log about a trace, nil if there is none.
func (s *canaryStory) logLine(message, traceID string) map[string]any {
	s.t.Helper()
	text, err := os.ReadFile(s.server.log)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message && fields["trace_id"] == traceID {
			return fields
		}
	}
	return nil
}

// TestAReceiverOfTracesThatHangsHoldsUpNothing submits while the receiver of traces responds to nothing, and stops the
// server, which must end without an error.
func TestAReceiverOfTracesThatHangsHoldsUpNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := newCanaryStory(t, ledgertest.Engines()[0])
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil { // only then does the server notice that the client has gone
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(hanging.Close)
	s.tracesURL = hanging.URL
	s.submitOnce()
	if err := s.server.stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.server.log)
	if err != nil || !bytes.Contains(text, []byte("spans of traces were dropped")) {
		t.Errorf("the log does not report dropped spans: %v, %s", err, text)
	}
}

// traceSeen notes whether a party to a submission got a header field of a trace.
type traceSeen struct{ seen atomic.Bool }

// look notes the header of a request.
func (t *traceSeen) look(header http.Header) {
	if header.Get("Traceparent")+header.Get("Tracestate")+header.Get("Baggage") != "" {
		t.seen.Store(true)
	}
}
