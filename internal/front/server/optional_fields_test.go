package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestOptionalFields checks that every way of reading a draft returns its optional fields as they were sent, and the
// provider gets them, decimals as numbers with their scale. A patch that does not name a field leaves it unchanged, and
// null removes it.
func TestOptionalFields(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.connected(t)
		given := map[string]string{"external_id": `"ERP-0815"`, "note": `"two\nlines"`, "buyer_tax_id": `"100200300400003"`,
			"buyer_legal_id": `"CN-77"`, "buyer_legal_id_scheme": `"TL"`, "buyer_reference": `"COST-7"`,
			"order_reference": `"PO-4711"`, "contract_reference": `"FRAME-1"`, "tax_exchange_rate": `"3.67250"`,
			"transaction_flags": `"00000001"`, "items[0].tax_exemption_code": `"DL8.46.1"`,
			"items[0].tax_exemption_reason": `"Certain services"`, "items[0].commodity_code": `"84713000"`,
			"items[0].commodity_scheme": `"HS"`, "items[0].order_line_reference": `"10"`}
		body := c.numbered("")
		for path, value := range given {
			body = edit(body, path, value)
		}
		pointer := func(path string) string { return "/" + strings.NewReplacer("[", "/", "].", "/").Replace(path) }
		want := func(value string) string {
			if value == given["tax_exchange_rate"] {
				return "3.67250"
			}
			return value
		}
		created := c.post(t, invoicesPath, body)
		created.want(t, http.StatusCreated, "")
		id := created.textAt(t, "/data/id")
		patched := c.send(t, request{method: http.MethodPatch, path: invoicesPath + "/" + id, body: `{"buyer_city":"Ajman"}`,
			token: c.token(t)})
		for path, value := range given {
			for _, a := range []response{created, patched, c.get(t, invoicesPath+"/"+id)} {
				wantRaw(t, a, "/data"+pointer(path), want(value))
			}
			if !strings.HasPrefix(path, "items") {
				wantRaw(t, c.get(t, invoicesPath), "/data/0"+pointer(path), want(value))
			}
		}
		submitted := c.post(t, invoicesPath+"/"+id+"/submit", "")
		submitted.want(t, http.StatusOK, "")
		text, found, err := c.sandbox.Provider.Ledger().Body(submitted.textAt(t, "/data/submission/id"))
		if !found || err != nil {
			t.Fatalf("the ledger does not have the document: %v", err)
		}
		var sent struct {
			Invoice jsontext.Value `json:"invoice"`
		}
		if err := json.Unmarshal(text, &sent); err != nil {
			t.Fatal(err)
		}
		document := response{text: string(sent.Invoice)}
		for path, value := range given {
			wantRaw(t, document, pointer(path), want(value))
		}

		other := c.draft(t, edit(body, "invoice_number", `"OTHER-1"`))
		removed := c.send(t, request{method: http.MethodPatch, path: invoicesPath + "/" + other,
			body: `{"external_id":null,"tax_exchange_rate":null}`, token: c.token(t)})
		wantRaw(t, removed, "/data/external_id", "null")
		wantRaw(t, removed, "/data/tax_exchange_rate", "null")
		wantRaw(t, removed, "/data/order_reference", `"PO-4711"`)
	})
}
