package typescript_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/quittancetest"
	"quittance/test/kit/chromium"
)

// TestBrowser runs the SDK in a page of Chromium, which gets its modules as they are and reaches the service through a
// proxy on its own origin. It creates, lists and submits an invoice whose amount is no JavaScript number, and verifies
// a webhook.
func TestBrowser(t *testing.T) {
	page := chromium.New(t, serveBrowser(t, quittancetest.Start(t, quittancetest.WithPace(time.Millisecond))))
	var text string
	page.Open("/")
	// A module runs before the page is loaded, unless it cannot be imported.
	page.Do(chromedp.Evaluate(`(async () => {
		await globalThis.used;
		return document.querySelector("#result").textContent;
	})()`, &text, chromium.Awaited))
	page.WantQuiet("the page")
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	const amount = "90071992547409.93" // in hundredths 2^53 + 1
	want := map[string]any{
		"created": map[string]any{"total_amount": amount, "net_unit_price": amount},
		"listed":  []any{map[string]any{"same": true, "total_amount": amount}},
		"submitted": map[string]any{"outcome": "acknowledged", "receiver_state": "accepted", "final": true,
			"total_amount": amount},
		"event": map[string]any{"schema_version": "service-webhook-v2", "id": "e-1", "event": "einvoice.terminal",
			"total": "1050.00"},
		"refused": "signature",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// serveBrowser serves test/browser.html, the modules of the SDK, what the page is given, and a proxy to the API of a
// service. It returns the address of the page.
func serveBrowser(t *testing.T, s *quittancetest.Server) string {
	t.Helper()
	target, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	given := browserGiven(t, s)
	transport := &http.Transport{Proxy: nil}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "test/browser.html") })
	mux.Handle("GET /src/", http.StripPrefix("/src/", http.FileServer(http.Dir("src"))))
	mux.HandleFunc("GET /given.json", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write(given); err != nil {
			t.Errorf("given.json: %v", err)
		}
	})
	mux.Handle("/api/", &httputil.ReverseProxy{Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

// browserGiven returns what the page gets from the test: an API key and a signed webhook.
func browserGiven(t *testing.T, s *quittancetest.Server) []byte {
	t.Helper()
	transport := &http.Transport{Proxy: nil}
	defer transport.CloseIdleConnections()
	c, err := client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password,
		HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := c.CreateAPIKey(t.Context(), api.APIKeyRequest{Name: new("browser"),
		Scopes: []string{"read", "write", "submit"}})
	if err != nil {
		t.Fatal(err)
	}
	const secret, at = "whsec_of-the-test", "2026-03-01T09:30:00Z"
	const body = `{"schema_version":"service-webhook-v2","id":"e-1","event":"einvoice.terminal","total":1050.00}`
	text, err := json.Marshal(map[string]any{"apiKey": key.Key,
		"webhook": map[string]any{"secret": secret, "now": at, "body": body,
			"headers": map[string]string{"X-Webhook-Event": "einvoice.terminal", "X-Webhook-Delivery": "e-1",
				"X-Webhook-Timestamp": at, "X-Webhook-Signature": receiver.Signature([]byte(secret), at, []byte(body))}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
