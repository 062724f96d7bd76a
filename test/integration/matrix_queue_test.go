package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// queue covers a provider that reports by a queue of events: two about an invoice, one that announces a document, and
// one that is about nothing of the company. Each is retained once, and only what is retained is deleted.
func queue(t *testing.T, c *customer) {
	provider := providertest.NewStorecove(siteCredential)
	t.Cleanup(provider.Close)
	c.login(t)
	c.subscribe(t)
	c.sendOver(t, provider)
	draft := providertest.Draft("INV-1")
	providertest.Norwegian(draft)
	id := valueAt(t, c.do(t, http.MethodPost, atInvoices, "invoice-1", asJSON(t, draft), http.StatusCreated), "/data/id")
	c.submitDocument(t, atInvoices+"/"+id)
	reference := valueAt(t, c.do(t, http.MethodGet, atInvoices+"/"+id, "", "", http.StatusOK), "/data/submission/id")

	provider.Report(reference, "succeeded")
	provider.Receive(provider.LegalEntity, []byte("<Invoice/>"))
	provider.Report(reference, "accepted")
	provider.Push(`{"event_type":"document_submission","event":"failed","guid":"8a4b0c6e-9999-4222-8333-000000000001"}`)
	kit.Eventually(t, func() error {
		c.running(t)
		if deleted := provider.Deleted(); len(deleted) != 3 {
			return fmt.Errorf("%d events are deleted", len(deleted))
		}
		return nil
	})
	kit.Eventually(t, func() error {
		c.running(t)
		var seen int
		if err := c.raw.QueryRowContext(t.Context(), `select count(*) from provider_events`).Scan(&seen); err != nil ||
			seen != 4 {
			return fmt.Errorf("%d events were seen: %w", seen, err)
		}
		return nil
	})
	c.delivered(t)
	c.auditQueue(t, provider, id)
}

// sendOver gives the company a connection to a provider instead of the one that it has.
func (c *customer) sendOver(t *testing.T, provider *providertest.Storecove) {
	t.Helper()
	var added struct {
		ID string `json:"connection_id"`
	}
	c.command(t, asJSON(t, providertest.Seller(document.BIS3)), "account", "profile", c.account, "--file", "-")
	c.command(t, "", "connection", "disable", c.connected)
	c.record(t, &added, siteCredential, "connection", "add", "--account", c.account, "--kind", "storecove",
		"--environment", "sandbox", "--profile", "bis3", "--base-url", provider.BaseURL(),
		"--option", fmt.Sprintf("legal-entity-id=%d", provider.LegalEntity), "--option",
		"webhook-queue=consume", "--credential-file", "-")
	c.command(t, "", "connection", "activate", added.ID)
}

// auditQueue checks that what the events said is true once, and that the event that is about nothing is still there.
func (c *customer) auditQueue(t *testing.T, provider *providertest.Storecove, id string) {
	t.Helper()
	got := c.do(t, http.MethodGet, atInvoices+"/"+id, "", "", http.StatusOK)
	for pointer, want := range map[string]string{"/data/submission/outcome": "acknowledged",
		"/data/provider_invoice_state": "succeeded", "/data/receiver_state": "accepted"} {
		if value := valueAt(t, got, pointer); value != want {
			t.Errorf("%s is %s, want %s", pointer, value, want)
		}
	}
	evidence := string(c.do(t, http.MethodGet, atInvoices+"/"+id+"/evidence", "", "", http.StatusOK).body)
	if n := strings.Count(evidence, `"call":"event"`); n != 2 || len(provider.Waiting()) != 1 {
		t.Errorf("%d events are evidence, %q wait", n, provider.Waiting())
	}
	if total := valueAt(t, c.do(t, http.MethodGet, atIncoming, "", "", http.StatusOK), "/pagination/total"); total != "1" {
		t.Errorf("%s incoming e-invoices", total)
	}
	events, err := ledgertest.Events(t.Context(), openTenant(t, c.address, c.keyFile, c.account), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[api.EventKind]int{}
	for _, event := range events {
		kinds[event.Kind]++
	}
	if kinds[api.EventStatusChanged] != 2 || kinds[api.EventIncomingReceived] != 1 ||
		kinds[api.EventIncomingRevised] != 0 {
		t.Errorf("events %v", kinds)
	}
	c.command(t, "", "evidence", "verify")
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
