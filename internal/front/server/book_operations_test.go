package server_test

import (
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
)

const (
	aCustomerBody = `{"display_name":"Palm, Dubai","recipient_name":"Palm Trading LLC","buyer_trading_name":"Palm","recipient_network_id":"1234567890","buyer_endpoint_scheme":"0235",` +
		`"buyer_street":"12 Harbour Road","buyer_street_additional":"Hall 3","buyer_address_line":"Area 4","buyer_city":"Dubai","buyer_postal_code":"1000","buyer_subdivision":"DXB","buyer_country":"AE",` +
		`"buyer_tax_id":"100200300400003","buyer_legal_id":"CN-1","buyer_legal_id_scheme":"TL","buyer_legal_id_issuer":"DET","buyer_identifier":"C-1","buyer_identifier_scheme":"0088","buyer_contact":{"name":"AP","phone":"+971 4 1","email":"ap@palm.example"},"buyer_reference":"COST-7",` +
		`"currency":"AED","payment_means_code":"30","payment_terms_days":30,"note":"two\nlines"}`
	anItemBody = `{"item_code":"SKU-7","buyer_item_code":"B-7","standard_item_code":"04012345123456","standard_item_scheme":"0160","name":"Consulting","description":"two\nlines","origin_country":"DE","unit_code":"HUR","base_quantity":1,"net_unit_price":100.00,"gross_unit_price":110.00,"discount_amount":10.00,` +
		`"currency":"AED","vat_category":"S","vat_rate":5.0,"tax_exemption_code":"X","tax_exemption_reason":"Y","commodity_code":"84713000","commodity_scheme":"HS","commodity_version":"2022","supply_type":"B","service_code":"998311"}`
)

// bookOperations are the operations of the customer book and of the item catalogue.
var bookOperations = append(bookOperationsAt("customers", "customer_id", aCustomerBody, "recipient_name",
	`{"note":null,"payment_terms_days":"30","id":"x"}`,
	map[string][]string{"payment_terms_days": {"type"}, "id": {"unknown_field"}}),
	bookOperationsAt("items", "item_id", anItemBody, "name", `{"quantity":1,"currency":"XXQ","vat_rate":-1}`,
		map[string][]string{"quantity": {"unknown_field"}, "currency": {"currency"}, "vat_rate": {"minimum"}})...)

// bookOperationsAt returns the operations at a path with a valid body, whose only required field is named, and with an
// invalid patch.
func bookOperationsAt(path, parameter, body, required, invalid string, faults map[string][]string) []operation {
	at := "/api/v1/client/" + path
	create := func(t *testing.T, c *company) map[string]string {
		t.Helper()
		a := c.post(t, at, body)
		a.want(t, http.StatusCreated, "")
		return map[string]string{parameter: a.textAt(t, "/data/id")}
	}
	fieldsOf := func(a response) string { // without what the service adds
		text, _, _ := strings.Cut(a.text, `,"created_at"`)
		return "{" + text[strings.Index(text, `","`)+2:] + "}"
	}
	version := row{name: "another version", status: http.StatusPreconditionFailed, code: api.CodePreconditionFailed,
		prepare: func(t *testing.T, c *company, r *request) {
			r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
			c.send(t, request{method: http.MethodPatch, path: r.path, body: `{"currency":null}`, token: c.token(t)}).want(t,
				http.StatusOK, "")
		}, check: stillThere}
	read := row{name: "the version that was read", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, r *request) {
			r.header.Set("If-Match", c.get(t, r.path).header.Get("ETag"))
		}}
	return []operation{
		{route: "GET " + at, rows: []row{
			{name: "by name, with all fields", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
				create(t, c)
				c.post(t, at, edit(body, required, `"Abra"`)).want(t, http.StatusCreated, "")
				c.post(t, at, `{"`+required+`":"abc"}`).want(t, http.StatusCreated, "")
				r.path += "?name=ABRA&per_page=1"
			}, check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/pagination/total", "1")
				wantRaw(t, a, "/data/0/"+required, `"Abra"`)
				wantRaw(t, a, "/data/1", "")
			}},
			{name: "nothing has the text", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
				create(t, c)
				r.path += "?name=" + strings.Repeat("x", 256)
			}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
			{name: "past the end", status: http.StatusOK,
				prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?page=9223372036854775807&per_page=100" },
				check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
			badPage("page=0"), badPage("name="), badPage("name=" + strings.Repeat("x", 257)),
		}},
		{route: "POST " + at, body: func(*testing.T, *company) string { return body }, rows: []row{
			{name: "every field", status: http.StatusCreated, check: func(t *testing.T, c *company, a response) {
				if got := fieldsOf(response{text: a.raw(t, "/data")}); got != body {
					t.Errorf("created %s, want %s", got, body)
				}
				again := c.get(t, at+"/"+a.textAt(t, "/data/id"))
				wantRaw(t, again, "/data", a.raw(t, "/data"))
				if tag := a.header.Get("ETag"); tag == "" || again.header.Get("ETag") != tag {
					t.Errorf("created with the tag %q, read with %q", tag, again.header.Get("ETag"))
				}
			}},
			{name: "the same name again", status: http.StatusCreated,
				prepare: func(t *testing.T, c *company, _ *request) { create(t, c) }},
			{name: "hostile text", status: http.StatusCreated, prepare: func(_ *testing.T, _ *company, r *request) {
				r.body = `{"` + required + `":"</script><b>'; drop table book_entries; -- %_\\ =cmd|' \u202eabc"}`
			}, check: func(t *testing.T, c *company, a response) {
				wantRaw(t, c.get(t, at+"?name=%25_%5C"), "/data/0/id", a.raw(t, "/data/id"))
			}},
			{name: "without a name", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"currency":"aed","x":1}` },
				check: func(t *testing.T, c *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{required: {"required"}, "currency": {"currency"},
						"x": {"unknown_field"}})
					wantRaw(t, c.get(t, at), "/data", "[]")
				}},
			quotaRow(),
		}},
		{route: "GET " + at + "/{" + parameter + "}", ids: create,
			rows: []row{{name: "as it was created", status: http.StatusOK}}},
		{route: "PATCH " + at + "/{" + parameter + "}", ids: create,
			body: func(*testing.T, *company) string { return `{"currency":"USD"}` }, rows: []row{
				{name: "one field", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
					if got := fieldsOf(response{text: a.raw(t, "/data")}); got != edit(body, "currency", `"USD"`) {
						t.Errorf("changed to %s", got)
					}
					again := c.send(t, request{method: http.MethodPatch, path: a.request.path, body: a.request.body,
						token: c.token(t)})
					if again.want(t, http.StatusOK, ""); again.text != a.text || again.header.Get("ETag") != a.header.Get("ETag") {
						t.Errorf("a patch that changes nothing made %s of %s", again.text, a.text)
					}
				}},
				{name: "null removes a field", status: http.StatusOK,
					prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"currency":null}` },
					check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data/currency", "null") }},
				{name: "invalid values", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
					prepare: func(_ *testing.T, _ *company, r *request) { r.body = invalid },
					check:   func(t *testing.T, _ *company, a response) { a.wantFaults(t, api.CodeValidationFailed, faults) }},
				{name: "the name removed", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
					prepare: func(_ *testing.T, _ *company, r *request) { r.body = `{"` + required + `":null}` },
					check: func(t *testing.T, _ *company, a response) {
						a.wantFaults(t, api.CodeValidationFailed, map[string][]string{required: {"required"}})
					}},
				read, version,
				{name: "grown beyond the quota", status: http.StatusConflict, code: api.CodeLimitReached,
					prepare: func(t *testing.T, c *company, r *request) {
						quotaRow().prepare(t, c, r)
						r.body = `{"` + required + `":"` + strings.Repeat("x", 200) + `"}`
					}},
			}},
		{route: "DELETE " + at + "/{" + parameter + "}", ids: create, alone: true, rows: []row{
			{name: "one", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data", `{"id":"`+a.request.path[len(at)+1:]+`","deleted":true}`)
				c.get(t, a.request.path).want(t, http.StatusNotFound, api.CodeNotFound)
				c.send(t, request{method: http.MethodDelete, path: a.request.path, token: c.token(t)}).want(t, http.StatusNotFound,
					api.CodeNotFound)
				wantRaw(t, c.get(t, at), "/data", "[]")
			}},
			read, version,
		}},
	}
}
