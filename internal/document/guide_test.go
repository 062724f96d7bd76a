package document_test

import (
	"os"
	"regexp"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/strictjson"
)

// TestGuideOfTheUAE makes a document of each example of the guide: the fields of the first, changed like a draft with a
// merge patch. Each is complete, and keeps the rules.
func TestGuideOfTheUAE(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/uae.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```json ([^\n]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) < 12 || examples[0][1] != "base" {
		t.Fatalf("%d examples", len(examples))
	}
	drafts, base := strictjson.For[api.Draft](), []byte(examples[0][2])
	for _, example := range examples {
		patch, err := strictjson.Parse([]byte(example[2]))
		if err != nil {
			t.Fatalf("%s: %v", example[1], err)
		}
		draft, faults, err := drafts.Patch(base, patch)
		if faults = faults.With(invoice.Faults(&draft)); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v %v", example[1], faults, err)
			continue
		}
		d := document.Document{ID: "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90", Draft: &draft,
			Seller: ordinary(document.PINTAE).Seller}
		written, err := document.Write(document.PINTAE, d)
		if err != nil {
			t.Errorf("%s: %v", example[1], document.Check(document.PINTAE, d))
			continue
		}
		if violated := judge(document.PINTAE, written); len(violated) > 0 {
			t.Errorf("%s violates %v", example[1], violated)
		}
	}
}
