package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// pdfRows are the cases of the PDF of an invoice and of a credit note; the company's profile is empty in the table of
// operations.
var pdfRows = []row{
	{name: "without a format", status: http.StatusOK,
		check: func(t *testing.T, _ *company, a response) { wantPDF(t, a, "", "AED 1,050.00") }},
	{name: "of an unknown format", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
		prepare: withProfile("PINT-AE")},
	{name: "in a format that it is not complete for", status: http.StatusUnprocessableEntity,
		code: api.CodeInvoiceIncomplete, prepare: withProfile("pint-ae"),
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/error/details/seller.legal_name/0/rule", `"incomplete_profile"`)
		}},
	{name: "in a format", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		c.setProfile(t, emiratiProfile())
		withReason(t, c, r)
		withProfile("pint-ae")(t, c, r)
	}, check: func(t *testing.T, _ *company, a response) {
		wantPDF(t, a, ".xml", "Gulf Works LLC", "AED 1,050.00", "TRN  135790246801003")
	}},
}

// receivedPDFRows are the cases of the PDF of a received document.
var receivedPDFRows = []row{
	{name: "the document", status: http.StatusOK,
		check: func(t *testing.T, _ *company, a response) { wantPDF(t, a, "SUP-1.xml", "SUP-1", "AED 10.40") }},
	{name: "a document that cannot be read", status: http.StatusUnprocessableEntity, code: api.CodeDocumentUnreadable,
		prepare: unreadable},
}

// unreadable changes a request so that it is about a document that is no invoice, of a company that has it from its
// first fetch.
func unreadable(t *testing.T, c *company, r *request) {
	t.Helper()
	c.controlPurchase(t, "P-9", "<Invoice>"+r.path+"</Invoice>")
	fresh := c.connected(t)
	known := anIncoming(t, c)["incoming_invoice_id"]
	kit.Until(t, "the unreadable document", func() bool {
		a := fresh.get(t, incomingPath)
		for n := range 2 {
			if a.raw(t, fmt.Sprintf("/data/%d/provider_document_id", n)) == `"P-9"` {
				r.path, r.token = strings.Replace(r.path, known, a.textAt(t, fmt.Sprintf("/data/%d/id", n)), 1), fresh.token(t)
				return true
			}
		}
		return false
	})
}

// wantPDF checks that a response is a PDF file with texts on its pages, and with an attached file whose name has a
// suffix, "" for none.
func wantPDF(t *testing.T, a response, attached string, texts ...string) {
	t.Helper()
	if !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment; filename=") ||
		a.header.Get("Content-Type") != "application/pdf" || !strings.HasPrefix(a.text, "%PDF-1.7") {
		t.Fatalf("%.200q with %v", a.text, a.header)
	}
	file := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(file, []byte(a.text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v (scripts/setup installs it)\n%s", name, err, out)
		}
		return string(out)
	}
	shown := strings.Join(strings.FieldsFunc(run("pdftotext", "-layout", file, "-"),
		func(r rune) bool { return r == '\n' }), "\n")
	for strings.Contains(shown, "   ") {
		shown = strings.ReplaceAll(shown, "   ", "  ")
	}
	for _, want := range append(texts, "Copy. This is not the legal document.", "Page 1 of 1") {
		if !strings.Contains(shown, want) {
			t.Errorf("the pages lack %q:\n%s", want, shown)
		}
	}
	list := run("pdfdetach", "-list", file)
	if attached == "" && !strings.HasPrefix(list, "0 ") || !strings.Contains(list, attached) {
		t.Errorf("attached: %s", list)
	}
}

// TestPDFOfSubmittedInvoice checks that the pages of a submitted invoice show what was submitted, with the document
// that was sent attached, and that they are the same bytes afterwards.
func TestPDFOfSubmittedInvoice(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		c.setProfile(t, emiratiProfile())
		c.connectWith(t, "pint-ae")
		draft := invoicesPath + "/" + c.draft(t, c.numbered(""))
		wantPDF(t, c.get(t, draft+"/document.pdf"), ".xml", "Draft", "Tax invoice")
		path := submitted(t, c, "")
		before := c.get(t, path+"/document.pdf")
		wantPDF(t, before, ".xml", "Sheikh Zayed Road 1")
		if strings.Contains(before.text, "Draft") {
			t.Error("the pages of a submitted invoice call it a draft")
		}
		moved := emiratiProfile()
		moved.Street = nil
		c.setProfile(t, moved)
		if after := c.get(t, path+"/document.pdf"); after.text != before.text {
			t.Error("the file has changed")
		}
		// The draft is not complete any more, and another company finds neither.
		c.get(t, draft+"/document.pdf").want(t, http.StatusUnprocessableEntity, api.CodeInvoiceIncomplete)
		s.company(t).get(t, path+"/document.pdf").want(t, http.StatusNotFound, api.CodeNotFound)
	})
}

// connectWith activates a connection with a document format.
func (c *company) connectWith(t *testing.T, format string) {
	t.Helper()
	made, err := invoices.AddConnection(t.Context(), c.db, c.id,
		invoices.NewConnection{Kind: "http", Environment: service.Sandbox, BaseURL: c.sandbox.Info.ProviderURL,
			Format: format, Credential: secret.New(c.sandbox.Info.ProviderCredential)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := invoices.ActivateConnection(t.Context(), c.db, made.ID); err != nil {
		t.Fatal(err)
	}
}

// TestPDFOfUnreadableDocument checks that a received document that cannot be read has an error that says why, for each
// revision.
func TestPDFOfUnreadableDocument(t *testing.T) {
	change := func(c *service.Config) { c.PurchaseInterval = 20 * time.Millisecond }
	onFirst(t, change, func(t *testing.T, s *system) {
		c := s.connected(t)
		s.controlPurchase(t, "P-9", "<Invoice>first</Invoice>")
		path := incomingPath + "/" + anIncoming(t, c)["incoming_invoice_id"]
		for _, at := range []string{path, path + "/revisions/1"} {
			a := c.get(t, at+"/document.pdf")
			a.want(t, http.StatusUnprocessableEntity, api.CodeDocumentUnreadable)
			wantRaw(t, a, "/error/details/document/0/rule", `"unsupported"`)
		}
		for _, at := range []string{"/revisions/2", "/revisions/01", "/revisions/x"} {
			c.get(t, path+at+"/document.pdf").want(t, http.StatusNotFound, api.CodeNotFound)
		}
	})
}

// TestLongDocuments checks that the memory that a document and its pages reserve is there for the longest invoice that
// the API takes.
func TestLongDocuments(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		var d map[string]any
		if err := json.Unmarshal([]byte(c.numbered("")), &d); err != nil {
			t.Fatal(err)
		}
		item, _ := d["items"].([]any)[0].(map[string]any)
		item["quantity"], item["net_unit_price"], item["gross_unit_price"], d["total_amount"] = 10, 100, 100, 1050000
		delete(item, "discount_amount")
		item["description"] = strings.Repeat("word ", 140)
		d["items"] = slices.Repeat([]any{item}, 1000)
		body, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		path := invoicesPath + "/" + c.draft(t, string(body))
		c.setProfile(t, emiratiProfile())
		for at, want := range map[string]string{"/document?profile=pint-ae": "<?xml", "/document.pdf?profile=pint-ae": "%PDF",
			"/document.pdf": "%PDF"} {
			if a := c.get(t, path+at); a.status != http.StatusOK || !strings.HasPrefix(a.text, want) {
				t.Errorf("%s: %d %.300s", at, a.status, a.text)
			}
		}
	})
}

// TestLargeReceivedDocument reads and prints a received document of the largest size that is retained. The memory that
// this takes must be within the share of a company.
func TestLargeReceivedDocument(t *testing.T) {
	const most = 10 << 20
	change := func(c *service.Config) { c.PurchaseInterval = 20 * time.Millisecond }
	onFirst(t, change, func(t *testing.T, s *system) {
		c := s.connected(t)
		line := `<cac:InvoiceLine><cbc:ID>1</cbc:ID><cac:Item><cbc:Description>` + strings.Repeat("word ", 20) +
			`</cbc:Description><cbc:Name>Hours</cbc:Name></cac:Item></cac:InvoiceLine>`
		head := `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
			xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"><cbc:ID>SUP-9</cbc:ID>`
		document := head + strings.Repeat(line, most/len(line)-1) + "</Invoice>"
		document += strings.Repeat(" ", most-len(document))
		s.controlPurchase(t, "P-9", document)
		path := incomingPath + "/" + anIncoming(t, c)["incoming_invoice_id"]
		a := c.get(t, path)
		a.want(t, http.StatusOK, "")
		wantRaw(t, a, "/data/parsed/number", `"SUP-9"`)
		if a := c.get(t, path+"/document.pdf"); a.status != http.StatusOK || !strings.HasPrefix(a.text, "%PDF") {
			t.Errorf("the pages: %d %.300s", a.status, a.text)
		}
	})
}

// TestTooManyPages checks that an invoice whose pages would be too many has an error that says so.
func TestTooManyPages(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		var d map[string]any
		if err := json.Unmarshal([]byte(c.numbered("")), &d); err != nil {
			t.Fatal(err)
		}
		item, _ := d["items"].([]any)[0].(map[string]any)
		item["description"] = strings.Repeat("x\n", 100)
		d["items"] = slices.Repeat([]any{item}, 1000)
		body, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		a := c.get(t, invoicesPath+"/"+c.draft(t, string(body))+"/document.pdf")
		a.want(t, http.StatusUnprocessableEntity, api.CodeValidationFailed)
		wantRaw(t, a, "/error/details/document/0/rule", `"max_pages"`)
	})
}

// TestPDFsAtATime checks that concurrent requests for files all get one, although few are made at a time.
func TestPDFsAtATime(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		path := invoicesPath + "/" + c.draft(t, c.numbered("")) + "/document.pdf"
		token := c.token(t)
		failed := make(chan error, 12)
		for range cap(failed) {
			go func() {
				a := c.send(t, request{method: http.MethodGet, path: path, token: token})
				if a.status != http.StatusOK {
					failed <- fmt.Errorf("%d %s", a.status, a.text)
					return
				}
				failed <- nil
			}()
		}
		for range cap(failed) {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
	})
}
