package docs_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quittance"
	"quittance/internal/front/docs"
)

// described is the part of the API document that the tests compare with the reference.
type described struct {
	Tags  []struct{ Name string }
	Paths map[string]map[string]struct {
		OperationID string
		Summary     string
		Tags        []string
		Parameters  []struct{ Name string }
		RequestBody struct {
			Content map[string]struct {
				Schema struct {
					Ref        string `json:"$ref"`
					Properties map[string]json.RawMessage
				}
			}
		}
		Responses map[string]struct {
			Headers map[string]json.RawMessage
		}
	}
	Webhooks   map[string]map[string]struct{ OperationID string }
	Components struct {
		Schemas map[string]struct {
			Properties map[string]json.RawMessage
		}
		Examples map[string]struct {
			Value struct {
				Error struct {
					DocURL string `json:"doc_url"`
				}
			}
		}
	}
}

func readDescribed(t *testing.T) described {
	t.Helper()
	text, err := openapi()
	if err != nil {
		t.Fatal(err)
	}
	var d described
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// anchors returns the anchors of every page as links to them, with those of the pages themselves.
func anchors(t *testing.T, site http.Handler) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, path := range paths {
		out[path] = true
		for _, e := range parse(t, path, body(t, get(site, path))) {
			out[path+"#"+e.attributes["id"]] = true
		}
	}
	return out
}

// The reference has every operation with its parameters, the fields of its body, its header fields and its errors,
// every event, and every error code where the doc_url of its responses leads.
func TestTheReferenceIsComplete(t *testing.T) {
	site, d := newSite(), readDescribed(t)
	known := anchors(t, site)
	want := func(link string) {
		t.Helper()
		if !known[link] {
			t.Errorf("there is no %s", link)
		}
	}
	count := 0
	for path, methods := range d.Paths {
		for method, o := range methods {
			count++
			page := "/docs/reference/" + strings.ReplaceAll(strings.ToLower(o.Tags[0]), " ", "-")
			at := page + "#" + o.OperationID
			want(at)
			for _, p := range o.Parameters {
				want(at + "." + p.Name)
			}
			schema := o.RequestBody.Content["application/json"].Schema
			properties := schema.Properties
			if schema.Ref != "" {
				properties = d.Components.Schemas[strings.TrimPrefix(schema.Ref, "#/components/schemas/")].Properties
			}
			for name := range properties {
				want(at + "." + name)
			}
			for _, r := range o.Responses {
				for name := range r.Headers {
					want(at + ".response." + name)
				}
			}
			text := body(t, get(site, page))
			for _, part := range []string{strings.ToUpper(method) + "</span> <code>" + path + "</code>", o.Summary} {
				if !strings.Contains(text, part) {
					t.Errorf("%s does not show %s", page, part)
				}
			}
		}
	}
	if count < 70 || len(d.Webhooks) == 0 || len(d.Components.Examples) < 30 {
		t.Errorf("%d operations, %d events, %d errors", count, len(d.Webhooks), len(d.Components.Examples))
	}
	for _, o := range d.Webhooks {
		want("/docs/reference/webhook-events#" + o["post"].OperationID)
	}
	for _, example := range d.Components.Examples {
		want(example.Value.Error.DocURL)
	}
	for _, tag := range d.Tags {
		page := "/docs/reference/" + strings.ReplaceAll(strings.ToLower(tag.Name), " ", "-")
		if !slices.Contains(paths, page) {
			t.Errorf("no test reads %s", page)
		}
	}
}

// Every entry of the search index leads somewhere, and operations, fields, errors, events and guides can be found.
func TestTheSearchIndex(t *testing.T) {
	site := newSite()
	response := get(site, "/docs/search.json")
	var index []struct {
		Kind  string `json:"k"`
		Title string `json:"t"`
		URL   string `json:"u"`
	}
	if err := json.Unmarshal([]byte(body(t, response)), &index); err != nil ||
		response.Header.Get("Content-Type") != "application/json" {
		t.Fatal(err, response.Header)
	}
	known := anchors(t, site)
	found := map[string]string{}
	for _, entry := range index {
		if !known[entry.URL] || entry.Title == "" {
			t.Errorf("%+v leads nowhere", entry)
		}
		found[entry.Kind+" "+entry.Title] = entry.URL
	}
	for what, url := range map[string]string{
		"Operation Create a draft":       "/docs/reference/invoices#createInvoice",
		"Field buyer_endpoint_scheme":    "/docs/reference/invoices#patchInvoice.buyer_endpoint_scheme",
		"Error duplicate_invoice_number": "/docs/reference/errors#duplicate_invoice_number",
		"Event einvoice.terminal":        "/docs/reference/webhook-events#onEinvoiceTerminal",
		"Guide Verify the signature":     "/docs/webhooks#verify-the-signature",
	} {
		if _, ok := found[what]; !ok || !known[url] {
			t.Errorf("%s is not found", what)
		}
	}
}

// A reference that cannot be made is an error of its pages alone, which the log explains.
func TestBrokenReference(t *testing.T) {
	for _, broken := range []func() ([]byte, error){
		func() ([]byte, error) { return nil, errors.New("no document") },
		func() ([]byte, error) { return []byte("{"), nil },
		func() ([]byte, error) {
			return []byte(
				`{"tags":[{"name":"T"}],"paths":{"/p":{"get":{"operationId":"o","tags":["T"],"parameters":[{"in":"query","schema":{"$ref":"#/components/schemas/X"}}]}}}}`), nil
		},
	} {
		var log strings.Builder
		site := docs.New(quittance.Documents(), broken, slog.New(slog.NewTextHandler(&log, nil)))
		for _, path := range []string{"/docs/reference", "/docs/reference/errors", "/docs/search.json"} {
			if got := get(site, path); got.StatusCode != http.StatusInternalServerError ||
				!strings.Contains(log.String(), "cannot make the documentation") {
				t.Errorf("%s: %d, log %q", path, got.StatusCode, log.String())
			}
		}
		if got := get(site, "/docs/guide"); got.StatusCode != http.StatusOK {
			t.Errorf("the guide: %d", got.StatusCode)
		}
	}
}
