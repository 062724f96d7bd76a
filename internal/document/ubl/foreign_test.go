package ubl_test

import (
	"encoding/json"
	"errors"
	"flag"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quittance/internal/document/ubl"
)

var expectedFile = flag.String("expected", "testdata/expected.jsonl",
	"the output of scripts/foreign-documents about the documents to read")

// expected is what another parser has read from a document.
type expected struct {
	Path                            string
	Readable                        bool // a UBL invoice or credit note, well-formed and without a DOCTYPE
	Number, Currency, Seller, Buyer *string
	Lines, Taxes, Files             int
	Sum, Net, Tax, Total, Payable   *string
}

// TestForeignDocuments reads documents of others and compares the result with what another parser reads: which
// documents can be read, and their numbers, currencies, names, totals, and numbers of lines, rows of tax and files.
// "make foreign-documents" runs it over a directory.
func TestForeignDocuments(t *testing.T) {
	text, err := os.ReadFile(*expectedFile)
	if err != nil {
		t.Fatal(err)
	}
	read, refused, warned := 0, map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		var want expected
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		document, err := os.ReadFile(want.Path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ubl.Read(document)
		if why, ok := errors.AsType[*ubl.Error](err); ok {
			refused[why.Rule]++
		} else {
			read++
			if len(got.Warnings)+len(got.Check()) > 0 {
				warned++
			}
		}
		if (err == nil) != want.Readable {
			t.Errorf("%s: can be read: %v; read with %v", want.Path, want.Readable, err)
			continue
		}
		if err != nil {
			continue
		}
		compare(t, &want, got)
		if texts := lost(t, document, got); len(texts) > 0 && got.OtherCount == len(got.Other) &&
			got.LineCount == len(got.Lines) {
			t.Errorf("%s: %q is lost", want.Path, texts)
		}
	}
	if read == 0 {
		t.Error("no document was read")
	}
	t.Logf("read %d documents, %d of them with warnings; refused %v", read, warned, refused)
}

// compare reports the differences of a document.
func compare(t *testing.T, want *expected, got *ubl.Document) {
	t.Helper()
	files := 0
	for _, attachment := range got.Attachments {
		if attachment.URL == nil || attachment.MediaType != nil {
			files++
		}
	}
	read := &expected{Path: want.Path, Readable: true, Number: got.Number, Currency: got.Currency, Seller: got.Seller.Name,
		Buyer: got.Buyer.Name, Lines: got.LineCount, Taxes: len(got.TaxBreakdown), Files: files,
		Sum: value((*string)(got.Totals.Lines)), Net: value((*string)(got.Totals.Net)), Tax: value((*string)(got.Totals.Tax)),
		Total: value((*string)(got.Totals.Total)), Payable: value((*string)(got.Totals.Payable))}
	for _, amount := range []**string{&want.Sum, &want.Net, &want.Tax, &want.Total, &want.Payable} {
		*amount = value(*amount)
	}
	if difference := cmp.Diff(want, read); difference != "" {
		t.Error(difference)
	}
}

// value returns the value of a decimal number in one spelling, and nil for any other text.
func value(number *string) *string {
	if number == nil {
		return nil
	}
	exact, ok := new(big.Rat).SetString(*number)
	if !ok {
		return nil
	}
	return new(exact.RatString())
}
