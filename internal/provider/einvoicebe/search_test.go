package einvoicebe_test

import (
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/test/providertest"
)

// referenceAt returns a reference of an invoice that was created at the given time.
func referenceAt(created time.Time) string {
	stamp := fmt.Sprintf("%012x", created.UnixMilli())
	return stamp[:8] + "-" + stamp[8:] + "-7123-8123-0123456789ab"
}

// searched is what the provider shows of our document and beside it, and what follows from that.
type searched struct {
	created   time.Time            // of the invoice
	ours      func(map[string]any) // changes how the provider shows our document
	prepare   func(*providertest.EInvoiceBE)
	want      provider.Kind
	wantFound string
}

// setShown returns a change of what the provider shows.
func setShown(name string, value any) func(map[string]any) {
	return func(shown map[string]any) { shown[name] = value }
}

// searches are the cases of the test below, at a time.
func searches(now time.Time) map[string]searched {
	many := func(s *providertest.EInvoiceBE) {
		for range 101 {
			s.Put(setShown("invoice_id", "INV-7265662d31-and-more"))
		}
	}
	inconclusive, unknown := provider.Inconclusive, provider.UnknownReference
	return map[string]searched{
		"the document": {want: provider.Complete, wantFound: "doc-0001"},
		"the document, sent": {prepare: func(s *providertest.EInvoiceBE) { s.Move("DRAFT", "SENT") },
			want: provider.Complete, wantFound: "doc-0001"},
		"another number":              {ours: setShown("invoice_id", "INV-7265662d3"), want: unknown},
		"a number that contains ours": {ours: setShown("invoice_id", "INV-7265662d311"), want: unknown},
		"our number in other letters": {ours: setShown("invoice_id", "inv-7265662d31"), want: unknown},
		"a document that we received": {ours: setShown("direction", "INBOUND"), want: unknown},
		"a credit note":               {ours: setShown("document_type", "CREDIT_NOTE"), want: inconclusive},
		"another date":                {ours: setShown("invoice_date", "2026-03-02"), want: inconclusive},
		"no date":                     {ours: setShown("invoice_date", nil), want: inconclusive},
		"another currency":            {ours: setShown("currency", "USD"), want: inconclusive},
		"another total":               {ours: setShown("invoice_total", "1210.01"), want: inconclusive},
		"no total":                    {ours: setShown("invoice_total", nil), want: inconclusive},
		"the total written otherwise": {ours: setShown("invoice_total", "1210.000"), want: provider.Complete,
			wantFound: "doc-0001"},
		"a total in another notation": {ours: setShown("invoice_total", "121e1"), want: inconclusive},
		"another receiver":            {ours: setShown("customer_peppol_id", "0208:0765432146"), want: inconclusive},
		"the receiver by name": {ours: setShown("customer_peppol_id", nil), want: provider.Complete,
			wantFound: "doc-0001"},
		"another receiver by name": {ours: func(m map[string]any) {
			m["customer_peppol_id"], m["customer_name"] = nil, "Another NV"
		}, want: inconclusive},
		"no receiver": {ours: func(m map[string]any) {
			m["customer_peppol_id"], m["customer_name"] = nil, nil
		}, want: inconclusive},
		"created before our invoice": {created: now.Add(2 * time.Hour), want: inconclusive},
		"created after our invoice":  {created: now.Add(-time.Hour), want: provider.Complete, wantFound: "doc-0001"},
		"the same twice": {prepare: func(s *providertest.EInvoiceBE) { s.Put(func(map[string]any) {}) },
			want: inconclusive},
		"beside one with another total": {prepare: func(s *providertest.EInvoiceBE) {
			s.Put(setShown("invoice_total",
				"1.00"))
		}, want: provider.Complete, wantFound: "doc-0001"},
		"beside one that may be ours": {prepare: func(s *providertest.EInvoiceBE) {
			s.Put(setShown("invoice_total",
				nil))
		}, want: inconclusive},
		"beside more than the provider lists": {prepare: many, want: inconclusive},
	}
}

// TestFindsOneDocument checks which document in the provider's lists counts as ours, if the response to its
// creation was lost: the only one with our number, and only if everything agrees that the lists show.
func TestFindsOneDocument(t *testing.T) {
	for name, c := range searches(time.Now()) {
		t.Run(name, func(t *testing.T) {
			adapter, standIn, _ := eInvoiceBE(t, nil)
			doc := providertest.BelgianDocument("ref-1")
			if response := adapter.Submit(t.Context(), doc); response.Next != provider.NextSubmit {
				t.Fatalf("%+v", response)
			}
			if c.ours != nil {
				c.ours(standIn.Documents()[0].Shown)
			}
			if c.prepare != nil {
				c.prepare(standIn)
			}
			if !c.created.IsZero() {
				doc = rename(t, doc, referenceAt(c.created))
			}
			response := adapter.Status(t.Context(), provider.Query{Reference: doc.Reference, Body: doc.Body})
			if response.Kind != c.want {
				t.Fatalf("%v, want %v: %s", response.Kind, c.want, response.Body)
			}
			wantEarlier := 1
			if c.wantFound != "" {
				wantEarlier = 2
				if report := readReport(t, adapter, response); report.ProviderReference != c.wantFound {
					t.Errorf("found %q", report.ProviderReference)
				}
			}
			if len(response.Earlier) != wantEarlier {
				t.Errorf("%d earlier responses are retained, want %d", len(response.Earlier), wantEarlier)
			}
		})
	}
}

// rename returns a document under another reference.
func rename(t *testing.T, doc provider.Document, reference string) provider.Document {
	t.Helper()
	sent, err := envelope.Read(doc.Body)
	if err != nil {
		t.Fatal(err)
	}
	sent.Reference = reference
	body, err := sent.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return provider.Document{Reference: reference, Body: body}
}

// TestSearchFails checks that a list that fails says nothing, whatever the other list shows.
func TestSearchFails(t *testing.T) {
	doc := providertest.BelgianDocument("ref-1")
	for name, fault := range map[string]providertest.Fault{
		"no response":        {},
		"an error":           {Status: 500},
		"no list":            {Status: 200, Body: `{}`},
		"a list of nothing":  {Status: 200, Body: `{"items":null,"has_next_page":false}`},
		"no end":             {Status: 200, Body: `{"items":[]}`},
		"a name twice":       {Status: 200, Body: `{"items":[],"items":[],"has_next_page":false}`},
		"our number, no id":  {Status: 200, Body: `{"items":[{"invoice_id":"INV-7265662d31"}],"has_next_page":false}`},
		"members of a kind":  {Status: 200, Body: `{"items":[{"invoice_id":1}],"has_next_page":false}`},
		"an address unknown": {Status: 404},
	} {
		for _, operation := range []string{"drafts", "outbox"} {
			t.Run(name+", "+operation, func(t *testing.T) {
				adapter, standIn := undescribed(t)
				adapter.Submit(t.Context(), doc)
				fault := fault
				fault.Operation = operation
				standIn.Add(fault)
				if response := adapter.Status(t.Context(),
					provider.Query{Reference: "ref-1", Body: doc.Body}); response.Kind != provider.Ambiguous {
					t.Errorf("%+v", response)
				}
			})
		}
	}
}

// TestCreditNote checks that a credit note is found by its own number, and never taken for the invoice that
// it credits.
func TestCreditNote(t *testing.T) {
	const id = "019caa6c-5200-7000-8000-000000000002"
	draft := providertest.BelgianInvoice("CN-1")
	credit, faults := invoice.NewCredit(draft, nil, &api.CreditNoteRequest{Kind: new(api.CreditFull)},
		document.BIS3.Arithmetic())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	source := document.Document{ID: id, Draft: draft, Seller: providertest.BelgianSeller(),
		Credit: &api.CreditNote{ID: id, CreditNoteNumber: "CN-1",
			IssueDate: *draft.IssueDate, Reason: "Two hours were not worked.", Kind: credit.Kind, Currency: *draft.Currency,
			TotalAmount: credit.Total, Items: credit.Items}}
	text, err := document.Write(document.BIS3, source)
	if err != nil {
		t.Fatal(err, document.Check(document.BIS3, source))
	}
	sent := envelope.Envelope{Reference: "ref-2", Invoice: draft, Seller: source.Seller,
		Document: envelope.NewXMLFile(document.BIS3, text)}
	body, err := sent.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	adapter, standIn, _ := eInvoiceBE(t, nil)
	adapter.Submit(t.Context(), providertest.BelgianDocument("ref-1"))
	// an invoice with the number of the credit note, and its date and total
	standIn.Documents()[0].Shown["invoice_id"] = "CN-1"
	query := provider.Query{Reference: "ref-2", Body: body}
	if response := adapter.Status(t.Context(), query); response.Kind != provider.Inconclusive {
		t.Errorf("%v: %s", response.Kind, response.Body)
	}
	adapter.Submit(t.Context(), provider.Document{Reference: "ref-2", Body: body})
	if report := readReport(t, adapter, adapter.Status(t.Context(), query)); report.ProviderReference != "doc-0002" {
		t.Errorf("%+v", report)
	}
}
