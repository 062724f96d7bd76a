package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ops/service"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

// controlPurchase adds a purchase document to the provider sandbox over its HTTP API, as a user of the sandbox does.
func (s *system) controlPurchase(t *testing.T, id, document string) {
	t.Helper()
	body := fmt.Sprintf(
		`{"id":%q,"document_type":"invoice","invoice_number":"SUP-%[1]s","supplier_name":"Söhne & Co","currency":"AED","issue_date":"2026-03-01","total_amount":1050.00,"document_base64":%q}`,
		id, base64.StdEncoding.EncodeToString([]byte(document)))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.sandbox.Info.ProviderURL+"/control/purchases",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.sandbox.Info.ProviderCredential)
	r.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("the provider sandbox answered %d: %v", response.StatusCode, err)
	}
}

// incomingCallbacks returns the callbacks about incoming e-invoices, by event.
func (s *system) incomingCallbacks() map[string][]fakeprovider.Callback {
	out := map[string][]fakeprovider.Callback{}
	for _, callback := range s.sandbox.Receiver.Callbacks() {
		if strings.HasPrefix(callback.Event, "einvoice.incoming.") {
			out[callback.Event] = append(out[callback.Event], callback)
		}
	}
	return out
}

// TestIncoming follows an incoming e-invoice: the provider receives it, and the company reads it and gets a signed
// webhook, and another one for a changed revision. Both revisions are retained byte for byte.
func TestIncoming(t *testing.T) {
	change := func(c *service.Config) { c.PurchaseInterval = 20 * time.Millisecond }
	onEngines(t, change, func(t *testing.T, s *system) {
		c := s.connected(t)
		subscribed := c.post(t, subscriptions, fmt.Sprintf(`{"url":%q}`, s.sandbox.Info.ReceiverURL))
		subscribed.want(t, http.StatusCreated, "")
		s.sandbox.Receiver.Trust(subscribed.textAt(t, "/data/secret"))

		s.controlPurchase(t, "P-9", "<Invoice>first</Invoice>")
		path := incomingPath + "/" + anIncoming(t, c)["incoming_invoice_id"]
		first := c.get(t, path)
		for pointer, want := range map[string]string{"/data/provider_document_id": `"P-9"`, "/data/revision": "1",
			"/data/document_type": `"invoice"`, "/data/invoice_number": `"SUP-P-9"`, "/data/supplier_name": `"Söhne & Co"`,
			"/data/supplier_network_id": "null", "/data/issue_date": `"2026-03-01"`, "/data/due_date": "null",
			"/data/currency": `"AED"`, "/data/total_amount": "1050.00", "/data/sha256": digestOf("<Invoice>first</Invoice>"),
			"/data/evidence/media_type": `"application/xml"`, "/data/evidence/size": "24",
			"/data/evidence/document_retained": "true", "/data/evidence/withheld": "false",
			"/data/evidence/claimed_sha256": digestOf("<Invoice>first</Invoice>"),
			"/data/evidence/previous":       `"` + strings.Repeat("0", 64) + `"`} {
			wantRaw(t, first, pointer, want)
		}
		s.controlPurchase(t, "P-9", "<Invoice>second</Invoice>")
		kit.Until(t, "the second revision", func() bool { return c.get(t, path).raw(t, "/data/revision") == "2" })

		listed := c.get(t, path+"/revisions?per_page=1")
		wantRaw(t, listed, "/data/0/revision", "1")
		wantRaw(t, listed, "/data/0/evidence/digest", first.raw(t, "/data/evidence/digest"))
		wantRaw(t, listed, "/pagination", `{"current_page":1,"per_page":1,"last_page":2,"has_more":true,"total":2}`)
		second := c.get(t, path+"/revisions?per_page=1&page=2")
		wantRaw(t, second, "/data/0/revision", "2")
		wantRaw(t, second, "/data/0/evidence/previous", first.raw(t, "/data/evidence/digest"))
		for n, text := range []string{"<Invoice>first</Invoice>", "<Invoice>second</Invoice>"} {
			a := c.get(t, fmt.Sprintf("%s/revisions/%d/document", path, n+1))
			wantRaw(t, a, "/data", fmt.Sprintf(`{"media_type":"application/xml","sha256":%s,"body_base64":%q,"withheld":false}`,
				digestOf(text), base64.StdEncoding.EncodeToString([]byte(text))))
		}
		c.get(t, path+"/revisions/3/document").want(t, http.StatusNotFound, api.CodeNotFound)
		s.connected(t).get(t, path).want(t, http.StatusNotFound, api.CodeNotFound)

		kit.Until(t, "both callbacks", func() bool { return len(s.incomingCallbacks()) == 2 })
		for event, revision := range map[string]int{"einvoice.incoming.received": 1, "einvoice.incoming.revised": 2} {
			callbacks := s.incomingCallbacks()[event]
			var body api.Event[api.IncomingPayload]
			if err := json.Unmarshal([]byte(callbacks[0].Body), &body); err != nil {
				t.Fatal(err)
			}
			want := api.IncomingPayload{IncomingInvoiceID: strings.TrimPrefix(path, incomingPath+"/"), Revision: revision,
				ProviderDocumentID: "P-9", SHA256: strings.Trim(c.get(t,
					fmt.Sprintf("%s/revisions/%d/document", path, revision)).raw(t, "/data/sha256"), `"`)}
			if len(callbacks) != 1 || callbacks[0].Verified == nil || body.Payload != want ||
				body.ResourceType != api.ResourceIncomingInvoice || body.ResourceID != want.IncomingInvoiceID ||
				body.ID != callbacks[0].Delivery {
				t.Errorf("%s has the callbacks %+v", event, callbacks)
			}
		}
	})
}

func digestOf(text string) string { return fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text))) }

// TestIncomingWithoutBody checks that a document that was not retained, or is withheld, has no body, and that the
// response says so.
func TestIncomingWithoutBody(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		tenant, err := s.db.Tenant(t.Context(), c.id)
		if err != nil {
			t.Fatal(err)
		}
		large := sha256.Sum256([]byte("large"))
		if err := incoming.Seed(t.Context(), tenant, []incoming.NewIncoming{
			{ProviderDocumentID: "a", DocumentType: new("invoice"), MediaType: "text/xml", Metadata: []byte(`{"id":"a"}`),
				Body: []byte("echo"), Retained: true, Withheld: true},
			{ProviderDocumentID: "a", DocumentType: new("invoice"), MediaType: "text/xml", Metadata: []byte(`{"id":"a"}`),
				SHA256: &large, Size: new(int64(20 << 20))},
			{ProviderDocumentID: "a", DocumentType: new(api.DocumentUnreadable), Metadata: []byte(`{"id":"a","x":1}`)},
		}); err != nil {
			t.Fatal(err)
		}
		path := incomingPath + "/" + anIncoming(t, c)["incoming_invoice_id"]
		for n, want := range []string{
			`{"media_type":"text/xml","sha256":` + digestOf("echo") + `,"body_base64":null,"withheld":true}`,
			`{"media_type":"text/xml","sha256":` + digestOf("large") + `,"body_base64":null,"withheld":false}`,
			`{"media_type":"","sha256":` + digestOf(`{"id":"a","x":1}`) + `,"body_base64":null,"withheld":false}`,
		} {
			wantRaw(t, c.get(t, fmt.Sprintf("%s/revisions/%d/document", path, n+1)), "/data", want)
		}
		latest := c.get(t, path)
		wantRaw(t, latest, "/data/document_type", `"unreadable"`)
		wantRaw(t, latest, "/data/received_at", "null")
		wantRaw(t, latest, "/data/total_amount", "null")
		wantRaw(t, latest, "/data/evidence/size", "null")
		wantRaw(t, latest, "/data/evidence/document_retained", "false")
		wantRaw(t, latest, "/data/evidence/claimed_sha256", "null")
	})
}
