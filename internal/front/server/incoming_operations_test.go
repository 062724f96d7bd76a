package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

const (
	incomingPath = "/api/v1/client/incoming-invoices"
	// incomingDocument is a UBL invoice whose figures disagree, with a file.
	incomingDocument = `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" ` +
		`xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"><cbc:ID>SUP-1</cbc:ID><cbc:DocumentCurrencyCode>AED</cbc:DocumentCurrencyCode>` +
		`<cac:AdditionalDocumentReference><cbc:ID>sheet</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="text/csv" filename="../sheet.csv">aG91cnMK</cbc:EmbeddedDocumentBinaryObject>` +
		`</cac:Attachment></cac:AdditionalDocumentReference><cac:LegalMonetaryTotal><cbc:TaxInclusiveAmount currencyID="AED">10.50</cbc:TaxInclusiveAmount>` +
		`<cbc:PayableAmount currencyID="AED">10.40</cbc:PayableAmount></cac:LegalMonetaryTotal></Invoice>`
)

// offerPurchase adds a purchase document to the provider's ledger. Every company that connects afterwards gets it.
func (s *system) offerPurchase(t *testing.T) {
	t.Helper()
	if _, err := s.sandbox.Provider.Ledger().AddPurchase(fakeprovider.Purchase{ID: "P-1", DocumentType: "invoice",
		InvoiceNumber: "SUP-1", SupplierName: "Supplier", SupplierNetworkID: "1", IssueDate: "2026-03-01",
		DueDate: "2026-03-31", Currency: "AED", TotalAmount: new(api.MustDecimal("10.50")), MediaType: "application/xml",
		ReceivedAt: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)},
		[]byte(incomingDocument)); err != nil {
		t.Fatal(err)
	}
}

// anIncoming waits for the incoming e-invoice of a company, its first, and returns its id and its only revision.
func anIncoming(t *testing.T, c *company) map[string]string {
	t.Helper()
	ids := map[string]string{"revision": "1"}
	kit.Until(t, "an incoming e-invoice", func() bool {
		a := c.get(t, incomingPath)
		if a.raw(t, "/data/0") == "" {
			return false
		}
		for n := 0; a.raw(t, fmt.Sprintf("/data/%d", n)) != ""; n++ {
			ids["incoming_invoice_id"] = a.textAt(t, fmt.Sprintf("/data/%d/id", n))
		}
		return true
	})
	return ids
}

// incomingID is [anIncoming] for paths without a revision.
func incomingID(t *testing.T, c *company) map[string]string {
	t.Helper()
	ids := anIncoming(t, c)
	delete(ids, "revision")
	return ids
}

var incomingOperations = []operation{
	{route: "GET /api/v1/client/incoming-invoices", rows: []row{
		{name: "the documents of the provider", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, _ *request) { anIncoming(t, c) },
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination/total", "1")
				wantRaw(t, a, "/data/0/provider_document_id", `"P-1"`)
				wantRaw(t, a, "/data/0/total_amount", "10.50")
				wantRaw(t, a, "/data/0/revision", "1")
				wantRaw(t, c.company(t).get(t, incomingPath), "/data", "[]") // it has no connection
			}},
		{name: "of the dates", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) {
				anIncoming(t, c)
				r.path += "?issue_date_from=2026-03-01&issue_date_to=2026-03-01&updated_since=2026-01-01T00:00:00%2B02:00"
			},
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data/0/provider_document_id", `"P-1"`)
				for _, query := range []string{"?issue_date_from=2026-03-02", "?issue_date_to=2026-02-28",
					"?updated_since=2999-01-01T00:00:00Z"} {
					wantRaw(t, c.get(t, incomingPath+query), "/pagination",
						`{"current_page":1,"per_page":25,"last_page":1,"has_more":false,"total":0}`)
				}
			}},
		badPage("page=0"), badPage("issue_date_from=2026-02-30"), badPage("issue_date_to="),
		badPage("updated_since=2026-03-01"), badPage("received_from=2026-03-01"),
	}},
	{route: "GET /api/v1/client/incoming-invoices/{incoming_invoice_id}", ids: incomingID, rows: []row{
		{name: "its latest revision", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/supplier_name", `"Supplier"`)
			wantRaw(t, a, "/data/evidence/document_retained", "true")
			wantRaw(t, a, "/data/parsed/number", `"SUP-1"`)
			wantRaw(t, a, "/data/parsed/totals/payable", "10.40")
			wantRaw(t, a, "/data/parsed/attachments/0/name", `"../sheet.csv"`)
			wantRaw(t, a, "/data/parsed/warnings/totals.payable/0/rule", `"disagrees"`)
			wantRaw(t, a, "/data/parse_error", "null")
		}},
	}},
	{route: "GET /api/v1/client/incoming-invoices/{incoming_invoice_id}/document.pdf", ids: incomingID,
		rows: receivedPDFRows},
	{route: "GET /api/v1/client/incoming-invoices/{incoming_invoice_id}/revisions", ids: incomingID, rows: []row{
		{name: "the only one", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/pagination/total", "1")
			wantRaw(t, a, "/data/0/revision", "1")
		}},
		badPage("page=0"),
	}},
	{route: "GET /api/v1/client/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/document", ids: anIncoming,
		rows: []row{
			{name: "the retained bytes", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data/media_type", `"application/xml"`)
				wantRetained(t, a)
			}},
		}},
	{route: "GET /api/v1/client/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/document.pdf",
		ids: anIncoming, rows: receivedPDFRows},
	{route: "GET /api/v1/client/incoming-invoices/{incoming_invoice_id}/revisions/{revision}/attachments/{attachment}",
		ids: anAttachment, rows: []row{
			{name: "the file", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
				if a.text != "hours\n" || a.header.Get("Content-Type") != "text/csv" ||
					a.header.Get("Content-Disposition") != "attachment; filename=sheet.csv" ||
					a.header.Get("X-Content-Type-Options") != "nosniff" ||
					a.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
					t.Errorf("%q with %v", a.text, a.header)
				}
			}},
		}},
}

// anAttachment is [anIncoming] with the attachment of its revision.
func anAttachment(t *testing.T, c *company) map[string]string {
	t.Helper()
	ids := anIncoming(t, c)
	ids["attachment"] = "1"
	return ids
}

// wantRetained compares the retained bytes with their digest.
func wantRetained(t *testing.T, a response) {
	t.Helper()
	body, err := base64.StdEncoding.DecodeString(a.textAt(t, "/data/body_base64"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	if got := a.textAt(t, "/data/sha256"); got != hex.EncodeToString(sum[:]) || len(body) == 0 {
		t.Errorf("%d bytes with the digest %s", len(body), got)
	}
}
