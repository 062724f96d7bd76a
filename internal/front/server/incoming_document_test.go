package server_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/incoming"
)

// ublInvoice returns a UBL invoice with some content.
func ublInvoice(content string) string {
	head, _, _ := strings.Cut(incomingDocument, "<cbc:ID>")
	return head + content + "</Invoice>"
}

// seedIncoming retains documents for a company and returns the path of the only e-invoice that they are revisions of.
func seedIncoming(t *testing.T, s *system, c *company, documents ...incoming.NewIncoming) (path string) {
	t.Helper()
	tenant, err := s.db.Tenant(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	for n := range documents {
		documents[n].ProviderDocumentID, documents[n].Metadata = "P", []byte(fmt.Sprintf(`{"n":%d}`, n))
		if err := incoming.Seed(t.Context(), tenant, documents[n:n+1]); err != nil {
			t.Fatal(err)
		}
	}
	return incomingPath + "/" + anIncoming(t, c)["incoming_invoice_id"]
}

// retained returns a retained document.
func retained(body string) incoming.NewIncoming {
	return incoming.NewIncoming{MediaType: "application/xml", Body: []byte(body), Retained: true}
}

// TestParsedDocument checks what is said about the document of the latest revision: its content, why it cannot be read,
// or nothing if it is not retained or is withheld. Lists do not read documents.
func TestParsedDocument(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		large := sha256.Sum256([]byte("large"))
		for name, test := range map[string]struct {
			document    incoming.NewIncoming
			number, why string
		}{
			"an invoice":      {retained(ublInvoice("<cbc:ID>A &amp; B</cbc:ID>")), `"A & B"`, ""},
			"a PDF":           {retained("%PDF-1.7"), "", `"unsupported"`},
			"an open element": {retained("<Invoice>"), "", `"unsupported"`},
			"not well-formed": {retained(ublInvoice("<cbc:ID>")), "", `"malformed"`},
			"an entity": {retained("<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>" + ublInvoice("&e;")), "",
				`"unsafe"`},
			"too deep": {retained(ublInvoice(strings.Repeat("<x>", 99) + strings.Repeat("</x>", 99))), "", `"limit"`},
			"withheld": {incoming.NewIncoming{Body: []byte(ublInvoice("<cbc:ID>1</cbc:ID>")), Retained: true,
				Withheld: true}, "", ""},
			"not retained": {incoming.NewIncoming{SHA256: &large, Size: new(int64(20 << 20))}, "", ""},
		} {
			t.Run(name, func(t *testing.T) {
				c := s.company(t)
				path := seedIncoming(t, s, c, retained(ublInvoice("<cbc:ID>the first revision</cbc:ID>")), test.document)
				a := c.get(t, path)
				a.want(t, http.StatusOK, "")
				if test.number != "" {
					wantRaw(t, a, "/data/parsed/number", test.number)
				} else {
					wantRaw(t, a, "/data/parsed", "null")
				}
				if test.why != "" {
					wantRaw(t, a, "/data/parse_error/rule", test.why)
				} else {
					wantRaw(t, a, "/data/parse_error", "null")
				}
				for _, list := range []string{incomingPath, path + "/revisions"} {
					if listed := c.get(t, list); listed.status != http.StatusOK || strings.Contains(listed.text, "parse") {
						t.Errorf("%s: %s", list, listed.text)
					}
				}
			})
		}
	})
}

// TestMetadataDisagree checks that a document whose values differ from the provider's metadata has warnings about them.
func TestMetadataDisagree(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		document := retained(incomingDocument)
		document.InvoiceNumber, document.Currency, document.TotalAmount = new("OTHER-1"), new("USD"),
			new(api.MustDecimal("10.5"))
		a := c.get(t, seedIncoming(t, s, c, document))
		wantRaw(t, a, "/data/parsed/warnings/number/0/rule", `"metadata"`)
		wantRaw(t, a, "/data/parsed/warnings/currency/0/rule", `"metadata"`)
		wantRaw(t, a, "/data/parsed/warnings/totals.total", "")
	})
}

// TestAttachments checks that attachments are downloaded unchanged from any revision, with a media type and a name that
// are safe whatever the document says, and that other companies get none.
func TestAttachments(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		file := func(name, mediaType, text string) string {
			return `<cac:AdditionalDocumentReference><cac:Attachment><cbc:EmbeddedDocumentBinaryObject filename="` + name +
				`" mimeCode="` + mediaType + `">` + text +
				`</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>`
		}
		cases := []struct{ name, mediaType, wantName, wantType string }{
			{"a.pdf", "application/pdf", `attachment; filename=a.pdf`, "application/pdf"},
			{"a.PDF", "Application/PDF; x=y", `attachment; filename=a.pdf`, "application/pdf"},
			{"photo.jpeg", "image/jpeg", `attachment; filename=photo.jpeg`, "image/jpeg"},
			{"time sheet.csv", "text/csv", `attachment; filename="time sheet.csv"`, "text/csv"},
			{"a.pdf.exe", "application/pdf", `attachment; filename=a.pdf.exe.pdf`, "application/pdf"},
			{"page.html", "text/html", `attachment; filename=page.html.bin`, "application/octet-stream"},
			{"x.svg", "image/svg+xml", `attachment; filename=x.svg.bin`, "application/octet-stream"},
			{"..\\..\\etc/passwd", "", `attachment; filename=passwd.bin`, "application/octet-stream"},
			{"", "application/pdf", `attachment; filename=attachment.pdf`, "application/pdf"},
			{"...", "application/pdf", `attachment; filename=attachment.pdf`, "application/pdf"},
			{".pdf", "application/pdf", `attachment; filename=pdf.pdf`, "application/pdf"},
			{"a&#13;&#10;Set-Cookie: x&quot;;.pdf", "application/pdf", `attachment; filename="a Set-Cookie_ x__.pdf"`,
				"application/pdf"},
			{"فاتورة.pdf", "application/pdf", `attachment; filename*=utf-8''%D9%81%D8%A7%D8%AA%D9%88%D8%B1%D8%A9.pdf`,
				"application/pdf"},
			{"a\u202efdp.exe", "application/pdf", `attachment; filename=a_fdp.exe.pdf`, "application/pdf"},
			{strings.Repeat("n", 300), "image/png", `attachment; filename=` + strings.Repeat("n", 100) + `.png`, "image/png"},
			{"a.pdf", "a/b/c", `attachment; filename=a.pdf.bin`, "application/octet-stream"},
		}
		content := ""
		for _, test := range cases {
			content += file(test.name, test.mediaType, "PGI+aGVsbG88L2I+")
		}
		content += file("broken.pdf", "application/pdf", "!") +
			`<cac:AdditionalDocumentReference><cac:Attachment><cac:ExternalReference><cbc:URI>https://example.com/x</cbc:URI></cac:ExternalReference></cac:Attachment></cac:AdditionalDocumentReference>`
		c := s.company(t)
		path := seedIncoming(t, s, c, retained(ublInvoice(content)), retained(ublInvoice("<cbc:ID>2</cbc:ID>")),
			retained("not XML"), incoming.NewIncoming{Body: []byte(ublInvoice(content)), Retained: true, Withheld: true})
		for n, test := range cases {
			a := c.get(t, fmt.Sprintf("%s/revisions/1/attachments/%d", path, n+1))
			if a.status != http.StatusOK || a.text != "<b>hello</b>" || a.header.Get("Content-Type") != test.wantType ||
				a.header.Get("Content-Disposition") != test.wantName ||
				a.header.Get("X-Content-Type-Options") != "nosniff" ||
				a.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" ||
				a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%q, %q: %d %q with %v", test.name, test.mediaType, a.status, a.text, a.header)
			}
		}
		for _, none := range []string{"1/attachments/17", "1/attachments/18", "1/attachments/19", "1/attachments/01",
			"1/attachments/0", "1/attachments/x", "2/attachments/1", "3/attachments/1", "4/attachments/1", "5/attachments/1",
			"01/attachments/1"} {
			c.get(t, path+"/revisions/"+none).want(t, http.StatusNotFound, api.CodeNotFound)
		}
		s.company(t).get(t, path+"/revisions/1/attachments/1").want(t, http.StatusNotFound, api.CodeNotFound)
	})
}

// TestLargestDocument checks that the largest document that is retained can be read and its file downloaded.
func TestLargestDocument(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		file := strings.Repeat("YWJj", (10<<20-2048)/4)
		path := seedIncoming(t, s, c, retained(strings.Replace(incomingDocument, "aG91cnMK", file, 1)))
		wantRaw(t, c.get(t, path), "/data/parsed/attachments/0/size", fmt.Sprint(len(file)/4*3))
		a := c.get(t, path+"/revisions/1/attachments/1")
		if a.status != http.StatusOK ||
			sha256.Sum256([]byte(a.text)) != sha256.Sum256([]byte(strings.Repeat("abc", len(file)/4))) {
			t.Errorf("%d, %d bytes", a.status, len(a.text))
		}
	})
}
