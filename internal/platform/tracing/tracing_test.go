package tracing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quittance/internal/platform/secret"
	"quittance/internal/platform/tracing"
	"quittance/test/kit"
	"quittance/test/kit/leaks"
	"quittance/test/tracingtest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m.Run)) }

// counts are what a tracer reports for metrics, and its log.
type counts struct {
	exported, queue, export atomic.Int64
	mu                      sync.Mutex
	text                    bytes.Buffer
}

// Write implements [io.Writer], for the log.
func (c *counts) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(text)
}

func (c *counts) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (c *counts) dropped(reason tracing.Reason, spans int) {
	if reason == tracing.DroppedQueue {
		c.queue.Add(int64(spans))
	} else {
		c.export.Add(int64(spans))
	}
}

// config returns a configuration that reports to c.
func (c *counts) config(endpoint string) tracing.Config {
	return tracing.Config{Endpoint: endpoint, Sample: 1, Version: "1.2.3", Environment: "sandbox",
		Log: slog.New(slog.NewJSONHandler(c, nil)), Now: time.Now, Exported: func(spans int) { c.exported.Add(int64(spans)) },
		Dropped: c.dropped}
}

func newTracer(t *testing.T, config tracing.Config) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.New(config)
	if err != nil || tracer == nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	t.Cleanup(func() { tracer.Close(context.Background()) })
	return tracer
}

// receive starts a receiver that answers with handler.
func receive(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

const clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

// trace makes the spans of a request that writes and calls a provider, and of an attempt to deliver a webhook.
func trace(tracer *tracing.Tracer, header http.Header) {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/secret-path", nil)
	r.Header = header
	r, request := tracer.Request(r)
	tracer.Write(r.Context(), "begin submission").EndWrite(true, false)
	ctx, call := tracer.ProviderCall(r.Context(), "http", "submit")
	tracer.Write(ctx, "record answer").EndWrite(false, true)
	call.EndProviderCall("ambiguous", 503, "timeout")
	tracer.Write(ctx, "after the end").EndWrite(true, false)
	request.EndRequest("/api/v1/{id}", r.Method, 502)
	_, attempt := tracer.Attempt(context.Background(), 3)
	attempt.EndAttempt("delivered", 204, "")
	_, work := tracer.Work(context.Background(), "submission poll")
	work.EndWork(true)
	tracer.Write(context.Background(), "outside of a trace").EndWrite(true, false)
}

func TestSpansArriveAtTheReceiver(t *testing.T) {
	t.Parallel()
	var receiver tracingtest.Receiver
	var c counts
	config := c.config(receive(t, &receiver))
	config.Headers = secret.New("Authorization: Bearer the-credential\n\nX-Scope:  tenant:1 \r\n")
	tracer := newTracer(t, config)
	trace(tracer, http.Header{"Traceparent": {"00-" + clientTrace + "-00f067aa0ba902b7-00"},
		"Tracestate": {"vendor=canary-state"}, "Baggage": {"user=canary-baggage"}})
	tracer.Close(t.Context())

	spans, err := receiver.Spans()
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Name, Parent string
		Failed       bool
		Attributes   map[string]any
	}
	names := map[string]string{"00f067aa0ba902b7": "client", "": "root"}
	for _, span := range spans {
		names[span.ID] = span.Name
	}
	got := map[string]row{}
	for _, span := range spans {
		got[span.Name] = row{span.Name, names[span.Parent], span.Failed, span.Attributes}
		if joined := span.TraceID == clientTrace; joined != (span.Name != "webhook attempt" &&
			span.Name != "submission poll") {
			t.Errorf("%s is in the trace %s", span.Name, span.TraceID)
		}
	}
	const request = "POST /api/v1/{id}"
	want := map[string]row{
		request: {request, "client", true, map[string]any{"http.request.method": "POST",
			"http.route": "/api/v1/{id}", "http.response.status_code": int64(502), "error.type": "502"}},
		"store begin submission": {"store begin submission", request, false, map[string]any{"quittance.committed": true}},
		"provider submit": {"provider submit", request, true, map[string]any{"quittance.provider.kind": "http",
			"quittance.provider.call": "submit", "quittance.provider.response": "ambiguous",
			"http.response.status_code": int64(503), "error.type": "timeout"}},
		"store record answer": {"store record answer", "provider submit", true,
			map[string]any{"quittance.committed": false, "error.type": "unavailable"}},
		"webhook attempt": {"webhook attempt", "root", false, map[string]any{"quittance.webhook.attempt": int64(3),
			"quittance.webhook.verdict": "delivered", "http.response.status_code": int64(204)}},
		"submission poll": {"submission poll", "root", true, map[string]any{"error.type": "failed"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, body := range receiver.Bodies() {
		for _, foreign := range []string{"canary-", "secret-path"} {
			if bytes.Contains(body, []byte(foreign)) {
				t.Errorf("%q was exported: %q", foreign, body)
			}
		}
		for _, own := range []string{"quittance", "1.2.3", "sandbox"} {
			if !bytes.Contains(body, []byte(own)) {
				t.Errorf("%q was not exported: %q", own, body)
			}
		}
	}
	if header := receiver.Header(); header.Get("Authorization") != "Bearer the-credential" ||
		header.Get("X-Scope") != "tenant:1" {
		t.Errorf("the header is %v", header)
	}
	if c.exported.Load() != int64(len(want)) || c.log() != "" {
		t.Errorf("%d spans are counted as exported, the log is %q", c.exported.Load(), c.log())
	}
}

func TestAMethodThatTheClientInventsIsNotExported(t *testing.T) {
	t.Parallel()
	var receiver tracingtest.Receiver
	var c counts
	tracer := newTracer(t, c.config(receive(t, &receiver)))
	_, span := tracer.Request(httptest.NewRequest("CANARY", "/", nil))
	span.EndRequest("", "CANARY", 405)
	tracer.Close(t.Context())
	spans, err := receiver.Spans()
	if err != nil || len(spans) != 1 || spans[0].Name != "HTTP" ||
		spans[0].Attributes["http.request.method"] != "_OTHER" || spans[0].Failed {
		t.Errorf("%+v, %v", spans, err)
	}
}

// TestSampling checks that neither a client nor anything else than the ratio decides.
func TestSampling(t *testing.T) {
	t.Parallel()
	var receiver tracingtest.Receiver
	var c counts
	config := c.config(receive(t, &receiver))
	config.Sample = 0.5
	tracer := newTracer(t, config)
	// The sampler of OpenTelemetry keeps traces whose last 8 bytes are small.
	for _, given := range []string{"00-4bf92f3577b34da6f3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da603ce929d0e0e4736-00f067aa0ba902b7-00"} {
		trace(tracer, http.Header{"Traceparent": {given}})
	}
	tracer.Close(t.Context())
	spans, err := receiver.Spans()
	if err != nil {
		t.Fatal(err)
	}
	var kept int
	for _, span := range spans {
		switch span.TraceID {
		case "4bf92f3577b34da603ce929d0e0e4736":
			kept++
		case "4bf92f3577b34da6f3ce929d0e0e4736":
			t.Errorf("%s of a trace that is not sampled was exported", span.Name)
		}
	}
	if kept != 4 {
		t.Errorf("%d spans of the sampled trace were exported, want 4", kept)
	}
}

// TestExportsAreRepeated checks that a receiver that is restarted loses nothing.
func TestExportsAreRepeated(t *testing.T) {
	t.Parallel()
	var receiver tracingtest.Receiver
	var c counts
	var calls atomic.Int64
	tracer := newTracer(t, c.config(receive(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		receiver.ServeHTTP(w, r)
	}))))
	trace(tracer, http.Header{})
	kit.Until(t, "an export", func() bool { return c.exported.Load() > 0 })
	spans, err := receiver.Spans()
	if err != nil || len(spans) != 6 || c.export.Load() != 0 {
		t.Errorf("%d spans arrived, %d were dropped: %v, %s", len(spans), c.export.Load(), err, c.log())
	}
}

// TestARefusalIsCountedAndLogged checks that what the receiver says about an export reaches no log, and that no
// redirect is followed.
func TestARefusalIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusTemporaryRedirect} {
		var c counts
		var elsewhere atomic.Int64
		other := receive(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
		config := c.config(receive(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other)
			w.WriteHeader(status)
			if _, err := w.Write([]byte("you sent " + r.Header.Get("Authorization"))); err != nil {
				t.Error(err)
			}
		})))
		config.Headers = secret.New("Authorization: Bearer the-credential")
		tracer := newTracer(t, config)
		trace(tracer, http.Header{})
		tracer.Close(t.Context())
		if c.export.Load() != 6 || c.exported.Load() != 0 || elsewhere.Load() != 0 {
			t.Errorf("%d: %d spans were dropped, %d exported, %d requests were redirected", status, c.export.Load(),
				c.exported.Load(), elsewhere.Load())
		}
		var line struct {
			Msg, Error string
			Spans      int
		}
		if err := json.Unmarshal([]byte(c.log()), &line); err != nil || line.Spans != 6 ||
			!strings.Contains(line.Error, "status") {
			t.Errorf("the log is not one line: %q: %v", c.log(), err)
		}
		if strings.Contains(c.log(), "the-credential") {
			t.Errorf("the log shows the credential: %s", c.log())
		}
	}
}

// TestAHangingReceiverHoldsUpNothing checks that the number of waiting spans is bounded, that nobody waits for the
// receiver, and that closing ends with its context.
func TestAHangingReceiverHoldsUpNothing(t *testing.T) {
	t.Parallel()
	var c counts
	config := c.config(receive(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil { // only then does the server notice that the client has gone
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	})))
	start, minutes := time.Now(), atomic.Int64{}
	config.Now = func() time.Time { return start.Add(time.Duration(minutes.Load()) * time.Minute) }
	tracer := newTracer(t, config)
	const made, mayWait = 5000, 2048
	for range made {
		_, span := tracer.Work(t.Context(), "submission poll")
		span.EndWork(false)
	}
	if got := c.queue.Load(); got != made-mayWait {
		t.Errorf("%d spans were dropped, want %d", got, made-mayWait)
	}
	minutes.Add(1)
	_, span := tracer.Work(t.Context(), "submission poll")
	span.EndWork(false)
	// the first line was about the first span
	if later := `"spans":` + strconv.Itoa(made-mayWait); !strings.Contains(c.log(), later) {
		t.Errorf("the line of the next minute does not have %s: %s", later, c.log())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tracer.Close(ended)
	if lines := strings.Count(c.log(), "spans of traces were dropped"); lines != 2 {
		t.Errorf("%d lines in two minutes: %s", lines, c.log())
	}
}

func TestAnUnreachableReceiverHoldsUpNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var c counts
	tracer := newTracer(t, c.config(server.URL))
	trace(tracer, http.Header{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tracer.Close(ended)
}

func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tracing.Config){
		"a scheme":            func(c *tracing.Config) { c.Endpoint = "ftp://collector.example" },
		"no host":             func(c *tracing.Config) { c.Endpoint = "https://:4318" },
		"a credential":        func(c *tracing.Config) { c.Endpoint = "https://u:CANARY@collector.example" },
		"a query":             func(c *tracing.Config) { c.Endpoint = "https://collector.example/?key=CANARY" },
		"no URL":              func(c *tracing.Config) { c.Endpoint = "collector.example:CANARY" },
		"http in production":  func(c *tracing.Config) { c.Endpoint, c.RequireTLS = "http://collector.example", true },
		"http, like loopback": func(c *tracing.Config) { c.Endpoint, c.RequireTLS = "http://127.0.0.1.example", true },
		"no samples":          func(c *tracing.Config) { c.Sample = 0 },
		"too many samples":    func(c *tracing.Config) { c.Sample = 1.5 },
		"no header field":     func(c *tracing.Config) { c.Headers = secret.New("Bearer CANARY") },
		"no value":            func(c *tracing.Config) { c.Headers = secret.New("CANARY:") },
		"a bad name":          func(c *tracing.Config) { c.Headers = secret.New("Author ization: CANARY") },
		"a bad value":         func(c *tracing.Config) { c.Headers = secret.New("Authorization: CANARY\x00") },
		"headers for nothing": func(c *tracing.Config) { c.Endpoint, c.Headers = "", secret.New("Authorization: CANARY") },
	} {
		var c counts
		config := c.config("https://collector.example:4318")
		change(&config)
		if tracer, err := tracing.New(config); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v, %v", name, tracer, err)
		}
	}
	for _, endpoint := range []string{"http://localhost:4318", "http://[::1]:4318/", "https://collector.example/prefix",
		"https://collector.example/v1/traces"} {
		var c counts
		config := c.config(endpoint)
		config.RequireTLS = true
		newTracer(t, config)
	}
}

// TestNoEndpointMeansNoTraces checks that every method works on a nil Tracer, and leaves contexts as they are.
func TestNoEndpointMeansNoTraces(t *testing.T) {
	t.Parallel()
	tracer, err := tracing.New(tracing.Config{})
	if tracer != nil || err != nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if same, span := tracer.Request(r); same != r || span != nil {
		t.Error("a request was traced")
	}
	trace(tracer, http.Header{})
	tracer.Close(t.Context())
}

// TestLogLinesNameTheirTrace checks the identifier that leads from a log line to its trace.
func TestLogLinesNameTheirTrace(t *testing.T) {
	t.Parallel()
	var receiver tracingtest.Receiver
	var c counts
	config := c.config(receive(t, &receiver))
	config.Sample = 0.5
	tracer := newTracer(t, config)
	var text bytes.Buffer
	log := slog.New(tracing.LogHandler(slog.NewJSONHandler(&text, nil))).With("a", 1)
	log.InfoContext(t.Context(), "outside")
	const sampled, unsampled = "4bf92f3577b34da603ce929d0e0e4736", "4bf92f3577b34da6f3ce929d0e0e4736"
	for _, id := range []string{sampled, unsampled} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
		r, span := tracer.Request(r)
		log.InfoContext(r.Context(), "inside")
		span.EndRequest("/", r.Method, 200)
	}
	decoder := json.NewDecoder(&text)
	for _, want := range []any{nil, sampled, nil} {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil || line["trace_id"] != want {
			t.Errorf("the trace of %v is not %v: %v", line, want, err)
		}
	}
}
