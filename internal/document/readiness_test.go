package document_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
)

// TestOwnDocumentsAreReady: whatever is complete is ready, because it is judged by the same rules.
func TestOwnDocumentsAreReady(t *testing.T) {
	for _, p := range document.Profiles {
		files, err := filepath.Glob(filepath.Join("testdata", string(p), "*.xml"))
		if err != nil || len(files) < 10 {
			t.Fatalf("%d documents: %v", len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := document.Examine(text)
			if got.Profile != p || got.Number == "" || len(got.Obstacles) > 0 {
				t.Errorf("%s: %+v", file, got)
			}
		}
	}
}

// TestObstacles names what keeps a changed document from being submitted, and the record in which it is corrected.
func TestObstacles(t *testing.T) {
	good, err := document.Write(document.PINTAE, emirati(nil))
	if err != nil {
		t.Fatal(err)
	}
	note, err := document.Write(document.BIS3, credited(t, union(nil), ""))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		of       []byte
		from, to string
		want     string // path, rule, record and name of one obstacle
	}{
		"no XML":          {of: []byte("number,total\n"), want: "|unsupported||"},
		"half a document": {of: good[:len(good)/2], want: "|malformed||"},
		"too large": {of: append(slices.Clone(good), bytes.Repeat([]byte(" "), document.MaxReady)...),
			want: "|limit||"},
		"another format": {good, "urn:peppol:pint:billing-1@ae-1", "urn:peppol:pint:billing-1@jp-1",
			"|unsupported_format||"},
		"self-billed": {good, "<cbc:InvoiceTypeCode>380", "<cbc:InvoiceTypeCode>389", "|self_billed||"},
		"a wrong sum": {good, ">1050.00</cbc:PayableAmount>", ">1051.00</cbc:PayableAmount>",
			"totals.payable|disagrees||"},
		"the seller": {good, "135790246801003", "135790246801004",
			"seller.tax_registration_number|ibr-132-ae|seller|Gulf Works LLC"},
		"the buyer": {good, "12 Harbour Road", "", "buyer_street|ibr-144-ae|buyer|Palm Trading LLC"},
		"the item":  {good, "Integration workshop", "", "items[0].description|ibr-125-ae|item|Consulting"},
		"a text that is too long": {good, "12 Harbour Road", strings.Repeat("x", 300),
			"buyer_street|max_length|buyer|Palm Trading LLC"},
		"a quantity below zero": {good, `HUR">1</cbc:BaseQuantity>`, `HUR">-1</cbc:BaseQuantity>`,
			"items[0].base_quantity|minimum|item|Consulting"},
		"a credit of nothing": {note, "<cbc:ID>INV-2026-0001</cbc:ID>", "", "|no_invoice||"},
		"the invoice":         {good, "2026-03-31", "2026-02-01", "due_date|due_date_before_issue_date||"},
		"the credit note":     {note, "DE123456789", "123456789", "buyer_tax_id|BR-CO-09|buyer|Rhein Handel GmbH"},
		"a number of none": {good, ">100.00</cbc:PriceAmount>", ">hundred</cbc:PriceAmount>",
			"lines[0].net_unit_price|type||"},
	} {
		text := bytes.Replace(test.of, []byte(test.from), []byte(test.to), 1)
		var got []string
		for _, o := range document.Examine(text).Obstacles {
			rule := o.Rule
			if o.RuleID != "" {
				rule = o.RuleID
			}
			got = append(got, strings.Join([]string{o.Path, rule, string(o.Record), o.Name}, "|"))
		}
		if !slices.Contains(got, test.want) {
			t.Errorf("%s: %q, and not %q", name, got, test.want)
		}
	}
}

// TestManyObstacles: the obstacles of a document are bounded, and the others are counted.
func TestManyObstacles(t *testing.T) {
	d := emirati(func(d *api.Draft) {
		d.TotalAmount = number("210000.00")
		for len(d.Items) < 200 {
			d.Items = append(d.Items, d.Items[0])
		}
	})
	text, err := document.Write(document.PINTAE, d)
	if err != nil {
		t.Fatal(err)
	}
	got := document.Examine(bytes.ReplaceAll(text, []byte("Integration workshop"), nil))
	if len(got.Obstacles) != document.MaxObstacles || got.More != 100 || got.Ready() {
		t.Errorf("%d obstacles and %d more", len(got.Obstacles), got.More)
	}
}

// TestTooManyLines: a document of more lines than are read is not ready, whatever its others say.
func TestTooManyLines(t *testing.T) {
	d := emirati(func(d *api.Draft) {
		d.Items[0].Quantity, d.TotalAmount = number("1"), number("105105.00")
		for len(d.Items) < 1001 {
			d.Items = append(d.Items, d.Items[0])
		}
	})
	text, err := document.Write(document.PINTAE, d)
	if err != nil {
		t.Fatal(err)
	}
	got := document.Examine(text).Obstacles
	if len(got) == 0 || got[0].Rule != "max_items" {
		t.Errorf("got %+v", got)
	}
}
