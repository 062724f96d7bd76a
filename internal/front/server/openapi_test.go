package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/front/server"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/problem"
)

// readDocument reads the API document. It fails the test if the document has a keyword that the types here do not know.
func (s *system) readDocument(t *testing.T) *document {
	t.Helper()
	a := s.send(t, request{method: http.MethodGet, path: "/openapi.json"})
	a.want(t, http.StatusOK, "")
	d := &document{}
	if err := json.Unmarshal([]byte(a.text), d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("the API document has a keyword that no test checks: %v", err)
	}
	return d
}

// TestAPIDocument checks that the API document is consistent OpenAPI 3.1 and describes every route as the route table
// has it.
func TestAPIDocument(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		d := s.readDocument(t)
		if !strings.HasPrefix(d.OpenAPI, "3.1.") || d.Info["title"] == nil || d.Info["version"] == nil ||
			len(d.Servers) == 0 || d.Components.Security["bearer"] == nil {
			t.Errorf("openapi %q, info %v, servers %v", d.OpenAPI, d.Info, d.Servers)
		}
		for _, tag := range d.Tags {
			if tag["description"] == "" {
				t.Errorf("the tag %s has no description", tag["name"])
			}
		}
		operations := map[string]documentedOperation{}
		for path, item := range d.Paths {
			for method, operation := range item {
				operations[strings.ToUpper(method)+" "+path] = operation
			}
		}
		ids := map[string]bool{}
		for _, route := range server.Routes() {
			name := route.Method + " " + route.Path
			operation, found := operations[name]
			delete(operations, name)
			if found == route.Hidden {
				t.Errorf("%s: documented %v, hidden %v", name, found, route.Hidden)
			}
			if !route.Hidden {
				d.checkOperation(t, route, operation)
				if ids[operation.ID] {
					t.Errorf("two operations are named %s", operation.ID)
				}
				ids[operation.ID] = true
			}
		}
		for name := range operations {
			t.Errorf("%s is documented, but there is no such route", name)
		}
	})
}

func (d *document) checkOperation(t *testing.T, route server.Route, o documentedOperation) {
	t.Helper()
	if o.ID != route.Name || o.Summary == "" || o.Description == "" || len(o.Tags) != 1 ||
		!slices.ContainsFunc(d.Tags, func(tag map[string]string) bool { return tag["name"] == o.Tags[0] }) {
		t.Errorf("%s: incomplete documentation: %q %q %v", route.Name, o.ID, o.Summary, o.Tags)
	}
	if o.Security == nil || (len(o.Security) == 0) != route.Public {
		t.Errorf("%s: public %v with security %v", route.Name, route.Public, o.Security)
	}
	for _, role := range access.Roles {
		if allowed := !route.Public && role.Permissions().Has(route.Needs); allowed != slices.Contains(o.Roles,
			string(role)) {
			t.Errorf("%s: the role %s is allowed %v, documented %v", route.Name, role, allowed, o.Roles)
		}
	}
	for _, scope := range access.Scopes {
		if allowed := !route.Public && scope.Permissions().Has(route.Needs); allowed != slices.Contains(o.Scopes,
			string(scope)) {
			t.Errorf("%s: the scope %s is allowed %v, documented %v", route.Name, scope, allowed, o.Scopes)
		}
	}
	want := map[string]string{}
	for part := range strings.SplitSeq(route.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			want[strings.TrimSuffix(name, "}")] = "path"
		}
	}
	for _, name := range route.Query {
		want[name] = "query"
	}
	if route.Idempotent {
		want["Idempotency-Key"] = "header"
	}
	if route.Conditional {
		want["If-Match"] = "header"
	}
	want[api.HeaderRequestID] = "header"
	got := map[string]string{}
	for _, p := range o.Parameters {
		got[p.Name] = p.In
		if p.Description == "" || p.Schema == nil || p.Required != (p.In == "path") {
			t.Errorf("%s: the documentation of the parameter %s is incomplete", route.Name, p.Name)
		}
	}
	wantEqual(t, "parameters of "+route.Name, got, want)
	if (o.Body != nil) != route.HasBody || o.Body != nil &&
		(!o.Body.Required || o.Body.Content[route.BodyTypes[len(route.BodyTypes)-1]].Schema == nil) {
		t.Errorf("%s: body %+v", route.Name, o.Body)
	}
	d.checkResponses(t, route, o)
	if body := o.Body; body != nil && !route.FileBody {
		d.checkExample(t, route.Name+" request", body.Content["application/json"])
	}
	if !route.File && !o.Deprecated {
		d.checkExample(t, route.Name+" response", o.Responses[strconv.Itoa(route.Status)].Content["application/json"])
	}
}

// checkExample checks that there is an example and that it conforms to its schema.
func (d *document) checkExample(t *testing.T, at string, c content) {
	t.Helper()
	if len(c.Example) == 0 {
		t.Errorf("%s has no example", at)
	} else if faults := d.faults(at, c.Schema, c.Example, true); len(faults) > 0 {
		t.Errorf("%s: the example does not conform to its schema: %v", at, faults)
	}
}

// TestDocumentedWebhooks checks that every event kind is documented with its header fields, and that recorded events
// conform to their schema.
func TestDocumentedWebhooks(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		d := s.readDocument(t)
		if len(d.Webhooks) != len(api.EventKinds) {
			t.Errorf("%d webhooks are described, want %d", len(d.Webhooks), len(api.EventKinds))
		}
		for _, kind := range api.EventKinds {
			o := d.Webhooks[string(kind)]["post"]
			if o.ID == "" || o.Description == "" || o.Security == nil || len(o.Security) > 0 || o.Body == nil ||
				!o.Body.Required || o.Responses["2XX"].Description == "" {
				t.Errorf("%s is not described completely: %+v", kind, o)
				continue
			}
			if kind != api.EventIncomingRevised { // nothing in the sandbox revises a document
				d.checkExample(t, string(kind), o.Body.Content["application/json"])
			}
			required := map[string]bool{}
			for _, p := range o.Parameters {
				required[p.Name] = p.Required && p.In == "header" && p.Description != "" && p.Schema != nil
			}
			for _, name := range []string{api.HeaderEvent, api.HeaderDelivery, api.HeaderTimestamp, api.HeaderSignature} {
				if !required[name] {
					t.Errorf("%s: the header field %s is not required", kind, name)
				}
			}
		}
		c := s.connected(t)
		c.post(t, invoicesPath+"/"+c.draft(t, complete)+"/submit", "").want(t, http.StatusOK, "")
		events := c.get(t, "/api/v1/webhooks/events?limit=100")
		seen := 0
		for ; events.raw(t, fmt.Sprintf("/data/%d", seen)) != ""; seen++ {
			event := events.raw(t, fmt.Sprintf("/data/%d", seen))
			schema := d.Webhooks[events.textAt(t,
				fmt.Sprintf("/data/%d/event", seen))]["post"].Body.Content["application/json"].Schema
			if faults := d.faults("event", schema, jsontext.Value(event), true); len(faults) > 0 {
				t.Errorf("an event does not conform to its schema: %v\n%s", faults, event)
			}
		}
		if seen == 0 {
			t.Error("no event was recorded")
		}
	})
}

// checkResponses checks that the documented statuses are those of the route, and that the description of each names its
// codes.
func (d *document) checkResponses(t *testing.T, route server.Route, o documentedOperation) {
	t.Helper()
	want := map[string]bool{}
	for _, status := range append(route.Also, route.Status) {
		if status != 0 {
			want[strconv.Itoa(status)] = true
		}
	}
	for _, code := range route.Codes {
		status := strconv.Itoa(problem.For(code).Status())
		want[status] = true
		if !strings.Contains(o.Responses[status].Description, "`"+string(code)+"`") {
			t.Errorf("%s: %s does not name %s", route.Name, status, code)
		}
		reference := "#/components/examples/" + string(code)
		if o.Responses[status].Content["application/json"].Examples[string(code)]["$ref"] != reference {
			t.Errorf("%s: %s has no example of %s", route.Name, status, code)
		}
	}
	for status, response := range o.Responses {
		if !want[status] {
			t.Errorf("%s: %s is documented but never returned", route.Name, status)
		}
		delete(want, status)
		documented := true
		mediaTypes := "application/json"
		if route.File && status == "200" {
			mediaTypes = route.FileType
		}
		for mediaType := range strings.SplitSeq(mediaTypes, ", ") {
			documented = documented && response.Content[mediaType].Schema != nil
		}
		if response.Description == "" || !documented || response.Headers[api.HeaderRequestID] == nil ||
			(status == "429" || status == "503") != (response.Headers["Retry-After"] != nil) {
			t.Errorf("%s: the documentation of %s is incomplete: %v", route.Name, status, response.Headers)
		}
		for _, name := range []string{"ETag", "Content-Disposition", "Idempotency-Replayed"} {
			if status >= "300" && response.Headers[name] != nil {
				t.Errorf("%s: the error %s has the header field %s of a success", route.Name, status, name)
			}
		}
	}
	for status := range want {
		t.Errorf("%s: %s is not documented", route.Name, status)
	}
}

// TestSchemas checks that every field of every schema has a type and a description, that every example conforms to its
// schema, that requests allow no other fields, and that all error codes are listed.
func TestSchemas(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		d := s.readDocument(t)
		examples := 0
		for name, component := range d.Components.Schemas {
			if closed := component.Additional.Kind() == 'f'; closed != strings.HasSuffix(name, "Request") ||
				len(component.Properties) == 0 {
				t.Errorf("%s: additionalProperties is %s", name, component.Additional)
			}
			for _, required := range component.Required {
				if component.Properties[required] == nil {
					t.Errorf("%s requires %s but does not have it", name, required)
				}
			}
			for field, property := range component.Properties {
				at := name + "." + field
				if property.Type == nil && property.Ref == "" && property.AnyOf == nil {
					t.Errorf("%s has no type", at)
				}
				if property.Description == "" && property.Ref == "" &&
					!slices.Contains([]string{"data", "pagination", "error", "payload"}, field) {
					t.Errorf("%s has no description", at)
				}
				for _, example := range property.Examples {
					examples++
					if faults := d.faults(at, property, example, true); len(faults) > 0 {
						t.Errorf("example: %v", faults)
					}
				}
			}
		}
		if examples < 40 {
			t.Errorf("only %d examples", examples)
		}
		for _, code := range problem.Codes() {
			entry := problem.For(code)
			example := d.Components.Examples[string(code)]
			faults := d.faults(string(code), d.Components.Schemas["ErrorBody"], example.Value, true)
			if len(faults) > 0 || example.Summary != entry.Error() ||
				!strings.Contains(string(example.Value), `"doc_url":"/docs/reference/errors#`+string(code)+`"`) {
				t.Errorf("the example of %s: %v\n%s", code, faults, example.Value)
			}
			if text := d.Components.Schemas["Error"].Properties["code"].Description; !strings.Contains(text, string(code)) {
				t.Errorf("the code %s is not named", code)
			}
		}
		for name, schema := range d.Components.Schemas {
			for field, property := range schema.Properties {
				if strings.Contains(string(property.Type), `"number"`) && property.Format != "double" {
					t.Errorf("%s.%s: a number without a format has single precision in generated code", name, field)
				}
			}
		}
		wantDraft(t, d)
	})
}

// wantDraft checks the schema of a draft: its required fields, and that it accepts and rejects the same payloads as the
// server, as far as a schema can express the rules.
func wantDraft(t *testing.T, d *document) {
	t.Helper()
	draft := d.Components.Schemas["DraftRequest"]
	if want := []string{"currency", "invoice_number", "issue_date", "items", "recipient_name",
		"total_amount"}; !slices.Equal(draft.Required, want) {
		t.Errorf("a draft requires %v, want %v", draft.Required, want)
	}
	if want := []string{"name", "net_unit_price", "quantity"}; !slices.Equal(d.Components.Schemas["ItemRequest"].Required,
		want) {
		t.Errorf("an item requires %v, want %v", d.Components.Schemas["ItemRequest"].Required, want)
	}
	for _, body := range []string{complete, least, edit(complete, "due_date", "null")} {
		if faults := d.faults("draft", draft, jsontext.Value(body), true); len(faults) > 0 {
			t.Errorf("a valid draft does not conform to its schema: %v", faults)
		}
	}
	for _, f := range fieldFaults() {
		switch f.rules { // the descriptions have the rules that a schema cannot express
		case "", "control_characters", "currency", "decimal", "minor_unit", "max_length,control_characters",
			"control_characters,pattern":
			continue
		}
		if strings.HasPrefix(f.value, `" `) && f.rules == "required" || f.value == `"0000-01-01"` {
			continue // blank text counts as absent, and RFC 3339 has a year 0
		}
		if f.value == `"-0.01"` {
			continue // the description has the bounds of a number in a string
		}
		body := edit(complete, f.path, f.value)
		if faults := d.faults("draft", draft, jsontext.Value(body), true); len(faults) == 0 {
			t.Errorf("%s = %.60s is rejected with %s, but the schema accepts it", f.path, f.value, f.rules)
		}
	}
}

// check compares a response, and the request if it was accepted, with the document.
func (d *document) check(t *testing.T, route server.Route, a response) {
	t.Helper()
	if route.Hidden || a.text == "" || a.status == http.StatusMethodNotAllowed {
		return
	}
	o := d.Paths[route.Path][strings.ToLower(route.Method)]
	schema, documented := o.Responses[strconv.Itoa(a.status)]
	if !documented {
		t.Errorf("%s answered %d, which is not documented: %s", route.Name, a.status, a.text)
		return
	}
	for name := range a.header {
		inherent := slices.Contains([]string{"Content-Type", "Content-Length", "Date", "Connection", "Transfer-Encoding"},
			name)
		documented := slices.ContainsFunc(slices.Collect(maps.Keys(schema.Headers)),
			func(known string) bool { return http.CanonicalHeaderKey(known) == name })
		if !inherent && !documented {
			t.Errorf("%s answered %d with %s, which is not documented", route.Name, a.status, name)
		}
	}
	// The Unix time is that of 2026-11-22, the date of the release that announced the deprecation.
	if alias := strings.HasSuffix(route.Path, "/submit-provider"); alias && a.header.Get("Deprecation") != "@1795305600" {
		t.Errorf("%s: answered with Deprecation %q", route.Name, a.header.Get("Deprecation"))
	} else if alias != o.Deprecated || alias != (a.header.Get("Deprecation") != "") ||
		alias != (a.header.Get("Link") != "") {
		t.Errorf("%s: documented as deprecated %v, answered with Deprecation %q and Link %q", route.Name, o.Deprecated,
			a.header.Get("Deprecation"), a.header.Get("Link"))
	}
	if route.File && a.status == http.StatusOK {
		return
	}
	if faults := d.faults(strconv.Itoa(a.status), schema.Content["application/json"].Schema,
		jsontext.Value(strings.TrimSpace(a.text)), true); len(faults) > 0 {
		t.Errorf("%s: the response does not conform to its schema: %v\n%s", route.Name, faults, a.text)
	}
	if a.status < 300 && o.Body != nil && !route.FileBody {
		if faults := d.faults("body", o.Body.Content["application/json"].Schema,
			jsontext.Value(strings.TrimSpace(a.request.body)), true); len(faults) > 0 {
			t.Errorf("%s accepted a body that does not conform to its schema: %v", route.Name, faults)
		}
	}
}
