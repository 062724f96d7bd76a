// Package tracingtest has a receiver of OpenTelemetry traces for tests: the receiving side of OTLP over HTTP with
// binary protobuf.
//
// Its invariant: it keeps every request as it came, so that a test can search it for what must not be there.
package tracingtest

import (
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span.
type Span struct {
	// TraceID, ID and Parent are in hexadecimal; Parent is "" for the root of a trace.
	TraceID, ID, Parent string
	Name                string
	Kind                tracepb.Span_SpanKind
	// Failed says that the status of the span is an error.
	Failed bool
	// Attributes are those of the span; the values are strings, booleans and int64.
	Attributes map[string]any
}

// Receiver receives traces. It is safe for concurrent use.
type Receiver struct {
	mu     sync.Mutex
	spans  []Span
	bodies [][]byte
	header http.Header
	errs   []error
}

// ServeHTTP accepts one export.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var data tracepb.TracesData
	mediaType, _, typeErr := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if err == nil && typeErr == nil && (request.Method != http.MethodPost || request.URL.Path != "/v1/traces" ||
		mediaType != "application/x-protobuf") {
		err = errors.New("not an export: " + request.Method + " " + request.URL.Path + " " + mediaType)
	}
	if err = errors.Join(err, typeErr); err == nil {
		err = proto.Unmarshal(body, &data)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.header = append(r.bodies, body), request.Header.Clone()
	if err != nil {
		r.errs = append(r.errs, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, resource := range data.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.spans = append(r.spans, readSpan(span))
			}
		}
	}
}

func readSpan(span *tracepb.Span) Span {
	out := Span{TraceID: hex.EncodeToString(span.GetTraceId()), ID: hex.EncodeToString(span.GetSpanId()),
		Parent: hex.EncodeToString(span.GetParentSpanId()), Name: span.GetName(), Kind: span.GetKind(),
		Failed: span.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, Attributes: map[string]any{}}
	for _, attribute := range span.GetAttributes() {
		switch value := attribute.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out.Attributes[attribute.GetKey()] = value.StringValue
		case *commonpb.AnyValue_IntValue:
			out.Attributes[attribute.GetKey()] = value.IntValue
		case *commonpb.AnyValue_BoolValue:
			out.Attributes[attribute.GetKey()] = value.BoolValue
		}
	}
	return out
}

// Spans returns the spans received so far, and the error of requests that were not exports.
func (r *Receiver) Spans() ([]Span, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans), errors.Join(r.errs...)
}

// Bodies returns the bodies of the requests received so far.
func (r *Receiver) Bodies() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// Header returns the header of the latest request, nil before the first.
func (r *Receiver) Header() http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.header
}
