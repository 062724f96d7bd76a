package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/test/kit"
)

// TestOneArithmetic checks that a company has one figure for one thing in currencies without cents and with mils: what
// preflight computes is what a draft is complete with, what the document asks for and what the provider accepts; and
// the invoice is credited in parts that add up to it, each with a document.
func TestOneArithmetic(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		c.connectIn(t, "pint-ae")
		c.setProfile(t, emiratiProfile())
		for n, test := range []struct{ currency, quantity, price, total, part, left, rest string }{
			{"BHD", "10", "12.50", "131.25", "13.13", "112.50", "118.12"},
			{"OMR", "3", "10.125", "31.90", "10.64", "20.25", "21.26"},
			{"JPY", "10", "10.5", "110", "11", "94.50", "99"},
		} {
			body := edit(c.numbered("sandbox-accepted"), "buyer_tax_id", `"100200300400003"`)
			body = edit(body, "currency", `"`+test.currency+`"`)
			body = edit(edit(body, "tax_exchange_rate", `9.74`), "total_amount", `0`)
			body = edit(body, "items", fmt.Sprintf(`[{"name":"Gas","description":"Gas in bottles.","unit_code":"C62",`+
				`"quantity":%s,"net_unit_price":%s,"gross_unit_price":%[2]s,"vat_category":"S","vat_rate":5}]`, test.quantity,
				test.price))
			computed := c.post(t, invoicesPath+"/preflight", body)
			wantRaw(t, computed, "/data/computed/total", test.total)
			wantRaw(t, computed, "/data/complete", `false`)
			body = edit(body, "total_amount", test.total)
			checked := c.post(t, invoicesPath+"/preflight", body)
			wantRaw(t, checked, "/data/complete", `true`)
			if strings.Contains(checked.raw(t, "/data/warnings"), "total_") {
				t.Errorf("%s: %s", test.currency, checked.text)
			}
			id := c.draft(t, body)
			path := invoicesPath + "/" + id
			payable(t, c.get(t, path+"/document"), test.currency, test.total)
			c.post(t, path+"/submit", "").want(t, http.StatusOK, "")
			kit.Until(t, "the provider's acceptance", func() bool {
				return c.get(t, path).raw(t, "/data/submission_state") == `"accepted_by_provider"`
			})
			for part, items := range []string{`{"position":0,"quantity":1}`, `{"position":0,"net_amount":` + test.left + `}`} {
				note := c.post(t, creditNotes, fmt.Sprintf(`{"invoice_id":"%s","credit_note_number":"CN-%d-%d",`+
					`"issue_date":"2026-03-02","reason":"Returned.","reason_code":"DL8.61.1.A","kind":"partial","items":[%s]}`,
					id, n, part, items))
				note.want(t, http.StatusCreated, "")
				want := []string{test.part, test.rest}[part]
				if got := note.raw(t, "/data/total_amount"); got != want {
					t.Errorf("%s: part %d is %s instead of %s", test.currency, part, got, want)
				}
				payable(t, c.get(t, creditNotes+"/"+strings.Trim(note.raw(t, "/data/id"), `"`)+"/document"), test.currency, want)
			}
		}
	})
}

// payable checks the amount that a document asks for.
func payable(t *testing.T, document response, currency, amount string) {
	t.Helper()
	if !strings.Contains(amount, ".") {
		amount += ".00"
	}
	if want := `PayableAmount currencyID="` + currency + `">` + amount + "<"; !strings.Contains(document.text, want) {
		t.Errorf("%s is not in %d %s", want, document.status, document.text)
	}
}
