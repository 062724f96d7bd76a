package tracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"

	"quittance/internal/platform/secret"
)

const (
	// firstRetry is the wait before an export is repeated. It doubles each time, until the time-out of the export.
	firstRetry = time.Second
	// maxResponse bounds what is read of a response, in bytes, so that its connection can be used again.
	maxResponse = 64 << 10
	// logInterval is the shortest time between two log lines about dropped spans.
	logInterval = time.Minute
)

// exporter sends batches of spans. It implements [otlptrace.Client], and no method of that returns an error: the
// library would write it to a global handler. It counts and logs failures itself.
type exporter struct {
	url      string
	headers  []header
	client   *http.Client
	log      *slog.Logger
	now      func() time.Time
	exported func(spans int)
	dropped  func(reason Reason, spans int)
	// pending is how many spans wait to be exported or are being exported.
	pending atomic.Int64
	// running ends when the process stops waiting for exports.
	running context.Context //nolint:containedctx // bounds the exports, which the library begins
	cancel  context.CancelFunc

	mu     sync.Mutex
	lost   int // spans dropped since the last log line
	logged time.Time
}

// header is a header field of every export.
type header struct {
	name  string
	value secret.Text
}

func newExporter(url string, headers []header, config Config) *exporter {
	running, cancel := context.WithCancel(context.Background())
	return &exporter{url: url, headers: headers, log: config.Log, now: config.Now, exported: config.Exported,
		dropped: config.Dropped, running: running, cancel: cancel,
		client: &http.Client{
			Transport: &http.Transport{Proxy: nil, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
				TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}},
			// A redirect would take the header fields, and with them a credential, to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
}

// parseHeaders reads the lines of a file with header fields. Its errors do not contain a value.
func parseHeaders(text secret.Text) ([]header, error) {
	var headers []header
	for n, line := range strings.Split(text.Reveal(), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || value == "" || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("line %d is not a header field of the form Name: value", n+1)
		}
		headers = append(headers, header{name, secret.New(value)})
	}
	return headers, nil
}

// bounded is a span processor that drops spans while too many are pending.
type bounded struct {
	sdktrace.SpanProcessor
	exporter *exporter
}

// OnEnd implements [sdktrace.SpanProcessor].
func (b bounded) OnEnd(span sdktrace.ReadOnlySpan) {
	if b.exporter.pending.Add(1) > maxPending {
		b.exporter.pending.Add(-1)
		b.exporter.lose(DroppedQueue, 1, errQueueFull)
		return
	}
	b.SpanProcessor.OnEnd(span)
}

// errQueueFull says that too many spans wait for the receiver.
var errQueueFull = errors.New("too many spans are waiting for the receiver")

// Start implements [otlptrace.Client].
func (e *exporter) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (e *exporter) Stop(context.Context) error { return nil }

// UploadTraces implements [otlptrace.Client].
func (e *exporter) UploadTraces(ctx context.Context, batch []*tracepb.ResourceSpans) error {
	spans := 0
	for _, resource := range batch {
		for _, scope := range resource.GetScopeSpans() {
			spans += len(scope.GetSpans())
		}
	}
	defer e.pending.Add(-int64(spans))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.running, cancel)()
	if err := e.export(ctx, batch); err != nil {
		e.lose(DroppedExport, spans, err)
		return nil
	}
	e.exported(spans)
	return nil
}

// export sends a batch, and sends it again after an error that may pass, until ctx ends.
func (e *exporter) export(ctx context.Context, batch []*tracepb.ResourceSpans) error {
	// TracesData has the encoding of the protocol's ExportTraceServiceRequest, whose package would add a gRPC client to
	// the program.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: batch})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	for wait := firstRetry; ; wait *= 2 {
		passing, err := e.post(ctx, body)
		if err == nil || !passing {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// post makes one export request. passing says that the error may pass, as the protocol defines it. An error contains
// nothing of the response, which could repeat a header field.
func (e *exporter) post(ctx context.Context, body []byte) (passing bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	for _, h := range e.headers {
		request.Header.Set(h.name, h.value.Reveal())
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "Quittance-OTLP/1")
	response, err := e.client.Do(request)
	if err != nil {
		return true, err
	}
	_, readErr := io.Copy(io.Discard, io.LimitReader(response.Body, maxResponse))
	closeErr := response.Body.Close()
	if response.StatusCode/100 == 2 { // the spans have arrived, whatever happens to the rest of the response
		return false, nil
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		passing = true
	}
	return passing, errors.Join(fmt.Errorf("the receiver responded with status %d", response.StatusCode), readErr,
		closeErr)
}

// lose counts dropped spans, and logs them once a minute.
func (e *exporter) lose(reason Reason, spans int, cause error) {
	e.dropped(reason, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += spans
	if now := e.now(); e.logged.IsZero() || now.Sub(e.logged) >= logInterval {
		e.log.Warn("spans of traces were dropped", "spans", e.lost, "reason", string(reason), "error", cause) //nolint:sloglint // a span has no context of its own
		e.logged, e.lost = now, 0
	}
}
