package server

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"quittance/client/api"
)

// responseHeaders describes the header fields of responses, each once: responses refer to them.
func responseHeaders() map[string]*huma.Header {
	text := func(description string) *huma.Header {
		return &huma.Header{Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	count := func(description string, least float64) *huma.Header {
		return &huma.Header{Description: description, Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &least}}
	}
	return map[string]*huma.Header{
		api.HeaderRequestID:         text("Identifies the request to support."),
		"Cache-Control":             text("`no-store`: a response is for its caller alone."),
		"X-Content-Type-Options":    text("`nosniff`."),
		"Strict-Transport-Security": text("Sent over TLS: the service is never called without it (RFC 6797)."),
		"RateLimit-Limit": count(
			"Calls allowed in a window; absent when there is no limit, or when it is not known who calls.", 0),
		"RateLimit-Remaining":     count("Calls left in the window.", 0),
		"RateLimit-Reset":         count("Seconds until the window ends.", 0),
		"Retry-After":             count("Whole seconds to wait.", 1),
		"WWW-Authenticate":        text("`Bearer`, when a bearer token is missing or no longer valid (RFC 6750)."),
		"ETag":                    text("Version: send it as If-Match to change no other one."),
		"Content-Disposition":     text("`attachment`, with a safe file name."),
		"Content-Security-Policy": text("`default-src 'none'; sandbox`: a browser that shows the file runs nothing in it."),
		headerIdempotencyReplayed: text(
			"true when this is the kept response to an earlier call with the same Idempotency-Key; otherwise absent."),
		"Deprecation": text("Since when the operation is deprecated (RFC 9745): `@` and a Unix time."),
		"Link":        text("The operation to use instead, with the relation `successor-version` (RFC 5829)."),
	}
}

// responseHeaders refers to the header fields of the route's responses with a status.
func (rt *route) responseHeaders(status int) map[string]*huma.Param {
	names := []string{api.HeaderRequestID, "Cache-Control", "X-Content-Type-Options", "Strict-Transport-Security",
		"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		names = append(names, "Retry-After")
	case http.StatusUnauthorized:
		names = append(names, "WWW-Authenticate")
	}
	success, out := status < http.StatusMultipleChoices, rt.operation.out
	versioned := []reflect.Type{reflect.TypeFor[api.Data[api.Invoice]](), reflect.TypeFor[api.Data[api.CreditNote]](),
		reflect.TypeFor[api.Data[api.Customer]](), reflect.TypeFor[api.Data[api.CatalogueItem]]()}
	if success && slices.Contains(versioned, out) {
		names = append(names, "ETag")
	}
	if success && rt.sendsFile() {
		names = append(names, "Content-Disposition", "Content-Security-Policy")
	}
	if success && rt.idempotent {
		names = append(names, headerIdempotencyReplayed)
	}
	if rt.deprecated() {
		names = append(names, "Deprecation", "Link")
	}
	headers := map[string]*huma.Param{}
	for _, name := range names {
		headers[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return headers
}
