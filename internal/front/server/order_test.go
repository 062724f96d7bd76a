package server_test

import (
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/access"
)

// TestOrderOfErrors checks that of two errors in a request, the response reports the one that comes first in this
// order: unknown route 404, 405, 401, 429, 403, 415, 413, 400, unknown identifier 404, 422, 409. Each request here has
// two adjacent errors of that order.
func TestOrderOfErrors(t *testing.T) {
	const unknown = "/00000000-0000-7000-8000-00000000000f/submit"
	tooLarge := strings.Repeat("x", 1<<20+1) // and not JSON either
	text := http.Header{"Content-Type": {"text/plain"}}
	onFirst(t, walkConfig, func(t *testing.T, s *system) {
		for _, test := range []struct {
			name    string
			status  int
			code    api.Code
			prepare func(t *testing.T, c *company) request
		}{
			{"unknown route before method", 404, api.CodeNotFound, func(*testing.T, *company) request {
				return request{method: http.MethodTrace, path: "/api/v1/client/no-such"}
			}},
			{"method before token", 405, api.CodeMethodNotAllowed, func(*testing.T, *company) request {
				return request{method: http.MethodPut, path: invoicesPath}
			}},
			{"token before limit", 401, api.CodeUnauthenticated, func(t *testing.T, c *company) request {
				token := c.token(t)
				c.exhaust(t, token)
				c.revoke(t, token)
				return request{method: http.MethodPost, path: invoicesPath, token: token, body: least}
			}},
			{"limit before media type", 429, api.CodeRateLimited, func(t *testing.T, c *company) request {
				token := c.token(t)
				c.exhaust(t, token)
				return request{method: http.MethodPost, path: invoicesPath, token: token, body: least, header: text}
			}},
			{"limit before role", 429, api.CodeRateLimited, func(t *testing.T, c *company) request {
				viewer := c.colleague(t, access.Viewer)
				token := viewer.token(t)
				viewer.exhaust(t, token)
				return request{method: http.MethodPost, path: invoicesPath, token: token, body: least}
			}},
			{"role before media type", 403, api.CodeForbidden, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath, token: c.colleague(t, access.Viewer).token(t),
					body: tooLarge, header: text}
			}},
			{"role before identifier", 403, api.CodeForbidden, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath + unknown, token: c.colleague(t, access.Viewer).token(t)}
			}},
			{"media type before size", 415, api.CodeUnsupportedMediaType, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath, token: c.token(t), body: tooLarge, header: text}
			}},
			{"media type before size, of unknown length", 415, api.CodeUnsupportedMediaType,
				func(t *testing.T, c *company) request {
					return request{method: http.MethodPost, path: invoicesPath, token: c.token(t), body: tooLarge, header: text,
						chunked: true}
				}},
			{"size before form", 413, api.CodePayloadTooLarge, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath, token: c.token(t), body: tooLarge}
			}},
			{"size before form, of unknown length", 413, api.CodePayloadTooLarge, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath, token: c.token(t), body: tooLarge, chunked: true}
			}},
			{"form before identifier", 400, api.CodeMalformedRequest, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath + unknown, token: c.token(t), body: "{"}
			}},
			{"query before identifier", 400, api.CodeMalformedRequest, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath + unknown + "?x=1", token: c.token(t)}
			}},
			{"form before fields", 400, api.CodeMalformedRequest, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath, token: c.token(t), body: `{"currency":7,"currency":7}`}
			}},
			{"identifier before fields", 404, api.CodeNotFound, func(t *testing.T, c *company) request {
				return request{method: http.MethodPost, path: invoicesPath + unknown, token: c.token(t), body: `{"no_such":1}`}
			}},
			{"fields before state", 422, api.CodeInvoiceIncomplete, func(t *testing.T, c *company) request {
				c.disconnect(t)
				return request{method: http.MethodPost, path: invoicesPath + "/" + c.draft(t, least) + "/submit", token: c.token(t)}
			}},
			{"fields before limit of the company", 422, api.CodeUnsafeDestination, func(t *testing.T, c *company) request {
				for range 20 {
					c.post(t, subscriptions, `{"url":"https://hooks.example.com/"}`).want(t, http.StatusCreated, "")
				}
				return request{method: http.MethodPost, path: subscriptions, token: c.token(t),
					body: `{"url":"https://localhost/"}`}
			}},
			{"connection before number", 409, api.CodeProviderConnectionRequired, func(t *testing.T, c *company) request {
				c.post(t, invoicesPath+"/"+c.draft(t, complete)+"/submit", "").want(t, http.StatusOK, "")
				c.disconnect(t)
				return request{method: http.MethodPost, path: invoicesPath + "/" + c.draft(t, complete) + "/submit",
					token: c.token(t)}
			}},
			{"recorded outcome before connection", 200, "", func(t *testing.T, c *company) request {
				submit := request{method: http.MethodPost, path: invoicesPath + "/" + c.draft(t, complete) + "/submit",
					token: c.token(t)}
				c.send(t, submit).want(t, http.StatusOK, "")
				c.disconnect(t)
				return submit
			}},
		} {
			t.Run(test.name, func(t *testing.T) {
				c := s.connected(t)
				c.send(t, test.prepare(t, c)).want(t, test.status, test.code)
			})
		}
	})
}
