// Package tracing makes OpenTelemetry traces and exports them over OTLP (HTTP with binary protobuf).
//
// Its invariants:
//
//   - A span contains nothing of a company: no identifier, no text, no address. The methods of [Tracer] and [Span] are
//     the only ways to give it a value, and each takes values of small, closed sets: routes, operations, outcomes,
//     statuses.
//   - Exporting never slows down or fails other work. At most [maxPending] spans wait; further ones are dropped and
//     counted.
//   - Nothing is global, and a nil *Tracer, which makes no spans, costs nothing.
//
// Start reading at [New]; spans.go lists the spans, and exporter.go sends them.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"quittance/internal/platform/secret"
)

// Config configures a [Tracer].
type Config struct {
	// Endpoint is the base address of the OTLP receiver, such as https://collector.example:4318; "" for no traces. If its
	// path does not end in /v1/traces, that is added, as the OpenTelemetry protocol exporters do.
	Endpoint string
	// RequireTLS refuses http except for a loopback address.
	RequireTLS bool
	// Headers are the header fields of every export, one "Name: value" per line; the zero value for none.
	Headers secret.Text
	// Sample is the fraction of traces that are kept, above 0 and at most 1.
	Sample float64
	// Version and Environment describe this process.
	Version, Environment string
	// Log receives at most one line a minute about dropped spans. Now is the clock for that.
	Log *slog.Logger
	Now func() time.Time
	// Exported is called with the number of spans of every export that succeeded, Dropped with that of lost spans and the
	// reason. Both are for metrics.
	Exported func(spans int)
	Dropped  func(reason Reason, spans int)
}

// Reason says why spans were dropped.
type Reason string

// The reasons.
const (
	// DroppedQueue: too many spans were waiting for the receiver.
	DroppedQueue Reason = "queue"
	// DroppedExport: the receiver did not accept them.
	DroppedExport Reason = "export"
)

// The bounds of an export.
const (
	maxPending    = 2048
	spansPerBatch = 512
	batchDelay    = 2 * time.Second
	exportTimeout = 10 * time.Second
	closeTimeout  = 5 * time.Second
)

// Tracer makes spans. A nil Tracer makes none. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
}

// New returns a Tracer, nil if there is no endpoint. It does not call the receiver, which may be down. [Tracer.Close]
// ends it.
func New(config Config) (*Tracer, error) {
	if config.Endpoint == "" {
		if !config.Headers.IsZero() {
			return nil, errors.New("--otlp-headers-file needs --otlp-endpoint")
		}
		return nil, nil //nolint:nilnil // a nil Tracer is one that makes no spans
	}
	endpoint, err := parseEndpoint(config.Endpoint, config.RequireTLS)
	if err != nil {
		return nil, err
	}
	if !(config.Sample > 0 && config.Sample <= 1) { // false for NaN too
		return nil, errors.New("--otlp-sample must be above 0 and at most 1")
	}
	headers, err := parseHeaders(config.Headers)
	if err != nil {
		return nil, fmt.Errorf("--otlp-headers-file: %w", err)
	}
	e := newExporter(endpoint, headers, config)
	batches := sdktrace.NewBatchSpanProcessor(otlptrace.NewUnstarted(e), sdktrace.WithMaxQueueSize(maxPending),
		sdktrace.WithMaxExportBatchSize(spansPerBatch), sdktrace.WithBatchTimeout(batchDelay),
		sdktrace.WithExportTimeout(exportTimeout))
	// A client may choose the trace, but not whether it is sampled.
	ratio := sdktrace.TraceIDRatioBased(config.Sample)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bounded{batches, e}),
		sdktrace.WithSampler(sdktrace.ParentBased(ratio, sdktrace.WithRemoteParentSampled(ratio),
			sdktrace.WithRemoteParentNotSampled(ratio))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "quittance"),
			attribute.String("service.version", config.Version),
			attribute.String("deployment.environment.name", config.Environment))))
	return &Tracer{provider: provider, tracer: provider.Tracer("quittance"), exporter: e}, nil
}

// Close exports the spans that wait, until ctx ends and for 5 s at most, and ends the Tracer. What was not exported is
// dropped and counted.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, t.exporter.cancel)()
	// With an ended context, Shutdown would leave its goroutine running. It waits for exports alone, and those end with
	// ctx.
	if err := t.provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.exporter.log.WarnContext(ctx, "traces could not be closed", "error", err)
	}
	t.exporter.cancel()
	t.exporter.client.CloseIdleConnections()
}

// parseEndpoint returns the address to which spans are sent.
func parseEndpoint(raw string, requireTLS bool) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return "",
			errors.New(
				"--otlp-endpoint must be an http or https address with a host, and without user info, query and fragment, such as https://collector.example:4318")
	}
	if requireTLS && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return "", errors.New("--otlp-endpoint must be an https address in production, except for a loopback address")
	}
	const path = "/v1/traces"
	if !strings.HasSuffix(u.Path, path) {
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

// isLoopback reports whether a host is reachable from this machine only.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
