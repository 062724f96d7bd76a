package server_test

import (
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/test/kit"
)

// reverseCharge is a complete reverse-charge draft for PINT-AE, which states the rate of the tax that the buyer
// accounts for.
func reverseCharge(c *company) string {
	text := edit(c.numbered("sandbox-accepted"), "buyer_tax_id", `"100200300400003"`)
	text = edit(text, "total_amount", `1000.00`)
	return edit(text, "items",
		`[{"name":"Gold","description":"Gold bars.","unit_code":"KGM","quantity":10,"base_quantity":1,"net_unit_price":100,`+
			`"gross_unit_price":100,"vat_category":"AE","vat_rate":5,"tax_exemption_code":"DL8.48.8.1","commodity_scheme":"0160","commodity_code":"04012345123456"}]`)
}

// TestReverseChargeHasNoTax checks that every place that computes tax agrees that a reverse-charge line has none,
// whatever its rate: preflight with and without a format, the PDF, a partial credit note, the document, and the
// provider's own check.
func TestReverseChargeHasNoTax(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.connected(t)
		c.setProfile(t, emiratiProfile())
		body := reverseCharge(c)
		for _, query := range []string{"", "?profile=pint-ae"} {
			a := c.post(t, invoicesPath+"/preflight"+query, body)
			a.want(t, http.StatusOK, "")
			wantRaw(t, a, "/data/computed", computed("1000.00", "0.00", "1000.00"))
			wantRaw(t, a, "/data/complete", `true`)
			if strings.Contains(a.text, "total_mismatch") || strings.Contains(a.text, "tax_exemption_unknown") {
				t.Errorf("preflight%s: %s", query, a.text)
			}
		}
		id := c.draft(t, body)
		path := invoicesPath + "/" + id
		wantPDF(t, c.get(t, path+"/document.pdf"), "", "AED 1,000.00")
		if document := c.get(t, path+"/document?profile=pint-ae"); !strings.Contains(document.text,
			">1000.00</cbc:PayableAmount>") {
			t.Errorf("the document: %s", document.text)
		}
		a := c.post(t, path+"/submit", "")
		a.want(t, http.StatusOK, "")
		kit.Until(t, "the provider's acceptance", func() bool {
			return c.get(t, path).raw(t, "/data/submission_state") == `"accepted_by_provider"`
		})
		credit := c.post(t, creditNotes, `{"invoice_id":"`+id+
			`","credit_note_number":"CN-1","issue_date":"2026-03-02","reason":"Returned.","kind":"partial","items":[{"position":0,"quantity":1}]}`)
		credit.want(t, http.StatusCreated, "")
		wantRaw(t, credit, "/data/total_amount", `100.00`)
	})
}

// TestContradictoryTax checks that a tax that contradicts its category in every document format makes a draft
// incomplete over every connection, named by field and official rule, and that submission refuses it.
func TestContradictoryTax(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		general, formatted := s.connected(t), s.company(t)
		formatted.connectIn(t, "pint-ae")
		for _, tt := range []struct {
			c    *company
			rule string
		}{{general, "BR-Z-05"}, {formatted, "aligned-ibrp-z-05"}} {
			tt.c.setProfile(t, emiratiProfile())
			// a draft may be incomplete
			id := tt.c.draft(t, strings.Replace(tt.c.numbered(""), `"vat_category":"S"`, `"vat_category":"Z"`, 1))
			for _, at := range []string{"", "?submitted=false"} {
				place := "/data"
				path := invoicesPath + "/" + id
				if at != "" {
					path, place = invoicesPath+at, "/data/0"
				}
				a := tt.c.get(t, path)
				wantRaw(t, a, place+"/complete", `false`)
				if !strings.Contains(a.raw(t, place+"/missing"), `"items[0].vat_rate"`) ||
					a.raw(t, place+"/warnings/items[0].vat_rate/0/rule_id") != `"`+tt.rule+`"` {
					t.Errorf("%s%s: %s", tt.rule, at, a.text)
				}
			}
			refused := tt.c.post(t, invoicesPath+"/"+id+"/submit", "")
			refused.want(t, http.StatusUnprocessableEntity, api.CodeInvoiceIncomplete)
			wantRaw(t, refused, "/error/details/items[0].vat_rate/0/rule", `"tax_rate"`)
			wantRaw(t, refused, "/error/details/items[0].vat_rate/0/rule_id", `"`+tt.rule+`"`)
		}
	})
}

// computed is the member computed of a preflight of a draft without allowances, charges and payments.
func computed(net, tax, total string) string {
	return `{"lines":` + net + `,"allowances":0.00,"charges":0.00,"net":` + net + `,"tax":` + tax + `,"total":` + total +
		`,"amount_due":` + total + `}`
}
