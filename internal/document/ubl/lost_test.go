package ubl_test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
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
		"50": true} // the types of supporting documents that are read
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
		`<cac:InvoiceLine><cbc:ID>1</cbc:ID><cac:Item><cac:AdditionalItemProperty><cbc:Name listID="X">Colour`+
		`</cbc:Name></cac:AdditionalItemProperty></cac:Item></cac:InvoiceLine>`)))
	got, err := json.Marshal(read.Other)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"path":"Secret","value":null},{"path":"cbc:ID[1]/@schemeID","value":"S"},{"path":"cbc:ID[2]","value":"2"},` +
		`{"path":"cac:InvoiceLine[1]/cac:Item/cac:AdditionalItemProperty/cbc:Name","value":"Colour"},` +
		`{"path":"cac:InvoiceLine[1]/cac:Item/cac:AdditionalItemProperty/cbc:Name/@listID","value":"X"}]`
	if string(got) != want || read.OtherCount != 5 {
		t.Errorf("got %s, %d", got, read.OtherCount)
	}
	many := mustRead(t, []byte(invoice(strings.Repeat("<cbc:ID>1</cbc:ID>", 700))))
	if len(many.Other) != 500 || many.OtherCount != 699 {
		t.Errorf("%d of %d are listed", len(many.Other), many.OtherCount)
	}
}
