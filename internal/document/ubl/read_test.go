package ubl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quittance/client/api"
	"quittance/internal/document/ubl"
)

// readFile returns a document of testdata.
func readFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mustRead reads a document.
func mustRead(t testing.TB, document []byte) *ubl.Document {
	t.Helper()
	read, err := ubl.Read(document)
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return read
}

// TestRead compares all that is read from the documents of testdata with the JSON beside them. Their figures agree.
func TestRead(t *testing.T) {
	names, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(names) < 3 {
		t.Fatalf("%d documents: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			read := mustRead(t, readFile(t, filepath.Base(name)))
			got, err := json.MarshalIndent(read.ParsedDocument, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			want := readFile(t, strings.TrimSuffix(filepath.Base(name), ".xml")+".json")
			if difference := cmp.Diff(strings.TrimSpace(string(want)), string(got)); difference != "" {
				t.Error(difference)
			}
			if faults := read.Check(); len(faults) > 0 {
				t.Errorf("its figures disagree: %v", faults)
			}
		})
	}
}

// invoice returns a document with some content in the usual prefixes.
func invoice(content string) string {
	return `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" ` +
		`xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">` + content + `</Invoice>`
}

// TestRefused checks that documents that are unsafe, too large, malformed or of another kind are refused with the
// reason, and that no text of theirs is in the message.
func TestRefused(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat("<cac:A>", n) + strings.Repeat("</cac:A>", n)
	}
	for name, test := range map[string]struct{ document, rule, message string }{
		"empty":          {"", ubl.RuleUnsupported, "not XML"},
		"white space":    {" \n", ubl.RuleUnsupported, "not XML"},
		"a PDF":          {"%PDF-1.7 secret", ubl.RuleUnsupported, "not XML"},
		"only a comment": {"<!-- secret -->", ubl.RuleUnsupported, "no element"},
		"HTML":           {"<html><body>secret</body></html>", ubl.RuleUnsupported, "not an invoice"},
		"no namespace":   {"<Invoice/>", ubl.RuleUnsupported, "not an invoice"},
		"another namespace": {`<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-3"/>`,
			ubl.RuleUnsupported, "not an invoice"},
		"another UBL document": {`<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"/>`,
			ubl.RuleUnsupported, "not an invoice"},
		"the name of another": {`<CreditNote xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/>`,
			ubl.RuleUnsupported, "not an invoice"},
		"a DOCTYPE": {"<!DOCTYPE Invoice>" + invoice(""), ubl.RuleUnsafe, "document type"},
		"an external entity": {`<!DOCTYPE Invoice [<!ENTITY secret SYSTEM "file:///etc/passwd">]>` +
			invoice("<cbc:ID>&secret;</cbc:ID>"), ubl.RuleUnsafe, "document type"},
		"a DOCTYPE inside": {invoice("<!DOCTYPE secret>"), ubl.RuleUnsafe, "document type"},
		"entities of entities": {`<!DOCTYPE I [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;&a;">]>` + invoice("&b;"),
			ubl.RuleUnsafe, "document type"},
		"an unknown entity": {invoice("<cbc:ID>&secret;</cbc:ID>"), ubl.RuleMalformed, "well-formed"},
		"an open element": {strings.TrimSuffix(invoice("<cbc:ID>1</cbc:ID>"), "</Invoice>"), ubl.RuleMalformed,
			"well-formed"},
		"an open file": {strings.TrimSuffix(invoice("<cbc:EmbeddedDocumentBinaryObject>YQ=="), "</Invoice>"),
			ubl.RuleMalformed, "well-formed"},
		"a wrong end tag":              {invoice("<cbc:ID>1</cac:ID>"), ubl.RuleMalformed, "well-formed"},
		"an undeclared prefix":         {invoice("<secret:ID/>"), ubl.RuleMalformed, "prefix"},
		"the usual prefix, undeclared": {`<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><cbc:ID>1</cbc:ID></Invoice>`, ubl.RuleMalformed, "prefix"},
		"an attribute twice":           {invoice(`<cbc:ID a="1" a="2"/>`), ubl.RuleMalformed, "twice"},
		"two roots":                    {invoice("") + invoice(""), ubl.RuleMalformed, "more than one"},
		"text after the root":          {invoice("") + "secret", ubl.RuleMalformed, "continues"},
		"text before the root":         {"<!-- -->secret" + invoice(""), ubl.RuleMalformed, "well-formed"},
		"invalid UTF-8":                {invoice("<cbc:ID>\xff</cbc:ID>"), ubl.RuleMalformed, "UTF-8"},
		"half a character of UTF-16":   {"\xff\xfe<\x00I\x00n", ubl.RuleMalformed, "UTF-16"},
		"half a surrogate pair":        {"\xff\xfe<\x00\x00\xd8<\x00", ubl.RuleMalformed, "UTF-16"},
		"another encoding": {`<?xml version="1.0" encoding="UTF-7"?>` + invoice(""), ubl.RuleMalformed,
			"encoding"},
		"UTF-8 that says UTF-16": {`<?xml version="1.0" encoding="UTF-16"?>` + invoice(""), ubl.RuleMalformed,
			"encoding"},
		"a byte that Windows-1253 does not have": {`<?xml version="1.0" encoding="windows-1253"?>` +
			invoice("<cbc:ID>\xd2</cbc:ID>"), ubl.RuleMalformed, "encoding"},
		"a large one in another encoding": {`<?xml version="1.0" encoding="ISO-8859-1"?>` +
			invoice(strings.Repeat(" ", 4<<20)), ubl.RuleLimit, "4 MiB"},
		"a control character": {invoice("<cbc:ID>\x01</cbc:ID>"), ubl.RuleMalformed, "well-formed"},
		"deep nesting":        {invoice(nested(64)), ubl.RuleLimit, "64 levels"},
		"deep nesting outside UBL": {invoice(strings.Repeat("<x>", 70) + strings.Repeat("</x>", 70)), ubl.RuleLimit,
			"64 levels"},
		"many elements": {invoice(strings.Repeat("<x/>", 300_000)), ubl.RuleLimit, "300000 elements"},
		"a large part":  {invoice(strings.Repeat("<cbc:Note/>", 20_001)), ubl.RuleLimit, "20000 elements"},
		"a large line": {invoice("<cac:InvoiceLine>" + strings.Repeat("<cbc:Note/>", 20_001) +
			"</cac:InvoiceLine>"), ubl.RuleLimit, "20000 elements"},
		"a long text": {invoice("<cbc:ID>" + strings.Repeat("a", 1<<20+1) + "</cbc:ID>"), ubl.RuleLimit,
			"too long"},
		"many long texts": {invoice(strings.Repeat("<cbc:Note>"+strings.Repeat("a", 1<<19)+"</cbc:Note>", 9)),
			ubl.RuleLimit, "too long"},
		"a long comment": {invoice("<!--" + strings.Repeat("a", 1<<20) + "-->"), ubl.RuleLimit, "too long"},
		"a long name":    {invoice("<" + strings.Repeat("a", 64<<10) + "/>"), ubl.RuleLimit, "too long"},
		"many attributes": {invoice("<cbc:ID" + strings.Repeat(` a=">"`, 16<<10) + "/>"), ubl.RuleLimit,
			"too long"},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := ubl.Read([]byte(test.document))
			var refused *ubl.Error
			if !errors.As(err, &refused) || read != nil || refused.Rule != test.rule ||
				!strings.Contains(refused.Message, test.message) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(refused.Message, "secret") {
				t.Errorf("the message has text of the document: %s", refused.Message)
			}
		})
	}
	_, err := ubl.Read([]byte(invoice("\n\n<a></b>")))
	if err == nil || !strings.Contains(err.Error(), "(line 3)") {
		t.Errorf("the error does not name the line: %v", err)
	}
}

// TestTolerated checks documents that break rules which a reader need not enforce.
func TestTolerated(t *testing.T) {
	for name, document := range map[string]string{
		"a byte order mark":   "\ufeff" + `<?xml version="1.0" encoding="UTF-8"?>` + invoice("<cbc:ID>1</cbc:ID>"),
		"US-ASCII":            `<?xml version="1.0" encoding="us-ascii"?>` + invoice("<cbc:ID>1</cbc:ID>"),
		"a style sheet":       `<?xml-stylesheet href="https://example.com/x.xsl"?>` + invoice("<cbc:ID>1</cbc:ID>"),
		"another order":       invoice("<cac:TaxTotal/><cbc:ID>1</cbc:ID><cbc:CustomizationID/>"),
		"spaces":              invoice("<cbc:ID>\n\t 1 \n</cbc:ID>"),
		"an empty one before": invoice("<cbc:ID>1</cbc:ID><cbc:UBLVersionID/>"),
		"unknown elements": invoice(
			`<cbc:NoSuch/><other xmlns="urn:x"><cbc:ID>2</cbc:ID></other><cac:NoSuch><cbc:ID>3</cbc:ID></cac:NoSuch><cbc:ID>1</cbc:ID>`),
		"comments":                invoice("<!-- a --><cbc:ID><!-- b -->1<!-- c --></cbc:ID><!-- d -->") + "<!-- e -->\n",
		"an element in the value": invoice("<cbc:ID>1<cbc:ID>2</cbc:ID></cbc:ID>"),
		"a character reference":   invoice("<cbc:ID>&#x31;</cbc:ID>"),
		"declared at the element": strings.ReplaceAll(invoice(
			`<q:ID xmlns:q="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">1</q:ID>`), "cbc:", "b:"),
	} {
		t.Run(name, func(t *testing.T) {
			if read := mustRead(t, []byte(document)); read.Number == nil || *read.Number != "1" {
				t.Errorf("the number is %v", read.Number)
			}
		})
	}
}

// TestTypes checks that the element and the type code decide what a document is.
func TestTypes(t *testing.T) {
	for want, document := range map[string]string{
		api.ReceivedInvoice: invoice("<cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>"),
		api.ReceivedCreditNote: strings.ReplaceAll(invoice("<cbc:CreditNoteTypeCode>389</cbc:CreditNoteTypeCode>"),
			"Invoice", "CreditNote"),
		api.ReceivedSelfBilledInvoice: invoice("<cbc:InvoiceTypeCode>389</cbc:InvoiceTypeCode>"),
		api.ReceivedSelfBilledCreditNote: strings.ReplaceAll(invoice("<cbc:CreditNoteTypeCode>261</cbc:CreditNoteTypeCode>"),
			"Invoice", "CreditNote"),
		"self_billed_invoice ":     strings.ReplaceAll(invoice(""), "Invoice", "SelfBilledInvoice"),
		"self_billed_credit_note ": strings.ReplaceAll(invoice(""), "Invoice", "SelfBilledCreditNote"),
	} {
		if got := mustRead(t, []byte(document)).Type; got != strings.TrimSpace(want) {
			t.Errorf("%s is read as %s", document, got)
		}
	}
}

// TestValues checks the forms of numbers, dates and times. A value without its form is absent, and a warning says so.
func TestValues(t *testing.T) {
	total := func(text string) *ubl.Document {
		return mustRead(t, []byte(invoice("<cac:LegalMonetaryTotal><cbc:PayableAmount>"+
			text+"</cbc:PayableAmount></cac:LegalMonetaryTotal>")))
	}
	for given, want := range map[string]string{"1": "1", "1.50": "1.50", "+1.5": "1.5", "007.10": "7.10", ".5": "0.5",
		"5.": "5", "-0.00": "0.00", "-.5": "-0.5", "-12": "-12", " 3 ": "3",
		"123456789012345678901234567890.123456": "123456789012345678901234567890.123456"} {
		if read := total(given); read.Totals.Payable == nil || string(*read.Totals.Payable) != want ||
			len(read.Warnings) > 0 {
			t.Errorf("%q is read as %v with %v", given, read.Totals.Payable, read.Warnings)
		}
	}
	for _, given := range []string{"1,50", "1e3", "NaN", "INF", "-", "+", ".", "1 000", "0x10", "١", "1.2.3",
		"--1", strings.Repeat("9", 41)} {
		if read := total(given); read.Totals.Payable != nil || !read.Warnings.Has("totals.payable") {
			t.Errorf("%q is read as %s with %v", given, *read.Totals.Payable, read.Warnings)
		}
	}
	for given, want := range map[string]string{"2026-03-01": "2026-03-01", "2026-03-01Z": "2026-03-01",
		"2026-03-01-05:00": "2026-03-01", "2026-02-30": "", "01.03.2026": "", "2026-3-1": "",
		"2026-03-01x": "", "2026-03-01T00:00:00": "", "12026-03-01": ""} {
		read := mustRead(t, []byte(invoice("<cbc:IssueDate>"+given+"</cbc:IssueDate>")))
		if got := read.IssueDate; (got == nil) != (want == "") || got != nil && *got != want ||
			read.Warnings.Has("issue_date") != (want == "") {
			t.Errorf("%q is read as %v with %v", given, got, read.Warnings)
		}
	}
	for given, valid := range map[string]bool{"09:30:00": true, "23:59:59.123+04:00": true, "00:00:00Z": true,
		"09:30": false, "24:00:00": false, "9:30:00": false, "09:60:00": false} {
		read := mustRead(t, []byte(invoice("<cbc:IssueTime>"+given+"</cbc:IssueTime>")))
		if (read.IssueTime != nil) != valid || read.Warnings.Has("issue_time") == valid {
			t.Errorf("%q is read as %v with %v", given, read.IssueTime, read.Warnings)
		}
	}
	long := mustRead(t, []byte(invoice("<cbc:Note>"+strings.Repeat("ä", 5000)+"</cbc:Note>")))
	if got := []rune(long.Notes[0]); len(got) != 4096 || got[4095] != '…' || !long.Warnings.Has("document") {
		t.Errorf("a long note has %d characters, with %v", len(got), long.Warnings)
	}
}

// TestFirstOfSeveral checks that the first of repeated elements is read, with a warning: a reader that took another one
// than the sender's program could show another total.
func TestFirstOfSeveral(t *testing.T) {
	const total = "<cac:LegalMonetaryTotal><cbc:PayableAmount>%</cbc:PayableAmount></cac:LegalMonetaryTotal>"
	read := mustRead(t, []byte(invoice("<cbc:ID>1</cbc:ID><cbc:ID>2</cbc:ID>"+strings.ReplaceAll(total, "%",
		"1")+strings.ReplaceAll(total, "%", "1000"))))
	const tax = `<cac:TaxTotal><cbc:TaxAmount currencyID="AED">%</cbc:TaxAmount></cac:TaxTotal>`
	taxes := mustRead(t, []byte(invoice("<cbc:DocumentCurrencyCode>AED</cbc:DocumentCurrencyCode>"+strings.ReplaceAll(tax,
		"%", "1")+strings.ReplaceAll(tax, "%", "2"))))
	if string(*taxes.Totals.Tax) != "1" || !taxes.Warnings.Has("totals.tax") {
		t.Errorf("read the tax %s with %v", *taxes.Totals.Tax, taxes.Warnings)
	}
	const breakdown = `<cac:TaxTotal><cbc:TaxAmount currencyID="AED">1</cbc:TaxAmount><cac:TaxSubtotal/></cac:TaxTotal>`
	taxes = mustRead(t, []byte(invoice("<cbc:DocumentCurrencyCode>AED</cbc:DocumentCurrencyCode>"+strings.ReplaceAll(tax,
		"%", "1")+breakdown)))
	if len(taxes.TaxBreakdown) != 1 || len(taxes.Warnings) > 0 {
		t.Errorf("a total beside the breakdown: %d rows, %v", len(taxes.TaxBreakdown), taxes.Warnings)
	}
	if *read.Number != "1" || string(*read.Totals.Payable) != "1" || !read.Warnings.Has("number") ||
		!read.Warnings.Has("totals") {
		t.Errorf("read %s and %s with %v", *read.Number, *read.Totals.Payable, read.Warnings)
	}
}

// line is a line of 10 × 2 = 20 in category S with 5 %.
const line = `<cac:InvoiceLine><cbc:InvoicedQuantity>10</cbc:InvoicedQuantity><cbc:LineExtensionAmount>20.00</cbc:LineExtensionAmount>` +
	`<cac:Item><cac:ClassifiedTaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>5</cbc:Percent></cac:ClassifiedTaxCategory></cac:Item><cac:Price><cbc:PriceAmount>2</cbc:PriceAmount></cac:Price></cac:InvoiceLine>`

// TestManyLines checks that all lines are counted and added up, although only the first thousand are shown.
func TestManyLines(t *testing.T) {
	const count = 12_000
	totals := func(lines string) string {
		return "<cac:LegalMonetaryTotal><cbc:LineExtensionAmount>" + lines +
			"</cbc:LineExtensionAmount></cac:LegalMonetaryTotal>"
	}
	read := mustRead(t, []byte(invoice(strings.Repeat(line, count)+totals("240000.00"))))
	if len(read.Lines) != 1000 || read.LineCount != count || len(read.Check()) > 0 {
		t.Errorf("%d of %d lines, %v", len(read.Lines), read.LineCount, read.Check())
	}
	if faults := mustRead(t,
		[]byte(invoice(strings.Repeat(line, count)+totals("239980.00")))).Check(); !faults.Has("totals.lines") {
		t.Errorf("a missing line is not noticed: %v", faults)
	}
}

// TestListsAreBounded checks that the other lists are cut as well, with a warning.
func TestListsAreBounded(t *testing.T) {
	many := func(element string) string { return strings.Repeat("<"+element+">1</"+element+">", 101) }
	read := mustRead(t, []byte(invoice(many("cbc:Note")+many("cac:AllowanceCharge")+many("cac:BillingReference")+
		many("cac:PaymentMeans")+many("cac:AdditionalDocumentReference")+
		"<cac:TaxTotal>"+many("cac:TaxSubtotal")+"</cac:TaxTotal>")))
	want := []string{"allowances", "attachments", "notes", "payment.means", "references.preceding_invoices",
		"tax_breakdown"}
	if got := slices.Sorted(maps.Keys(read.Warnings)); !slices.Equal(got, want) || len(read.Notes) != 100 ||
		len(read.TaxBreakdown) != 100 || len(read.Payment.Means) != 100 {
		t.Errorf("%d notes, %d rows of tax, %d ways to pay, %v", len(read.Notes), len(read.TaxBreakdown),
			len(read.Payment.Means), got)
	}
	wrong := strings.ReplaceAll(line, "20.00", "x")
	if read := mustRead(t, []byte(invoice(strings.Repeat(wrong, 500)))); len(read.Warnings) != 80 {
		t.Errorf("%d warnings", len(read.Warnings))
	}
}

// TestOtherCurrency checks that an amount in another currency than the document's has a warning.
func TestOtherCurrency(t *testing.T) {
	read := mustRead(t,
		[]byte(
			invoice(
				`<cbc:DocumentCurrencyCode>AED</cbc:DocumentCurrencyCode><cac:LegalMonetaryTotal><cbc:PayableAmount currencyID="USD">5</cbc:PayableAmount></cac:LegalMonetaryTotal>`)))
	if !read.Warnings.Has("totals.payable") {
		t.Errorf("warnings %v", read.Warnings)
	}
}

// attached returns a document with an embedded file.
func attached(element string) []byte {
	return []byte(invoice("<cac:AdditionalDocumentReference><cac:Attachment>" + element +
		"</cac:Attachment></cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID>"))
}

// TestFiles checks that embedded files are decoded in all forms that programs write, and that what is not base64 has a
// warning and cannot be downloaded. What follows the file is read.
func TestFiles(t *testing.T) {
	const open, end = `<cbc:EmbeddedDocumentBinaryObject mimeCode="text/plain" filename="a.txt">`,
		`</cbc:EmbeddedDocumentBinaryObject>`
	large := strings.Repeat("YWJj", 2<<20)
	for name, test := range map[string]struct {
		text, want string
		broken     bool
	}{
		"plain":               {text: "aGVsbG8=", want: "hello"},
		"in lines":            {text: "\n  aGVs\r\n  bG8=\n", want: "hello"},
		"references":          {text: "aGVs&#13;\nbG8=&#xD;&#10;", want: "hello"},
		"CDATA":               {text: "<![CDATA[aGVsbG8=]]>", want: "hello"},
		"CDATA in lines":      {text: "\n<![CDATA[\naGVsbG8=\n]]>\n", want: "hello"},
		"empty":               {text: "", want: ""},
		"large":               {text: large, want: strings.Repeat("abc", 2<<20)},
		"no base64":           {text: "hello!", broken: true},
		"no padding":          {text: "aGVsbG8", broken: true},
		"another reference":   {text: "aGVs&amp;bG8=", broken: true},
		"after the end":       {text: "aGVsbG8=aGVsbG8=", broken: true},
		"a comment inside":    {text: "aGVs<!-- <x> -->bG8=", want: "hello"},
		"an instruction":      {text: "aGVs<?x <y> ?>bG8=", want: "hello"},
		"a padding reference": {text: "aGVsbG8&#61;", want: "hello"},
		"another spelling":    {text: "aGVsbG8&#x3d;", want: "hello"},
		"another character":   {text: "aGVs&#33;bG8=", broken: true},
		"an element inside":   {text: "aGVs<cbc:ID>1</cbc:ID>", broken: true},
		"CDATA and more":      {text: "<![CDATA[aGVs]]>bG8=", want: "hello"},
		"CDATA in the middle": {text: "aGVs<![CDATA[bG]]><![CDATA[8=]]>", want: "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			read := mustRead(t, attached(open+test.text+end))
			if read.Number == nil || len(read.Attachments) != 1 {
				t.Fatalf("number %v, attachments %v", read.Number, read.Attachments)
			}
			file := read.Attachments[0]
			if *file.Name != "a.txt" || *file.MediaType != "text/plain" || (file.Size == nil) != test.broken ||
				read.Warnings.Has("attachments[0]") != test.broken {
				t.Errorf("attachment %+v with %v", file, read.Warnings)
			}
			content, ok := read.File("1")
			if ok == test.broken {
				t.Fatalf("can be read: %v", ok)
			}
			if !ok {
				return
			}
			got, err := io.ReadAll(content)
			if err != nil || string(got) != test.want || int64(len(got)) != *file.Size {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	empty := mustRead(t, attached(`<cbc:EmbeddedDocumentBinaryObject mimeCode="text/plain" filename="a.txt"/>`))
	if *empty.Attachments[0].Size != 0 {
		t.Errorf("an empty element: %+v", empty.Attachments[0])
	}
	for _, id := range []string{"", "0", "2", "-1", "x"} {
		if _, ok := empty.File(id); ok {
			t.Errorf("there is an attachment %q", id)
		}
	}
	external := mustRead(t,
		attached(`<cac:ExternalReference><cbc:URI>javascript:alert(1)</cbc:URI></cac:ExternalReference>`))
	if _, ok := external.File("1"); ok || external.Attachments[0].Size != nil ||
		*external.Attachments[0].URL != "javascript:alert(1)" {
		t.Errorf("an external file: %+v", external.Attachments[0])
	}
}

// TestMemory checks that a document of 10 MiB, most of it a file, is read without a copy of it.
func TestMemory(t *testing.T) {
	document := attached(`<cbc:EmbeddedDocumentBinaryObject>` + strings.Repeat("YWJj", 2<<20) +
		`</cbc:EmbeddedDocumentBinaryObject>`)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ubl.Read(document); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("reading %d bytes allocates %d", len(document), allocated)
	}
}

// FuzzRead reads whatever it is given: the result is an error with a rule, or a document whose JSON is bounded and
// valid.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.xml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		f.Add(readFile(f, filepath.Base(name)))
	}
	f.Add([]byte(invoice(line)))
	f.Add(attached(`<cbc:EmbeddedDocumentBinaryObject><![CDATA[YQ==]]></cbc:EmbeddedDocumentBinaryObject>`))
	f.Fuzz(func(t *testing.T, document []byte) {
		read, err := ubl.Read(bytes.Clone(document))
		if err != nil {
			var refused *ubl.Error
			if !errors.As(err, &refused) || refused.Rule == "" || refused.Message == "" {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		read.Check()
		text, err := json.Marshal(read.ParsedDocument)
		if err != nil || len(text) > 8*len(document)+2<<20 {
			t.Fatalf("%d bytes of JSON for %d: %v", len(text), len(document), err)
		}
		for _, attachment := range read.Attachments {
			content, ok := read.File(attachment.ID)
			if ok != (attachment.Size != nil) {
				t.Fatalf("attachment %+v can be read: %v", attachment, ok)
			}
			if ok {
				if n, err := io.Copy(io.Discard, content); err != nil || n != *attachment.Size {
					t.Fatalf("attachment %+v has %d bytes: %v", attachment, n, err)
				}
			}
		}
	})
}
