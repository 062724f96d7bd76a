package site_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
	"quittance/test/kit"
	"quittance/test/kit/chromium"
)

// received returns a UBL invoice whose texts are all the same, and whose figures disagree.
func received(t testing.TB, text string) []byte {
	t.Helper()
	var escaped strings.Builder
	kit.Must(t, xml.EscapeText(&escaped, []byte(text)))
	x := strings.NewReplacer("%", escaped.String())
	party := `<cac:Party><cbc:EndpointID schemeID="%">%</cbc:EndpointID><cac:PartyName><cbc:Name>x%</cbc:Name></cac:PartyName><cac:PostalAddress><cbc:StreetName>%</cbc:StreetName><cbc:CityName>%</cbc:CityName>` +
		`<cbc:CountrySubentity>%</cbc:CountrySubentity><cac:Country><cbc:IdentificationCode>%</cbc:IdentificationCode></cac:Country></cac:PostalAddress><cac:PartyTaxScheme><cbc:CompanyID>%</cbc:CompanyID>` +
		`</cac:PartyTaxScheme><cac:PartyLegalEntity><cbc:RegistrationName>%</cbc:RegistrationName></cac:PartyLegalEntity><cac:Contact><cbc:Name>%</cbc:Name></cac:Contact></cac:Party>`
	return []byte(
		`<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" ` +
			`xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">` + x.Replace(
			`<cbc:CustomizationID>%</cbc:CustomizationID><cbc:ID>%</cbc:ID><cbc:Note>%</cbc:Note><cbc:DocumentCurrencyCode>%</cbc:DocumentCurrencyCode><cac:OrderReference><cbc:ID>%</cbc:ID></cac:OrderReference>`+
				`<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>%</cbc:ID><cbc:IssueDate>2026-01-02</cbc:IssueDate></cac:InvoiceDocumentReference></cac:BillingReference>`+
				`<cac:AdditionalDocumentReference><cbc:ID>%</cbc:ID><cbc:DocumentDescription>%</cbc:DocumentDescription><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="%" filename="%">YWJj`+
				`</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference><cac:AdditionalDocumentReference><cbc:ID>%</cbc:ID><cac:Attachment><cac:ExternalReference><cbc:URI>%</cbc:URI>`+
				`</cac:ExternalReference></cac:Attachment></cac:AdditionalDocumentReference><cac:AccountingSupplierParty>`+party+
				`</cac:AccountingSupplierParty><cac:AccountingCustomerParty>`+party+`</cac:AccountingCustomerParty>`+
				`<cac:PaymentMeans><cbc:PaymentMeansCode name="%">%</cbc:PaymentMeansCode><cbc:PaymentID>%</cbc:PaymentID><cac:PayeeFinancialAccount><cbc:ID>%</cbc:ID></cac:PayeeFinancialAccount></cac:PaymentMeans>`+
				`<cac:PaymentTerms><cbc:Note>%</cbc:Note></cac:PaymentTerms><cac:AllowanceCharge><cbc:AllowanceChargeReason>%</cbc:AllowanceChargeReason><cbc:Amount>1</cbc:Amount></cac:AllowanceCharge>`+
				`<cac:TaxTotal><cac:TaxSubtotal><cbc:TaxAmount>1</cbc:TaxAmount><cac:TaxCategory><cbc:ID>%</cbc:ID><cbc:TaxExemptionReason>%</cbc:TaxExemptionReason></cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal>`+
				`<cac:LegalMonetaryTotal><cbc:TaxInclusiveAmount>2</cbc:TaxInclusiveAmount><cbc:PayableAmount>1</cbc:PayableAmount></cac:LegalMonetaryTotal>`+
				`<cac:InvoiceLine><cbc:ID>%</cbc:ID><cbc:Note>%</cbc:Note><cbc:InvoicedQuantity unitCode="%">1</cbc:InvoicedQuantity><cac:Item><cbc:Description>%</cbc:Description><cbc:Name>%</cbc:Name>`+
				`<cac:SellersItemIdentification><cbc:ID>%</cbc:ID></cac:SellersItemIdentification><cac:ClassifiedTaxCategory><cbc:ID>%</cbc:ID></cac:ClassifiedTaxCategory>`+
				`<cac:AdditionalItemProperty><cbc:Name>%</cbc:Name><cbc:Value>%</cbc:Value></cac:AdditionalItemProperty></cac:Item></cac:InvoiceLine>`) + `</Invoice>`)
}

// incomingPath returns the address of an incoming e-invoice.
func (s *system) incomingPath(t testing.TB, document string) string {
	t.Helper()
	found, err := view.Of(s.tenant(t)).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 100)
	kit.Must(t, err)
	for _, i := range found.Entries {
		if i.ProviderDocumentID == document {
			return "/incoming/" + i.ID.String()
		}
	}
	t.Fatalf("there is no document %s", document)
	return ""
}

// TestReceivedDocument checks that the page shows the document of the latest revision, warns of figures that disagree,
// and says why a document cannot be shown.
func TestReceivedDocument(t *testing.T) {
	t.Parallel()
	s := start(t, first(), false, time.Millisecond)
	v := s.loggedIn(t)
	page := v.get(s.incomingPath(t, "SYN-IN-001"))
	for _, want := range []string{"id=\"h-received\">Invoice <bdi>SUP-001</bdi></h2>", "Sandbox Buyer LLC",
		"United Arab Emirates", "Consulting", "1,000.00", "1,050.00", "AE070331234567890123456", "Credit transfer",
		"Standard rate", "SYN-PO-SUP-001", "revision 2.", "time-sheet.csv", "Hours of the consultants", "30 days net"} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("%d: the page lacks %q", page.status, want)
		}
	}
	if strings.Contains(page.body, "disagreements") || strings.Contains(page.body, "unreadable") {
		t.Error("the page of a correct document has a warning")
	}
	body := func(text string) func(*incoming.NewIncoming) {
		return func(d *incoming.NewIncoming) { d.Body = []byte(text) }
	}
	s.purchase(t, "disagrees", body(string(received(t, "plain"))))
	s.purchase(t, "doctype", body("<!DOCTYPE x>"+string(received(t, "plain"))))
	s.purchase(t, "withheld", func(d *incoming.NewIncoming) { d.Body, d.Withheld = received(t, "plain"), true })
	s.purchase(t, "long", body(strings.Replace(string(received(t, "plain")),
		"</Invoice>", strings.Repeat("<cac:InvoiceLine/>", 300)+"</Invoice>", 1)))
	for document, want := range map[string][]string{
		"disagrees": {`id="disagreements"`, "<b title=\"totals.payable\">Amount due</b>", "but the document states 1.",
			"<bdi>plain</bdi>: <bdi>plain</bdi>", `<bdi class="pre">plain 2 Jan 2026</bdi>`},
		"doctype": {`id="unreadable"`, "document type declaration", "This document can’t be displayed",
			"Download it and open it in another program"},
		"withheld": {`id="unreadable"`, "This document is withheld", "Tell your administrator"},
		"long":     {"101 more lines are not shown."},
	} {
		got := v.get(s.incomingPath(t, document))
		for _, text := range want {
			if got.status != http.StatusOK || !strings.Contains(got.body, text) {
				t.Errorf("%s: %d without %q", document, got.status, text)
			}
		}
		if shown := strings.Contains(got.body, `id="received"`); shown != (document == "disagrees" || document == "long") {
			t.Errorf("%s: the document is shown: %v", document, shown)
		}
	}
}

// TestReceivedAttachment checks that an attachment is downloaded with a safe name and media type, and not by other
// companies.
func TestReceivedAttachment(t *testing.T) {
	t.Parallel()
	s := start(t, first(), false, time.Millisecond)
	v := s.loggedIn(t)
	path := s.incomingPath(t, "SYN-IN-001")
	for revision, want := range map[int]string{1: "Consultant,Hours\nSynthetic person,5\n",
		2: "Consultant,Hours\nSynthetic person,10\n"} {
		got := v.get(fmt.Sprintf("%s/revisions/%d/attachments/1", path, revision))
		if got.status != http.StatusOK || got.body != want {
			t.Errorf("revision %d: %d %q", revision, got.status, got.body)
		}
		for name, want := range map[string]string{"Content-Type": "text/csv",
			"Content-Disposition": "attachment; filename=time-sheet.csv", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %q", name, got.header.Get(name))
			}
		}
	}
	s.company(t, "other@example.com", "another long password")
	other := s.visitor(t)
	other.login("other@example.com", "another long password")
	for _, path := range []string{path + "/revisions/1/attachments/2", path + "/revisions/1/attachments/01",
		path + "/revisions/3/attachments/1", s.incomingPath(t, "SYN-IN-002") + "/revisions/2/attachments/1"} {
		if got := v.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := other.get(path + "/revisions/1/attachments/1"); got.status != http.StatusNotFound {
		t.Errorf("another company: %d", got.status)
	}
}

// TestHostileDocuments checks that the page of a document has the same elements and attributes whatever its texts are,
// and shows them. Characters that XML does not allow are replaced before.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	want := ""
	for n, text := range append([]string{"plain"}, hostile...) {
		id := fmt.Sprintf("document-%d", n)
		s.purchase(t, id, func(d *incoming.NewIncoming) { d.Body = received(t, text) })
		got := v.get(s.incomingPath(t, id))
		root := parse(t, got.body)
		if got.status != http.StatusOK || !strings.Contains(got.body, `id="received"`) {
			t.Fatalf("%q: %d", text, got.status)
		}
		if shown := textOf(root); !strings.Contains(shown,
			strings.Join(strings.Fields(strings.ReplaceAll(text, "\ufffe", "\ufffd")), " ")) {
			t.Errorf("%q is not shown", text)
		}
		if n == 0 {
			want = shape(root)
		} else if got := shape(root); got != want {
			t.Errorf("%q changes the page: %s", text, difference(got, want))
		}
	}
}

// TestReceivedDocumentRenders checks the pages of documents in Chromium: the synthetic one, whose attachment is
// downloaded, in all tabs; one with warnings, many lines and Arabic names; and those that cannot be shown.
func TestReceivedDocumentRenders(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, time.Second)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open(s.incomingPath(t, "SYN-IN-001"))
		b.show(appearance{width: 1280})
		var saved map[string]string
		b.do(chromedp.Evaluate(`(async () => { const r = await fetch(document.querySelector("#attachment-1").href);
			return {text: await r.text(), type: r.headers.get("content-type")}; })()`, &saved, chromium.Awaited))
		if saved["text"] != "Consultant,Hours\nSynthetic person,10\n" || saved["type"] != "text/csv" {
			t.Errorf("saved %v", saved)
		}
		for _, tab := range []string{"revisions", "webhooks", "activity"} {
			b.click("#tab-" + tab)
			b.until(fmt.Sprintf(`location.search === "?tab=%s"`, tab))
			b.inspect("incoming-tab-" + tab)
		}
		for name, file := range map[string]string{"bis3": "bis3-invoice.xml", "pint-ae": "pint-ae-invoice.xml",
			"credit": "credit-note.xml"} {
			document, err := os.ReadFile("../../../document/ubl/testdata/" + file)
			kit.Must(t, err)
			s.purchase(t, name, func(d *incoming.NewIncoming) { d.Body = document })
			b.open(s.incomingPath(t, name))
			b.inspect("incoming-" + name)
		}
		s.purchase(t, "hostile", func(d *incoming.NewIncoming) {
			d.Body = received(t, strings.Repeat("الفاتورة \u202eevil ", 20)+strings.Repeat("W", 200))
		})
		b.open(s.incomingPath(t, "hostile"))
		b.inspect("incoming-hostile")
		for name, edit := range undisplayed {
			s.purchase(t, name, edit)
			b.open(s.incomingPath(t, name))
			b.until(`document.querySelector("#unreadable")`)
			b.inspect("incoming-" + name)
		}
	})
}

// undisplayed are documents that cannot be shown, for each reason.
var undisplayed = map[string]func(*incoming.NewIncoming){
	"unreadable": func(d *incoming.NewIncoming) { d.Body = []byte("%PDF-1.7") },
	"withheld":   func(d *incoming.NewIncoming) { d.Withheld = true },
	"large": func(d *incoming.NewIncoming) {
		d.Body, d.Retained, d.SHA256, d.Size = nil, false, &[32]byte{7}, new(int64(1<<30))
	},
	"incomplete": func(d *incoming.NewIncoming) { d.Body, d.Retained, d.SHA256, d.Size = nil, false, &[32]byte{7}, nil },
}

// TestChangedDocument checks that the page says what the newest revision changed in the documents: the figures side by
// side, and the account that a forger would change. If a document cannot be read, the page says that it compared the
// provider's metadata alone.
func TestChangedDocument(t *testing.T) {
	t.Parallel()
	s := start(t, first(), false, time.Millisecond)
	v := s.loggedIn(t)
	page := v.get(s.incomingPath(t, "SYN-IN-001")).body
	for _, want := range []string{"This document was changed: revision 2 is the newest", "It replaces revision 1",
		"Revision 2 (newest)",
		`<th scope="row">Amount due</th><td><bdi>525.00 AED</bdi></td><td><b><bdi>1,050.00 AED</bdi></b></td>`,
		`id="previous-pdf"`, "Use the newest revision"} {
		if !strings.Contains(page, want) {
			t.Errorf("the changed document lacks %q", want)
		}
	}
	if page := v.get(s.incomingPath(t, "SYN-IN-002")).body; strings.Contains(page, `id="changed"`) {
		t.Error("a document with one revision was changed")
	}
	document, err := os.ReadFile("../../../document/ubl/testdata/pint-ae-invoice.xml")
	kit.Must(t, err)
	account := regexp.MustCompile(`(<cac:PayeeFinancialAccount>\s*<cbc:ID>)[^<]*`)
	if !account.Match(document) {
		t.Fatal("the document has no account")
	}
	s.purchase(t, "forged", func(d *incoming.NewIncoming) { d.Body = document })
	s.purchase(t, "forged", func(d *incoming.NewIncoming) {
		d.Body = account.ReplaceAll(document, []byte("${1}AE000000000000000000099"))
	})
	if page := v.get(s.incomingPath(t, "forged")).body; !strings.Contains(page,
		`<th scope="row">Account to pay to</th>`) || !strings.Contains(page, "<b><bdi>AE000000000000000000099</bdi></b>") {
		t.Error("the page of a document with another account does not say so")
	}
	s.purchase(t, "forged", func(d *incoming.NewIncoming) {
		d.Body, d.SupplierName = []byte("%PDF-1.7"),
			new("Another Supplier")
	})
	page = v.get(s.incomingPath(t, "forged")).body
	for _, want := range []string{"revision 3 is the newest", "only the provider’s details were compared",
		"<b><bdi>Another Supplier</bdi></b>", `id="unreadable"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the unreadable revision lacks %q", want)
		}
	}
	list := v.get("/incoming").body
	for _, want := range []string{"Changed", "Revision 3", "Received", "2,625.00"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
}
