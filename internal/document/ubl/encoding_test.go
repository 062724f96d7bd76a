package ubl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// TestEncodings reads one document in other encodings than UTF-8, and as XML 1.1: what it says stays the same.
func TestEncodings(t *testing.T) {
	document := string(readFile(t, "pint-ae-invoice.xml"))
	_, body, found := strings.Cut(document, "?>")
	if !found {
		t.Fatal("the document has no declaration")
	}
	const name = "شركة الواحة"
	for declared, test := range map[string]struct {
		encoding encoding.Encoding
		name     string // of the buyer
	}{
		"UTF-16":       {unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), name},
		"UTF-16LE":     {unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), name + " 😀"},
		"utf-16be":     {unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), name},
		"ISO-8859-1":   {charmap.ISO8859_1, "Müller"},
		"ISO-8859-15":  {charmap.ISO8859_15, "Müller €"},
		"ISO-8859-6":   {charmap.ISO8859_6, name},
		"windows-1252": {charmap.Windows1252, "Müller “€”"},
		"Windows-1256": {charmap.Windows1256, name},
		"windows-1250": {charmap.Windows1250, "Kovács Őrs"},
	} {
		want := mustRead(t, []byte(strings.ReplaceAll(document, name, test.name)))
		for _, version := range []string{"1.0", "1.1"} {
			text := `<?xml version="` + version + `" encoding='` + declared + `'?>` + strings.ReplaceAll(body, name, test.name)
			encoded, err := test.encoding.NewEncoder().String(text)
			if err != nil {
				t.Fatal(declared, err)
			}
			got := mustRead(t, []byte(encoded))
			if as(t, got.ParsedDocument) != as(t, want.ParsedDocument) || *got.Buyer.Name != test.name {
				t.Errorf("%s, XML %s: %s", declared, version, as(t, got.ParsedDocument))
			}
			if file, ok := got.File("1"); !ok || file == nil {
				t.Errorf("%s: the attachment cannot be read", declared)
			}
		}
	}
}

// as returns a value as JSON.
func as(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
