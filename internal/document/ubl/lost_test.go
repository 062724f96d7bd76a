package ubl_test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"quittance/internal/document/ubl"
)

// lost returns the texts of a document that are nowhere in what was read of it, numbers in any spelling. Texts that
// every document has, and files, are left out.
func lost(t testing.TB, document []byte, read *ubl.Document) (texts []string) {
	t.Helper()
	text, err := json.Marshal(read.ParsedDocument)
	if err != nil {
		t.Fatal(err)
	}
	var parsed any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&parsed); err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{"VAT": true, "vat": true, "true": true, "false": true, "aedtotal-incl-vat": true,
		"50": true, "130": true} // the types of supporting documents that are read
	keep(kept, parsed)
	leaf, name, depth, outside := "", xml.Name{}, 0, 0
	for token, err := range ubl.Tokens(document) {
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			leaf, name = "", token.Name
			foreign := !strings.HasSuffix(name.Space, "BasicComponents-2") &&
				!strings.HasSuffix(name.Space, "AggregateComponents-2")
			if depth++; depth > 1 && outside == 0 && foreign {
				outside = depth // in an extension, which is not read
			}
		case xml.CharData:
			leaf += string(token)
		case xml.EndElement:
			leaf = strings.Join(strings.Fields(leaf), " ")
			if name == token.Name && outside == 0 && name.Local != "EmbeddedDocumentBinaryObject" && !isKept(kept, leaf) {
				texts = append(texts, name.Local+": "+leaf)
			}
			if leaf = ""; depth == outside {
				outside = 0
			}
			depth--
		}
	}
	return texts
}

// isKept tells whether a text is among those that were read: itself, its number, its date without a time zone, or the
// amount after its currency.
func isKept(kept map[string]bool, leaf string) bool {
	if leaf == "" || kept[leaf] || len(leaf) > 10 && kept[leaf[:10]] {
		return true
	}
	for _, text := range []string{leaf, strings.TrimPrefix(leaf, "AED ")} {
		if number := value(&text); number != nil && kept[*number] {
			return true
		}
	}
	return false
}

// keep adds the values of what was read.
func keep(kept map[string]bool, of any) {
	switch of := of.(type) {
	case string:
		kept[strings.Join(strings.Fields(of), " ")] = true
	case json.Number:
		kept[*value(new(of.String()))] = true
	case []any:
		for _, one := range of {
			keep(kept, one)
		}
	case map[string]any:
		for _, one := range of {
			keep(kept, one)
		}
	}
}

// TestNothingIsLost: whatever a document says is in what is read of it, under its term or among the others.
func TestNothingIsLost(t *testing.T) {
	documents, err := filepath.Glob("testdata/*.xml")
	own, errOwn := filepath.Glob("../testdata/*/*.xml")
	if documents = append(documents, own...); err != nil || errOwn != nil || len(documents) < 20 {
		t.Fatalf("%d documents: %v %v", len(documents), err, errOwn)
	}
	for _, name := range documents {
		document, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		read := mustRead(t, document)
		if texts := lost(t, document, read); len(texts) > 0 {
			t.Errorf("%s: %q is lost", name, texts)
		}
		if written := strings.HasPrefix(name, "../"); written && read.OtherCount > 0 {
			t.Errorf("%s: what this program writes is not read: %v", name, read.Other)
		}
	}
}

// TestOthers: repeated elements, attributes and extensions are among the others with their places; code lists are not.
func TestOthers(t *testing.T) {
	read := mustRead(t, []byte(invoice(`<x:Secret xmlns:x="urn:x"><x:Y>1</x:Y></x:Secret><cbc:ID schemeID="S">1</cbc:ID>`+
		`<cbc:ID>2</cbc:ID><cbc:DocumentCurrencyCode listID="ISO4217">EUR</cbc:DocumentCurrencyCode>`+
		`<cac:InvoiceLine><cbc:ID>1</cbc:ID><cac:Item><cac:AdditionalItemProperty><cbc:NameCode listID="X">Colour`+
		`</cbc:NameCode></cac:AdditionalItemProperty></cac:Item></cac:InvoiceLine>`)))
	got, err := json.Marshal(read.Other)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"path":"Secret","value":null},{"path":"cbc:ID[1]/@schemeID","value":"S"},{"path":"cbc:ID[2]","value":"2"},` +
		`{"path":"cac:InvoiceLine[1]/cac:Item/cac:AdditionalItemProperty/cbc:NameCode","value":"Colour"},` +
		`{"path":"cac:InvoiceLine[1]/cac:Item/cac:AdditionalItemProperty/cbc:NameCode/@listID","value":"X"}]`
	if string(got) != want || read.OtherCount != 5 {
		t.Errorf("got %s, %d", got, read.OtherCount)
	}
	many := mustRead(t, []byte(invoice(strings.Repeat("<cbc:ID>1</cbc:ID>", 700))))
	if len(many.Other) != 500 || many.OtherCount != 699 {
		t.Errorf("%d of %d are listed", len(many.Other), many.OtherCount)
	}
}

// TestHostileOthers: however long the names of elements are and however deep they stand, what is listed is short, and
// reading takes little more memory than the document.
func TestHostileOthers(t *testing.T) {
	name := "cac:" + strings.Repeat("x", 15_000)
	deep := strings.Repeat("<"+name+">", 50) + strings.Repeat(`<cbc:B a="1" b="2" c="3"/>`, 19_000) +
		strings.Repeat("</"+name+">", 50)
	document := []byte(invoice(deep))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read := mustRead(t, document)
	runtime.ReadMemStats(&after)
	if allocated, most := after.TotalAlloc-before.TotalAlloc, uint64(40*len(document)); allocated > most {
		t.Errorf("%d bytes were allocated, want at most %d", allocated, most)
	}
	if text, err := json.Marshal(read.Other); err != nil || len(text) > 1<<20 || read.OtherCount != 57_000 {
		t.Errorf("%d bytes of %d values: %v", len(text), read.OtherCount, err)
	}
}

// TestOtherMeanings: what looks like a term and is none is among the others, and legal repetitions have no warning.
func TestOtherMeanings(t *testing.T) {
	item := func(content string) string {
		return invoice("<cac:InvoiceLine><cac:Item>" + content + "</cac:Item></cac:InvoiceLine>")
	}
	for name, test := range map[string]struct{ document, other string }{
		"an amount of a line in no dirhams": {invoice(`<cac:InvoiceLine><cac:ItemPriceExtension><cbc:Amount ` +
			`currencyID="USD">7</cbc:Amount></cac:ItemPriceExtension></cac:InvoiceLine>`), "7 USD"},
		"a total in another currency than the tax": {invoice(`<cbc:TaxCurrencyCode>AED</cbc:TaxCurrencyCode>` +
			`<cac:AdditionalDocumentReference><cbc:DocumentTypeCode>aedtotal-incl-vat</cbc:DocumentTypeCode>` +
			`<cbc:DocumentDescription>USD 100</cbc:DocumentDescription></cac:AdditionalDocumentReference>`),
			"aedtotal-incl-vat USD 100"},
		"tax in a third currency": {invoice(`<cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode><cac:TaxTotal>` +
			`<cbc:TaxAmount currencyID="EUR">1</cbc:TaxAmount></cac:TaxTotal><cac:TaxTotal><cbc:TaxAmount currencyID="USD">` +
			`7</cbc:TaxAmount></cac:TaxTotal>`), "7 USD"},
		"two schemes of a registration": {invoice(`<cac:AccountingSupplierParty><cac:Party><cac:PartyLegalEntity>` +
			`<cbc:CompanyID schemeID="0235" schemeAgencyID="TL">1</cbc:CompanyID></cac:PartyLegalEntity></cac:Party>` +
			`</cac:AccountingSupplierParty>`), "TL"},
		"text and attributes of a line": {invoice(`<cac:InvoiceLine xml:lang="de" a="1">text</cac:InvoiceLine>`),
			"text de 1"},
		"text of the document": {invoice("text"), "text"},
		"no indicator":         {invoice(`<cac:AllowanceCharge><cbc:ChargeIndicator>TRUE</cbc:ChargeIndicator></cac:AllowanceCharge>`), "TRUE"},
		"a serial number": {item(`<cac:AdditionalItemIdentification><cbc:ID schemeID="SN">a</cbc:ID>` +
			`</cac:AdditionalItemIdentification><cac:AdditionalItemIdentification><cbc:ID schemeID="SN">b</cbc:ID>` +
			`</cac:AdditionalItemIdentification><cac:CommodityClassification><cbc:ItemClassificationCode listID="HS">8471` +
			`</cbc:ItemClassificationCode></cac:CommodityClassification>`), "a SN b SN"},
		"a name in the register beside another": {invoice(`<cac:PayeeParty><cac:PartyName><cbc:Name>F</cbc:Name></cac:PartyName>` +
			`<cac:PartyLegalEntity><cbc:RegistrationName>G</cbc:RegistrationName></cac:PartyLegalEntity></cac:PayeeParty>`), "G"},
		"two reasons": {invoice(strings.Repeat(`<cac:DiscrepancyResponse><cbc:ResponseCode>VD</cbc:ResponseCode>`+
			`</cac:DiscrepancyResponse>`, 2)), "VD"},
	} {
		read := mustRead(t, []byte(test.document))
		var got []string
		for _, other := range read.Other {
			got = append(got, *other.Value)
		}
		if strings.Join(got, " ") != test.other || len(read.Warnings) > 0 {
			t.Errorf("%s: %q, %v", name, got, read.Warnings)
		}
	}
	due := strings.NewReplacer("Invoice ", "CreditNote ", "Invoice>", "CreditNote>", "Invoice-2",
		"CreditNote-2").Replace(invoice(`<cbc:DueDate>2026-01-01</cbc:DueDate>`))
	if read := mustRead(t, []byte(due)); read.DueDate == nil || read.OtherCount > 0 {
		t.Errorf("the due date of a credit note is among %v", read.Other)
	}
	schemes := strings.Repeat(`<cac:PartyTaxScheme><cbc:CompanyID>1</cbc:CompanyID></cac:PartyTaxScheme>`, 300)
	read := mustRead(t, []byte(invoice(`<cac:AccountingSupplierParty><cac:Party>`+schemes+`</cac:Party>`+
		`</cac:AccountingSupplierParty>`)))
	if faults := read.Warnings["seller.tax_registration_id"]; len(faults) != 1 {
		t.Errorf("%d warnings about one value", len(faults))
	}
	named := mustRead(t, []byte(invoice(`<cac:TaxRepresentativeParty><cac:PartyLegalEntity><cbc:RegistrationName>X`+
		`</cbc:RegistrationName></cac:PartyLegalEntity></cac:TaxRepresentativeParty>`)))
	if r := named.TaxRepresentative; r == nil || r.Name == nil || *r.Name != "X" || named.OtherCount > 0 {
		t.Errorf("a representative with a name in the register alone is %+v", r)
	}
}
