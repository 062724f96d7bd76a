package server_test

import (
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/front/server"
)

// keyRows returns the rows for an Idempotency-Key, which makes a repetition safe.
func keyRows(route server.Route) []row {
	rows := []row{
		{name: "key used for another request", status: http.StatusConflict, code: api.CodeIdempotencyKeyReused,
			prepare: func(t *testing.T, c *company, r *request) {
				first(t, c, r, route)
				if r.body == "" {
					r.body = "{}"
				}
				r.body += " " // other bytes with the same meaning
			}},
		{name: "key used for the same request", status: route.Status,
			prepare: func(t *testing.T, c *company, r *request) { first(t, c, r, route) },
			check: func(t *testing.T, c *company, a response) {
				if a.header.Get("Idempotency-Replayed") != "true" {
					t.Errorf("the repetition had an effect: %v", a.header)
				}
				// All repetitions have the same bytes and the same tag.
				again := c.send(t, a.request)
				if again.text != a.text || again.header.Get("ETag") != a.header.Get("ETag") {
					t.Errorf("the repetitions differ: %s\n%s", a.text, again.text)
				}
				if want := a.request.header.Get(firstResponse); strings.TrimSpace(a.text) != want {
					t.Errorf("replayed %s\nfirst    %s", a.text, want)
				}
			}},
		{name: "key of a failure", status: route.Status, prepare: func(t *testing.T, c *company, r *request) {
			r.header.Set("Idempotency-Key", "k-"+c.source())
			broken := *r
			broken.body, broken.token = "{", c.token(t)
			if route.FileBody {
				c.send(t, broken).want(t, http.StatusUnprocessableEntity, api.CodeValidationFailed)
				return
			}
			c.send(t, broken).want(t, http.StatusBadRequest, api.CodeMalformedRequest)
		}, check: func(t *testing.T, _ *company, a response) {
			if a.header.Get("Idempotency-Replayed") != "" {
				t.Error("the response to a failed call was stored")
			}
		}},
		{name: "key of another company", status: route.Status, prepare: func(t *testing.T, c *company, r *request) {
			other := c.connected(t)
			r.header.Set("Idempotency-Key", "k-"+c.source())
			other.send(t, request{method: http.MethodPost, path: invoicesPath, body: least, token: other.token(t),
				header: http.Header{"Idempotency-Key": r.header["Idempotency-Key"]}}).
				want(t, http.StatusCreated, "")
		}, check: func(t *testing.T, _ *company, a response) {
			if a.header.Get("Idempotency-Replayed") != "" {
				t.Error("the response of another company was returned")
			}
		}},
		{name: "key of 255 characters", status: route.Status, prepare: func(_ *testing.T, c *company, r *request) {
			r.header.Set("Idempotency-Key", (c.source() + strings.Repeat("~", 255))[:255])
		}},
	}
	for _, bad := range [][]string{{""}, {" "}, {"a b"}, {"é"}, {strings.Repeat("k", 256)}, {"one", "two"}} {
		rows = append(rows, row{name: "key " + strings.Join(bad, "|")[:min(3, len(strings.Join(bad, "|")))],
			status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: func(_ *testing.T, _ *company, r *request) { r.header["Idempotency-Key"] = bad }})
	}
	return rows
}

// firstResponse is a header in which the test keeps the first response. The service ignores it.
const firstResponse = "X-Test-First-Response"

// first adds a key to a request and sends it for the first time. It stores the response, without a secret that is shown
// only once, in the header firstResponse.
func first(t *testing.T, c *company, r *request, route server.Route) {
	t.Helper()
	r.header.Set("Idempotency-Key", "k-"+c.source())
	a := c.send(t, *r)
	a.want(t, route.Status, "")
	if a.header.Get("Idempotency-Replayed") != "" {
		t.Error("the first answer is a replay")
	}
	stored := edit(edit(strings.TrimSpace(a.text), "data.secret", ""), "data.key", "")
	if route.Name == "inviteUser" {
		stored = edit(stored, "data.url", "")
	}
	r.header.Set(firstResponse, stored)
	r.token = c.token(t) // another token of the same company
}
