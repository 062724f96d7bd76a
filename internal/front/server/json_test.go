package server_test

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// complete is a draft that has no missing fields and no warnings.
const complete = `{"invoice_number":"INV-1","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890",` +
	`"buyer_endpoint_scheme":"0235","buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_subdivision":"DXB","buyer_country":"AE",` +
	`"total_amount":1050.00,"currency":"AED","issue_date":"2026-03-01","issue_time":"09:30","due_date":"2026-03-31","payment_means_code":"30",` +
	`"items":[{"item_code":"SKU-7","name":"Consulting","description":"Workshop","unit_code":"HUR","quantity":10,"base_quantity":1,` +
	`"net_unit_price":100.00,"gross_unit_price":110.00,"discount_amount":10.00,"vat_category":"S","vat_rate":5}]}`

// least is a draft with only the required fields.
const least = `{"invoice_number":"INV-2","recipient_name":"R","currency":"AED","issue_date":"2026-03-01","total_amount":1,` +
	`"items":[{"name":"N","quantity":1,"net_unit_price":1}]}`

var pathPart = regexp.MustCompile(`[^.\[\]]+`)

// edit returns a JSON object with the value at a path, such as items[0].name, set to a JSON text, or removed for "".
func edit(object, path, value string) string {
	return string(editValue(jsontext.Value(object), pathPart.FindAllString(path, -1), value))
}

func editValue(in jsontext.Value, path []string, value string) jsontext.Value {
	if len(path) == 0 {
		return jsontext.Value(value)
	}
	open, shut := byte('{'), byte('}')
	if in.Kind() == '[' {
		open, shut = '[', ']'
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(in))
	mustJSON(decoder.ReadToken())
	var parts []string
	found := false
	for n := 0; decoder.PeekKind() != jsontext.Kind(shut); n++ {
		name, prefix := strconv.Itoa(n), ""
		if open == '{' {
			name = mustJSON(decoder.ReadToken()).String()
			prefix = strconv.Quote(name) + ":"
		}
		member := mustJSON(decoder.ReadValue())
		if name == path[0] {
			found = true
			if member = editValue(slices.Clone(member), path[1:], value); len(member) == 0 {
				continue
			}
		}
		parts = append(parts, prefix+string(member))
	}
	if !found && value != "" {
		part := value
		for n := len(path) - 1; n >= 0 && (n > 0 || open == '{'); n-- { // with the objects around it
			if part = strconv.Quote(path[n]) + ":" + part; n > 0 {
				part = "{" + part + "}"
			}
		}
		parts = append(parts, part)
	}
	return jsontext.Value(string(open) + strings.Join(parts, ",") + string(shut))
}

func mustJSON[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// decode decodes the response into out.
func (a response) decode(t testing.TB, out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), out); err != nil {
		t.Fatalf("%s %s: %v in %.400s", a.request.method, a.request.path, err, a.text)
	}
}

// raw returns the JSON text at a pointer (RFC 6901), or "" if there is none.
func (a response) raw(t testing.TB, pointer string) string {
	t.Helper()
	value := jsontext.Value(a.text)
	for name := range jsontext.Pointer(pointer).Tokens() {
		var members map[string]jsontext.Value
		var elements []jsontext.Value
		switch {
		case value.Kind() == '{' && json.Unmarshal(value, &members) == nil:
			value = members[name]
		case value.Kind() == '[' && json.Unmarshal(value, &elements) == nil:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(elements) {
				return ""
			}
			value = elements[n]
		default:
			return ""
		}
	}
	return strings.TrimSpace(string(value))
}

// textAt returns the string at a pointer.
func (a response) textAt(t testing.TB, pointer string) string {
	t.Helper()
	var text string
	if err := json.Unmarshal([]byte(a.raw(t, pointer)), &text); err != nil {
		t.Fatalf("%s %s: no text at %s of %.400s", a.request.method, a.request.path, pointer, a.text)
	}
	return text
}

var requestIDs = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,128}\z`)

// canaries are words that appear in the messages of decoders, databases, providers and stacks, and never in a fault.
var canaries = []string{"sql", "json", "pgx", "postgres", "goroutine", "panic", "runtime", ".go", "/", `\`, "unmarshal",
	"unexpected", "invalid character", "offset", "eof", "constraint", "sqlstate", "dial", "tcp", "127.0.0.1", "context",
	"deadline", "strict", "store:"}

// checkResponse checks the rules for all responses, successes and errors.
func checkResponse(t testing.TB, a response) {
	t.Helper()
	name := a.request.method + " " + a.request.path
	isDocument := strings.Contains(a.request.path, "/document") && !strings.HasPrefix(a.header.Get("Content-Type"),
		"application/json")
	isFile := a.status == http.StatusOK && (strings.Contains(a.request.path, "/attachments/") ||
		strings.Contains(a.request.path, "/export") || isDocument)
	headers := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff"}
	if isFile {
		headers["Content-Type"], headers["Content-Security-Policy"] = a.header.Get("Content-Type"),
			"default-src 'none'; sandbox"
	}
	for header, want := range headers {
		if got := a.header.Values(header); len(got) != 1 || got[0] != want {
			t.Errorf("%.200s: %s is %q, want %q", name, header, got, want)
		}
	}
	if id := a.header.Values(api.HeaderRequestID); len(id) != 1 || !requestIDs.MatchString(id[0]) {
		t.Errorf("%.200s: %s is %q", name, api.HeaderRequestID, id)
	}
	if a.request.method == http.MethodHead {
		if a.text != "" {
			t.Errorf("%.200s has a body: %.200s", name, a.text)
		}
		return
	}
	if isFile {
		return
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(a.text), &members); err != nil {
		t.Errorf("%.200s: the body is not a JSON object: %v in %.400s", name, err, a.text)
		return
	}
	switch document := members["info"] != nil; { // the API document, or the collection
	case a.status >= 400:
		checkRefusal(t, a)
	case document:
	case members["data"] == nil || len(members) > 2 || len(members) == 2 && members["pagination"] == nil:
		t.Errorf("%.200s: the members of a success are not data and pagination: %.400s", name, a.text)
	}
}

// checkRefusal checks the envelope of an error, which has the status and the message of the catalogue and no other
// member.
func checkRefusal(t testing.TB, a response) {
	t.Helper()
	name := a.request.method + " " + a.request.path
	var body struct {
		Error *struct {
			Code    *api.Code                 `json:"code"`
			Message *string                   `json:"message"`
			Details map[string]jsontext.Value `json:"details"`
			DocURL  string                    `json:"doc_url"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.text), &body, json.RejectUnknownMembers(true)); err != nil || body.Error == nil ||
		body.Error.Code == nil || body.Error.Message == nil || body.Error.Details == nil {
		t.Errorf("%.200s: not the envelope of an error: %v in %.400s", name, err, a.text)
		return
	}
	kind := problem.For(*body.Error.Code)
	if kind == nil || kind.Status() != a.status || kind.Error() != *body.Error.Message {
		t.Errorf("%.200s: %d %s is not in the catalogue", name, a.status, a.text)
	}
	if want := "/docs/reference/errors#" + string(*body.Error.Code); body.Error.DocURL != want {
		t.Errorf("%.200s: described at %q, want %q", name, body.Error.DocURL, want)
	}
	for path, detail := range body.Error.Details {
		switch {
		case path == "invoice_id", path == "credit_note_id", *body.Error.Code == api.CodeLimitReached &&
			(path == "quota" || path == "limit"):
		case *body.Error.Code == api.CodeMalformedRequest && (path == "line" || path == "column"):
			if !wholeSeconds.Match(detail) {
				t.Errorf("%.200s: the %s of a malformed body is %s", name, path, detail)
			}
		default:
			checkFaults(t, name, path, detail)
		}
	}
	if after := a.header.Get("Retry-After"); (a.status == http.StatusTooManyRequests ||
		a.status == http.StatusServiceUnavailable) && !wholeSeconds.MatchString(after) {
		t.Errorf("%.200s: Retry-After is %q", name, after)
	}
	if (a.status == http.StatusMethodNotAllowed) != (a.header.Get("Allow") != "") {
		t.Errorf("%.200s: %d with Allow %q", name, a.status, a.header.Get("Allow"))
	}
	if (*body.Error.Code == api.CodeUnauthenticated) != (a.header.Get("WWW-Authenticate") != "") {
		t.Errorf("%.200s: %s with WWW-Authenticate %q", name, *body.Error.Code, a.header.Get("WWW-Authenticate"))
	}
}

var wholeSeconds = regexp.MustCompile(`\A[1-9][0-9]*\z`)

func checkFaults(t testing.TB, name, path string, detail jsontext.Value) {
	t.Helper()
	var faults []struct {
		Rule    *string `json:"rule"`
		RuleID  *string `json:"rule_id"`
		Message *string `json:"message"`
	}
	if err := json.Unmarshal(detail, &faults, json.RejectUnknownMembers(true)); err != nil || len(faults) == 0 {
		t.Errorf("%.200s: the details of %q are not a list of faults: %s", name, path, detail)
		return
	}
	for _, fault := range faults {
		if fault.Rule == nil || fault.Message == nil || *fault.Rule == "" || *fault.Message == "" {
			t.Errorf("%.200s: an incomplete fault at %q: %s", name, path, detail)
			continue
		}
		for _, word := range canaries {
			if strings.Contains(strings.ToLower(*fault.Message), word) {
				t.Errorf("%.200s: the fault at %q says %q: %s", name, path, word, *fault.Message)
			}
		}
	}
}
