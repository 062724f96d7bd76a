package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/test/kit"
)

// TestFormSuggests checks that a new form has the next number and the terms, currency and tax of the last invoice, and
// warns at once about a number that is used.
func TestFormSuggests(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	if form := controls(t, v.read("/invoices/new").body); form.Get("invoice_number") != "" || form.Get("currency") != "" {
		t.Errorf("the first form suggests %v", form)
	}
	id := v.created(complete("INV-009"))
	form := controls(t, v.read("/invoices/new").body)
	issued, err := time.Parse(time.DateOnly, form.Get("issue_date"))
	kit.Must(t, err)
	for name, want := range map[string]string{"invoice_number": "INV-010", "currency": "UAE Dirham",
		"payment_means_code": "Credit transfer", "due_date": issued.AddDate(0, 0, 30).Format(time.DateOnly),
		"items.vat_category": "Standard rate", "items.vat_rate": "5", "recipient_name": "", "items.name": ""} {
		if form.Get(name) != want {
			t.Errorf("%s is suggested as %q, want %q", name, form.Get(name), want)
		}
	}
	form.Set("invoice_number", "INV-009")
	checked := v.do(http.MethodPost, "/invoices/check", form.Encode(), "HX-Request", "true")
	if at := notesAt(t, checked.body)["invoice_number"]; at != "Another invoice has this number" {
		t.Errorf("a used number: %q", at)
	}
	if got := v.send("/invoices/new", form, "keep"); notesAt(t,
		got.body)["invoice_number"] != "Another invoice has this number" {
		t.Errorf("a used number, without scripts: %v", notesAt(t, got.body))
	}
	edit := controls(t, v.read("/invoices/"+id+"/edit").body)
	checked = v.do(http.MethodPost, "/invoices/check", edit.Encode(), "HX-Request", "true")
	if at := notesAt(t, checked.body)["invoice_number"]; at != "" {
		t.Errorf("the invoice's own number: %q", at)
	}
	added := controls(t, v.send("/invoices/new", form, "add").body)
	if rates := added["items.vat_rate"]; len(rates) != 2 || rates[1] != "5" {
		t.Errorf("the tax of a new line: %v", rates)
	}
	other := s.visitor(t)
	s.company(t, "other@example.com", "correct horse battery staple")
	other.post("/login", "email", "other@example.com", "password", "correct horse battery staple")
	if form := controls(t, other.read("/invoices/new").body); form.Get("invoice_number") != "" {
		t.Errorf("another company gets the number %s", form.Get("invoice_number"))
	}
}

// TestFillRecipient checks that a recipient of an earlier invoice can be found by its name, and fills in the other
// fields.
func TestFillRecipient(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	palm := complete("INV-1")
	palm.Set("due_date", "2026-03-11")
	v.created(palm)
	oasis := complete("INV-2")
	oasis.Set("recipient_name", "Oasis <b>FZE</b>")
	oasis.Set("buyer_city", "Sharjah")
	v.created(oasis)
	page := v.read("/invoices/new")
	if !strings.Contains(page.body, `<option value="Oasis &lt;b&gt;FZE&lt;/b&gt;">1</option>`) {
		t.Error("the form does not offer earlier recipients")
	}
	if got := v.get("/invoices/recipients?q=palm", "HX-Request", "true"); !strings.Contains(got.body,
		`value="Palm Trading LLC"`) || strings.Contains(got.body, "Oasis") {
		t.Errorf("search: %s", got.body)
	}
	form := controls(t, page.body)
	form.Set("recipient_name", "palm trading llc")
	form.Set("issue_date", "2026-04-01")
	form.Set("buyer_city", "typed before")
	filled := controls(t, v.send("/invoices/new", form, "fill").body)
	for name, want := range map[string]string{"recipient_name": "Palm Trading LLC", "buyer_city": "Dubai",
		"buyer_country": "United Arab Emirates", "recipient_network_id": "1", "due_date": "2026-04-11"} {
		if filled.Get(name) != want {
			t.Errorf("%s is filled in as %q, want %q", name, filled.Get(name), want)
		}
	}
	form.Set("recipient_name", "Nobody")
	if kept := controls(t, v.send("/invoices/new", form, "fill").body); kept.Get("buyer_city") != "typed before" {
		t.Errorf("an unknown recipient changes the city to %q", kept.Get("buyer_city"))
	}
}

// TestReplace checks that the copy that replaces an invoice has the next number and says which invoice it replaces.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	id := s.submitted(t, token, "INV-7", "sandbox-accepted")
	page := v.read("/invoices/" + id + "/replace")
	form := controls(t, page.body)
	if form.Get("invoice_number") != "INV-8" || form.Get("note") != "Replaces invoice INV-7." ||
		!strings.Contains(page.body, "This new invoice replaces") {
		t.Errorf("a replacement: %s, %q", form.Get("invoice_number"), form.Get("note"))
	}
	got := v.send("/invoices/new", form, "submit")
	if !strings.HasSuffix(got.header.Get("Location"), "?notice=good.submitted") {
		t.Fatalf("submit the replacement: %d %v", got.status, notesAt(t, got.body))
	}
	if got := v.get("/invoices/00000000-0000-0000-0000-000000000001/replace"); got.status != http.StatusNotFound {
		t.Errorf("replace an unknown invoice: %d", got.status)
	}
}
