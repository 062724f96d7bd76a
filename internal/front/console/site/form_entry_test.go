package site_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
)

// press presses a button of a form that saves nothing, and returns the page and its form.
func (v *visitor) press(path string, form url.Values, button string) (response, url.Values) {
	v.t.Helper()
	got := v.send(path, form, button)
	if got.status != http.StatusOK {
		v.t.Fatalf("%s: %d %v", button, got.status, notesAt(v.t, got.body))
	}
	return got, controls(v.t, got.body)
}

// TestAllowancesWithoutScripts checks that a user adds allowances and charges to an invoice and its lines without
// scripts, types numbers and reasons as people do, moves a line with what belongs to it, and saves what the API takes.
func TestAllowancesWithoutScripts(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	const path = "/invoices/new"
	form := complete("INV-1")
	form.Set("total_amount", "")
	page, form := v.press(path, form, "allowance:")
	if !autofocused(t, page.body, "f-allowances-0-amount") || form.Get("entries.vat_category") != "S" ||
		form.Get("entries.vat_rate") != "5" {
		t.Errorf("a new allowance has the tax %v", form)
	}
	_, form = v.press(path, form, "add")
	form["items.name"][1], form["items.quantity"][1], form["items.net_unit_price"][1] = "Travel", "1", "200"
	page, form = v.press(path, form, "charge:1")
	if !autofocused(t, page.body, "f-items-1-charges-0-amount") {
		t.Error("a new charge does not get the focus")
	}
	form["entries.percent"], form["entries.base_amount"] = []string{"١٠", ""}, []string{"1.000,00", ""}
	form["entries.amount"], form["entries.reason"] = []string{"", "20"}, []string{"Loyalty", "Packing at night"}
	form["entries.reason_code"] = []string{"discount", "packing"}
	form["items.unit_code"][1] = "each"
	_, form = v.press(path, form, "up:1")
	if got := form["entries.line"]; !slices.Equal(got, []string{"", "0"}) {
		t.Errorf("the charge did not move with its line: %q", got)
	}
	form.Set("prepaid_amount", "100")
	form.Set("rounding_amount", "-0.50")
	got := v.send(path, form, "save")
	if got.status != http.StatusSeeOther {
		t.Fatalf("save: %d %v", got.status, notesAt(t, got.body))
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(got.header.Get("Location"), "/invoices/"), "?")
	d := s.invoiceAt(t, token, id).Draft
	if want, got := `[{"amount":null,"base_amount":1000.00,"percent":10,"reason":"Loyalty","reason_code":"95",`+
		`"vat_category":"S","vat_rate":5,"tax_exemption_code":null,"tax_exemption_reason":null}]`,
		asJSON(t, d.Allowances); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	if want, got := `[{"amount":20,"base_amount":null,"percent":null,"reason":"Packing at night","reason_code":"PC"}]`,
		asJSON(t, d.Items[0].Charges); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	// lines 1,220.00, less 100.00, and 5% of 1,120.00
	if d.TotalAmount.String() != "1176.00" || *d.Items[0].Name != "Travel" || len(d.Items[1].Charges) > 0 {
		t.Errorf("%s", asJSON(t, d))
	}
	shown := textOf(parse(t, v.read("/invoices/"+id).body))
	for _, part := range []string{"Allowance Loyalty 10% of 1,000.00", "Charge 20.00 Packing at night",
		"Sum of lines 1,220.00", "Allowances 100.00", "Subtotal 1,120.00", "Invoice total 1,176.00",
		"Already paid 100.00", "Rounding −0.50", "Amount due 1,075.50"} {
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), part) {
			t.Errorf("the page does not say %q", part)
		}
	}
	edit := "/invoices/" + id + "/edit"
	page, form = v.press(edit, controls(t, v.read(edit).body), "drop:items[0].charges[0]")
	if len(form["entries.line"]) != 1 || !autofocused(t, page.body, "f-items-0-name") {
		t.Errorf("removed: %v", form["entries.line"])
	}
	if _, form = v.press(edit, form, "drop:allowances[0]"); len(form["entries.line"]) > 0 {
		t.Errorf("removed: %v", form["entries.line"])
	}
}

// TestOtherEntriesWithoutScripts checks that a user adds earlier invoices and the properties of items without scripts,
// among allowances, that faults are beside them, and that what is saved is on the pages and can be copied.
func TestOtherEntriesWithoutScripts(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	const path = "/invoices/new"
	_, form := v.press(path, complete("INV-1"), "allowance:")
	page, form := v.press(path, form, "preceding_invoice:")
	if !autofocused(t, page.body, "f-preceding_invoices-0-number") ||
		!strings.Contains(page.body, `id="more-references" open`) {
		t.Error("a new earlier invoice does not get the focus")
	}
	_, form = v.press(path, form, "allowance:0")
	page, form = v.press(path, form, "attribute:0")
	if !autofocused(t, page.body, "f-items-0-attributes-0-name") {
		t.Error("a new property does not get the focus")
	}
	form.Set("entries.number", "ADV-1")
	form.Set("entries.issue_date", "yesterday")
	form.Set("entries.name", "Colour")
	form.Set("entries.value", strings.Repeat("x", 1025))
	form["entries.amount"] = []string{"10", "20"}
	form["entries.reason"] = []string{"Loyalty", "Discount"}
	form.Set("type_code", "no type")
	form.Set("total_amount", "")
	got := v.send(path, form, "save")
	if notes := notesAt(t, got.body); !strings.Contains(notes["preceding_invoices-0-issue_date"], "Enter a date") ||
		!strings.Contains(notes["type_code"], "Choose a type of invoice") ||
		!strings.Contains(notes["items-0-attributes-0-value"], "1024") ||
		!strings.Contains(got.body, `">Line 1: Item property 1: Value</a>`) ||
		!strings.Contains(got.body, `">Earlier invoice 1: Issue date</a>`) {
		t.Errorf("%d %v", got.status, notes)
	}
	form = controls(t, got.body)
	form.Set("entries.issue_date", "2 January 2026")
	form.Set("entries.value", "Black")
	form.Set("type_code", "prepayment")
	id := v.created(form)
	d := s.invoiceAt(t, token, id).Draft
	const want = `[{"number":"ADV-1","issue_date":"2026-01-02"}] [{"name":"Colour","value":"Black"}]`
	if got := asJSON(t, d.PrecedingInvoices) + " " + asJSON(t, d.Items[0].Attributes); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	if *d.TypeCode != "386" || len(d.Allowances) != 1 || d.Items[0].Allowances[0].Amount.String() != "20" {
		t.Errorf("%s", asJSON(t, d))
	}
	for _, page := range []string{"", "/print"} {
		shown := strings.Join(strings.Fields(textOf(parse(t, v.read("/invoices/"+id+page).body))), " ")
		for _, part := range []string{"Colour: Black", "Earlier invoices ADV-1 2 Jan 2026",
			"Type of invoice Prepayment invoice (386)"} {
			if !strings.Contains(shown, part) {
				t.Errorf("the page %q does not say %q", page, part)
			}
		}
	}
	duplicate := "/invoices/" + id + "/duplicate"
	copied := controls(t, v.read(duplicate).body)
	if copied.Get("entries.number")+copied.Get("entries.value") != "ADV-1Black" {
		t.Errorf("the copy has %v", copied)
	}
	page, copied = v.press(path, copied, "drop:preceding_invoices[0]")
	if !autofocused(t, page.body, "f-external_id") || len(copied["entries.line"]) != 3 {
		t.Errorf("removed: %v", copied["entries.kind"])
	}
}

// TestConflictsOfEntries checks that a user who saves a draft that somebody else has changed sees which entries differ.
func TestConflictsOfEntries(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	_, form := v.press("/invoices/new", complete("INV-1"), "preceding_invoice:")
	_, form = v.press("/invoices/new", form, "attribute:0")
	form.Set("entries.number", "ADV-1")
	form.Set("entries.name", "Colour")
	path := "/invoices/" + v.created(form) + "/edit"
	mine, theirs := controls(t, v.read(path).body), controls(t, v.read(path).body)
	theirs.Set("entries.number", "ADV-2")
	theirs.Set("entries.value", "Black")
	if got := v.send(path, theirs, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("their edit: %d", got.status)
	}
	got := v.send(path, mine, "save")
	for _, link := range []string{`<a href="#f-preceding_invoices-0-number">Earlier invoice 1: Number</a>`,
		`<a href="#f-items-0-attributes-0-value">Line 1: Item property 1: Value</a>`} {
		if got.status != http.StatusConflict || !strings.Contains(got.body, link) {
			t.Errorf("%d without %s", got.status, link)
		}
	}
}

// autofocused reports whether the control with an identifier gets the focus.
func autofocused(t *testing.T, page, id string) (found bool) {
	t.Helper()
	elements(parse(t, page), func(node *html.Node) {
		found = found || attribute(node, "id") == id && has(node, "autofocus")
	})
	return found
}

// TestAllowanceFaults checks that faults, advice, and what a submission needs are at the field that they are about, by
// the list and the position that the API counts, and that lists of fields name and lead to them.
func TestAllowanceFaults(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	form := manyLines("INV-1", 4)
	for name, values := range map[string][]string{
		"line":   {"", "", "", "", "3", "3", "3"},
		"kind":   {"charge", "allowance", "allowance", "allowance", "allowance", "charge", "charge"},
		"amount": {"x", "1", "1", "", "1", "1", "many"}, "percent": {"", "", "", "", "", "-1", "7"},
		"base_amount": {"", "", "", "", "", "", "200"}, "vat_category": {"S", "S", "S", ""},
		"vat_rate": {"5", "5", "high", ""}, "reason_code": {"", "", "nonsense", "", "FC", "95", ""},
	} {
		form["entries."+name] = values
	}
	got := v.send("/invoices/new", form, "save")
	notes := notesAt(t, got.body)
	if got.status != http.StatusUnprocessableEntity {
		t.Fatalf("%d", got.status)
	}
	for path, part := range map[string]string{"charges-0-amount": "number", "allowances-1-vat_rate": "number",
		"allowances-1-reason_code": "for an allowance", "allowances-2-amount": "Required",
		"allowances-2-vat_category": "Required", "items-3-allowances-0-reason_code": "for an allowance",
		"items-3-charges-0-percent": "", "items-3-charges-0-reason_code": "for a charge",
		"items-3-charges-1-amount": "number"} {
		if note, noted := notes[path]; !noted || !strings.Contains(note, part) {
			t.Errorf("%s: %q does not say %q", path, note, part)
		}
	}
	for _, link := range []string{`<a href="#f-charges-0-amount">Charge 1: Amount</a>`,
		`<a href="#f-items-3-charges-1-amount">Line 4: Charge 2: Amount</a>`,
		`<a href="#f-allowances-2-vat_category">Allowance 3: Tax category</a>`} {
		if !strings.Contains(got.body, link) {
			t.Errorf("no %s", link)
		}
	}
	for _, id := range []string{"f-charges-0-amount", "f-items-3-charges-1-amount"} {
		if !strings.Contains(got.body, `id="`+id+`"`) {
			t.Errorf("no control %s", id)
		}
	}
	if kept := controls(t, got.body); kept["entries.amount"][6] != "many" || kept["entries.vat_rate"][2] != "high" {
		t.Errorf("the input is lost: %v", kept["entries.amount"])
	}
	if !strings.Contains(got.body, `id="more-charges" open`) {
		t.Error("the section with the faults is closed")
	}
	live := v.do(http.MethodPost, "/invoices/check", form.Encode(), "HX-Request", "true")
	if got := notesAt(t, live.body); got["items-3-charges-1-amount"] == "" || got["allowances-1-vat_rate"] == "" {
		t.Errorf("while the user types: %v", got)
	}
	form["entries.line"] = slices.Repeat([]string{""}, 101)
	form["entries.kind"] = slices.Repeat([]string{"allowance"}, 101)
	if got := notesAt(t, v.send("/invoices/new", form, "save").body)["allowances"]; !strings.Contains(got, "at most 100") {
		t.Errorf("101 allowances: %q", got)
	}
}

// TestHostileEntries checks that a form with more entries than a page could show is refused quickly, as are lines
// that do not exist, and that the form of a stored draft with as many says so.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	form := complete("INV-1")
	form["entries.line"] = []string{"-1", "999999", "x", "1", "99999999999999999999", "0x0", "\x00"}
	form["entries.kind"] = []string{"charge", "", "remove", "<b>"}
	form["entries.amount"] = slices.Repeat([]string{"1"}, 9)
	id := v.created(form)
	if d := s.invoiceAt(t, token, id).Draft; len(d.Allowances)+len(d.Charges)+len(d.Items[0].Allowances)+
		len(d.Items[0].Charges) > 0 {
		t.Errorf("stored: %s", asJSON(t, d))
	}
	form["entries.line"] = slices.Repeat([]string{"0"}, 40_000)
	for _, button := range []string{"save", "allowance:0", "drop:items[0].charges[0]", "preview", "total"} {
		if got := v.send("/invoices/new", form, button); got.status != http.StatusRequestEntityTooLarge ||
			!strings.Contains(got.body, "Too many entries") {
			t.Errorf("%s: %d", button, got.status)
		}
	}
	d := draft("INV-2", "1")
	d.Items = slices.Repeat(d.Items[:1], 101)
	for n := range d.Items {
		d.Items[n].Allowances = slices.Repeat([]api.LineAllowance{{Amount: new(api.MustDecimal(strconv.Itoa(n)))}}, 20)
	}
	var made api.Invoice
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made); status != http.StatusCreated {
		t.Fatalf("create: %d", status)
	}
	v.read("/invoices/" + made.ID)
	if got := v.get("/invoices/" + made.ID + "/edit"); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("edit: %d", got.status)
	}
}

// TestEntriesInTheBrowser checks that a user adds an allowance and an earlier invoice to an invoice, and a charge and a
// property to its lines, sees the totals change and saves them, on every width and in both languages.
func TestEntriesInTheBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		v := s.loggedIn(t)
		id := v.created(manyLines("INV-1", 2))
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/" + id + "/edit")
		b.click("#more-charges summary")
		b.click(`#more-charges button[value="allowance:"]`)
		b.until(`document.activeElement.id === "f-allowances-0-amount"`)
		b.press("100")
		b.fill("#f-allowances-0-reason_code", "disc")
		b.until(`document.querySelector("[role=listbox]")?.innerText.includes("Discount")`)
		b.fill("#f-allowances-0-reason_code", "Discount")
		b.fill("#f-allowances-0-vat_category", "Z")
		b.fill("#f-allowances-0-reason", "Loyalty")
		b.until(`document.querySelector("#f-allowances-0-vat_rate").value === "0"`)
		b.fill("#f-allowances-0-vat_category", "S")
		b.fill("#f-allowances-0-vat_rate", "5")
		b.until(`document.querySelector("#announcer").textContent.includes("1,995.00")`)
		b.click(`button[value="charge:1"]`)
		b.until(`document.activeElement.id === "f-items-1-charges-0-amount"`)
		b.press("50")
		b.until(`document.querySelector("#net-1").innerText.endsWith("1,050.00")`)
		b.until(`["2,050.00", "100.00", "1,950.00", "2,047.50"].every((sum) =>
			document.querySelector("#sums").innerText.includes(sum))`)
		b.click(`button[value="up:1"]`)
		b.until(`document.querySelector("#f-items-0-charges-0-amount")?.value === "50" &&
			!document.querySelector("#f-items-1-charges-0-amount")`)
		b.fill("#f-prepaid_amount", "47.50")
		b.until(`document.querySelector("#sums").innerText.includes("2,000.00")`)
		b.click("#more-references summary")
		b.click(`button[value="preceding_invoice:"]`)
		b.until(`document.activeElement.id === "f-preceding_invoices-0-number"`)
		b.press("ADV-1")
		b.fill("#f-preceding_invoices-0-issue_date", "01022026") // month, day and year in turn
		b.click(`button[value="preceding_invoice:"]`)
		b.until(`document.activeElement.id === "f-preceding_invoices-1-number"`)
		b.click(`button[value="attribute:1"]`)
		b.until(`document.activeElement.id === "f-items-1-attributes-0-name"`)
		b.press("Colour")
		b.fill("#f-items-1-attributes-0-value", "Black")
		b.click(`button[value="allowance:0"]`)
		b.until(`document.activeElement.id === "f-items-0-allowances-0-amount"`)
		b.press("oops")
		b.until(`document.querySelector("#f-items-0-allowances-0-amount[aria-invalid]")`)
		b.inspect("form-entries")
		b.click(`button[value="drop:items[0].allowances[0]"]`)
		b.until(`!document.querySelector("#f-items-0-allowances-0-amount") && 
			document.activeElement.value === "drop:items[0].charges[0]"`)
		b.click(`button[value="drop:preceding_invoices[1]"]`)
		b.until(`document.activeElement.value === "drop:preceding_invoices[0]"`)
		b.click("button[value=total]")
		b.until(`document.querySelector("#f-total_amount").value === "2,047.50"`)
		b.click(".form-actions button[value=save]")
		b.until(`document.querySelector(".allowed")?.innerText.includes("Loyalty") &&
			["Charge", "Colour: Black"].every((part) => document.querySelector(".lines").innerText.includes(part))`)
		b.until(`document.querySelector(".payment").innerText.includes("ADV-1 2 Jan 2026")`)
		b.until(`document.querySelector(".totals").innerText.includes("2,000.00")`)
		b.inspect("invoice-entries")
		b.open("/invoices/" + id + "/print")
		b.inspect("print-entries")
		b.open("/")
		b.click(`.language button[value="ar"]`)
		b.until(`document.documentElement.lang === "ar"`)
		for _, page := range []string{"", "/edit", "/print"} {
			b.open("/invoices/" + id + page)
			b.until(`document.querySelector("h1")`)
			b.inspectArabic("entries" + strings.ReplaceAll(page, "/", "-"))
		}
		b.wantQuiet("the entries")
	})
}
