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
		{name: "the token is revoked, others are valid", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data", `{"logged_out":true}`)
			c.send(t, request{method: http.MethodGet, path: invoices, token: a.request.token}).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
			c.get(t, invoices).want(t, http.StatusOK, "")
		}},
	}},
	{route: "POST /api/v1/client/auth/password", alone: true, rows: passwordRows,
		body: func(*testing.T, *company) string { return passwords(password, newPassword) }},
	{route: "POST /api/v1/client/auth/address", alone: true, rows: addressRows,
		body: func(_ *testing.T, c *company) string { return newAddress(c.newEmail(), password) }},
	{route: "POST /api/v1/client/auth/address/proof", alone: true, rows: []row{
		{name: "an unproved address", status: http.StatusOK, prepare: func(t *testing.T, c *company, _ *request) { c.unprove(t) }, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", `{"requested":true}`) }},
	}},
	{route: "POST /api/v1/client/auth/address/confirm", alone: true, body: func(t *testing.T, c *company) string { return `{"code":"` + c.unprove(t) + `"}` }, rows: []row{
		{name: "the code of the mail", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/email_proved", "true") }},
		{name: "an unknown code", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed, prepare: sends(`{"code":"qv_wrong"}`), check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"code": {"unusable"}})
		}},
	}},
	{route: "GET /api/v1/client/account", rows: []row{
		{name: "with a connection", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/id", fmt.Sprintf("%q", c.id))
			wantRaw(t, a, "/data/status", `"active"`)
			wantRaw(t, a, "/data/connection", `{"kind":"http","environment":"sandbox","state":"active","profile":null,"failing_since":null}`)
			wantRaw(t, a, "/data/profile/legal_name", "null")
			wantRaw(t, a, "/data/caller", fmt.Sprintf(`{"kind":"user","email":%q,"role":"owner","api_key_id":null,"scopes":[]}`, c.email))
		}},
		{name: "with an API key", status: http.StatusOK, check: func(t *testing.T, c *company, _ response) {
			made := c.post(t, apiKeys, `{"name":"ERP","scopes":["submit","read"]}`)
			made.want(t, http.StatusCreated, "")
			a := c.send(t, request{method: http.MethodGet, path: "/api/v1/client/account", token: made.textAt(t, "/data/key")})
			wantRaw(t, a, "/data/caller", fmt.Sprintf(`{"kind":"api_key","email":null,"role":null,"api_key_id":%s,"scopes":["read","submit"]}`, made.raw(t, "/data/id")))
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
			c.send(t, request{method: http.MethodGet, path: invoices, token: a.request.header.Get("X-Test-Other-Token")}).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
			c.send(t, request{method: http.MethodGet, path: invoices, token: a.request.token}).want(t, http.StatusOK, "")
			login := func(password string) response {
				return c.send(t, request{method: http.MethodPost, path: loginPath, body: credentials(c.email, password), header: http.Header{"X-Forwarded-For": {c.source()}}})
			}
			login(password).want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			login(newPassword).want(t, http.StatusOK, "")
		}},
	badPassword("a wrong current password", passwords("wrong", newPassword), "current_password", "wrong"),
	badPassword("fourteen characters", passwords(password, "fourteen chars"), "new_password", "min_length"),
	badPassword("257 characters", fmt.Sprintf(`{"current_password":%q,"new_password":%s}`, password, repeat(257, "x")), "new_password", "max_length"),
	badPassword("the same character twenty times", passwords(password, "aaaaaaaaaaaaaaaaaaaa"), "new_password", "common"),
	badPassword("the old one", passwords(password, password), "new_password", "unchanged"),
	{name: "guessing the current password", status: http.StatusTooManyRequests, code: api.CodeRateLimited, prepare: func(t *testing.T, c *company, r *request) {
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
			wantRaw(t, a, "/data/computed", `{"net":1000.00,"tax":50.00,"total":1050.00}`)
			wantRaw(t, c.get(t, invoices), "/data", "[]") // nothing is stored
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
		{name: "of a draft", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted invoice", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") + "/submissions" },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/0/current", "true")
				wantRaw(t, a, "/data/0/outcome", `"acknowledged"`)
				wantRaw(t, a, "/pagination/total", "1")
			}},
		badPage("page=0"),
	}},
	{route: "GET /api/v1/client/invoices/{invoice_id}/evidence", ids: anInvoice, rows: []row{
		{name: "of a draft", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted invoice", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") + "/evidence" },
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
	path := invoices + "/" + c.draft(t, c.numbered(recipient))
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
	{name: "null removes a field", status: http.StatusOK, prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"due_date":null}` },
		check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/missing", `["due_date"]`) }},
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
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"currency": {"required"}, "no_such": {"unknown_field"}, "total_amount": {"type"}})
		}},
	{name: "the version that was read", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
	}},
	{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
		c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"buyer_city":"Ajman"}`, token: c.token(t)}).want(t, http.StatusOK, "")
	}},
	{name: "a submitted invoice", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") }},
	{name: "a rejected invoice", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "sandbox-rejected-validation") },
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/submission", "null")
			wantRaw(t, a, "/data/submitted", "false")
			for _, state := range dimensions {
				wantRaw(t, a, "/data/"+state, "null")
			}
			wantRaw(t, c.get(t, a.request.path+"/submissions"), "/data/0/outcome", `"rejected"`)
		}},
	{name: "an invoice with a live credit note", status: http.StatusConflict, code: api.CodeInvoiceNotEditable, prepare: func(t *testing.T, c *company, r *request) {
		c.post(t, creditNotes, credit(r.path[len(invoices)+1:])).want(t, http.StatusCreated, "")
	}},
}

var deleteRows = []row{
	{name: "a draft", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data", fmt.Sprintf(`{"id":%q,"deleted":true}`, a.request.path[len(invoices)+1:]))
		c.get(t, a.request.path).want(t, http.StatusNotFound, api.CodeNotFound)
		c.send(t, request{method: http.MethodDelete, path: a.request.path, token: c.token(t)}).want(t, http.StatusNotFound, api.CodeNotFound)
		list := c.get(t, invoices)
		wantRaw(t, list, "/data", "[]")
		wantRaw(t, list, "/pagination/total", "0")
	}},
	{name: "the middle one of three", status: http.StatusOK, prepare: func(t *testing.T, c *company, _ *request) { c.draft(t, complete); c.draft(t, least) },
		check: func(t *testing.T, c *company, _ response) {
			first, second := c.get(t, invoices+"?per_page=1"), c.get(t, invoices+"?per_page=1&page=2")
			wantRaw(t, first, "/pagination/total", "2")
			wantRaw(t, second, "/pagination/last_page", "2")
			if first.textAt(t, "/data/0/id") == second.textAt(t, "/data/0/id") || c.get(t, invoices+"?per_page=1&page=3").raw(t, "/data") != "[]" {
				t.Errorf("%s\n%s", first.text, second.text)
			}
		}},
	{name: "the version that was read", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
	}},
	{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
		c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"buyer_city":"Ajman"}`, token: c.token(t)}).want(t, http.StatusOK, "")
	}, check: stillThere},
	{name: "a submitted invoice", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "") }, check: stillThere},
	{name: "a rejected invoice", status: http.StatusConflict, code: api.CodeInvoiceNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submitted(t, c, "sandbox-rejected-validation") }, check: stillThere},
	{name: "a rejected invoice that was changed", status: http.StatusConflict, code: api.CodeInvoiceNotEditable, prepare: func(t *testing.T, c *company, r *request) {
		r.path = submitted(t, c, "sandbox-rejected-validation")
		c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"buyer_city":"Ajman"}`, token: c.token(t)}).want(t, http.StatusOK, "")
	}, check: stillThere},
	{name: "a draft that the provider did not accept", status: http.StatusConflict, code: api.CodeInvoiceNotEditable, prepare: func(t *testing.T, c *company, r *request) {
		submitTo("sandbox-429-once")(t, c, r)
		c.post(t, r.path+"/submit", "").want(t, http.StatusBadGateway, api.CodeProviderError)
	}, check: stillThere},
	{name: "an invoice with a live credit note", status: http.StatusConflict, code: api.CodeInvoiceNotEditable, prepare: func(t *testing.T, c *company, r *request) {
		c.post(t, creditNotes, credit(r.path[len(invoices)+1:])).want(t, http.StatusCreated, "")
	}, check: stillThere},
	{name: "an invoice with a void credit note", status: http.StatusConflict, code: api.CodeInvoiceNotEditable, prepare: func(t *testing.T, c *company, r *request) {
		made := c.post(t, creditNotes, credit(r.path[len(invoices)+1:]))
		c.post(t, creditNotes+"/"+made.textAt(t, "/data/id")+"/void", "").want(t, http.StatusOK, "")
	}, check: stillThere},
}

// stillThere checks that the resource can still be read.
func stillThere(t *testing.T, c *company, a response) {
	c.get(t, a.request.path).want(t, http.StatusOK, "")
}

var patchCreditRows = []row{
	{name: "a submitted credit note", status: http.StatusConflict, code: api.CodeCreditNoteNotEditable,
		prepare: func(t *testing.T, c *company, r *request) { r.path = submittedCreditNote(t, c, "") }},
	{name: "a rejected credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.path = submittedCreditNote(t, c, "sandbox-rejected-validation")
	}, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/submitted", "false")
		wantRaw(t, a, "/data/submission", "null")
		wantRaw(t, a, "/data/submission_state", "null")
		c.post(t, a.request.path+"/submit", "").want(t, http.StatusOK, "")
		wantRaw(t, c.get(t, a.request.path+"/submissions"), "/pagination/total", "2")
	}},
	{name: "every field that can be changed", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/issue_date", `"2026-03-16"`)
		wantRaw(t, a, "/data/reason", `"Goods\treturned"`)
		wantRaw(t, a, "/data/reason_code", `"DL8.61.1.D"`)
		wantRaw(t, a, "/data/total_amount", "1050.00")
		read := c.get(t, a.request.path)
		wantRaw(t, read, "/data", a.raw(t, "/data"))
		if tag := a.header.Get("ETag"); tag == "" || read.header.Get("ETag") != tag {
			t.Errorf("changed under the tag %q, read under %q", tag, read.header.Get("ETag"))
		}
	}},
	{name: "one field; the same patch again changes nothing", status: http.StatusOK, prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"reason_code":"VD"}` },
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/issue_date", `"2026-03-15"`)
			again := c.send(t, request{method: http.MethodPatch, path: a.request.path, body: a.request.body, token: c.token(t)})
			again.want(t, http.StatusOK, "")
			if again.header.Get("ETag") != a.header.Get("ETag") || again.text != a.text {
				t.Errorf("a patch that changes nothing made %s of %s", again.text, a.text)
			}
			removed := c.send(t, request{method: http.MethodPatch, path: a.request.path, body: `{"reason_code":null}`, token: c.token(t)})
			wantRaw(t, removed, "/data/reason_code", "null")
		}},
	{name: "a void credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		c.post(t, r.path+"/void", "").want(t, http.StatusOK, "")
	}},
	{name: "fields that cannot be changed, and invalid values", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = `{"kind":"partial","items":[],"credit_note_number":"CN-2","reason":null,"issue_date":"2026-02-30","reason_code":7}`
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"kind": {"unknown_field"}, "items": {"unknown_field"}, "credit_note_number": {"unknown_field"},
				"reason": {"required"}, "issue_date": {"date"}, "reason_code": {"type"}})
		}},
	{name: "the version that was read", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
	}},
	{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
		c.post(t, r.path+"/void", "").want(t, http.StatusOK, "")
	}},
}

// credit returns the body of a full credit note of an invoice.
func credit(invoice string) string {
	return fmt.Sprintf(`{"invoice_id":%q,"credit_note_number":"CN-1","issue_date":"2026-03-15","reason":"Returned\tgoods","kind":"full"}`, invoice)
}

func aCreditNote(t *testing.T, c *company) map[string]string {
	t.Helper()
	a := c.post(t, creditNotes, credit(c.draft(t, c.numbered(""))))
	a.want(t, http.StatusCreated, "")
	return map[string]string{"credit_note_id": a.textAt(t, "/data/id")}
}

var creditNoteOperations = []operation{
	{route: "POST /api/v1/client/credit-notes", rows: creditRows,
		body: func(t *testing.T, c *company) string { return credit(c.draft(t, c.numbered(""))) }},
	{route: "GET /api/v1/client/credit-notes", rows: []row{
		{name: "of one invoice", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
			aCreditNote(t, c)
			id := c.draft(t, c.numbered(""))
			c.post(t, creditNotes, credit(id)).want(t, http.StatusCreated, "")
			r.path += "?invoice_id=" + id
		}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/pagination/total", "1") }},
		{name: "of no invoice", status: http.StatusOK, prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?invoice_id=x" },
			check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of the dates", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) {
				aCreditNote(t, c)
				day := c.get(t, creditNotes).textAt(t, "/data/0/issue_date")
				r.path += "?issue_date_from=" + day + "&issue_date_to=" + day
			},
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination/total", "1")
				for _, query := range []string{"?issue_date_from=2999-01-01", "?issue_date_to=2000-01-01"} {
					wantRaw(t, c.get(t, creditNotes+query), "/pagination", `{"current_page":1,"per_page":25,"last_page":1,"has_more":false,"total":0}`)
				}
			}},
		badPage("page=0"), badPage("issue_date_from=2026-02-30"), badPage("issue_date_to="), badPage("updated_since=2026-03-01T00:00:00Z"),
	}},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}", ids: aCreditNote, rows: []row{
		{name: "as it was created", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/total_amount", "1050.00")
			wantRaw(t, a, "/data/voided_at", "null")
		}},
	}},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}/document", ids: aCreditNote, rows: documentRows},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}/document.pdf", ids: aCreditNote, rows: pdfRows},
	{route: "PATCH /api/v1/client/credit-notes/{credit_note_id}", ids: aCreditNote, rows: patchCreditRows,
		body: func(*testing.T, *company) string {
			return `{"issue_date":"2026-03-16","reason":"Goods\treturned","reason_code":"DL8.61.1.D"}`
		}},
	{route: "POST /api/v1/client/credit-notes/{credit_note_id}/void", ids: aCreditNote, rows: []row{
		{name: "its amount is free again", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			invoice := a.textAt(t, "/data/invoice_id")
			if a.raw(t, "/data/voided_at") == "null" {
				t.Errorf("not void: %s", a.text)
			}
			c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)}).want(t, http.StatusOK, "")
			c.post(t, creditNotes, credit(invoice)).want(t, http.StatusCreated, "")
		}},
		{name: "a submitted credit note", status: http.StatusConflict, code: api.CodeCreditNoteNotEditable,
			prepare: func(t *testing.T, c *company, r *request) { r.path = submittedCreditNote(t, c, "") + "/void" }},
		{name: "a rejected credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
			r.path = submittedCreditNote(t, c, "sandbox-rejected-validation") + "/void"
		}, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/submission/outcome", `"rejected"`)
			c.post(t, creditNotes, credit(a.textAt(t, "/data/invoice_id"))).want(t, http.StatusCreated, "")
		}},
	}},
	{route: "POST /api/v1/client/credit-notes/{credit_note_id}/submit", ids: aSubmittableCreditNote, rows: submitCreditRows},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}/submissions", ids: aCreditNote, rows: []row{
		{name: "of a draft", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) { r.path = submittedCreditNote(t, c, "") + "/submissions" },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/0/current", "true")
				wantRaw(t, a, "/data/0/outcome", `"acknowledged"`)
				wantRaw(t, a, "/data/0/credit_note_number", `"CN-1"`)
				wantRaw(t, a, "/pagination/total", "1")
			}},
		badPage("page=0"),
	}},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}/evidence", ids: aCreditNote, rows: []row{
		{name: "of a draft", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) { r.path = submittedCreditNote(t, c, "") + "/evidence" },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/0/call", `"submit"`)
				wantRaw(t, a, "/data/0/ordinal", "1")
			}},
		badPage("per_page=0"),
	}},
}

var creditRows = []row{
	quotaRow(),
	{name: "the whole invoice", status: http.StatusCreated, check: func(t *testing.T, _ *company, a response) {
		wantRaw(t, a, "/data/total_amount", "1050.00")
		wantRaw(t, a, "/data/currency", `"AED"`)
		wantRaw(t, a, "/data/submitted", "false")
	}},
	{name: "part of it", status: http.StatusCreated, prepare: func(_ *testing.T, _ *company, r *request) {
		r.body = edit(edit(r.body, "kind", `"partial"`), "items", `[{"position":0,"quantity":2}]`)
	}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/total_amount", "210.00") }},
	{name: "a quantity in a string, and a coded reason", status: http.StatusCreated, prepare: func(_ *testing.T, _ *company, r *request) {
		r.body = edit(edit(edit(r.body, "kind", `"partial"`), "items", `[{"position":0,"quantity":"2.00"}]`), "reason_code", `"DL8.61.1.C"`)
	}, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/items/0/quantity", "2.00")
		wantRaw(t, a, "/data/reason_code", `"DL8.61.1.C"`)
		wantRaw(t, c.get(t, creditNotes+"/"+a.textAt(t, "/data/id")), "/data/reason_code", `"DL8.61.1.C"`)
		if a.header.Get("ETag") == "" {
			t.Error("no ETag")
		}
	}},
	{name: "more than the remaining amount", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed, prepare: func(t *testing.T, c *company, r *request) {
		c.post(t, creditNotes, r.body).want(t, http.StatusCreated, "")
	}, check: func(t *testing.T, _ *company, a response) {
		a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"kind": {"exceeds_invoice"}})
	}},
	{name: "of an unknown invoice", status: http.StatusNotFound, code: api.CodeNotFound, prepare: func(_ *testing.T, _ *company, r *request) {
		r.body = edit(r.body, "invoice_id", `"019f0000-0000-7000-8000-000000000000"`)
	}},
	{name: "of the zero invoice", status: http.StatusNotFound, code: api.CodeNotFound, prepare: func(_ *testing.T, _ *company, r *request) {
		r.body = edit(r.body, "invoice_id", `"00000000-0000-0000-0000-000000000000"`)
	}},
	{name: "of another company's invoice, with a fault", status: http.StatusNotFound, code: api.CodeNotFound, prepare: func(t *testing.T, c *company, r *request) {
		other := c.company(t)
		r.body = edit(edit(r.body, "invoice_id", fmt.Sprintf("%q", other.draft(t, complete))), "reason", "7")
	}},
	{name: "every fault at once", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed, prepare: func(_ *testing.T, _ *company, r *request) {
		r.body = edit(edit(edit(edit(r.body, "reason", `""`), "issue_date", `"x"`), "kind", `"none"`), "items", `[{"position":-1,"quantity":"one"},7]`)
	}, check: func(t *testing.T, _ *company, a response) {
		a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"reason": {"required"}, "issue_date": {"date"}, "kind": {"enum"},
			"items[0].position": {"minimum"}, "items[0].quantity": {"type"}, "items[1]": {"type"}})
	}},
}
