package site_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/ledger/access"
	"quittance/test/kit"
)

// upload sends a file with the form of the import.
func (v *visitor) upload(name, file string, headers ...string) response {
	v.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	kit.Must(v.t, err)
	_, err = part.Write([]byte(file))
	kit.Must(v.t, err)
	kit.Must(v.t, form.Close())
	return v.do(http.MethodPost, "/import", body.String(),
		append([]string{"Content-Type", form.FormDataContentType()}, headers...)...)
}

// uploaded sends a file and returns the address of its preview.
func (v *visitor) uploaded(name, file string) string {
	v.t.Helper()
	got := v.upload(name, file)
	at := got.header.Get("Location")
	if got.status != http.StatusSeeOther || !strings.HasPrefix(at, "/import/") {
		v.t.Fatalf("upload: %d %s", got.status, got.body)
	}
	return at
}

// drafts returns the number of drafts of the company.
func (s *system) drafts(t *testing.T, token string) int {
	t.Helper()
	var list []api.InvoiceSummary
	s.api(t, token, http.MethodGet, "/api/v1/client/invoices?per_page=100", nil, &list)
	return len(list)
}

const importHeader = "invoice_number,recipient_name,buyer_country,total_amount,currency,issue_date,name,unit_code,quantity,net_unit_price,vat_category,vat_rate\n"

// TestImport checks that a file in the forms that people type becomes drafts once, and that a file with faults becomes
// none.
func TestImport(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine string) {
		s := start(t, engine, true, time.Millisecond)
		v, token := s.loggedIn(t), s.token(t, s.email, s.password)
		at := v.uploaded("march.csv", importHeader+
			"IMP-1,Palm,United Arab Emirates,\"1,050.00\",aed,1 March 2026,Consulting,Hour,10,100.00,S,5%\nIMP-1,,,,,,Travel,,1,,,\n")
		wantPage(t, v, at, []string{"march.csv", "1 cell or row needs a correction", "net_unit_price", ">3<"},
			[]string{`id="import"`})
		if got := v.post(at); got.status != http.StatusSeeOther || got.header.Get("Location") != at {
			t.Errorf("the import of a file with faults: %d %s", got.status, got.header.Get("Location"))
		}
		if faults := v.get(at + "/faults.csv"); !strings.Contains(faults.body,
			"row,column,value,fault\r\n3,net_unit_price,,") {
			t.Errorf("faults %q", faults.body)
		}
		unknown := v.uploaded("march.csv", importHeader+"IMP-1,Palm,AE,10,ZZZ,2026-03-01,x,,1,10,,\n")
		if faults := v.get(unknown + "/faults.csv"); !strings.Contains(faults.body,
			"row,column,value,fault\r\n2,currency,ZZZ,") {
			t.Errorf("faults of an unknown currency: %q", faults.body)
		}
		if got := v.post(unknown); got.header.Get("Location") != unknown {
			t.Errorf("the import of an unknown currency: %d %s", got.status, got.header.Get("Location"))
		}
		at = unknown
		if got := s.drafts(t, token); got != 0 {
			t.Fatalf("%d drafts after faults", got)
		}

		next := v.uploaded("march.csv", importHeader+
			"IMP-1,Palm,United Arab Emirates,\"1,050.00\",aed,1 March 2026,Consulting,Hour,10,100.00,S,5%\nIMP-1,,,,,,Travel,,1,0,,\n")
		wantPage(t, v, next, []string{"1,050.00", "Import 1 draft", "1 draft lacks fields"}, nil)
		if got := v.get(at); got.status != http.StatusNotFound ||
			!strings.Contains(got.body, "This file is not here any more") {
			t.Errorf("the file that was replaced: %d", got.status)
		}
		if got := v.post(next); got.status != http.StatusSeeOther {
			t.Fatalf("the import: %d %s", got.status, got.body)
		}
		for _, again := range []response{v.post(next), v.get(next)} {
			if again.status != http.StatusNotFound {
				t.Errorf("after the import: %d", again.status)
			}
		}
		var list []api.InvoiceSummary
		s.api(t, token, http.MethodGet, "/api/v1/client/invoices", nil, &list)
		if len(list) != 1 {
			t.Fatalf("%d drafts", len(list))
		}
		var made api.Invoice
		s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+list[0].ID, nil, &made)
		if got := made.TotalAmount.String() + " " + *made.Currency + " " + *made.IssueDate + " " + *made.BuyerCountry +
			" " + *made.Items[0].UnitCode + " " +
			made.Items[0].VATRate.String() + " " + *made.Items[1].Name; got != "1050.00 AED 2026-03-01 AE HUR 5 Travel" {
			t.Errorf("imported %s", got)
		}
	})
}

// TestImportOfEntries checks that the entries of lists are read in the forms that people type, and that those of an
// invoice which stand in the rows of all lines are a question.
func TestImportOfEntries(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	header := strings.TrimSpace(importHeader) + ",allowance_amount,allowance_reason_code,allowance_vat_rate," +
		"charge_reason_code,line_charge_amount,line_charge_percent,preceding_invoice_number,preceding_invoice_issue_date," +
		"line_attribute_name,line_attribute_value,type_code\n"
	row := func(name, cells string) string {
		return "IMP-1,Palm,AE,10,AED,2026-03-01," + name + ",Hour,1,100,S,5%," + cells + "\n"
	}
	at := v.uploaded("join.csv", header+row("one", "1,Discount,5%")+row("two", "1,Discount,5%"))
	wantPage(t, v, at, []string{"allowance_amount", ">3<", "stands in one row only"}, []string{`id="import"`})
	at = v.uploaded("march.csv", header+row("one", `"1,050.00",discount,5 %,,,,ADV-1,2 Jan 2026,Colour,Black,`+
		"Prepayment invoice")+row("two", ",,,Freight service,12,2.5%"))
	if got := v.post(at); got.status != http.StatusSeeOther {
		t.Fatalf("the import: %d %s", got.status, got.body)
	}
	var list []api.InvoiceSummary
	s.api(t, token, http.MethodGet, "/api/v1/client/invoices", nil, &list)
	made := s.invoiceAt(t, token, list[0].ID)
	allowance, charge := made.Allowances[0], made.Items[1].Charges[0]
	if got := allowance.Amount.String() + " " + *allowance.ReasonCode + " " + allowance.VATRate.String() + " " +
		*made.Charges[0].ReasonCode + " " + charge.Amount.String() + " " + charge.Percent.String(); got !=
		"1050.00 95 5 FC 12 2.5" {
		t.Errorf("imported %s", got)
	}
	if got := asJSON(t, made.PrecedingInvoices) + asJSON(t, made.Items[0].Attributes) + *made.TypeCode; got !=
		`[{"number":"ADV-1","issue_date":"2026-01-02"}][{"name":"Colour","value":"Black"}]386` {
		t.Errorf("imported %s", got)
	}
}

// TestImportAsksAboutNumbers checks that a number which is another one in another country is a question, and that
// others are read.
func TestImportAsksAboutNumbers(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	header := "invoice_number,recipient_name,total_amount,currency,issue_date,name,quantity,net_unit_price\n"
	file := func(separator, amount string) string {
		row := strings.Join([]string{"N-1", "Palm", `"` + amount + `"`, "AED", "2026-03-01", "x", "1", `"` + amount + `"`},
			separator)
		return strings.ReplaceAll(header, ",", separator) + row + "\n"
	}
	for _, c := range []struct {
		separator, amount string
		question          bool
	}{
		{";", "1,250", true}, {";", "1.050", true}, {"\t", "1.050", true}, {",", "1,250", true},
		{",", "1.050", false}, {";", "1.050,00", false}, {";", "1,050.00", false}, {";", "105,00", false},
		{";", "0.125", false}, {";", "1250", false}, {",", "1,250,000", false},
	} {
		page := v.get(v.uploaded("n.csv", file(c.separator, c.amount)))
		if asked := strings.Contains(page.body, "Thousands or decimals?"); asked != c.question {
			t.Errorf("%q in a file with %q: question %v", c.amount, c.separator, asked)
		}
	}
}

// TestImportIsRefused checks who may not import a file, and which forms are refused.
func TestImportIsRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine string) {
		s := start(t, engine, true, time.Millisecond)
		v := s.loggedIn(t)
		file := importHeader + "IMP-1,Palm,AE,10,AED,2026-03-01,x,,1,10,,\n"
		at := v.uploaded("a.csv", file)
		if got := v.upload("a.csv", file, "Origin", "https://example.com"); got.status != http.StatusForbidden {
			t.Errorf("a form of another site: %d", got.status)
		}
		if got := v.upload("a.csv", ""); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, "Choose a file that is not empty") {
			t.Errorf("an empty file: %d", got.status)
		}
		if got := v.upload("a.csv", strings.Repeat("x", tabular.MaxBytes+
			1)); got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "The file is too large") {
			t.Errorf("a large file: %d", got.status)
		}
		if got := v.post("/import", "file", file); got.status != http.StatusUnsupportedMediaType {
			t.Errorf("a form without a file: %d", got.status)
		}
		if got := v.do(http.MethodPost, "/import", "no parts", "Content-Type",
			"multipart/form-data; boundary=x"); got.status != http.StatusUnprocessableEntity {
			t.Errorf("no parts: %d", got.status)
		}
		// A colleague and another company do not find the file; a viewer may not import at all.
		for _, role := range []access.Role{access.Accountant, access.Viewer} {
			other := s.colleague(t, role)
			want := http.StatusNotFound
			if role == access.Viewer {
				want = http.StatusForbidden
			}
			for _, got := range []response{other.get(at), other.post(at), other.get(at + "/faults.csv")} {
				if got.status != want {
					t.Errorf("%s: %d", role, got.status)
				}
			}
		}
		for _, name := range []string{"x", "00000000-0000-0000-0000-000000000000", "template"} {
			if got := v.get("/import/" + name); got.status != http.StatusNotFound {
				t.Errorf("/import/%s: %d", name, got.status)
			}
		}
		if got := v.post(at); got.status != http.StatusSeeOther {
			t.Errorf("the import by its user: %d", got.status)
		}
	})
}

// TestImportTemplates checks that the templates that people start from can be imported.
func TestImportTemplates(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	for _, format := range tabular.Formats {
		file := v.get("/import/template." + string(format))
		if file.status != http.StatusOK || !strings.HasPrefix(file.header.Get("Content-Type"),
			strings.Split(format.MediaType(), ";")[0]) {
			t.Fatalf("template: %d %s", file.status, file.header.Get("Content-Type"))
		}
		wantPage(t, v, v.uploaded("template", file.body), []string{"Import 1 draft", "INV-2026-0001"},
			[]string{"needs a correction"})
	}
}

// TestHostileImport checks that no text of a file becomes markup.
func TestHostileImport(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	rows := [][]string{strings.Split(strings.TrimSpace(importHeader), ",")}
	for n, text := range hostile {
		rows = append(rows, []string{fmt.Sprintf("H-%d", n), text, text, text, text, text, text, text, text, text, text,
			text})
	}
	var file strings.Builder
	for _, row := range rows {
		for n, cell := range row {
			if n > 0 {
				file.WriteByte(',')
			}
			file.WriteString(`"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
		}
		file.WriteByte('\n')
	}
	page := v.get(v.uploaded(`"><script>.csv`, file.String()))
	for _, markup := range []string{"<script>alert", "<img src", "<svg onload", "<iframe", "<base", "<form action=//x"} {
		if strings.Contains(page.body, markup) {
			t.Errorf("the page has %s", markup)
		}
	}
	if page.status != http.StatusOK || !strings.Contains(page.body, "need a correction") {
		t.Errorf("preview: %d %s", page.status, page.body)
	}
}

// TestImportInTheBrowser imports 200 invoices from a file with three bad rows, as a person does: the faults are named,
// corrected, and the list has 200 drafts.
func TestImportInTheBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 50*time.Millisecond)
		file := strings.Builder{}
		file.WriteString(importHeader)
		for n := range 200 {
			fmt.Fprintf(&file, "INV-%03d,Customer %d,AE,1050.00,AED,2026-03-%02d,Consulting,HUR,10,100.00,S,5\n", n+1, n+1,
				n%28+1)
		}
		good := file.String()
		bad := strings.NewReplacer("INV-010,Customer 10,", "INV-010,,", "Customer 50,AE,1050.00", "Customer 50,AE,1 each",
			"INV-199,Customer 199,AE,1050.00,AED,2026-03-03", "INV-199,Customer 199,AE,1050.00,AED,30/02/2026").Replace(good)
		dir := t.TempDir()
		for name, text := range map[string]string{"bad.csv": bad, "good.csv": good} {
			kit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		b := newBrowser(t, s.base)
		b.open("/login")
		b.login(s.email, s.password)
		b.open("/invoices")
		b.click("#import")
		b.until(`document.querySelector("#file")`)
		b.inspect("page-import")
		send := func(name string) {
			b.do(chromedp.SetUploadFiles("#file", []string{filepath.Join(dir, name)}, chromedp.ByQuery))
			b.click("form button.primary")
		}
		send("bad.csv")
		b.until(`document.querySelectorAll(".faults tbody tr").length === 3`)
		want := []string{"11 recipient_name", "51 total_amount", "200 issue_date"}
		for n, row := range want {
			if got := strings.Join(strings.Fields(b.text(fmt.Sprintf(".faults tbody tr:nth-child(%d)", n+1))),
				" "); !strings.HasPrefix(got, row) {
				t.Errorf("fault %d is %q, want %q", n+1, got, row)
			}
		}
		b.inspect("page-import-faults")
		b.click("a.primary")
		b.until(`document.querySelector("#file")`)
		send("good.csv")
		b.until(`document.querySelector("button#import")`)
		b.inspect("page-import-preview")
		b.click("#import")
		b.until(`location.pathname === "/invoices" && document.querySelector("table.invoices")`)
		b.until(`document.querySelector(".notice.good")`)
		if got := b.text("#list-tabs"); !strings.Contains(got, "200") {
			t.Errorf("tabs %q", got)
		}
	})
}
