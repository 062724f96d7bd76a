package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/sandbox"
	"quittance/test/kit"
)

// download returns the beginning of a file of the API, or the body of the error.
func download(t *testing.T, base, token, path string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestEveryDocumentDownloads checks that every invoice, credit note and received document of a fresh sandbox
// downloads as XML in PINT-AE and as a PDF file, in both companies. The second one's connection has that format, so
// no address names it. The one draft that lacks fields on purpose is refused, and the error names them.
func TestEveryDocumentDownloads(t *testing.T) {
	t.Parallel()
	s, _ := run(t, t.TempDir(), func(c *sandbox.Config) { c.Example = true })
	example := s.Info
	example.Email = s.Info.Example.Email
	for _, company := range []struct {
		info            sandbox.Info
		password, query string
	}{{s.Info, s.Info.Password, "?profile=pint-ae"}, {example, s.Info.Example.Password, ""}} {
		token, _ := login(t, company.info, company.password)
		base, files := s.Info.BaseURL, 0
		want := func(path, begins string) {
			t.Helper()
			status, text := download(t, base, token, path)
			lacking := strings.Contains(text, `"buyer_street"`) && strings.Contains(text, `"due_date"`)
			if status == http.StatusUnprocessableEntity && lacking && company.query == "" {
				return
			}
			if files++; status != http.StatusOK || !strings.HasPrefix(text, begins) {
				t.Errorf("%s: %d %.500s", path, status, text)
			}
		}
		both := func(path, query string) {
			t.Helper()
			want(path+"/document"+query, "<?xml")
			want(path+"/document.pdf"+query, "%PDF")
		}
		var drafts api.List[api.InvoiceSummary]
		call(t, base, token, http.MethodGet, "/api/v1/client/invoices?per_page=100", nil, &drafts)
		for _, i := range drafts.Data {
			both("/api/v1/client/invoices/"+i.ID, company.query)
		}
		var notes api.List[api.CreditNoteSummary]
		call(t, base, token, http.MethodGet, "/api/v1/client/credit-notes?per_page=100", nil, &notes)
		for _, n := range notes.Data {
			both("/api/v1/client/credit-notes/"+n.ID, company.query)
		}
		var received api.List[api.IncomingInvoice]
		call(t, base, token, http.MethodGet, "/api/v1/client/incoming-invoices", nil, &received)
		for _, r := range received.Data {
			want("/api/v1/client/incoming-invoices/"+r.ID+"/document.pdf", "%PDF")
			want("/api/v1/client/incoming-invoices/"+r.ID+"/revisions/1/document", `{"data":{"media_type":"application/xml"`)
		}
		if expected := map[bool]int{true: 2 * (25 + 10 + 5),
			false: 2 * (18 + 1 + 5)}[company.query != ""]; files != expected {
			t.Errorf("%d files, want %d", files, expected)
		}
	}
}

// TestExampleIsAccepted checks that the provider of the example company accepts its PINT-AE documents: only the
// recipients that are told to be rejected are, although the provider judges each document by the official rules. A
// credit note, which the company may submit, is accepted too.
func TestExampleIsAccepted(t *testing.T) {
	t.Parallel()
	s, _ := run(t, t.TempDir(), func(c *sandbox.Config) { c.Example = true })
	info := s.Info
	info.Email = s.Info.Example.Email
	token, _ := login(t, info, s.Info.Example.Password)
	kit.Eventually(t, func() error {
		var found api.List[api.InvoiceSummary]
		call(t, s.Info.BaseURL, token, http.MethodGet,
			"/api/v1/client/invoices?per_page=100&submission_state=accepted_by_provider", nil, &found)
		accepted := 0
		for _, i := range found.Data {
			if *i.RecipientNetworkID == "sandbox-accepted" {
				accepted++
			}
		}
		if accepted != 7 {
			return fmt.Errorf("%d invoices were accepted, want 7", accepted)
		}
		return nil
	})
	var notes api.List[api.CreditNoteSummary]
	call(t, s.Info.BaseURL, token, http.MethodGet, "/api/v1/client/credit-notes", nil, &notes)
	path := "/api/v1/client/credit-notes/" + notes.Data[0].ID
	if status := call(t, s.Info.BaseURL, token, http.MethodPost, path+"/submit", struct{}{},
		nil); status != http.StatusOK {
		t.Fatalf("submission of a credit note: status %d", status)
	}
	kit.Eventually(t, func() error {
		var note api.Data[api.CreditNote]
		call(t, s.Info.BaseURL, token, http.MethodGet, path, nil, &note)
		if state := note.Data.SubmissionState; state == nil || *state != "accepted_by_provider" {
			return fmt.Errorf("the credit note has the state %v", state)
		}
		return nil
	})
}

// TestFieldsOfTheSpecificationAreEnough checks that drafts without anything that only a document format needs are
// complete and can be submitted over the connection of a fresh sandbox: of another country, currency and rate,
// without descriptions and gross prices.
func TestFieldsOfTheSpecificationAreEnough(t *testing.T) {
	t.Parallel()
	s, _ := run(t, t.TempDir())
	token, _ := login(t, s.Info, s.Info.Password)
	for n, edit := range []func(*api.Draft){
		func(*api.Draft) {},
		func(d *api.Draft) {
			d.BuyerCountry, d.Currency, d.BuyerEndpointScheme = new("BE"), new("EUR"), new("0208")
			d.BuyerSubdivision, d.IssueTime, d.TotalAmount = nil, nil, new(api.MustDecimal("1200.00"))
			d.Items[0].VATRate = new(api.MustDecimal("20"))
		},
		func(d *api.Draft) {
			d.Items[0].VATCategory, d.Items[0].VATRate, d.TotalAmount = new("Z"), new(api.MustDecimal("0")),
				new(api.MustDecimal("1000.00"))
		},
	} {
		draft := &api.Draft{InvoiceNumber: new("SPEC-" + string(rune('A'+n))), RecipientName: new("Buyer"),
			RecipientNetworkID: new("sandbox-accepted"), BuyerEndpointScheme: new("0235"), BuyerStreet: new("Road 1"),
			BuyerCity: new("Dubai"), BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"),
			TotalAmount: new(api.MustDecimal("1050.00")), Currency: new("AED"), IssueDate: new("2026-03-01"),
			IssueTime: new("09:30"), DueDate: new("2026-03-31"),
			PaymentMeansCode: new("30"),
			Items: []api.Item{{Name: new("Work"), UnitCode: new("HUR"), Quantity: new(api.MustDecimal("10")),
				NetUnitPrice: new(api.MustDecimal("100.00")), VATCategory: new("S"), VATRate: new(api.MustDecimal("5"))}}}
		edit(draft)
		var created, submitted api.Data[api.Invoice]
		call(t, s.Info.BaseURL, token, http.MethodPost, "/api/v1/client/invoices", draft, &created)
		if !created.Data.Complete {
			t.Errorf("draft %d: missing %v", n, created.Data.Missing)
		}
		if status := call(t, s.Info.BaseURL, token, http.MethodPost, "/api/v1/client/invoices/"+created.Data.ID+"/submit",
			struct{}{}, &submitted); status != http.StatusOK {
			t.Errorf("draft %d: submit answers %d", n, status)
		}
	}
}
