package site_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestCreditNotes checks that a credit note credits lines by quantity or amount and shows what remains. It rejects
// larger amounts with the API's messages. Voiding it restores the amounts.
func TestCreditNotes(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Millisecond)
			v := s.loggedIn(t)
			form := complete("INV-1")
			for _, name := range []string{"name", "quantity", "unit_code", "net_unit_price", "vat_category", "vat_rate",
				"item_code", "description", "base_quantity", "gross_unit_price", "discount_amount"} {
				form["items."+name] = append(form["items."+name], form.Get("items."+name))
			}
			form["items.name"], form["total_amount"] = []string{"Consulting", "Training"}, []string{"2100.00"}
			id := v.created(form)
			path := "/invoices/" + id + "/credit"
			page := v.read(path)
			note := controls(t, page.body)
			if note.Get("kind") != "partial" || len(note["quantity"]) != 2 || !strings.Contains(page.body, "2,100.00 AED") {
				t.Fatalf("the form: %v", note)
			}
			note.Set("credit_note_number", "CN-1")
			note["quantity"], note["net_amount"] = []string{"", "11"}, []string{"", ""}
			got := v.send(path, note, "")
			at := notesAt(t, got.body)
			if got.status != http.StatusUnprocessableEntity || at["items-1-quantity"] != "More than remains on this line" ||
				at["reason"] != "Required" || at["items-0-quantity"] != "" {
				t.Errorf("a quantity that is too large: %d %v", got.status, at)
			}
			if again := controls(t, got.body); !slices.Equal(again["quantity"], note["quantity"]) ||
				again.Get("credit_note_number") != "CN-1" {
				t.Errorf("the preserved form: %v", again)
			}
			note["quantity"], note["net_amount"], note["reason"] = []string{"", "2,5"}, []string{"AED 100.00", ""},
				[]string{"Two\r\nreasons"}
			checked := v.do(http.MethodPost, path+"/check", note.Encode(), "HX-Request", "true")
			if !strings.Contains(checked.body, "367.50 AED") || !strings.Contains(checked.body, "1,732.50 AED") {
				t.Errorf("check: %s", checked.body)
			}
			got = v.send(path, note, "")
			if got.status != http.StatusSeeOther {
				t.Fatalf("credit: %d %v", got.status, notesAt(t, got.body))
			}
			wantCredited(t, s, v, id, got.header.Get("Location"))
		})
	}
}

// wantCredited checks every page that shows a credit note of 367.50, voids it, and then credits the whole invoice.
func wantCredited(t *testing.T, s *system, v *visitor, id, location string) {
	t.Helper()
	one := v.read(location)
	for _, want := range []string{"367.50", "1,732.50 AED", "Two\nreasons", "100.00",
		"Submission of credit notes to the provider is disabled"} {
		if !strings.Contains(one.body, want) {
			t.Errorf("the credit note does not say %q", want)
		}
	}
	for _, path := range []string{"/credit-notes", "/credit-notes?invoice=" + id, "/invoices/" + id} {
		if page := v.read(path); !strings.Contains(page.body, "CN-1") || !strings.Contains(page.body, "367.50") {
			t.Errorf("%s does not show the credit note", path)
		}
	}
	path := "/invoices/" + id + "/credit"
	second := v.read(path)
	if !strings.Contains(second.body, "Remaining: 7.5 hours") || !strings.Contains(second.body, "Net amount: 900.00") ||
		!strings.Contains(second.body, `value="full" disabled`) {
		t.Error("the form does not show what remains")
	}
	everything := url.Values{"credit_note_number": {"CN-2"}, "issue_date": {"2026-03-01"}, "reason": {"All"},
		"kind": {"full"}}
	if got := v.send(path, everything, ""); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(notesAt(t, got.body)["kind"], "More than remains on the invoice") {
		t.Errorf("a full credit note for a partly credited invoice: %d", got.status)
	}
	note, _, _ := strings.Cut(location, "?")
	for range 2 { // the second press changes nothing
		if got := v.send(note+"/void", nil, ""); got.status != http.StatusSeeOther {
			t.Fatalf("void: %d", got.status)
		}
	}
	if page := v.read(note); !strings.Contains(page.body, "Void since") || strings.Contains(page.body, `id="void"`) {
		t.Error("the credit note is not shown as void")
	}
	if got := v.send(path, everything, ""); got.status != http.StatusSeeOther {
		t.Fatalf("a full credit note: %d %v", got.status, notesAt(t, got.body))
	}
	if page := v.read(path); !strings.Contains(page.body, "Nothing left to credit") {
		t.Error("the form offers a fully credited invoice")
	}
	parsed, err := base.ParseID(id)
	kit.Must(t, err)
	_, live, err := invoices.CreditedInvoice(t.Context(), s.tenant(t), parsed)
	kit.Must(t, err)
	if len(live) != 1 || live[0].Kind != api.CreditFull || live[0].Total != "2100.00" {
		t.Errorf("live: %+v", live)
	}
}

// TestPrint checks that the printable view shows what is stored and reported, infers nothing, and states that it is not
// the legal document.
func TestPrint(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	form := complete("INV-1")
	form.Set("buyer_reference", "COST-CENTRE-7")
	page := v.read("/invoices/" + v.created(form) + "/print")
	for _, want := range []string{"INV-1", "COST-CENTRE-7", "1,000.00", `value="1050.00" title="1050.00 AED">1,050.00`, ">hours</bdi>",
		"1 Mar 2026", "Standard rate", "Credit transfer", "not the legal document", "It was not sent",
		"All data here is synthetic"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the printable view does not contain %q", want)
		}
	}
	if n := strings.Count(page.body, "<dd>No update yet</dd>"); n != len(invoice.Dimensions) {
		t.Errorf("%d states are not reported", n)
	}
}
