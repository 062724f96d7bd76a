package site_test

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

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// controls returns the fields of a page's forms, as a browser would send them without a button.
func controls(t testing.TB, page string) url.Values {
	t.Helper()
	out := url.Values{}
	elements(parse(t, page), func(node *html.Node) {
		name := attribute(node, "name")
		switch {
		case name == "" || node.Data == "button" || node.Data == "meta" || has(node, "disabled"):
		case node.Data == "textarea":
			out.Add(name, strings.ReplaceAll(textOf(node), "\n", "\r\n"))
		case (attribute(node, "type") == "radio" || attribute(node, "type") == "checkbox") && !has(node, "checked"):
		case node.Data == "input":
			out.Add(name, attribute(node, "value"))
		}
	})
	return out
}

// has reports whether an element has an attribute.
func has(node *html.Node, name string) bool {
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// send posts a form, with or without a button, and checks the page for unfilled placeholders.
func (v *visitor) send(path string, form url.Values, button string) response {
	v.t.Helper()
	sent := maps.Clone(form)
	if button != "" {
		sent["do"] = []string{button}
	}
	got := v.do(http.MethodPost, path, sent.Encode())
	wantWhole(v.t, path, got)
	return got
}

// read returns a page that must exist.
func (v *visitor) read(path string) response {
	v.t.Helper()
	got := v.get(path)
	if got.status != http.StatusOK {
		v.t.Fatalf("%s: %d", path, got.status)
	}
	wantWhole(v.t, path, got)
	return got
}

// wantWhole fails the test for messages with unfilled placeholders.
func wantWhole(t testing.TB, path string, got response) {
	t.Helper()
	if at := strings.Index(got.body, "%!"); at >= 0 {
		t.Errorf("%s: %.80q", path, got.body[at:])
	}
}

// notesAt returns the notes at the fields, by JSON path: faults first, then advice.
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

// invoiceAt reads an invoice with the API.
func (s *system) invoiceAt(t testing.TB, token, id string) api.Invoice {
	t.Helper()
	var out api.Invoice
	if status := s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+id, nil, &out); status != http.StatusOK {
		t.Fatalf("invoice %s: %d", id, status)
	}
	return out
}

// count returns the number of invoices.
func (s *system) count(t testing.TB) int {
	t.Helper()
	page, err := view.Of(s.tenant(t)).Invoices(t.Context(), view.InvoiceFilter{}, 1, 1)
	kit.Must(t, err)
	return page.Total
}

// complete returns the form of a complete draft with one line.
func complete(number string) url.Values {
	return url.Values{"invoice_number": {number}, "recipient_name": {"Palm Trading LLC"}, "recipient_network_id": {"1"},
		"buyer_endpoint_scheme": {"0235"}, "buyer_street": {"12 Harbour Road"}, "buyer_city": {"Dubai"},
		"buyer_subdivision": {"DXB"}, "buyer_country": {"AE"}, "total_amount": {"1050.00"}, "currency": {"AED"},
		"issue_date": {"2026-03-01"}, "issue_time": {""}, "due_date": {"2026-03-31"}, "payment_means_code": {"30"},
		"items.name": {"Consulting"}, "items.quantity": {"10"}, "items.unit_code": {"HUR"},
		"items.net_unit_price": {"100.00"}, "items.vat_category": {"S"}, "items.vat_rate": {"5"},
		"items.item_code": {""}, "items.description": {"Workshop\r\nin two parts"}, "items.base_quantity": {""},
		"items.gross_unit_price": {""}, "items.discount_amount": {""}}
}

// created creates a draft by form and returns its identifier.
func (v *visitor) created(form url.Values) string {
	v.t.Helper()
	got := v.send("/invoices/new", form, "save")
	path, _, _ := strings.Cut(got.header.Get("Location"), "?")
	if got.status != http.StatusSeeOther {
		v.t.Fatalf("create: %d %v", got.status, notesAt(v.t, got.body))
	}
	return strings.TrimPrefix(path, "/invoices/")
}

// TestFormShowsTheFaultsOfTheAPI checks that for a draft with every kind of fault, the page shows a fault at each field
// at which the API has one, in words for people, keeps the input, and stores nothing.
func TestFormShowsTheFaultsOfTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	form := complete("INV-1")
	edit := func(name string, values ...string) { form[name] = values }
	edit("invoice_number", strings.Repeat("9", 65))
	edit("recipient_name", " ")
	edit("buyer_city", "Dub\x01ai")
	edit("buyer_country", "Nowhere")
	edit("currency", "XYZ")
	edit("issue_date", "2026-02-30")
	edit("issue_time", "25:00")
	edit("due_date", "soon")
	edit("total_amount", "1,0,5")
	for _, name := range []string{"name", "unit_code", "net_unit_price", "vat_category", "vat_rate", "item_code",
		"description", "base_quantity", "gross_unit_price", "discount_amount"} {
		edit("items."+name, "", "")
	}
	edit("items.quantity", "1e99", "12 3")
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
			t.Errorf("%s is %q, want %q", name, kept[name], values)
		}
	}
	var failed struct {
		Details map[string][]api.Fault `json:"details"`
	}
	s.refusal(t, token, "/api/v1/client/invoices", `{"invoice_number":"`+strings.Repeat("9", 65)+
		`","recipient_name":" ","recipient_network_id":"1","buyer_endpoint_scheme":"0235",
		"buyer_street":"12 Harbour Road","buyer_city":"Dub\u0001ai","buyer_subdivision":"DXB","buyer_country":"Nowhere","currency":"XYZ","issue_date":"2026-02-30","issue_time":"25:00",
		"due_date":"soon","total_amount":"1,0,5","payment_means_code":"30","items":[{"quantity":1e99,"net_unit_price":-1,"name":"`+strings.Repeat("n", 257)+`","base_quantity":"NaN"},
		{"quantity":"12 3","net_unit_price":0.1234567,"name":"x","base_quantity":-0.1}]}`, &failed)
	if len(failed.Details) < 15 {
		t.Fatalf("the API has only %d faults", len(failed.Details))
	}
	at := notesAt(t, got.body)
	for path, faults := range failed.Details {
		place := strings.NewReplacer("[", "-", "].", "-").Replace(path)
		for _, fault := range faults {
			if text := at[place]; text == "" || text == fault.Message || strings.ToUpper(text[:1]) != text[:1] {
				t.Errorf("%s: %q, the API says %q", path, text, fault.Message)
			}
		}
		if !strings.Contains(got.body, `href="#f-`+place+`"`) {
			t.Errorf("there is no link to %s", path)
		}
	}
	for place, want := range map[string]string{"recipient_name": "Required", "currency": "Choose a currency from the list",
		"items-0-quantity": "Quantity Enter a number such as 1,250.50",
		"issue_date":       "Enter a date such as 2026-11-30 or 30 Nov 2026",
		"invoice_number":   "Must have at most 64 characters"} {
		if at[place] != want {
			t.Errorf("%s: %q, want %q", place, at[place], want)
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

// TestDecimalsKeepTheirDigits checks that numbers keep their digits from the form to the store and back, and that line
// breaks are kept.
func TestDecimalsKeepTheirDigits(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Millisecond)
			v, token := s.loggedIn(t), s.token(t, s.email, s.password)
			form := complete("INV-1")
			form["total_amount"], form["items.quantity"], form["items.net_unit_price"], form["items.vat_rate"] =
				[]string{" 100000000000000.10 "}, []string{"123456789012.345678"}, []string{"0.10"}, []string{"5.000"}
			id := v.created(form)
			found := s.invoiceAt(t, token, id)
			if found.TotalAmount.String() != "100000000000000.10" || found.Items[0].Quantity.String() != "123456789012.345678" ||
				found.Items[0].NetUnitPrice.String() != "0.10" ||
				found.Items[0].VATRate.String() != "5.000" || *found.Items[0].Description != "Workshop\nin two parts" ||
				found.Items[0].ItemCode != nil {
				t.Errorf("stored: %+v", found.Items[0])
			}
			form["total_amount"] = []string{"1250,500"}
			if at := notesAt(t, v.send("/invoices/new", form, "save").body)["total_amount"]; !strings.Contains(at,
				"A comma before three digits separates thousands") {
				t.Errorf("an ambiguous number: %q", at)
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
					t.Errorf("saving the unchanged form changed %s", *after.InvoiceNumber)
				}
			}
		})
	}
}

// TestFormWithoutJavaScript checks that every button of the form works without JavaScript. The check while typing
// stores nothing.
func TestFormWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
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
	form["items.name"], form["items.quantity"], form["items.net_unit_price"], form["items.vat_category"] = []string{"a"},
		[]string{"3"}, []string{"33.5"}, []string{"O"}
	press("add")
	form["items.name"], form["items.quantity"], form["items.net_unit_price"], form["items.vat_category"],
		form["items.vat_rate"] = []string{"a", "b"}, []string{"3", "1"}, []string{"33.5", "100"},
		[]string{"O", "S"}, []string{"", "5"}
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
	if got := v.send("/invoices/new", form, ""); got.status != http.StatusUnprocessableEntity ||
		notesAt(t, got.body)["items"] == "" {
		t.Errorf("without lines: %d", got.status)
	}
	checked := v.do(http.MethodPost, "/invoices/check", complete("INV-1").Encode(), "HX-Request", "true")
	if checked.status != http.StatusOK || !strings.Contains(checked.body, "1,050.00") ||
		strings.Contains(checked.body, "<html") || !strings.Contains(checked.body, "Ready to submit") {
		t.Errorf("check: %d %s", checked.status, checked.body)
	}
	typing := complete("INV-1")
	typing["items.quantity"], typing["due_date"] = []string{"12x"}, []string{""}
	checked = v.do(http.MethodPost, "/invoices/check", typing.Encode(), "HX-Request", "true")
	if at := notesAt(t, checked.body); at["items-0-quantity"] != "Quantity Enter a number such as 1,250.50" ||
		at["due_date"] != "" || !strings.Contains(checked.body, "Complete line 1") {
		t.Errorf("while typing: %v", at)
	}
	if n := s.count(t); n != 0 {
		t.Errorf("%d invoices were stored", n)
	}
}

// TestManyLines checks that the form can show and store a draft with the maximum number of lines. One more line is
// rejected with a message.
func TestManyLines(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
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
		t.Errorf("%d lines, or the form offers another line", len(again["items.name"]))
	}
	again["items.name"][999] = "The last"
	if got := v.send("/invoices/"+id+"/edit", again, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("save: %d", got.status)
	}
	if found := s.invoiceAt(t, token, id); len(found.Items) != 1000 || *found.Items[999].Name != "The last" {
		t.Error("the last line has changed")
	}
	for name := range form {
		if strings.HasPrefix(name, "items.") {
			form[name] = append(form[name], form[name][0])
		}
	}
	form.Set("items.description", "")
	if got := v.send("/invoices/new", form, "save"); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(notesAt(t, got.body)["items"], "at most 1000") {
		t.Errorf("one line more: %d %v", got.status, notesAt(t, got.body)["items"])
	}
	huge := url.Values{"recipient_name": {strings.Repeat("x", 5<<20)}}
	if got := v.do(http.MethodPost, "/invoices/new", huge.Encode()); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form that is too large: %d", got.status)
	}
}

// TestDuplicate checks that a copy has all fields except the dates and the number, which is the next one, and is
// another invoice.
func TestDuplicate(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	id := v.created(complete("INV-1"))
	page := v.read("/invoices/" + id + "/duplicate")
	form := controls(t, page.body)
	issued, err := time.Parse(time.DateOnly, form.Get("issue_date"))
	kit.Must(t, err)
	if form.Get("invoice_number") != "INV-2" || form.Get("recipient_name") != "Palm Trading LLC" ||
		form.Get("due_date") != issued.AddDate(0, 0, 30).Format(time.DateOnly) || form.Get("copy_of") != "INV-1" ||
		form.Get("version") != "" {
		t.Errorf("a copy: %v", form)
	}
	form.Set("invoice_number", "INV-2")
	if other := v.created(form); other == id || s.count(t) != 2 {
		t.Errorf("%d invoices", s.count(t))
	}
}

// TestSessionEndsWhileTyping checks that the input survives the end of the session, and no stored data is shown
// meanwhile.
func TestSessionEndsWhileTyping(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	form := complete("INV-1")
	form.Set("buyer_street", "\"><script>")
	v.post("/logout")
	for _, path := range []string{"/invoices/check", "/invoices/new"} {
		got := v.do(http.MethodPost, path, form.Encode(), "HX-Request", "true")
		if got.status != http.StatusOK || !strings.Contains(got.body, "You are logged out") ||
			got.header.Get("HX-Redirect") != "" || !slices.Equal(parts(t, got.body), []string{"sums"}) {
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
			t.Errorf("%s is %q, want %q", name, again[name], values)
		}
	}
	if got.status != http.StatusOK || s.count(t) != 0 {
		t.Errorf("%d, %d invoices", got.status, s.count(t))
	}
	v.created(again)
}

// TestFormsOfOthers checks that for every request, another company's invoices and credit notes do not exist.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	const password = "correct horse battery staple"
	s.company(t, "other@example.com", password)
	v := s.loggedIn(t)
	id := v.created(complete("INV-1"))
	v.send("/invoices/"+id+"/credit", url.Values{"credit_note_number": {"CN"}, "issue_date": {"2026-03-01"},
		"reason": {"x"}, "kind": {"full"}}, "")
	notes, err := view.Of(s.tenant(t)).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 1)
	kit.Must(t, err)
	note := "/credit-notes/" + notes.Entries[0].ID.String()
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
	live, _, err := invoices.CreditedInvoice(t.Context(), s.tenant(t), notes.Entries[0].Invoice)
	kit.Must(t, err)
	if live.ID != notes.Entries[0].Invoice {
		t.Error("the draft is gone")
	}
}

// BenchmarkHundredLines requests the form of a draft with a hundred lines over HTTP.
func BenchmarkHundredLines(b *testing.B) {
	s := start(b, first(), true, time.Millisecond)
	v := s.loggedIn(b)
	form := complete("INV-1")
	for name := range form {
		if strings.HasPrefix(name, "items.") {
			form[name] = slices.Repeat(form[name], 100)
		}
	}
	path := "/invoices/" + v.created(form) + "/edit"
	for b.Loop() {
		if got := v.get(path, "Accept-Encoding", "gzip"); got.status != http.StatusOK {
			b.Fatal(got.status)
		} else {
			b.ReportMetric(float64(len(got.body)), "B/page")
		}
	}
}

// refusal makes an API call that fails, and decodes its error.
func (s *system) refusal(t testing.TB, token, path, body string, out any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, strings.NewReader(body))
	kit.Must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	kit.Must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("%s: %d", path, response.StatusCode)
	}
	kit.Must(t, json.NewDecoder(response.Body).Decode(&struct{ Error any }{out}))
}
