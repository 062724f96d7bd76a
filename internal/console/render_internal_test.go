package console

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
)

// testTemplates returns the templates of the console.
func testTemplates(t testing.TB) *templates {
	t.Helper()
	messages, err := readCatalogue(tongues[0])
	if err != nil {
		t.Fatal(err)
	}
	assets, err := newAssets()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := newTemplates(messages, assets, texts)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// BenchmarkInvoiceList renders the rows of a full page of invoices.
func BenchmarkInvoiceList(b *testing.B) {
	pages := testTemplates(b)
	states := map[invoice.Dimension]invoice.StoredState{invoice.DimensionSubmission: {Value: "accepted_by_provider",
		Terminal: true, Meaning: api.MeaningPositive}, invoice.DimensionReceiver: {Value: "waiting_for_receiver"}}
	data := invoiceRows{Paging: paging{Page: 1, PerPage: maxPerPage, Total: maxPerPage, path: "/invoices"}}
	for n := range maxPerPage {
		data.Rows = append(data.Rows, invoiceRow{ID: "018f0000-0000-7000-8000-000000000000",
			Number: "2026-" + strconv.Itoa(n), Recipient: "Palm & Sons <Trading> LLC", IssueDate: "2026-03-01",
			Total: new(api.MustDecimal("1050.00")), Currency: "AED", UpdatedAt: time.Now(),
			Overall: pill{Meaning: "neutral", Shape: "open", Text: "1 of 4 final"},
			States:  stateViews(invoice.RestoreStates(states))})
	}
	benchmarkTemplate(b, pages, "invoices", "rows", data)
}

// BenchmarkDraftForm renders the form of a draft with the maximum number of lines.
func BenchmarkDraftForm(b *testing.B) {
	pages := testTemplates(b)
	form := draftForm{Fields: map[string]string{"invoice_number": "2026-1", "currency": "AED",
		"issue_date": time.Now().Format(time.DateOnly)}}
	for n := range maxItems {
		form.Items = append(form.Items, map[string]string{"name": fmt.Sprintf("Item <%d> & more", n), "quantity": "1",
			"unit_code": "C62", "net_unit_price": "10.50", "vat_category": "S", "vat_rate": "5"})
	}
	req := &request{Console: &Console{}, pages: pages, r: httptest.NewRequest("POST", "/invoices/new", nil)}
	checked, err := req.check(form)
	if err != nil {
		b.Fatal(err)
	}
	data, err := req.buildDraftPage(&checked, draftPage{Action: newPath, Back: "/invoices", ShowMissing: true}, focus{})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkTemplate(b, pages, "draft", "form", data)
}

// benchmarkTemplate renders a template into a reused buffer.
func benchmarkTemplate(b *testing.B, pages *templates, page, name string, data any) {
	b.Helper()
	var out bytes.Buffer
	if err := pages.execute(io.Discard, page, name, data); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := pages.execute(&out, page, name, data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "bytes/page")
}
