package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span is an operation with its duration. A nil Span does nothing.
type Span struct{ span trace.Span }

func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind,
	attributes ...attribute.KeyValue) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return ctx, &Span{span}
}

// end ends a span. class, if any, is the class of its error: one of a closed set, because the text of an error can
// contain anything.
func (s *Span) end(class string, attributes ...attribute.KeyValue) {
	if class != "" {
		s.span.SetStatus(codes.Error, "")
		attributes = append(attributes, attribute.String("error.type", class))
	}
	s.span.SetAttributes(attributes...)
	s.span.End()
}

// Request begins the span of an HTTP request to this server, and returns the request with it. A traceparent header
// field (W3C Trace Context) makes it part of the client's trace. Its sampled flag, tracestate and baggage are ignored:
// the first is this server's decision, and the others can contain anything.
func (t *Tracer) Request(r *http.Request) (*http.Request, *Span) {
	if t == nil {
		return r, nil
	}
	ctx := r.Context()
	given := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header)))
	if given.IsRemote() {
		ctx = trace.ContextWithRemoteSpanContext(ctx,
			trace.NewSpanContext(trace.SpanContextConfig{TraceID: given.TraceID(), SpanID: given.SpanID()}))
	}
	ctx, span := t.start(ctx, "HTTP", trace.SpanKindServer)
	return r.WithContext(ctx), span
}

// EndRequest ends the span of a request with the pattern of its route, "" if there is none.
func (s *Span) EndRequest(route, method string, status int) {
	if s == nil {
		return
	}
	name := method
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete,
		http.MethodOptions:
	default:
		name, method = "HTTP", "_OTHER"
	}
	attributes := []attribute.KeyValue{attribute.String("http.request.method", method),
		attribute.Int("http.response.status_code", status)}
	if route != "" {
		name += " " + route
		attributes = append(attributes, attribute.String("http.route", route))
	}
	s.span.SetName(name)
	s.end(serverError(status), attributes...)
}

// serverError returns the error class of a status: "" unless it says that the server has failed.
func serverError(status int) string {
	if status >= http.StatusInternalServerError {
		return strconv.Itoa(status)
	}
	return ""
}

// Work begins the trace of a task of a worker, such as "submission poll".
func (t *Tracer) Work(ctx context.Context, name string) (context.Context, *Span) {
	return t.start(ctx, name, trace.SpanKindInternal)
}

// EndWork ends the span of a task; failed says that it could not do its work.
func (s *Span) EndWork(failed bool) {
	switch {
	case s == nil:
	case failed:
		s.end("failed")
	default:
		s.end("")
	}
}

// Write begins the span of a write to the database within a trace; there is none outside of one. operation names what
// it commits.
func (t *Tracer) Write(ctx context.Context, operation string) *Span {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return nil
	}
	_, span := t.start(ctx, "store "+operation, trace.SpanKindInternal)
	return span
}

// EndWrite ends the span of a write. unavailable says that the database could not be used; a write that is not
// committed for another reason was refused by the rules.
func (s *Span) EndWrite(committed, unavailable bool) {
	if s == nil {
		return
	}
	class := ""
	if unavailable {
		class = "unavailable"
	}
	s.end(class, attribute.Bool("quittance.committed", committed))
}

// ProviderCall begins the span of a call to a provider. kind is the kind of the connection, and call names the
// operation. The request does not carry the trace: it would tell a stranger.
func (t *Tracer) ProviderCall(ctx context.Context, kind, call string) (context.Context, *Span) {
	return t.start(ctx, "provider "+call, trace.SpanKindClient, attribute.String("quittance.provider.kind", kind),
		attribute.String("quittance.provider.call", call))
}

// EndProviderCall ends the span of a call with the kind of its response, the HTTP status, 0 if there was none, and the
// class of its error.
func (s *Span) EndProviderCall(kind string, status int, class string) {
	if s != nil {
		s.end(class, withStatus(status, attribute.String("quittance.provider.response", kind))...)
	}
}

// Attempt begins the span of an attempt to deliver an event to a webhook. number counts the attempts of a delivery from
// 1. The request does not carry the trace.
func (t *Tracer) Attempt(ctx context.Context, number int) (context.Context, *Span) {
	return t.start(ctx, "webhook attempt", trace.SpanKindClient, attribute.Int("quittance.webhook.attempt", number))
}

// EndAttempt ends the span of an attempt with its verdict, the HTTP status, 0 if there was none, and the class of its
// error.
func (s *Span) EndAttempt(verdict string, status int, class string) {
	if s != nil {
		s.end(class, withStatus(status, attribute.String("quittance.webhook.verdict", verdict))...)
	}
}

// withStatus adds the status of an HTTP response, if there was one.
func withStatus(status int, attributes ...attribute.KeyValue) []attribute.KeyValue {
	if status == 0 {
		return attributes
	}
	return append(attributes, attribute.Int("http.response.status_code", status))
}

// LogHandler returns a handler that adds the identifier of the trace, trace_id, to each line that is written within a
// sampled one.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if current := trace.SpanContextFromContext(ctx); current.IsSampled() {
		record = record.Clone()
		record.AddAttrs(slog.String("trace_id", current.TraceID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
