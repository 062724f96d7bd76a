package pdf_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/pdf"
	"quittance/internal/document/ubl"
	"quittance/test/drafttest"
)

var update = flag.Bool("update", false, "write the golden texts anew")

func number(text string) *api.Decimal { return new(api.MustDecimal(text)) }

func seller() *api.Profile {
	return &api.Profile{
		LegalName: new("Gulf Works LLC"), Street: new("Sheikh Zayed Road 1"), City: new("Dubai"), Subdivision: new("DXB"),
		Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1357902468"),
		TaxRegistrationNumber: new("135790246801003"), LegalRegistration: new("CN-1234567"), LegalRegistrationType: new("TL"),
		PayeeAccount: new("AE070331234567890123456"),
	}
}

// statement is what an invoice says for which no document format is in effect.
func statement(d *api.Draft, s *api.Profile) *api.ParsedDocument {
	return document.Statement("", document.Document{Draft: d, Seller: s})
}

// draft is an invoice with a number of lines.
func draft(lines int) *api.Draft {
	d := &api.Draft{
		InvoiceNumber: new("INV-2026-0001"), RecipientName: new("Palm Trading LLC"), RecipientNetworkID: new("1234567890"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Sharjah"),
		BuyerSubdivision: new("SHJ"), BuyerCountry: new("AE"), BuyerTaxID: new("100200300400003"),
		TotalAmount: number("1312.5"), Currency: new("AED"), IssueDate: new("2026-03-01"),
		DueDate: new("2026-03-31"), PaymentMeansCode: new("30"), OrderReference: new("PO-4711"),
		Note: new("Delivered in two parts.\nThank you."),
	}
	for n := range lines {
		d.Items = append(d.Items, api.Item{
			Name: new(fmt.Sprintf("Consulting %d", n+1)), Description: new("Integration workshop"), ItemCode: new("SKU-7"),
			UnitCode: new("HUR"), Quantity: number("12.5"), NetUnitPrice: number("100"), VATCategory: new("S"),
			VATRate: number("5"),
		})
	}
	return d
}

// arabicDraft is an invoice in Arabic, with numbers and Latin words in its texts.
func arabicDraft() *api.Draft {
	d := draft(1)
	d.RecipientName, d.BuyerStreet, d.BuyerCity = new("شركة النخيل للتجارة"), new("شارع الشيخ زايد 12، برج 3"), new("دبي")
	d.Note = new(
		"يرجى الدفع خلال 30 يومًا من تاريخ الفاتورة INV-17 إلى الحساب المذكور أعلاه.\nDelivered 100 units من القمح and 200 bags.")
	d.Items[0].Name, d.Items[0].Description = new("استشارات تقنية"), new("ورشة عمل لتكامل الأنظمة مدتها 3 أيام")
	return d
}

// render renders a document and writes the file.
func render(t testing.TB, d *pdf.Document) (file string, out []byte) {
	t.Helper()
	out, err := pdf.Render(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, out
}

// run runs a program that scripts/setup installs and returns what it prints.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v (scripts/setup installs it)\n%s", name, err, out)
	}
	return string(out)
}

// texts returns the text of a file as a reader sees it, without the marks of directions that pdftotext adds, and with
// single gaps.
func texts(t testing.TB, file string) string {
	t.Helper()
	text := strings.NewReplacer("\u202A", "", "\u202B", "", "\u202C",
		"").Replace(run(t, "pdftotext", "-layout", file, "-"))
	return regexp.MustCompile(`\n{2,}`).ReplaceAllString(regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  "), "\n")
}

// TestGolden: everything that a document says is on its pages, in the order of reading.
func TestGolden(t *testing.T) {
	received := func(name string) *api.ParsedDocument {
		text, err := os.ReadFile(filepath.Join("../ubl/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		read, err := ubl.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return &read.ParsedDocument
	}
	yen := draft(1)
	yen.Currency, yen.TotalAmount, yen.TaxExchangeRate = new("JPY"), number("1313"), number("0.0245")
	unknown := draft(2)
	unknown.Items[1].VATRate, unknown.Items[1].VATCategory = nil, nil
	credit := &api.CreditNote{
		CreditNoteNumber: "CN-7", IssueDate: "2026-03-15", Reason: "Two hours were not worked.", Kind: api.CreditPartial,
		Currency: "AED", TotalAmount: "210.00",
		Items: []api.CreditNoteItem{{Name: "Consulting 1", UnitCode: new("HUR"), Quantity: number("2"),
			NetAmount: new(api.Amount("200.00")), VATCategory: new("S"), VATRate: number("5")}},
	}
	for name, d := range map[string]*pdf.Document{
		"invoice": {Content: statement(draft(2), seller()), Mark: "Draft"},
		"arabic":  {Content: statement(arabicDraft(), seller())},
		"yen":     {Content: statement(yen, seller())},
		"unknown": {Content: statement(unknown, &api.Profile{})},
		"credit-note": {Content: document.Statement("", document.Document{Draft: draft(1), Seller: seller(),
			Credit: credit}), Mark: "Void"},
		"received":    {Content: received("pint-ae-invoice.xml")},
		"bis3":        {Content: received("bis3-invoice.xml")},
		"self-billed": {Content: received("self-billed-invoice.xml")},
	} {
		t.Run(name, func(t *testing.T) {
			file, _ := render(t, d)
			got, golden := texts(t, file), filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s:\n%s\nwant:\n%s", golden, got, want)
			}
		})
	}
}

// TestEveryField fills every field of a draft and names those whose values are not on its pages.
func TestEveryField(t *testing.T) {
	d, values := drafttest.Every(t)
	file, _ := render(t, &pdf.Document{Content: statement(d, seller())})
	text := strings.Join(strings.Fields(texts(t, file)), " ")
	var got []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !strings.Contains(text, values[name]) {
			got = append(got, name)
		}
	}
	want := []string{
		"allowances.base_amount",                                           // with a comma
		"allowances.tax_exemption_code", "allowances.tax_exemption_reason", // of a category with tax here
		"buyer_legal_id_scheme",                                      // by its name
		"charges.base_amount",                                        // with a comma
		"charges.tax_exemption_code", "charges.tax_exemption_reason", // of a category with tax here
		"delivery.country",               // by its name
		"external_id",                    // which means something to the customer alone
		"items.origin_country",           // by its name
		"items.unit_code",                // by its name
		"preceding_invoices.number",      // on two lines
		"rounding_amount",                // with a minus sign
		"tax_representative.subdivision", // by its name
		"total_amount",                   // not what the lines add up to here
		"transaction_flags",              // which PINT-AE has for programs
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages lack %q, and the test says %q:\n%s", got, want, text)
	}
}

// TestPDFA: the properties of PDF/A-3b (ISO 19005-3) that this package is responsible for. The programs that check them
// have nothing in common with it.
func TestPDFA(t *testing.T) {
	xml := []byte("<Invoice/>")
	attached := &pdf.File{Name: "INV-2026-0001.xml", Description: "The invoice in UBL", MediaType: "application/xml",
		Content: xml, Relationship: pdf.Alternative}
	file, out := render(t, &pdf.Document{Content: statement(arabicDraft(), seller()), Logo: logo(t, 900, 300),
		File: attached})
	if got := run(t, "qpdf", "--check", file); !strings.Contains(got, "No syntax or stream encoding errors found") ||
		!strings.Contains(got, "not encrypted") {
		t.Errorf("qpdf: %s", got)
	}
	objects := readObjects(t, file)
	trailer := objects.dict(t, "trailer")
	if id, ok := trailer["/ID"].([]any); !ok || len(id) != 2 {
		t.Errorf("identifier: %v", trailer["/ID"])
	}
	root := objects.dict(t, trailer["/Root"])
	t.Run("metadata", func(t *testing.T) {
		for _, want := range []string{"<pdfaid:part>3</pdfaid:part>", "<pdfaid:conformance>B</pdfaid:conformance>",
			"Tax invoice INV-2026-0001", "2026-03-01T00:00:00Z"} {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("the metadata lack %s", want)
			}
		}
		if got := objects.dict(t, root["/Metadata"])["/Filter"]; got != nil {
			t.Errorf("the metadata are filtered: %v", got)
		}
		if info := run(t, "pdfinfo", "-isodates", file); !strings.Contains(info, "Tax invoice INV-2026-0001") ||
			!strings.Contains(info, "2026-03-01T00:00:00Z") || !strings.Contains(info, "A4") {
			t.Errorf("pdfinfo: %s", info)
		}
	})
	t.Run("output intent", func(t *testing.T) {
		intents, _ := root["/OutputIntents"].([]any)
		if len(intents) != 1 || objects.dict(t, intents[0])["/S"] != "/GTS_PDFA1" ||
			objects.dict(t, objects.dict(t, intents[0])["/DestOutputProfile"])["/N"] != 3.0 {
			t.Errorf("output intents: %v", intents)
		}
	})
	t.Run("fonts", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(run(t, "pdffonts", file)), "\n")[2:]
		if len(lines) != 4 {
			t.Errorf("%d fonts, want two weights of two scripts", len(lines))
		}
		for _, line := range lines { // emb, sub, uni
			if !regexp.MustCompile(`^[A-Z]{6}\+NotoSans\S+ +CID TrueType +Identity-H +yes yes yes `).MatchString(line) {
				t.Errorf("font: %s", line)
			}
		}
		for name, code := range shownCodes(t, file) {
			if code == 0 {
				t.Errorf("%s shows the glyph for no character", name)
			}
		}
	})
	t.Run("attachment", func(t *testing.T) {
		files, _ := root["/AF"].([]any)
		if len(files) != 1 {
			t.Fatalf("associated files: %v", files)
		}
		spec := objects.dict(t, files[0])
		if spec["/AFRelationship"] != "/Alternative" || spec["/UF"] != "u:INV-2026-0001.xml" {
			t.Errorf("file: %v", spec)
		}
		stream := objects.dict(t, objects.dict(t, spec["/EF"])["/F"])
		if stream["/Subtype"] != "/application/xml" || objects.dict(t, stream["/Params"])["/ModDate"] == nil {
			t.Errorf("stream: %v", stream)
		}
		target := filepath.Join(t.TempDir(), "saved.xml")
		run(t, "pdfdetach", "-save", "1", "-o", target, file)
		if saved, err := os.ReadFile(target); err != nil || !bytes.Equal(saved, xml) {
			t.Errorf("saved %q, %v", saved, err)
		}
	})
	t.Run("nothing active", func(t *testing.T) {
		for _, name := range []string{"/JavaScript", "/JS", "/Encrypt", "/OpenAction", "/AA", "/Launch", "/URI", "/SMask"} {
			if regexp.MustCompile(name + `\b`).Match(out) {
				t.Errorf("the file has %s", name)
			}
		}
	})
}

// objects are those of a file as qpdf shows them.
type objects map[string]struct {
	Value  any `json:"value"`
	Stream struct {
		Dict map[string]any `json:"dict"`
	} `json:"stream"`
}

func readObjects(t *testing.T, file string) objects {
	t.Helper()
	var out struct {
		QPDF []json.RawMessage `json:"qpdf"`
	}
	if err := json.Unmarshal([]byte(run(t, "qpdf", "--json=2", file)), &out); err != nil {
		t.Fatal(err)
	}
	found := objects{}
	if err := json.Unmarshal(out.QPDF[1], &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// dict returns a dictionary, or that of a stream, by its value or reference.
func (o objects) dict(t *testing.T, value any) map[string]any {
	t.Helper()
	if name, ok := value.(string); ok {
		object, known := o[strings.TrimPrefix("obj:"+name, "obj:trailer")]
		if name == "trailer" {
			object, known = o["trailer"]
		}
		if !known {
			t.Fatalf("no object %s", name)
		}
		if object.Stream.Dict != nil {
			return object.Stream.Dict
		}
		value = object.Value
	}
	d, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("no dictionary: %v", value)
	}
	return d
}

// shownCodes returns a code of every text operator of a file; 0 if the operator shows code 0.
func shownCodes(t *testing.T, file string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, shown := range regexp.MustCompile(`<([0-9A-F]{4})>`).FindAllString(run(t, "qpdf", "--qdf",
		"--object-streams=disable", file, "-"), -1) {
		out[shown] = len(strings.Trim(shown, "<0>"))
	}
	delete(out, "<0000>") // of the code space range
	return out
}

// TestSameBytes: a document is the same file whenever it is made.
func TestSameBytes(t *testing.T) {
	d := &pdf.Document{Content: statement(arabicDraft(), seller()), Logo: logo(t, 30, 30), File: &pdf.File{Name: "a.xml",
		MediaType: "application/xml", Content: []byte("<a/>"), Relationship: pdf.Source}}
	_, first := render(t, d)
	if _, second := render(t, d); !bytes.Equal(first, second) {
		t.Error("two files of one document differ")
	}
}

// TestPages: a document of many lines continues on pages that all have the head of the table, their number and the
// notice.
func TestPages(t *testing.T) {
	file, _ := render(t, &pdf.Document{Content: statement(draft(200), seller())})
	pages := strings.Split(strings.TrimSuffix(texts(t, file), "\f"), "\f")
	if len(pages) < 10 {
		t.Fatalf("%d pages", len(pages))
	}
	for n, page := range pages {
		for _, want := range []string{"Copy. This is not the legal document.", fmt.Sprintf("Page %d of %d", n+1, len(pages)),
			"Tax invoice", "INV-2026-0001"} {
			if !strings.Contains(page, want) {
				t.Errorf("page %d lacks %q:\n%s", n+1, want, page)
			}
		}
		if strings.Contains(page, "Consulting ") && !strings.Contains(page, "Net amount AED") {
			t.Errorf("page %d has lines without the head of the table", n+1)
		}
	}
	all := strings.Join(pages, "")
	for n := range 200 {
		if name := fmt.Sprintf("Consulting %d ", n+1); strings.Count(all, name) != 1 {
			t.Errorf("%q is there %d times", name, strings.Count(all, name))
		}
	}
}

// TestLimits: the largest draft has a file; nothing is made for a caller that has gone or of more pages than are
// allowed; and a panic is an error.
func TestLimits(t *testing.T) {
	large := draft(1000)
	for n := range large.Items {
		large.Items[n].Description = new(strings.Repeat("word ", 204))
	}
	file, _ := render(t, &pdf.Document{Content: statement(large, seller())})
	if got := run(t, "pdfinfo", file); !regexp.MustCompile(`Pages: +\d\d\d\n`).MatchString(got) {
		t.Errorf("pdfinfo: %s", got)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdf.Render(gone, &pdf.Document{Content: statement(large, seller())}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error of a caller that has gone: %v", err)
	}
	if _, err := pdf.Render(t.Context(), &pdf.Document{}); err == nil {
		t.Error("a document without content has a file")
	}
	for n := range large.Items {
		large.Items[n].Description = new(strings.Repeat("w\n", 500))
	}
	if _, err := pdf.Render(t.Context(), &pdf.Document{Content: statement(large, seller())}); !errors.Is(err,
		pdf.ErrTooLong) {
		t.Errorf("error of too many pages: %v", err)
	}
}

// TestHostile: texts that embed, override or isolate directions change nothing around them, and characters that no font
// has are shown as replacements, which are copied as what they stand for.
func TestHostile(t *testing.T) {
	d := draft(1)
	d.Items[0].Name = new("\u202Eevil \u2067name\u2066")
	d.RecipientName = new("\u202E" + strings.Repeat("\u2067", 300) + "Palm\u0007 Trading")
	d.Note = new("Wheat 小麦 😀")
	file, _ := render(t, &pdf.Document{Content: statement(d, seller())})
	got := texts(t, file)
	for _, want := range []string{"evil name", "12.5", "1,250.00", "Palm Trading", "Wheat 小麦 😀"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not there:\n%s", want, got)
		}
	}
	if regexp.MustCompile("[\u2066-\u2069\u202D\u202E]").MatchString(got) {
		t.Error("the file has a character that changes the direction")
	}
}

// logo returns an image as the company profile has it, with a transparent half.
func logo(t testing.TB, width, height int) string {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width / 2 {
		for y := range height {
			picture.Set(x, y, color.NRGBA{R: 200, G: 30, B: 60, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestLogo: the page shows the logo instead of the name above it, and a text that is no image is left out.
func TestLogo(t *testing.T) {
	for name, c := range map[string]struct {
		logo   string
		images int
	}{"PNG": {logo(t, 64, 32), 1}, "large": {logo(t, 2048, 10), 1}, "none": {"", 0},
		"no image": {"data:image/png;base64,AAAA", 0}, "no base64": {"data:image/png;base64,%", 0}} {
		t.Run(name, func(t *testing.T) {
			file, _ := render(t, &pdf.Document{Content: statement(draft(1), seller()), Logo: c.logo})
			if got := strings.Count(run(t, "pdfimages", "-list", file), "\n") - 2; got != c.images {
				t.Errorf("%d images, want %d", got, c.images)
			}
		})
	}
}

// FuzzText: whatever the texts are, there is a file.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"Palm Trading", "شركة النخيل 12 (LLC)", "\u202E\u2067x", "a\u0301\u200D👩‍👩‍👧",
		"\xff\xfe", "لا\u0651\u064E", "\u0600\u0660١٢", strings.Repeat("W", 500), "هـ\u200Cـه"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := draft(1)
		d.InvoiceNumber, d.RecipientName, d.BuyerCity, d.Note = &text, &text, &text, &text
		d.Items[0].Name, d.Items[0].Description, d.Items[0].UnitCode, d.Items[0].ItemCode, d.Items[0].VATCategory = &text,
			&text, &text, &text, &text
		if _, err := pdf.Render(t.Context(), &pdf.Document{Content: statement(d, seller()), Mark: text}); err != nil &&
			!errors.Is(err, pdf.ErrTooLong) {
			t.Error(err)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	for _, lines := range []int{1, 100, 1000} {
		content := statement(draft(lines), seller())
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pdf.Render(b.Context(), &pdf.Document{Content: content}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
