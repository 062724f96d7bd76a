package fakeprovider_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/internal/document/ubl"
	"quittance/sandbox/fakeprovider"
	"quittance/sandbox/rules"
)

// TestSyntheticPurchases adds a synthetic purchase and has its supplier revise it: each revision is a PINT-AE invoice
// that breaks no rule and has an attachment, and its metadata is that of the document.
func TestSyntheticPurchases(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	totals := map[string]bool{}
	for revision := 1; revision <= 2; revision++ {
		response, text := s.call("POST", "/control/purchases/synthetic", `{"id":"P-1"}`)
		added := decode[fakeprovider.Purchase](t, text)
		if response.StatusCode != http.StatusCreated || added.ID != "P-1" || added.InvoiceNumber != "SUP-P-1" {
			t.Fatalf("%d %s", response.StatusCode, text)
		}
		_, document := s.call("GET", "/v1/purchases/P-1/document", "")
		if profile, findings := rules.Judge([]byte(document)); profile != rules.PINTAE || len(findings) > 0 {
			t.Errorf("revision %d: %q %v", revision, profile, findings)
		}
		read, err := ubl.Read([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if *read.Number != added.InvoiceNumber || *read.IssueDate != added.IssueDate || *read.DueDate != added.DueDate ||
			string(*read.Totals.Payable) != added.TotalAmount.String() ||
			len(read.Warnings) > 0 || len(read.Attachments) != 1 || *read.Attachments[0].Name != "time-sheet.csv" ||
			*read.Attachments[0].Size < 10 {
			t.Errorf("revision %d: %+v", revision, read.ParsedDocument)
		}
		totals[added.TotalAmount.String()] = true
		s.clock.advance(48 * time.Hour)
	}
	if list := s.Ledger().PurchaseList(); len(list) != 2 || len(totals) != 2 || list[0].IssueDate != list[1].IssueDate {
		t.Errorf("purchases: %+v", list)
	}
	for _, id := range []string{"", "a b", "<a>", "a:b", strings.Repeat("x", 129)} {
		response, text := s.call("POST", "/control/purchases/synthetic", `{"id":"`+id+`"}`)
		wantError(t, response, text, http.StatusUnprocessableEntity, "invalid_document")
	}
}
