package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
)

// TestHostileForms checks that the forms, the print view and the credit notes of a draft have the same elements as with
// plain text, contain the text unchanged, and submit it unchanged, whatever the draft contains.
func TestHostileForms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	// by whether the text ends in a digit: a copy then has the next number, and lacks nothing
	plain := map[bool]map[string]string{
		false: formShapes(t, s, v, token, "plain"),
		true:  formShapes(t, s, v, token, "plain-1"),
	}
	for _, text := range hostile {
		want := plain['0' <= text[len(text)-1] && text[len(text)-1] <= '9']
		for page, shape := range formShapes(t, s, v, token, text) {
			if shape != want[page] {
				t.Errorf("%q changes %s: %s", text, page, difference(shape, want[page]))
			}
		}
	}
}

// formShapes stores a text in every text field and returns the shapes of the pages tested here.
func formShapes(t *testing.T, s *system, v *visitor, token, text string) map[string]string {
	t.Helper()
	d := draft(text, text)
	d.RecipientName, d.BuyerEndpointScheme, d.BuyerStreet, d.BuyerCity, d.BuyerSubdivision, d.PaymentMeansCode = &text,
		&text, &text, &text, &text, &text
	item := &d.Items[0]
	item.ItemCode, item.Name, item.Description, item.UnitCode, item.VATCategory = &text, &text, &text, &text, &text
	var made api.Invoice
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made); status != http.StatusCreated {
		t.Fatalf("%q: %d", text, status)
	}
	path := "/invoices/" + made.ID
	pages := map[string]response{"the form": v.read(path + "/edit"), "a copy": v.read(path + "/duplicate"),
		"the print": v.read(path + "/print"), "the form of a credit note": v.read(path + "/credit")}
	form := controls(t, pages["the form"].body)
	for _, name := range []string{"invoice_number", "recipient_name", "buyer_street", "items.name", "items.description"} {
		if form.Get(name) != text {
			t.Errorf("%q: the form contains %q as %s", text, form.Get(name), name)
		}
	}
	for _, name := range []string{"buyer_endpoint_scheme", "buyer_subdivision", "payment_means_code", "items.unit_code",
		"items.vat_category"} {
		// quoted, because it would stand for a code otherwise
		if shown := form.Get(name); shown != text && shown != `"`+text+`"` {
			t.Errorf("%q: the form contains %q as %s", text, shown, name)
		}
	}
	if got := v.send(path+"/edit", form, "save"); got.status != http.StatusSeeOther {
		t.Errorf("%q cannot be saved unchanged: %d %v", text, got.status, notesAt(t, got.body))
	}
	if after := s.invoiceAt(t, token, made.ID); !after.UpdatedAt.Equal(made.UpdatedAt) {
		t.Errorf("saving %q changes it", text)
	}
	for name := range form { // fields that do not accept text show a fault and keep the input
		if name != "version" && name != "show_missing" && name != "announced" {
			form.Set(name, text)
		}
	}
	pages["the form with faults"] = v.send("/invoices/new", form, "save")
	if kept := controls(t, pages["the form with faults"].body); kept.Get("total_amount") != text ||
		kept.Get("issue_date") != text || kept.Get("items.vat_rate") != text {
		t.Errorf("a form with faults loses %q: %v", text, kept)
	}
	note := v.send(path+"/credit", url.Values{"credit_note_number": {text}, "issue_date": {"2026-03-01"}, "reason": {text},
		"kind": {"full"}}, "")
	if note.status != http.StatusSeeOther {
		t.Fatalf("%q: no credit note: %d", text, note.status)
	}
	at, _, _ := strings.Cut(note.header.Get("Location"), "?")
	pages["a credit note"], pages["the credit notes"], pages["those of the invoice"] = v.read(at),
		v.read("/credit-notes?per=1"), v.read("/credit-notes?invoice="+made.ID)
	pages["the print of a credit note"], pages["a search in credit notes"] = v.read(at+"/print"),
		v.read("/credit-notes?state=live&q="+url.QueryEscape(text))
	out := map[string]string{}
	for name, page := range pages {
		if (name == "the print" || strings.Contains(name, "credit note")) &&
			!strings.Contains(textOf(parse(t, page.body)), text) {
			t.Errorf("%q is not shown on %s", text, name)
		}
		// its list has several pages from the second text on
		if name != "the credit notes" && name != "a search in credit notes" {
			out[name] = shape(parse(t, page.body))
		}
	}
	return out
}
