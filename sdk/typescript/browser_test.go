package typescript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/quittancetest"
	"quittance/test/kit"
)

// browserLimit bounds the life of a Chromium, with every step of a test in it, and the preparation of the test. A busy machine may take long.
const browserLimit = 5 * time.Minute

// TestBrowser runs the SDK in a page of Chromium, which gets its modules as they are and reaches the service through a proxy on its own
// origin. It creates, lists and submits an invoice whose amount is no JavaScript number, and verifies a webhook.
func TestBrowser(t *testing.T) {
	page := serveBrowser(t, quittancetest.Start(t, quittancetest.WithPace(time.Millisecond)))
	ctx, faults := startBrowser(t)
	var text string
	// A module runs before the page is loaded, unless it cannot be imported.
	err := chromedp.Run(ctx, chromedp.Navigate(page), chromedp.Evaluate(`(async () => {
		await globalThis.used;
		return document.querySelector("#result").textContent;
	})()`, &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil {
		t.Fatalf("%v\n%q", err, faults())
	}
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %q\n%q", err, text, faults())
	}
	const amount = "90071992547409.93" // in hundredths 2^53 + 1
	want := map[string]any{
		"created":   map[string]any{"total_amount": amount, "net_unit_price": amount},
		"listed":    []any{map[string]any{"same": true, "total_amount": amount}},
		"submitted": map[string]any{"outcome": "acknowledged", "receiver_state": "accepted", "final": true, "total_amount": amount},
		"event":     map[string]any{"schema_version": "service-webhook-v2", "id": "e-1", "event": "einvoice.terminal", "total": "1050.00"},
		"refused":   "signature",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s\n%q", d, faults())
	}
}

// serveBrowser serves test/browser.html, the modules of the SDK, what the page is given, and a proxy to the API of a service. It returns the
// address of the page.
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
	mux.Handle("/api/", &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL + "/"
}

// browserGiven returns what the page gets from the test: an API key and a signed webhook.
func browserGiven(t *testing.T, s *quittancetest.Server) []byte {
	t.Helper()
	transport := &http.Transport{Proxy: nil}
	defer transport.CloseIdleConnections()
	c, err := client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	defer cancel()
	key, err := c.CreateAPIKey(ctx, api.APIKeyRequest{Name: new("browser"), Scopes: []string{"read", "write", "submit"}})
	if err != nil {
		t.Fatal(err)
	}
	const secret, at = "whsec_of-the-test", "2026-03-01T09:30:00Z"
	const body = `{"schema_version":"service-webhook-v2","id":"e-1","event":"einvoice.terminal","total":1050.00}`
	text, err := json.Marshal(map[string]any{"apiKey": key.Key, "webhook": map[string]any{"secret": secret, "now": at, "body": body,
		"headers": map[string]string{"X-Webhook-Event": "einvoice.terminal", "X-Webhook-Delivery": "e-1", "X-Webhook-Timestamp": at,
			"X-Webhook-Signature": receiver.Signature([]byte(secret), at, []byte(body))}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// startBrowser starts a Chromium with its own profile, which ends with the test or after [browserLimit]. faults returns the errors and
// warnings of its pages.
func startBrowser(t *testing.T) (ctx context.Context, faults func() []string) {
	t.Helper()
	profile, err := os.MkdirTemp("", "quittance-chromium-") //nolint:usetesting // what is removed below, with patience
	if err != nil {
		t.Fatal(err)
	}
	limited, release := context.WithTimeout(context.WithoutCancel(t.Context()), browserLimit)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WSURLReadTimeout(browserLimit))
	allocated, free := chromedp.NewExecAllocator(limited, options...)
	// A Chromium that is newer than the library sends events that the library does not know and would log.
	ctx, leave := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close Chromium: %v", err)
		}
		leave()
		free() // waits for the process, which the limit ends at the latest
		release()
		// Its helper processes stop a moment later and write until then.
		if err := kit.Poll(func() error { return os.RemoveAll(profile) }); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	var found []string
	chromedp.ListenTarget(ctx, func(event any) {
		if fault := browserFault(event); fault != "" {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, fault)
		}
	})
	if err := chromedp.Run(ctx, runtime.Enable(), log.Enable()); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(found)
	}
}

// browserFault describes an error or a warning of a page; it returns "" for other events.
func browserFault(event any) string {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			return fmt.Sprintf("console: %v", e.Args)
		}
	case *runtime.EventExceptionThrown:
		return "exception: " + e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			return "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	}
	return ""
}
