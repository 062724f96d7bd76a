package site_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"quittance/test/ledgertest"
)

// TestDeleteDraftPage checks that a draft can be deleted in the version that the user saw, and only if nothing refers
// to it.
func TestDeleteDraftPage(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Second)
			v, token := s.loggedIn(t), s.token(t, s.email, s.password)
			id := v.created(complete("INV-1"))
			page := v.read("/invoices/" + id)
			if !strings.Contains(page.body, `id="delete"`) || !strings.Contains(page.body, "Delete this draft?") {
				t.Error("the page of a draft does not offer to delete it")
			}
			seen := controls(t, page.body).Get("version")
			if status := s.api(t, token, http.MethodPatch, "/api/v1/client/invoices/"+id,
				map[string]any{"buyer_city": "Sharjah"}, nil); status != http.StatusOK {
				t.Fatalf("patch: %d", status)
			}
			for _, version := range []string{seen, "", "x"} {
				if got := v.send("/invoices/"+id+"/delete", url.Values{"version": {version}},
					""); got.status != http.StatusConflict || !strings.Contains(got.body, "Nothing was deleted") {
					t.Errorf("version %q: %d", version, got.status)
				}
			}
			now := controls(t, v.read("/invoices/"+id).body).Get("version")
			if got := v.send("/invoices/"+id+"/delete", url.Values{"version": {now}}, ""); got.status != http.StatusSeeOther ||
				got.header.Get("Location") != "/invoices?notice=good.deleted" {
				t.Fatalf("delete of version %q: %d %s %v", now, got.status, got.header.Get("Location"),
					strings.Contains(got.body, "Nothing was deleted"))
			}
			if list := v.read("/invoices?notice=good.deleted"); !strings.Contains(list.body, "Draft deleted.") ||
				strings.Contains(list.body, id) {
				t.Error("the list shows the draft, or no notice")
			}
			if got := v.get("/invoices/" + id); got.status != http.StatusGone {
				t.Errorf("the page of the deleted draft: %d", got.status)
			}
			submitted := s.submitted(t, token, "INV-2", "1234567890")
			page = v.read("/invoices/" + submitted)
			if strings.Contains(page.body, `id="delete"`) {
				t.Error("the page of a submitted invoice offers to delete it")
			}
			why := false
			for version := range 20 { // one of them is the current version
				got := v.send("/invoices/"+submitted+"/delete", url.Values{"version": {strconv.Itoa(version)}}, "")
				if why = why || strings.Contains(got.body, "credit note refers to it"); got.status != http.StatusConflict {
					t.Errorf("deleting a submitted invoice: %d", got.status)
				}
			}
			if !why {
				t.Error("no page says why a submitted invoice cannot be deleted")
			}
			v.read("/invoices/" + submitted)
		})
	}
}

// TestLessCommonFields checks that the less common fields can be entered, survive an edit of other fields, and are
// shown.
func TestLessCommonFields(t *testing.T) {
	s := start(t, ledgertest.Engines()[0], true, time.Second)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	given := map[string]string{"external_id": "ERP-0815", "note": "Delivered\r\nin two parts",
		"buyer_tax_id": "100200300400003", "buyer_legal_id": "CN-77", "buyer_legal_id_scheme": "TL",
		"buyer_reference": "COST-7", "order_reference": "PO-4711", "contract_reference": "FRAME-1",
		"tax_exchange_rate": "3.67250", "transaction_flags": "00000001", "items.tax_exemption_code": "DL8.46.1",
		"items.tax_exemption_reason": "Certain services", "items.commodity_code": "84713000", "items.commodity_scheme": "HS",
		"items.order_line_reference": "10"}
	form := complete("INV-1")
	for name, value := range given {
		form.Set(name, value)
	}
	id := v.created(form)
	page := v.read("/invoices/" + id)
	for name, value := range given {
		if !strings.Contains(page.body, strings.ReplaceAll(value, "\r\n", "\n")) {
			t.Errorf("the page does not show %s", name)
		}
	}
	path := "/invoices/" + id + "/edit"
	edit := controls(t, v.read(path).body)
	edit.Set("buyer_city", "Ajman")
	if got := v.send(path, edit, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("edit: %d %v", got.status, notesAt(t, got.body))
	}
	d := s.invoiceAt(t, token, id).Draft
	item := d.Items[0]
	for name, kept := range map[string]*string{"external_id": d.ExternalID, "note": d.Note, "buyer_tax_id": d.BuyerTaxID,
		"buyer_legal_id": d.BuyerLegalID, "buyer_legal_id_scheme": d.BuyerLegalIDScheme, "buyer_reference": d.BuyerReference,
		"order_reference": d.OrderReference, "contract_reference": d.ContractReference,
		"transaction_flags": d.TransactionFlags, "items.tax_exemption_code": item.TaxExemptionCode,
		"items.tax_exemption_reason": item.TaxExemptionReason, "items.commodity_code": item.CommodityCode,
		"items.commodity_scheme": item.CommodityScheme, "items.order_line_reference": item.OrderLine} {
		if want := strings.ReplaceAll(given[name], "\r\n", "\n"); kept == nil || *kept != want {
			t.Errorf("%s is %v after an edit, want %q", name, kept, want)
		}
	}
	if d.TaxExchangeRate == nil || d.TaxExchangeRate.String() != "3.67250" || *d.BuyerCity != "Ajman" {
		t.Errorf("rate %v, city %v", d.TaxExchangeRate, *d.BuyerCity)
	}
}
