package console_test

import (
	"testing"
	"time"

	"quittance/api"
)

// subscribe makes a subscription by the API; its identifier.
func (s *system) subscribe(t testing.TB, token, url string, kinds ...string) api.NewSubscription {
	t.Helper()
	var made api.NewSubscription
	if status := s.api(t, token, "POST", "/api/v1/webhooks/subscriptions", api.SubscriptionRequest{URL: &url, Events: kinds}, &made); status != 201 {
		t.Fatalf("subscribe to %s: %d", url, status)
	}
	return made
}

// TestWebhookPagesLook: the pages of webhooks, deliveries and incoming e-invoices, as every page.
func TestWebhookPagesLook(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/webhooks/new")
		b.inspect("subscribe")
		b.open("/incoming")
		b.inspect("incoming")
		b.click("a.row")
		b.until(`document.querySelector("#h-revisions")`)
		b.inspect("incoming-invoice")
		b.open("/webhooks")
		b.inspect("webhooks")
		b.click("a.row")
		b.until(`document.querySelector("#h-traffic")`)
		b.inspect("subscription")
		b.click(".sends a.row")
		b.until(`document.querySelector("#h-body")`)
		b.inspect("delivery")
	})
}
