package console

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/page"
	"quittance/internal/ledger/identity"
)

// testConsole returns a console without a database.
func testConsole(t testing.TB) *Console {
	t.Helper()
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testWords returns the texts of the console in a language.
func testWords(t testing.TB, of language.Tag) *words {
	t.Helper()
	return testConsole(t).words[of]
}

// BenchmarkInvoiceList renders the rows of a full page of invoices.
func BenchmarkInvoiceList(b *testing.B) {
	states := map[invoice.Dimension]invoice.StoredState{invoice.DimensionSubmission: {Value: "accepted_by_provider",
		Terminal: true, Meaning: api.MeaningPositive}, invoice.DimensionReceiver: {Value: "waiting_for_receiver"}}
	data := invoiceRows{Paging: page.Paging{Page: 1, PerPage: page.MaxPerPage, Total: page.MaxPerPage, Path: "/invoices"}}
	for n := range page.MaxPerPage {
		data.Rows = append(data.Rows, invoiceRow{ID: "018f0000-0000-7000-8000-000000000000",
			Number: "2026-" + strconv.Itoa(n), Recipient: "Palm & Sons <Trading> LLC", IssueDate: "2026-03-01",
			Total: new(api.MustDecimal("1050.00")), Currency: "AED", UpdatedAt: time.Now(),
			Overall: page.Pill{Meaning: "neutral", Shape: "open", Text: "1 of 4 final"},
			States:  stateViews(invoice.RestoreStates(states))})
	}
	benchmarkTemplate(b, "invoices", "rows", data)
}

// BenchmarkDraftForm renders the form of a draft with the maximum number of lines.
func BenchmarkDraftForm(b *testing.B) {
	form := draftForm{Fields: map[string]string{"invoice_number": "2026-1", "currency": "AED",
		"issue_date": time.Now().Format(time.DateOnly)}}
	for n := range maxItems {
		form.Items = append(form.Items, map[string]string{"name": fmt.Sprintf("Item <%d> & more", n), "quantity": "1",
			"unit_code": "C62", "net_unit_price": "10.50", "vat_category": "S", "vat_rate": "5"})
	}
	c, s := secured(b)
	made, err := identity.CreateAccount(b.Context(), s.DB, "Palm", identity.NewUser{Email: "a@example.com",
		PasswordHash: "$"})
	if err != nil {
		b.Fatal(err)
	}
	req := c.request(httptest.NewRecorder(), httptest.NewRequest("POST", "/invoices/new", nil), nil)
	req.session.Account = made
	if req.session.Tenant, err = s.Tenant(b.Context(), made.ID); err != nil {
		b.Fatal(err)
	}
	checked, err := req.check(form)
	if err != nil {
		b.Fatal(err)
	}
	data, err := req.buildDraftPage(&checked, draftPage{Action: newPath, Back: "/invoices", ShowMissing: true}, focus{})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkTemplate(b, "draft", "form", data)
}

// benchmarkTemplate renders a template into a reused buffer.
func benchmarkTemplate(b *testing.B, name, template string, data any) {
	b.Helper()
	var out bytes.Buffer
	pages := testConsole(b).kit.Named("en")
	if err := pages.Execute(io.Discard, name, template, data); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := pages.Execute(&out, name, template, data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "bytes/page")
}
