package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"quittance/client/api"
)

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
	{name: "one field; the same patch again changes nothing", status: http.StatusOK,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"reason_code":"VD"}` },
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/issue_date", `"2026-03-15"`)
			again := c.send(t, request{method: http.MethodPatch, path: a.request.path, body: a.request.body, token: c.token(t)})
			again.want(t, http.StatusOK, "")
			if again.header.Get("ETag") != a.header.Get("ETag") || again.text != a.text {
				t.Errorf("a patch that changes nothing made %s of %s", again.text, a.text)
			}
			removed := c.send(t, request{method: http.MethodPatch, path: a.request.path, body: `{"reason_code":null}`,
				token: c.token(t)})
			wantRaw(t, removed, "/data/reason_code", "null")
		}},
	{name: "a void credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		c.post(t, r.path+"/void", "").want(t, http.StatusOK, "")
	}},
	{name: "fields that cannot be changed, and invalid values", status: http.StatusUnprocessableEntity,
		code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = `{"kind":"partial","items":[],"credit_note_number":"CN-2","reason":null,"issue_date":"2026-02-30","reason_code":7}`
		},
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"kind": {"unknown_field"}, "items": {"unknown_field"},
				"credit_note_number": {"unknown_field"}, "reason": {"required"}, "issue_date": {"date"}, "reason_code": {"type"}})
		}},
	{name: "the version that was read", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
	}},
	{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
			c.post(t, r.path+"/void", "").want(t, http.StatusOK, "")
		}},
}

// credit returns the body of a full credit note of an invoice.
func credit(invoice string) string {
	return fmt.Sprintf(
		`{"invoice_id":%q,"credit_note_number":"CN-1","issue_date":"2026-03-15","reason":"Returned\tgoods","kind":"full"}`,
		invoice)
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
		{name: "of no invoice", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?invoice_id=x" },
			check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of the dates", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) {
				aCreditNote(t, c)
				day := c.get(t, creditNotes).textAt(t, "/data/0/issue_date")
				r.path += "?issue_date_from=" + day + "&issue_date_to=" + day
			},
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination/total", "1")
				for _, query := range []string{"?issue_date_from=2999-01-01", "?issue_date_to=2000-01-01"} {
					wantRaw(t, c.get(t, creditNotes+query), "/pagination",
						`{"current_page":1,"per_page":25,"last_page":1,"has_more":false,"total":0}`)
				}
			}},
		badPage("page=0"), badPage("issue_date_from=2026-02-30"), badPage("issue_date_to="),
		badPage("updated_since=2026-03-01T00:00:00Z"),
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
	{route: "POST /api/v1/client/credit-notes/{credit_note_id}/submit", ids: aSubmittableCreditNote,
		rows: submitCreditRows},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}/submissions", ids: aCreditNote, rows: []row{
		{name: "of a draft", status: http.StatusOK,
			check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted credit note", status: http.StatusOK, prepare: func(t *testing.T, c *company,
			r *request) {
			r.path = submittedCreditNote(t, c, "") + "/submissions"
		},
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/0/current", "true")
				wantRaw(t, a, "/data/0/outcome", `"acknowledged"`)
				wantRaw(t, a, "/data/0/credit_note_number", `"CN-1"`)
				wantRaw(t, a, "/pagination/total", "1")
			}},
		badPage("page=0"),
	}},
	{route: "GET /api/v1/client/credit-notes/{credit_note_id}/evidence", ids: aCreditNote, rows: []row{
		{name: "of a draft", status: http.StatusOK,
			check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		{name: "of a submitted credit note", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) { r.path = submittedCreditNote(t, c, "") + "/evidence" },
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
	{name: "a quantity in a string, and a coded reason", status: http.StatusCreated,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = edit(edit(edit(r.body, "kind", `"partial"`), "items", `[{"position":0,"quantity":"2.00"}]`), "reason_code",
				`"DL8.61.1.C"`)
		}, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/items/0/quantity", "2.00")
			wantRaw(t, a, "/data/reason_code", `"DL8.61.1.C"`)
			wantRaw(t, c.get(t, creditNotes+"/"+a.textAt(t, "/data/id")), "/data/reason_code", `"DL8.61.1.C"`)
			if a.header.Get("ETag") == "" {
				t.Error("no ETag")
			}
		}},
	{name: "more than the remaining amount", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			c.post(t, creditNotes, r.body).want(t, http.StatusCreated, "")
		}, check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"kind": {"exceeds_invoice"}})
		}},
	{name: "of an unknown invoice", status: http.StatusNotFound, code: api.CodeNotFound,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = edit(r.body, "invoice_id", `"019f0000-0000-7000-8000-000000000000"`)
		}},
	{name: "of the zero invoice", status: http.StatusNotFound, code: api.CodeNotFound,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = edit(r.body, "invoice_id", `"00000000-0000-0000-0000-000000000000"`)
		}},
	{name: "of another company's invoice, with a fault", status: http.StatusNotFound, code: api.CodeNotFound,
		prepare: func(t *testing.T, c *company, r *request) {
			other := c.company(t)
			r.body = edit(edit(r.body, "invoice_id", fmt.Sprintf("%q", other.draft(t, complete))), "reason", "7")
		}},
	{name: "every fault at once", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = edit(edit(edit(edit(r.body, "reason", `""`), "issue_date", `"x"`), "kind", `"none"`), "items",
				`[{"position":-1,"quantity":"one"},7]`)
		}, check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"reason": {"required"}, "issue_date": {"date"},
				"kind": {"enum"}, "items[0].position": {"minimum"}, "items[0].quantity": {"type"}, "items[1]": {"type"}})
		}},
}
