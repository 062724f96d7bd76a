package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"quittance/client/api"
)

const (
	newPassword = "a fresh pass phrase of mine"
	creditNotes = "/api/v1/client/credit-notes"
)

var accountOperations = []operation{
	{route: "POST /api/v1/client/auth/logout", rows: []row{
		{name: "the token is revoked, others are valid", status: http.StatusOK,
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data", `{"logged_out":true}`)
				c.send(t, request{method: http.MethodGet, path: invoicesPath, token: a.request.token}).want(t,
					http.StatusUnauthorized, api.CodeUnauthenticated)
				c.get(t, invoicesPath).want(t, http.StatusOK, "")
			}},
	}},
	{route: "POST /api/v1/client/auth/password", alone: true, rows: passwordRows,
		body: func(*testing.T, *company) string { return passwords(password, newPassword) }},
	{route: "POST /api/v1/client/auth/address", alone: true, rows: addressRows,
		body: func(_ *testing.T, c *company) string { return newAddress(c.newEmail(), password) }},
	{route: "POST /api/v1/client/auth/address/proof", alone: true, rows: []row{
		{name: "an unproved address", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, _ *request) { c.unprove(t) },
			check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", `{"requested":true}`) }},
	}},
	{route: "POST /api/v1/client/auth/address/confirm", alone: true,
		body: func(t *testing.T, c *company) string { return `{"code":"` + c.unprove(t) + `"}` }, rows: []row{
			{name: "the code of the mail", status: http.StatusOK,
				check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/email_proved", "true") }},
			{name: "an unknown code", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: sends(`{"code":"qv_wrong"}`), check: func(t *testing.T, _ *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"code": {"unusable"}})
				}},
		}},
	{route: "GET /api/v1/client/account", rows: []row{
		{name: "with a connection", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/id", fmt.Sprintf("%q", c.id))
			wantRaw(t, a, "/data/status", `"active"`)
			wantRaw(t, a, "/data/connection",
				`{"kind":"http","environment":"sandbox","state":"active","profile":null,"failing_since":null}`)
			wantRaw(t, a, "/data/profile/legal_name", "null")
			wantRaw(t, a, "/data/caller", fmt.Sprintf(`{"kind":"user","email":%q,"role":"owner","api_key_id":null,"scopes":[]}`,
				c.email))
		}},
		{name: "with an API key", status: http.StatusOK, check: func(t *testing.T, c *company, _ response) {
			made := c.post(t, apiKeys, `{"name":"ERP","scopes":["submit","read"]}`)
			made.want(t, http.StatusCreated, "")
			a := c.send(t, request{method: http.MethodGet, path: "/api/v1/client/account", token: made.textAt(t, "/data/key")})
			wantRaw(t, a,
				"/data/caller",
				fmt.Sprintf(`{"kind":"api_key","email":null,"role":null,"api_key_id":%s,"scopes":["read","submit"]}`,
					made.raw(t, "/data/id")))
		}},
		{name: "without a connection", status: http.StatusOK, check: func(t *testing.T, c *company, _ response) {
			wantRaw(t, c.company(t).get(t, "/api/v1/client/account"), "/data/connection", "null")
		}},
	}},
}

func passwords(current, chosen string) string {
	return fmt.Sprintf(`{"current_password":%q,"new_password":%q}`, current, chosen)
}

var passwordRows = []row{
	{name: "every other token is revoked", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, r *request) { r.header.Set("X-Test-Other-Token", c.token(t)) },
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data", `{"password_changed":true}`)
			c.send(t, request{method: http.MethodGet, path: invoicesPath,
				token: a.request.header.Get("X-Test-Other-Token")}).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
			c.send(t, request{method: http.MethodGet, path: invoicesPath, token: a.request.token}).want(t, http.StatusOK, "")
			login := func(password string) response {
				return c.send(t, request{method: http.MethodPost, path: loginPath, body: credentials(c.email, password),
					header: http.Header{"X-Forwarded-For": {c.source()}}})
			}
			login(password).want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			login(newPassword).want(t, http.StatusOK, "")
		}},
	badPassword("a wrong current password", passwords("wrong", newPassword), "current_password", "wrong"),
	badPassword("fourteen characters", passwords(password, "fourteen chars"), "new_password", "min_length"),
	badPassword("257 characters", fmt.Sprintf(`{"current_password":%q,"new_password":%s}`, password, repeat(257, "x")),
		"new_password", "max_length"),
	badPassword("the same character twenty times", passwords(password, "aaaaaaaaaaaaaaaaaaaa"), "new_password", "common"),
	badPassword("the old one", passwords(password, password), "new_password", "unchanged"),
	{name: "guessing the current password", status: http.StatusTooManyRequests, code: api.CodeRateLimited,
		prepare: func(t *testing.T, c *company, r *request) {
			c.clock.stop(t)
			for range loginsAMinute {
				guess := *r
				guess.body, guess.token = passwords("wrong", newPassword), c.token(t)
				c.send(t, guess).want(t, http.StatusUnprocessableEntity, api.CodeValidationFailed)
			}
		}},
}

func badPassword(name, body, path, rule string) row {
	return row{name: name, status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = body },
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{path: {rule}})
		}}
}

var invoiceOperations = []operation{
	{route: "POST /api/v1/client/invoices/preflight", rows: []row{
		{name: "a complete draft", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/complete", "true")
			wantRaw(t, a, "/data/missing", "[]")
			wantRaw(t, a, "/data/computed", computed("1000.00", "50.00", "1050.00"))
			wantRaw(t, c.get(t, invoicesPath), "/data", "[]") // nothing is stored
		}},
		{name: "a draft with a wrong total", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) {
				r.body = edit(edit(r.body, "total_amount", "7"), "due_date", "")
			},
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/complete", "false")
				wantRaw(t, a, "/data/missing", `["due_date"]`)
				wantRaw(t, a, "/data/warnings/total_amount/0/rule", `"total_mismatch"`)
				wantRaw(t, a, "/data/warnings/total_amount/0/rule_id", `"BR-CO-15"`)
				wantRaw(t, a, "/data/warnings/due_date", "")
			}},
	}, body: func(_ *testing.T, c *company) string { return c.numbered("") }},
	{route: "GET /api/v1/client/invoices/{invoice_id}/document", ids: anInvoice, rows: documentRows},
	{route: "GET /api/v1/client/invoices/{invoice_id}/document.pdf", ids: anInvoice, rows: pdfRows},
	{route: "PATCH /api/v1/client/invoices/{invoice_id}", ids: anInvoice, rows: patchRows,
		body: func(*testing.T, *company) string { return `{"buyer_city":"Sharjah"}` }},
	{route: "DELETE /api/v1/client/invoices/{invoice_id}", ids: anInvoice, alone: true, rows: deleteRows},
	{route: "GET /api/v1/client/invoices/{invoice_id}/submissions", ids: anInvoice, rows: []row{
		{name: "of a draft", status: http.StatusOK,
			check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted invoice", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") + "/submissions" },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/0/current", "true")
				wantRaw(t, a, "/data/0/outcome", `"acknowledged"`)
				wantRaw(t, a, "/pagination/total", "1")
			}},
		badPage("page=0"),
	}},
	{route: "GET /api/v1/client/invoices/{invoice_id}/evidence", ids: anInvoice, rows: []row{
		{name: "of a draft", status: http.StatusOK,
			check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted invoice", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") + "/evidence" },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/0/call", `"submit"`)
				wantRaw(t, a, "/data/0/ordinal", "1")
				wantRaw(t, a, "/data/0/http_status", "200")
			}},
		badPage("per_page=0"),
	}},
	{route: "GET /api/v1/client/evidence/{evidence_id}", ids: func(t *testing.T, c *company) map[string]string {
		return map[string]string{"evidence_id": evidenceOf(t, c, "")}
	}, rows: []row{
		{name: "the retained bytes", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/withheld", "false")
			wantRetained(t, a)
		}},
		{name: "a response that echoes the credential", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) {
				r.path = "/api/v1/client/evidence/" + evidenceOf(t, c, "sandbox-echo")
			},
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/withheld", "true")
				wantRaw(t, a, "/data/body_base64", "null")
			}},
	}},
}

// submitted submits an invoice and returns its path.
func submitted(t *testing.T, c *company, recipient string) string {
	t.Helper()
	path := invoicesPath + "/" + c.draft(t, c.numbered(recipient))
	if a := c.post(t, path+"/submit", ""); a.status != http.StatusOK && a.status != http.StatusAccepted {
		t.Fatalf("submit answered %d %s", a.status, a.text)
	}
	return path
}

func evidenceOf(t *testing.T, c *company, recipient string) string {
	t.Helper()
	return c.get(t, submitted(t, c, recipient)+"/evidence").textAt(t, "/data/0/id")
}

var patchRows = []row{
	quotaRow(),
	{name: "a field", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
		wantRaw(t, a, "/data/buyer_city", `"Sharjah"`)
		wantRaw(t, a, "/data/recipient_name", `"Palm Trading LLC"`)
	}},
	{name: "null removes a field", status: http.StatusOK,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"due_date":null}` },
		check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/missing", `["due_date"]`) }},
	{name: "items are replaced completely", status: http.StatusOK, prepare: func(_ *testing.T, _ *company, r *request) {
		r.body = `{"items":[{"name":"Other","quantity":2.50,"net_unit_price":1}]}`
	}, check: func(t *testing.T, _ *company, a response) {
		wantRaw(t, a, "/data/items/0/quantity", "2.50")
		wantRaw(t, a, "/data/items/0/unit_code", "null")
		wantRaw(t, a, "/data/items/1", "")
	}},
	{name: "a required field removed", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = `{"currency":null,"no_such":null,"total_amount":"one"}`
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"currency": {"required"}, "no_such": {"unknown_field"},
				"total_amount": {"type"}})
		}},
	{name: "the version that was read", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
	}},
	{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
			c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"buyer_city":"Ajman"}`, token: c.token(t)}).want(t,
				http.StatusOK, "")
		}},
	{name: "a submitted invoice", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") }},
	{name: "a rejected invoice", status: http.StatusOK, prepare: func(t *testing.T, c *company,
		r *request) {
		r.path = submitted(t, c, "sandbox-rejected-validation")
	},
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/submission", "null")
			wantRaw(t, a, "/data/submitted", "false")
			for _, state := range dimensions {
				wantRaw(t, a, "/data/"+state, "null")
			}
			wantRaw(t, c.get(t, a.request.path+"/submissions"), "/data/0/outcome", `"rejected"`)
		}},
	{name: "an invoice with a live credit note", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) {
			c.post(t, creditNotes, credit(r.path[len(invoicesPath)+1:])).want(t, http.StatusCreated, "")
		}},
}

var deleteRows = []row{
	{name: "a draft", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data", fmt.Sprintf(`{"id":%q,"deleted":true}`, a.request.path[len(invoicesPath)+1:]))
		c.get(t, a.request.path).want(t, http.StatusNotFound, api.CodeNotFound)
		c.send(t, request{method: http.MethodDelete, path: a.request.path, token: c.token(t)}).want(t, http.StatusNotFound,
			api.CodeNotFound)
		list := c.get(t, invoicesPath)
		wantRaw(t, list, "/data", "[]")
		wantRaw(t, list, "/pagination/total", "0")
	}},
	{name: "the middle one of three", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, _ *request) { c.draft(t, complete); c.draft(t, least) },
		check: func(t *testing.T, c *company, _ response) {
			first, second := c.get(t, invoicesPath+"?per_page=1"), c.get(t, invoicesPath+"?per_page=1&page=2")
			wantRaw(t, first, "/pagination/total", "2")
			wantRaw(t, second, "/pagination/last_page", "2")
			if first.textAt(t, "/data/0/id") == second.textAt(t, "/data/0/id") ||
				c.get(t, invoicesPath+"?per_page=1&page=3").raw(t, "/data") != "[]" {
				t.Errorf("%s\n%s", first.text, second.text)
			}
		}},
	{name: "the version that was read", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
	}},
	{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
			c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"buyer_city":"Ajman"}`, token: c.token(t)}).want(t,
				http.StatusOK, "")
		}, check: stillThere},
	{name: "a submitted invoice", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") }, check: stillThere},
	{name: "a rejected invoice", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "sandbox-rejected-validation") },
		check:   stillThere},
	{name: "a rejected invoice that was changed", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) {
			r.path = submitted(t, c, "sandbox-rejected-validation")
			c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"buyer_city":"Ajman"}`, token: c.token(t)}).want(t,
				http.StatusOK, "")
		}, check: stillThere},
	{name: "a draft that the provider did not accept", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) {
			submitTo("sandbox-429-once")(t, c, r)
			c.post(t, r.path+"/submit", "").want(t, http.StatusBadGateway, api.CodeProviderError)
		}, check: stillThere},
	{name: "an invoice with a live credit note", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) {
			c.post(t, creditNotes, credit(r.path[len(invoicesPath)+1:])).want(t, http.StatusCreated, "")
		}, check: stillThere},
	{name: "an invoice with a void credit note", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) {
			made := c.post(t, creditNotes, credit(r.path[len(invoicesPath)+1:]))
			c.post(t, creditNotes+"/"+made.textAt(t, "/data/id")+"/void", "").want(t, http.StatusOK, "")
		}, check: stillThere},
}

// stillThere checks that the resource can still be read.
func stillThere(t *testing.T, c *company, a response) {
	c.get(t, a.request.path).want(t, http.StatusOK, "")
}
