package console_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

// controls are the values of the forms of a page's content, as a browser would send them without a button.
func controls(t testing.TB, page string) url.Values {
	t.Helper()
	out := url.Values{}
	elements(parse(t, page), func(node *html.Node) {
		name := attribute(node, "name")
		switch {
		case name == "" || node.Data == "button" || node.Data == "meta" || has(node, "disabled"):
		case node.Data == "textarea":
			out.Add(name, strings.ReplaceAll(textOf(node), "\n", "\r\n"))
		case attribute(node, "type") == "radio" && !has(node, "checked"):
		case node.Data == "input":
			out.Add(name, attribute(node, "value"))
		}
	})
	return out
}

// has tells whether an element has an attribute, whatever its value.
func has(node *html.Node, name string) bool {
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// send posts a form, with a button or without one, and looks for what no page may have.
func (v *visitor) send(path string, form url.Values, button string) answer {
	v.t.Helper()
	sent := maps.Clone(form)
	if button != "" {
		sent["do"] = []string{button}
	}
	got := v.do(http.MethodPost, path, sent.Encode())
	wantWhole(v.t, path, got)
	return got
}

// read gets a page that has to be there.
func (v *visitor) read(path string) answer {
	v.t.Helper()
	got := v.get(path)
	if got.status != http.StatusOK {
		v.t.Fatalf("%s: %d", path, got.status)
	}
	wantWhole(v.t, path, got)
	return got
}

// wantWhole looks for messages whose placeholders were not filled.
func wantWhole(t testing.TB, path string, got answer) {
	t.Helper()
	if at := strings.Index(got.body, "%!"); at >= 0 {
		t.Errorf("%s: %.80q", path, got.body[at:])
	}
}

// notesAt are what the page says at its fields, by JSON path: faults, then advice.
func notesAt(t testing.TB, page string) map[string]string {
	t.Helper()
	out := map[string]string{}
	elements(parse(t, page), func(node *html.Node) {
		if attribute(node, "class") == "notes" {
			if text := strings.TrimSpace(textOf(node)); text != "" {
				out[strings.TrimPrefix(attribute(node, "id"), "n-")] = text
			}
		}
	})
	return out
}

// invoiceAt reads an invoice by the API.
func (s *system) invoiceAt(t testing.TB, token, id string) api.Invoice {
	t.Helper()
	var out api.Invoice
	if status := s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+id, nil, &out); status != http.StatusOK {
		t.Fatalf("invoice %s: %d", id, status)
	}
	return out
}

// count is how many invoices there are.
func (s *system) count(t testing.TB) int {
	t.Helper()
	page, err := s.tenant(t).Invoices(t.Context(), store.InvoiceFilter{}, 1, 1)
	must(t, err)
	return page.Total
}

// complete is the form of a complete draft of one line.
func complete(number string) url.Values {
	return url.Values{"invoice_number": {number}, "recipient_name": {"Palm Trading LLC"}, "recipient_network_id": {"1"}, "buyer_endpoint_scheme": {"0235"},
		"buyer_street": {"12 Harbour Road"}, "buyer_city": {"Dubai"}, "buyer_subdivision": {"DXB"}, "buyer_country": {"AE"}, "total_amount": {"1050.00"}, "currency": {"AED"},
		"issue_date": {"2026-03-01"}, "issue_time": {""}, "due_date": {"2026-03-31"}, "payment_means_code": {"30"},
		"items.name": {"Consulting"}, "items.quantity": {"10"}, "items.unit_code": {"HUR"}, "items.net_unit_price": {"100.00"}, "items.vat_category": {"S"},
		"items.vat_rate": {"5"}, "items.item_code": {""}, "items.description": {"Workshop\r\nin two parts"}, "items.base_quantity": {""}, "items.gross_unit_price": {""}, "items.discount_amount": {""}}
}

// created posts the form of a new draft and returns the identifier of what was made.
func (v *visitor) created(form url.Values) string {
	v.t.Helper()
	got := v.send("/invoices/new", form, "save")
	path, _, _ := strings.Cut(got.header.Get("Location"), "?")
	if got.status != http.StatusSeeOther {
		v.t.Fatalf("create: %d %v", got.status, notesAt(v.t, got.body))
	}
	return strings.TrimPrefix(path, "/invoices/")
}

// TestFormSaysWhatTheAPISays: of a draft with every kind of fault the page says at each field what the API says of the
// same payload, keeps all that was typed, and stores nothing.
func TestFormSaysWhatTheAPISays(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.inside(t), s.token(t, s.email, s.password)
	form := complete("INV-1")
	edit := func(name string, values ...string) { form[name] = values }
	edit("invoice_number", strings.Repeat("9", 65))
	edit("recipient_name", " ")
	edit("buyer_city", "Dub\x01ai")
	edit("buyer_country", "Emirates")
	edit("currency", "XYZ")
	edit("issue_date", "2026-02-30")
	edit("issue_time", "25:00")
	edit("due_date", "soon")
	edit("total_amount", "1,050.00")
	for _, name := range []string{"name", "unit_code", "net_unit_price", "vat_category", "vat_rate", "item_code", "description", "base_quantity", "gross_unit_price", "discount_amount"} {
		edit("items."+name, "", "")
	}
	edit("items.quantity", "1e99", "0123")
	edit("items.net_unit_price", "-1", "0.1234567")
	edit("items.name", strings.Repeat("n", 257), "x")
	edit("items.base_quantity", "NaN", "-0.1")
	got := v.send("/invoices/new", form, "")
	if got.status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d", got.status)
	}
	kept := controls(t, got.body)
	for name, values := range form {
		if !slices.Equal(kept[name], values) {
			t.Errorf("of %s %q is left of %q", name, kept[name], values)
		}
	}
	var failed struct {
		Details map[string][]api.Fault `json:"details"`
	}
	s.refusal(t, token, "/api/v1/client/invoices", `{"invoice_number":"`+strings.Repeat("9", 65)+`","recipient_name":" ","recipient_network_id":"1","buyer_endpoint_scheme":"0235",
		"buyer_street":"12 Harbour Road","buyer_city":"Dub\u0001ai","buyer_subdivision":"DXB","buyer_country":"Emirates","currency":"XYZ","issue_date":"2026-02-30","issue_time":"25:00",
		"due_date":"soon","total_amount":"1,050.00","payment_means_code":"30","items":[{"quantity":1e99,"net_unit_price":-1,"name":"`+strings.Repeat("n", 257)+`","base_quantity":"NaN"},
		{"quantity":"0123","net_unit_price":0.1234567,"name":"x","base_quantity":-0.1}]}`, &failed)
	if len(failed.Details) < 15 {
		t.Fatalf("the API has only %d faults", len(failed.Details))
	}
	at := notesAt(t, got.body)
	for path, faults := range failed.Details {
		place := strings.NewReplacer("[", "-", "].", "-").Replace(path)
		for _, fault := range faults {
			if !strings.Contains(at[place], fault.Message) {
				t.Errorf("%s: %q, the API says %q", path, at[place], fault.Message)
			}
		}
		if !strings.Contains(got.body, `href="#f-`+place+`"`) {
			t.Errorf("nothing leads to %s", path)
		}
	}
	faulty := 0
	elements(parse(t, got.body), func(node *html.Node) {
		if attribute(node, "aria-invalid") == "true" {
			faulty++
		}
	})
	if faulty != len(failed.Details) {
		t.Errorf("%d fields are marked, %d have faults", faulty, len(failed.Details))
	}
	if n := s.count(t); n != 0 {
		t.Errorf("%d invoices were stored", n)
	}
}

// TestDecimalsStay: numbers are kept digit for digit from the form to the store and back, and so are line breaks that
// nobody has changed.
func TestDecimalsStay(t *testing.T) {
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Millisecond)
			v, token := s.inside(t), s.token(t, s.email, s.password)
			form := complete("INV-1")
			form["total_amount"], form["items.quantity"], form["items.net_unit_price"], form["items.vat_rate"] = []string{" 100000000000000.10 "}, []string{"123456789012.345678"}, []string{"0.10"}, []string{"5.000"}
			id := v.created(form)
			found := s.invoiceAt(t, token, id)
			if found.TotalAmount.String() != "100000000000000.10" || found.Items[0].Quantity.String() != "123456789012.345678" || found.Items[0].NetUnitPrice.String() != "0.10" ||
				found.Items[0].VATRate.String() != "5.000" || *found.Items[0].Description != "Workshop\nin two parts" || found.Items[0].ItemCode != nil {
				t.Errorf("stored: %+v", found.Items[0])
			}
			d := draft("INV-2", "1")
			d.Items[0].Description = new("\r\na\r\nb\n\tc\n")
			var made api.Invoice
			s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made)
			for _, id := range []string{id, made.ID} {
				page := v.read("/invoices/" + id + "/edit")
				before := s.invoiceAt(t, token, id)
				if got := v.send("/invoices/"+id+"/edit", controls(t, page.body), "save"); got.status != http.StatusSeeOther {
					t.Fatalf("save: %d %v", got.status, notesAt(t, got.body))
				}
				if after := s.invoiceAt(t, token, id); !after.UpdatedAt.Equal(before.UpdatedAt) {
					t.Errorf("saving what stands in the form changed %s", *after.InvoiceNumber)
				}
			}
		})
	}
}

// TestEditIsPatch: an edit is stored when the API's PATCH would be; a stale one is refused, says where it differs and
// keeps what was typed; what can be edited no more can be saved as a new draft.
func TestEditIsPatch(t *testing.T) {
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Second)
			v, token := s.inside(t), s.token(t, s.email, s.password)
			id := v.created(complete("INV-1"))
			path := "/invoices/" + id + "/edit"
			mine := controls(t, v.read(path).body)
			if status := s.api(t, token, http.MethodPatch, "/api/v1/client/invoices/"+id, map[string]any{"buyer_city": "Sharjah"}, nil); status != http.StatusOK {
				t.Fatalf("patch: %d", status)
			}
			mine.Set("recipient_name", "Oasis LLC")
			stale := v.send(path, mine, "save")
			again := controls(t, stale.body)
			if stale.status != http.StatusConflict || again.Get("recipient_name") != "Oasis LLC" || again.Get("buyer_city") != "Dubai" || !strings.Contains(stale.body, `<a href="#f-buyer_city">`) ||
				!strings.Contains(stale.body, `<a href="#f-recipient_name">`) || strings.Contains(stale.body, `<li><a href="#f-buyer_street">`) {
				t.Errorf("stale: %d %v", stale.status, again)
			}
			if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Sharjah" || *found.RecipientName != "Palm Trading LLC" {
				t.Errorf("a stale edit was stored: %+v", found.Draft)
			}
			if got := v.send(path, again, "save"); got.status != http.StatusSeeOther {
				t.Errorf("a deliberate one: %d", got.status)
			}
			if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Dubai" || *found.RecipientName != "Oasis LLC" {
				t.Errorf("a deliberate one was not stored: %+v", found.Draft)
			}
			wantFixed(t, s, v, token, id)
		})
	}
}

// wantFixed credits and then submits an invoice: neither leaves it open to edits.
func wantFixed(t *testing.T, s *system, v *visitor, token, id string) {
	t.Helper()
	path := "/invoices/" + id + "/edit"
	mine := controls(t, v.read(path).body)
	mine.Set("buyer_city", "Ajman")
	refused := func(why string) {
		t.Helper()
		if got := v.get(path); got.status != http.StatusConflict || strings.Contains(got.body, `href="`+path) {
			t.Errorf("%s: the form is shown: %d", why, got.status)
		}
		got := v.send(path, mine, "save")
		if got.status != http.StatusConflict || controls(t, got.body).Get("buyer_city") != "Ajman" || !strings.Contains(got.body, `action="/invoices/new"`) {
			t.Errorf("%s: %d %v", why, got.status, controls(t, got.body))
		}
		if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Dubai" {
			t.Errorf("%s: stored all the same", why)
		}
	}
	var note api.CreditNote
	s.api(t, token, http.MethodPost, "/api/v1/client/credit-notes", map[string]any{"invoice_id": id, "credit_note_number": "CN", "issue_date": "2026-03-01", "reason": "x", "kind": "full"}, &note)
	refused("credited")
	if got := v.send("/credit-notes/"+note.ID+"/void", nil, ""); got.status != http.StatusSeeOther {
		t.Fatalf("void: %d", got.status)
	}
	v.read(path)
	if got := v.send("/invoices/"+id+"/submit", nil, ""); got.status != http.StatusSeeOther {
		t.Fatalf("submit: %d", got.status)
	}
	refused("submitted")
	got := v.send("/invoices/new", controls(t, v.send(path, mine, "save").body), "save")
	if got.status != http.StatusSeeOther {
		t.Errorf("as a new draft: %d", got.status)
	}
}

// TestFormWithoutJavaScript: every button of the form works by itself, and so does the check of what is typed, which
// stores nothing.
func TestFormWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.inside(t)
	form := controls(t, v.read("/invoices/new").body)
	if len(form["items.name"]) != 1 || form.Get("issue_date") == "" {
		t.Fatalf("a new form: %v", form)
	}
	press := func(button string) {
		t.Helper()
		got := v.send("/invoices/new", form, button)
		if got.status != http.StatusOK {
			t.Fatalf("%s: %d", button, got.status)
		}
		form = controls(t, got.body)
	}
	form.Set("currency", "JPY")
	form["items.name"], form["items.quantity"], form["items.net_unit_price"], form["items.vat_category"] = []string{"a"}, []string{"3"}, []string{"33.5"}, []string{"O"}
	press("add")
	form["items.name"], form["items.quantity"], form["items.net_unit_price"], form["items.vat_category"], form["items.vat_rate"] = []string{"a", "b"}, []string{"3", "1"}, []string{"33.5", "100"}, []string{"O", "S"}, []string{"", "5"}
	press("total")
	if form.Get("total_amount") != "206" { // 101 and 100 and a tax of 5
		t.Errorf("total %q", form.Get("total_amount"))
	}
	press("up:1")
	if !slices.Equal(form["items.name"], []string{"b", "a"}) || !slices.Equal(form["items.vat_rate"], []string{"5", ""}) {
		t.Errorf("moved: %v", form)
	}
	press("remove:0")
	press("remove:0")
	if len(form["items.name"]) != 0 {
		t.Errorf("removed: %v", form)
	}
	if got := v.send("/invoices/new", form, ""); got.status != http.StatusUnprocessableEntity || notesAt(t, got.body)["items"] == "" {
		t.Errorf("without lines: %d", got.status)
	}
	checked := v.do(http.MethodPost, "/invoices/check", complete("INV-1").Encode(), "HX-Request", "true")
	if checked.status != http.StatusOK || !strings.Contains(checked.body, "1,050.00") || strings.Contains(checked.body, "<html") || !strings.Contains(checked.body, "Nothing is missing") {
		t.Errorf("check: %d %s", checked.status, checked.body)
	}
	typing := complete("INV-1")
	typing["items.quantity"], typing["due_date"] = []string{"12."}, []string{""}
	checked = v.do(http.MethodPost, "/invoices/check", typing.Encode(), "HX-Request", "true")
	if at := notesAt(t, checked.body); at["items-0-quantity"] != "must be a number" || at["due_date"] != "" || !strings.Contains(checked.body, "Line 1 does not say enough") {
		t.Errorf("while typing: %v", at)
	}
	if n := s.count(t); n != 0 {
		t.Errorf("%d invoices were stored", n)
	}
}

// TestManyLines: the form of a draft with as many lines as there may be goes there and back; one more is refused in words.
func TestManyLines(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.inside(t), s.token(t, s.email, s.password)
	form := complete("INV-1")
	for name := range form {
		if strings.HasPrefix(name, "items.") {
			form[name] = slices.Repeat(form[name], 1000)
		}
	}
	form["items.description"] = slices.Repeat([]string{strings.Repeat("نص ", 100)}, 1000)
	id := v.created(form)
	page := v.read("/invoices/" + id + "/edit")
	again := controls(t, page.body)
	if strings.Contains(page.body, `value="add"`) || len(again["items.name"]) != 1000 {
		t.Errorf("%d lines, or another may be added", len(again["items.name"]))
	}
	again["items.name"][999] = "The last"
	if got := v.send("/invoices/"+id+"/edit", again, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("save: %d", got.status)
	}
	if found := s.invoiceAt(t, token, id); len(found.Items) != 1000 || *found.Items[999].Name != "The last" {
		t.Error("the last line is another one")
	}
	for name := range form {
		if strings.HasPrefix(name, "items.") {
			form[name] = append(form[name], form[name][0])
		}
	}
	form.Set("items.description", "")
	if got := v.send("/invoices/new", form, "save"); got.status != http.StatusUnprocessableEntity || !strings.Contains(notesAt(t, got.body)["items"], "at most 1000") {
		t.Errorf("one more: %d %v", got.status, notesAt(t, got.body)["items"])
	}
	huge := url.Values{"recipient_name": {strings.Repeat("x", 5<<20)}}
	if got := v.do(http.MethodPost, "/invoices/new", huge.Encode()); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form without end: %d", got.status)
	}
}

// TestDuplicate: a copy has everything but the number and the dates, and is another invoice.
func TestDuplicate(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.inside(t)
	id := v.created(complete("INV-1"))
	page := v.read("/invoices/" + id + "/duplicate")
	form := controls(t, page.body)
	issued, err := time.Parse(time.DateOnly, form.Get("issue_date"))
	must(t, err)
	if form.Get("invoice_number") != "" || form.Get("recipient_name") != "Palm Trading LLC" || form.Get("due_date") != issued.AddDate(0, 0, 30).Format(time.DateOnly) || form.Get("of") != "INV-1" ||
		form.Get("version") != "" {
		t.Errorf("a copy: %v", form)
	}
	form.Set("invoice_number", "INV-2")
	if other := v.created(form); other == id || s.count(t) != 2 {
		t.Errorf("%d invoices", s.count(t))
	}
}

// TestSessionEndsWhileTyping: what was typed survives the end of the session; nobody's data is shown on the way.
func TestSessionEndsWhileTyping(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.inside(t)
	form := complete("INV-1")
	form.Set("buyer_street", "\"><script>")
	v.post("/logout")
	for _, path := range []string{"/invoices/check", "/invoices/new"} {
		got := v.do(http.MethodPost, path, form.Encode(), "HX-Request", "true")
		if got.status != http.StatusOK || !strings.Contains(got.body, "You are logged out") || got.header.Get("HX-Redirect") != "" || got.header.Get("HX-Reswap") != "none" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	got := v.send("/invoices/new", form, "save")
	kept := controls(t, got.body)
	if got.status != http.StatusUnauthorized || strings.Contains(got.body, "Sandbox Trading") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	v.login(s.email, s.password)
	got = v.send("/invoices/new", kept, "keep")
	again := controls(t, got.body)
	for name, values := range form {
		if !slices.Equal(again[name], values) {
			t.Errorf("of %s %q is left of %q", name, again[name], values)
		}
	}
	if got.status != http.StatusOK || s.count(t) != 0 {
		t.Errorf("%d, %d invoices", got.status, s.count(t))
	}
	v.created(again)
}

// TestFormsOfOthers: another company's invoices and credit notes are as unknown as none, whatever is asked of them.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	const password = "correct horse battery staple"
	s.company(t, "other@example.com", password)
	v := s.inside(t)
	id := v.created(complete("INV-1"))
	v.send("/invoices/"+id+"/credit", url.Values{"credit_note_number": {"CN"}, "issue_date": {"2026-03-01"}, "reason": {"x"}, "kind": {"full"}}, "")
	notes, err := s.tenant(t).CreditNotes(t.Context(), store.CreditNoteFilter{}, 1, 1)
	must(t, err)
	note := "/credit-notes/" + notes.CreditNotes[0].ID.String()
	other := s.visitor(t)
	other.login("other@example.com", password)
	for _, path := range []string{"/invoices/" + id, "/invoices/" + strings.Repeat("0", 32), "/invoices/x"} {
		for _, end := range []string{"/edit", "/duplicate", "/print", "/credit"} {
			if got := other.get(path + end); got.status != http.StatusNotFound {
				t.Errorf("GET %s%s: %d", path, end, got.status)
			}
		}
		for _, end := range []string{"/edit", "/credit", "/credit/check"} {
			if got := other.send(path+end, complete("INV-1"), ""); got.status != http.StatusNotFound {
				t.Errorf("POST %s%s: %d", path, end, got.status)
			}
		}
	}
	for _, path := range []string{note, "/credit-notes?invoice=" + id, "/codes/passwords"} {
		if got := other.get(path); got.status != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, got.status)
		}
	}
	if got := other.send(note+"/void", nil, ""); got.status != http.StatusNotFound {
		t.Errorf("void: %d", got.status)
	}
	live, _, err := s.tenant(t).CreditedInvoice(t.Context(), notes.CreditNotes[0].Invoice)
	must(t, err)
	if live.ID != notes.CreditNotes[0].Invoice {
		t.Error("it is gone")
	}
}

// TestCreditNotes: a credit note takes lines by quantity or amount, says what is left, refuses more in the API's words,
// and gives it back when it is voided.
func TestCreditNotes(t *testing.T) {
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Millisecond)
			v := s.inside(t)
			form := complete("INV-1")
			for _, name := range []string{"name", "quantity", "unit_code", "net_unit_price", "vat_category", "vat_rate", "item_code", "description", "base_quantity", "gross_unit_price", "discount_amount"} {
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
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(at["items-1-quantity"], "more than is left of the line's quantity, 10") || at["reason"] != "is required" || at["items-0-quantity"] != "" {
				t.Errorf("too much: %d %v", got.status, at)
			}
			if again := controls(t, got.body); !slices.Equal(again["quantity"], note["quantity"]) || again.Get("credit_note_number") != "CN-1" {
				t.Errorf("kept: %v", again)
			}
			note["quantity"], note["net_amount"], note["reason"] = []string{"", "2.5"}, []string{"100", ""}, []string{"Two\r\nreasons"}
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

// wantCredited looks at a credit note of 367.50 everywhere it is shown, voids it, and then credits everything.
func wantCredited(t *testing.T, s *system, v *visitor, id, location string) {
	t.Helper()
	one := v.read(location)
	for _, want := range []string{"367.50", "1,732.50 AED", "Two\nreasons", "100.00", "submitting them to the provider is disabled"} {
		if !strings.Contains(one.body, want) {
			t.Errorf("the credit note does not say %q", want)
		}
	}
	for _, path := range []string{"/credit-notes", "/credit-notes?invoice=" + id, "/invoices/" + id} {
		if page := v.read(path); !strings.Contains(page.body, "CN-1") || !strings.Contains(page.body, "367.50") {
			t.Errorf("%s does not show it", path)
		}
	}
	path := "/invoices/" + id + "/credit"
	second := v.read(path)
	if !strings.Contains(second.body, "7.5 left") || !strings.Contains(second.body, "900.00 net left") || !strings.Contains(second.body, `value="full" disabled`) {
		t.Error("the form does not say what is left")
	}
	everything := url.Values{"credit_note_number": {"CN-2"}, "issue_date": {"2026-03-01"}, "reason": {"All"}, "kind": {"full"}}
	if got := v.send(path, everything, ""); got.status != http.StatusUnprocessableEntity || !strings.Contains(notesAt(t, got.body)["kind"], "must not be full") {
		t.Errorf("everything of what is credited in part: %d", got.status)
	}
	note, _, _ := strings.Cut(location, "?")
	for range 2 { // the second press changes nothing
		if got := v.send(note+"/void", nil, ""); got.status != http.StatusSeeOther {
			t.Fatalf("void: %d", got.status)
		}
	}
	if page := v.read(note); !strings.Contains(page.body, "Void since") || strings.Contains(page.body, `id="void"`) {
		t.Error("it is not shown as void")
	}
	if got := v.send(path, everything, ""); got.status != http.StatusSeeOther {
		t.Fatalf("everything: %d %v", got.status, notesAt(t, got.body))
	}
	if page := v.read(path); !strings.Contains(page.body, "Nothing is left to credit") {
		t.Error("the form offers what is not left")
	}
	parsed, err := store.ParseID(id)
	must(t, err)
	_, live, err := s.tenant(t).CreditedInvoice(t.Context(), parsed)
	must(t, err)
	if len(live) != 1 || live[0].Kind != api.CreditFull || live[0].Total != "2100.00" {
		t.Errorf("live: %+v", live)
	}
}

// TestPrint: the printable view shows what is stored and what was reported, infers nothing, and does not pass for the
// legal document.
func TestPrint(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.inside(t)
	page := v.read("/invoices/" + v.created(complete("INV-1")) + "/print")
	for _, want := range []string{"INV-1", "1,000.00", "1,050.00 AED", "10 hour", "Credit transfer", "It is not the legal document", "Nothing was sent anywhere", "All data here is synthetic"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if n := strings.Count(page.body, "<dd>not reported</dd>"); n != len(invoice.Dimensions) {
		t.Errorf("%d states are not reported", n)
	}
}

// TestHostileForms: whatever stands in a draft, its forms, its print and its credit notes have the same elements as with
// plain text, hold the text as it is, and give it back when they are sent.
func TestHostileForms(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.inside(t), s.token(t, s.email, s.password)
	want := map[string]string{}
	for _, text := range append([]string{"plain"}, hostile...) {
		for page, shape := range formShapes(t, s, v, token, text) {
			if text == "plain" {
				want[page] = shape
			} else if shape != want[page] {
				t.Errorf("%q changes %s: %s", text, page, difference(shape, want[page]))
			}
		}
	}
}

// formShapes stores a text in every field that takes one, and returns the shapes of the pages of this file.
func formShapes(t *testing.T, s *system, v *visitor, token, text string) map[string]string {
	t.Helper()
	d := draft(text, text)
	d.RecipientName, d.BuyerEndpointScheme, d.BuyerStreet, d.BuyerCity, d.BuyerSubdivision, d.PaymentMeansCode = &text, &text, &text, &text, &text, &text
	item := &d.Items[0]
	item.ItemCode, item.Name, item.Description, item.UnitCode, item.VATCategory = &text, &text, &text, &text, &text
	var made api.Invoice
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made); status != http.StatusCreated {
		t.Fatalf("%q: %d", text, status)
	}
	path := "/invoices/" + made.ID
	pages := map[string]answer{"the form": v.read(path + "/edit"), "a copy": v.read(path + "/duplicate"), "the print": v.read(path + "/print"), "the form of a credit note": v.read(path + "/credit")}
	form := controls(t, pages["the form"].body)
	for _, name := range []string{"invoice_number", "recipient_name", "buyer_street", "payment_means_code", "items.name", "items.description", "items.vat_category"} {
		if form.Get(name) != text {
			t.Errorf("%q: the form holds %q as %s", text, form.Get(name), name)
		}
	}
	if got := v.send(path+"/edit", form, "save"); got.status != http.StatusSeeOther {
		t.Errorf("%q cannot be saved again: %d %v", text, got.status, notesAt(t, got.body))
	}
	if after := s.invoiceAt(t, token, made.ID); !after.UpdatedAt.Equal(made.UpdatedAt) {
		t.Errorf("%q is changed by saving it", text)
	}
	for name := range form { // fields that take no text say so, and keep it
		if name != "version" && name != "told" && name != "heard" {
			form.Set(name, text)
		}
	}
	pages["the form with faults"] = v.send("/invoices/new", form, "save")
	if kept := controls(t, pages["the form with faults"].body); kept.Get("total_amount") != text || kept.Get("issue_date") != text || kept.Get("items.vat_rate") != text {
		t.Errorf("%q is lost at a fault: %v", text, kept)
	}
	note := v.send(path+"/credit", url.Values{"credit_note_number": {text}, "issue_date": {"2026-03-01"}, "reason": {text}, "kind": {"full"}}, "")
	if note.status != http.StatusSeeOther {
		t.Fatalf("%q: no credit note: %d", text, note.status)
	}
	at, _, _ := strings.Cut(note.header.Get("Location"), "?")
	pages["a credit note"], pages["the credit notes"], pages["those of the invoice"] = v.read(at), v.read("/credit-notes?per=1"), v.read("/credit-notes?invoice="+made.ID)
	out := map[string]string{}
	for name, page := range pages {
		if (name == "the print" || strings.Contains(name, "credit note")) && !strings.Contains(textOf(parse(t, page.body)), text) {
			t.Errorf("%q is not shown on %s", text, name)
		}
		if name != "the credit notes" { // it has other pages beside it from the second text on
			out[name] = shape(parse(t, page.body))
		}
	}
	return out
}

// refusal makes a call to the API that is refused, and decodes what it says.
func (s *system) refusal(t testing.TB, token, path, body string, out any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, strings.NewReader(body))
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("%s: %d", path, response.StatusCode)
	}
	must(t, json.NewDecoder(response.Body).Decode(&struct{ Error any }{out}))
}
