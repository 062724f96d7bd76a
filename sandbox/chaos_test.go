package sandbox_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/sandbox"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

// submitted submits a new invoice to a recipient and returns its identifier and the status of the response.
func submitted(t *testing.T, base, token, number, recipient string) (id string, status int) {
	t.Helper()
	today := time.Now().UTC()
	var draft api.Data[api.Invoice]
	if status := call(t, base, token, http.MethodPost, "/api/v1/client/invoices", map[string]any{
		"invoice_number": number, "recipient_name": "Palm Trading LLC", "recipient_network_id": recipient,
		"buyer_endpoint_scheme": "0235", "buyer_street": "12 Harbour Road", "buyer_city": "Dubai", "buyer_country": "AE",
		"total_amount": 105.00, "currency": "AED", "issue_date": today.Format(time.DateOnly),
		"due_date":           today.AddDate(0, 0, 30).Format(time.DateOnly),
		"payment_means_code": "30",
		"items": []map[string]any{{"item_code": "S", "name": "Consulting", "description": "Workshop", "unit_code": "HUR",
			"quantity": 1, "base_quantity": 1, "net_unit_price": 100.00, "gross_unit_price": 100.00, "discount_amount": 0,
			"vat_category": "S", "vat_rate": 5}},
	}, &draft); status != http.StatusCreated {
		t.Fatalf("a draft: %d", status)
	}
	id = draft.Data.ID
	return id, call(t, base, token, http.MethodPost, "/api/v1/client/invoices/"+id+"/submit", struct{}{}, nil)
}

// TestStatesAreCorrectAfterLowChaos plays every misbehaviour of the default level of chaos. It checks that the states
// finally match the provider's ledger, and that nothing was sent twice.
func TestStatesAreCorrectAfterLowChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s, _ := run(t, t.TempDir(), func(c *sandbox.Config) {
		c.Empty, c.Pace, c.Service.PurchaseInterval = true, 50*time.Millisecond, 20*time.Millisecond
	})
	token, _ := login(t, s.Info, s.Info.Password)
	played := 0
	for _, way := range fakeprovider.Misbehaviours() {
		for _, on := range way.At(fakeprovider.ChaosLow) {
			rule := map[string]fakeprovider.Rule{
				"submission": {Method: http.MethodPost}, "status query": {Method: http.MethodGet, PathPrefix: "/v1/documents/"},
				"purchases":         {Method: http.MethodGet, PathPrefix: "/v1/purchases"},
				"purchase document": {Method: http.MethodGet, PathPrefix: "/v1/purchases/"},
			}[on]
			rule.Misbehaviour, rule.Times = way.Name, 1
			recipient := "sandbox-reversed"
			if slices.Contains([]fakeprovider.Misbehaviour{fakeprovider.Stale, fakeprovider.Repeated, fakeprovider.Reformatted},
				way.Name) {
				rule.Times, recipient = 2, "sandbox-slow-receiver" // so that an old report can be repeated
			}
			number := fmt.Sprintf("INV-%d", played)
			played++
			before := s.Provider.MisbehaviourCounts()[way.Name]
			if err := s.Provider.AddRule(rule); err != nil {
				t.Fatal(err)
			}
			if on == "purchases" || on == "purchase document" {
				fetched(t, s, token, number)
			} else if status := learnt(t, s, token, number, recipient); on == "submission" && status != http.StatusAccepted {
				t.Errorf("%s of a submission is answered %d", way.Name, status)
			}
			if times := s.Provider.MisbehaviourCounts()[way.Name] - before; times != rule.Times {
				t.Errorf("%s of a %s happened %d times", way.Name, on, times)
			}
		}
	}
	if played < 15 {
		t.Errorf("only %d were played", played)
	}
}

// learnt submits an invoice, waits until nothing more can change, and checks that it has the terminal states of the
// provider's ledger and was sent once.
func learnt(t *testing.T, s *sandbox.Sandbox, token, number, recipient string) (status int) {
	t.Helper()
	id, status := submitted(t, s.Info.BaseURL, token, number, recipient)
	var got api.Data[api.Invoice]
	kit.Until(t, number, func() bool {
		call(t, s.Info.BaseURL, token, http.MethodGet, "/api/v1/client/invoices/"+id, nil, &got)
		return got.Data.Submission != nil && got.Data.Submission.NextCheckAt == nil
	})
	reference := got.Data.Submission.ID
	doc, found := s.Provider.Ledger().Document(reference)
	if !found || doc.Accepted != 1 || s.Provider.Posts(reference) != 1 {
		t.Errorf("%s: %d posts, %+v", number, s.Provider.Posts(reference), doc)
	}
	want := doc.Report(time.Now().Add(time.Hour)).States
	for dimension, word := range map[invoice.Dimension]*string{
		invoice.DimensionSubmission:      got.Data.SubmissionState,
		invoice.DimensionProviderInvoice: got.Data.ProviderInvoiceState,
		invoice.DimensionTaxAuthority:    got.Data.TaxAuthorityState, invoice.DimensionReceiver: got.Data.ReceiverState,
	} {
		if word == nil || *word != want[dimension].Value {
			t.Errorf("%s: the %s differs from the ledger's %+v: %+v", number, dimension, want, got.Data)
		}
	}
	if got.Data.Submission.Outcome != api.OutcomeAcknowledged {
		t.Errorf("%s: the outcome is %s", number, got.Data.Submission.Outcome)
	}
	return status
}

// TestFalseReportsHaveNoEffect checks that reports on other documents, old reports, repeated ones and contradictory
// ones change nothing in the end.
func TestFalseReportsHaveNoEffect(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s, _ := run(t, t.TempDir(), func(c *sandbox.Config) { c.Empty, c.Pace = true, time.Second })
	token, _ := login(t, s.Info, s.Info.Password)
	for recipient, wrong := range map[string]fakeprovider.Misbehaviour{
		"sandbox-foreign": fakeprovider.Foreign, "sandbox-stale": fakeprovider.Stale,
		"sandbox-repeated": fakeprovider.Repeated, "sandbox-reformatted": fakeprovider.Reformatted,
		"sandbox-contradicting": fakeprovider.Contradicting, "sandbox-reopened": fakeprovider.NoMisbehaviour,
		"sandbox-422-while-accepting": fakeprovider.RefuseAfter, "sandbox-wrong-types": fakeprovider.WrongTypes,
		"sandbox-header-bomb": fakeprovider.HeaderBomb,
		"sandbox-huge":        fakeprovider.Huge,
		"sandbox-echo-base64": fakeprovider.EchoBase64,
	} {
		t.Run(recipient, func(t *testing.T) {
			t.Parallel()
			learnt(t, s, token, recipient, recipient)
			if wrong != fakeprovider.NoMisbehaviour && s.Provider.MisbehaviourCounts()[wrong] == 0 {
				t.Errorf("%s never happened", wrong)
			}
		})
	}
}

// fetched adds a purchase document to the provider and waits until the service has it, unchanged.
func fetched(t *testing.T, s *sandbox.Sandbox, token, id string) {
	t.Helper()
	added, err := s.Provider.AddPurchase(fakeprovider.Purchase{ID: id, DocumentType: "380"},
		[]byte("<Invoice>"+id+"</Invoice>"))
	if err != nil {
		t.Fatal(err)
	}
	kit.Until(t, id, func() bool {
		var list api.List[api.IncomingInvoice]
		call(t, s.Info.BaseURL, token, http.MethodGet, "/api/v1/client/incoming-invoices", nil, &list)
		return slices.ContainsFunc(list.Data, func(i api.IncomingInvoice) bool {
			return i.ProviderDocumentID == id && i.SHA256 == added.SHA256 && i.DocumentType != nil && *i.DocumentType == "380"
		})
	})
}

// TestSeedingWithoutChaos checks that a sandbox with a high level of chaos has the specified content, and misbehaves
// only afterwards.
func TestSeedingWithoutChaos(t *testing.T) {
	t.Parallel()
	s, _ := run(t, t.TempDir(), func(c *sandbox.Config) { c.Chaos, c.ChaosSeed = fakeprovider.ChaosHigh, 7 })
	token, _ := login(t, s.Info, s.Info.Password)
	wantSeeded(t, s, token)
	if level, seed := s.Provider.Chaos(); level != fakeprovider.ChaosHigh || seed != 7 {
		t.Errorf("chaos %s, seed %d", level, seed)
	}
	if _, err := sandbox.Start(t.Context(), sandbox.Config{Data: t.TempDir(), Chaos: "some"}); err == nil {
		t.Error("an unknown level is accepted")
	}
}
