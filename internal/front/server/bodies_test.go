package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/front/server"
)

// malformed are bodies that are not one JSON text.
var malformed = []string{
	" ", "\n\n", "{", "}", "[", `{"a":1`, `{"a":1]`, `{"a"}`, `{"a":}`, `{a:1}`, `{'a':1}`, `{"a":1,}`, `{,}`, `[1,]`,
	`{"a":1 "b":2}`, `{"a":1}{"b":2}`, `{} {}`, `{}x`, "{}\x00", `nul`, `True`, `NaN`, `{"a":NaN}`, `{"a":Infinity}`,
	`{"a":-Infinity}`, `{"a":01}`, `{"a":+1}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":0x10}`, `{"a":1_000}`, `{"a":"b`,
	`{"a":"\x41"}`, `{"a":"\u12"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xc0\xaf\"}",
	"{\"\xff\":1}", "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`,
	`{"a":{"b":1,"b":2}}`,
	"\ufeff{}", `{}//`, `/**/{}`, `# {}`, "a=1&b=2", "<a/>", "--x\r\n",
	"\x1f\x8b\x08", strings.Repeat("[", 33) + strings.Repeat("]", 33),
	`{"a":` + strings.Repeat(`{"a":`, 32) + `1` + strings.Repeat("}", 33), strings.Repeat("[", 100_000),
}

// otherMedia are headers that do not declare a body as unencoded JSON in UTF-8.
var otherMedia = []http.Header{
	{"Content-Type": nil},
	{"Content-Type": {"text/plain"}},
	{"Content-Type": {"application/x-www-form-urlencoded"}},
	{"Content-Type": {"multipart/form-data; boundary=x"}},
	{"Content-Type": {"application/jsonp"}},
	{"Content-Type": {"application/vnd.api+json"}},
	{"Content-Type": {"application/json; charset=iso-8859-1"}},
	{"Content-Type": {"application/json; charset=utf-16"}},
	{"Content-Type": {"application/json;"}, "Content-Encoding": {"gzip"}},
	{"Content-Type": {"application/json"}, "Content-Encoding": {"br"}},
	{"Content-Type": {"application/json, text/plain"}},
	{"Content-Type": {"application/json", "application/json"}},
	{"Content-Type": {"/"}},
}

// bodyRows returns the rows for invalid bodies that every operation rejects in the same way, from 415 to 422.
func bodyRows(route server.Route, op *operation) []row {
	if route.Method == http.MethodDelete { // its body is not read
		return []row{refusedBody("a body that is not read", `{"no_such":`, route.Status, "")}
	}
	tooLarge := `{"description":"` + strings.Repeat("x", 1<<20) + `"}`
	rows := []row{
		refusedBody("too large", tooLarge, http.StatusRequestEntityTooLarge, api.CodePayloadTooLarge),
		{name: "too large, of unknown length", status: http.StatusRequestEntityTooLarge, code: api.CodePayloadTooLarge,
			prepare: func(_ *testing.T, _ *company, r *request) { r.body, r.chunked = tooLarge, true }},
		refusedFields("unknown field", `{"no_such":1}`, "no_such", "unknown_field"),
		refusedFields("another case", `{"INVOICE_NUMBER":1}`, "INVOICE_NUMBER", "unknown_field"),
		refusedFields("an odd key", `{"a b\n":1}`, `["a b\n"]`, "unknown_field"),
	}
	bodies, media := malformed, otherMedia
	if route.Path != invoicesPath { // the same code decodes the bodies of all routes
		bodies, media = malformed[:12], otherMedia[:4]
	}
	for _, body := range bodies {
		rows = append(rows, malformedBody("malformed "+body[:min(len(body), 20)], body))
	}
	for _, body := range []string{`[]`, `null`, `"{}"`, `1`, `true`, ` [{}] `} {
		rows = append(rows, refusedFields("no object: "+body, body, "body", "type"))
	}
	for _, header := range media {
		rows = append(rows, row{name: "media " + strings.Join(header["Content-Type"], "|") + " " +
			header.Get("Content-Encoding"),
			status: http.StatusUnsupportedMediaType, code: api.CodeUnsupportedMediaType,
			prepare: func(_ *testing.T, _ *company, r *request) {
				if r.body == "" {
					r.body = "{}"
				}
				maps.Copy(r.header, header)
			}})
	}
	if route.Patch {
		rows = append(rows, goodMedia(route, "application/merge-patch+json"))
	}
	if route.HasBody {
		return append(rows, malformedBody("no body", ""), goodMedia(route, `application/json; charset=UTF-8`),
			goodMedia(route, `APPLICATION/JSON`))
	}
	return append(rows, row{name: "an empty object for no body", status: route.Status,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = " {} " }})
}

func goodMedia(route server.Route, value string) row {
	return row{name: "media " + value, status: route.Status, prepare: func(_ *testing.T, _ *company, r *request) {
		r.header.Set("Content-Type", value)
		r.header.Set("Content-Encoding", "identity")
	}}
}

func refusedBody(name, body string, status int, code api.Code) row {
	return row{name: name, status: status, code: code,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = body }}
}

// malformedBody returns the row of a body that is not JSON. The response has the position of the error.
func malformedBody(name, body string) row {
	one := refusedBody(name, body, http.StatusBadRequest, api.CodeMalformedRequest)
	one.check = func(t *testing.T, _ *company, a response) {
		var line, column int
		if _, err := fmt.Sscan(a.raw(t, "/error/details/line")+" "+a.raw(t, "/error/details/column"), &line,
			&column); err != nil {
			t.Fatalf("%v: %s", err, a.text)
		}
		if lines := strings.Count(body, "\n") + 1; line < 1 || line > lines || column < 1 || column > len(body)+1 {
			t.Errorf("line %d, column %d of %q", line, column, body)
		}
	}
	return one
}

// refusedFields returns the row of a body with a fault at path; there may be others elsewhere.
func refusedFields(name, body, path, rule string) row {
	return row{name: name, status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = body },
		check: func(t *testing.T, _ *company, a response) {
			var out struct {
				Error struct {
					Details api.Faults `json:"details"`
				} `json:"error"`
			}
			a.decode(t, &out)
			if faults := out.Error.Details[path]; len(faults) != 1 || faults[0].Rule != rule {
				t.Errorf("no %s at %s: %s", rule, path, a.text)
			}
		}}
}
