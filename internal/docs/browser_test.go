package docs_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browserLimit bounds the life of a Chromium with every step of a test in it. A busy machine may take long.
const browserLimit = 5 * time.Minute

// startBrowser starts a Chromium that ends with the test.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	profile, err := os.MkdirTemp("", "quittance-chromium-") //nolint:usetesting // what is removed below, with patience
	if err != nil {
		t.Fatal(err)
	}
	limited, release := context.WithTimeout(context.WithoutCancel(t.Context()), browserLimit)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(browserLimit))
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
		for deadline := time.Now().Add(browserLimit); os.RemoveAll(profile) != nil && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	return ctx
}

// TestReferenceInABrowser uses the script of the reference: one choice of a language for all samples of all pages, the search, and links to nested fields.
// No page is wider than a phone or a large screen, light or dark. With QUITTANCE_SCREENSHOTS it writes pictures into that directory.
func TestReferenceInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a browser; make test runs it")
	}
	server := httptest.NewServer(newSite(t))
	defer server.Close()
	ctx := startBrowser(t)
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	const shown = `[...new Set([...document.querySelectorAll("pre[data-language]")].filter(e => e.checkVisibility()).map(e => e.dataset.language))].join()`
	var languages, kept, found, opened string
	run(chromedp.Navigate(server.URL+"/docs/reference/invoices"), chromedp.Evaluate(shown, &languages),
		chromedp.Evaluate(`document.querySelector("label[for=createInvoice-python]").click()`, nil),
		chromedp.Navigate(server.URL+"/docs/reference/webhooks"), chromedp.Evaluate(shown, &kept))
	if languages != "shell" || kept != "python" {
		t.Errorf("samples in %q at first, then in %q", languages, kept)
	}
	run(chromedp.SetValue("#search", "duplicate invoice number"), chromedp.Evaluate(`document.querySelector("#search").dispatchEvent(new Event("input"))`, nil),
		chromedp.WaitVisible("#found a"), chromedp.AttributeValue("#found a", "href", &found, nil))
	if found != "/docs/reference/errors#duplicate_invoice_number" {
		t.Errorf("the search finds %s", found)
	}
	run(chromedp.Navigate(server.URL+"/docs/reference/invoices#createInvoice.items.vat_rate"),
		chromedp.Evaluate(`String(document.getElementById("createInvoice.items.vat_rate").checkVisibility())`, &opened))
	if opened != "true" {
		t.Error("a link to a nested field does not show it")
	}
	for _, width := range []int64{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			for _, path := range referencePaths {
				var wide int64
				run(chromedp.EmulateViewport(width, 1000),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					chromedp.Navigate(server.URL+path), chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
				if wide > width {
					t.Errorf("%s is %d px wide on a screen of %d", path, wide, width)
				}
				if dir := os.Getenv("QUITTANCE_SCREENSHOTS"); dir != "" {
					var picture []byte
					run(chromedp.CaptureScreenshot(&picture))
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", filepath.Base(path), width, scheme)), picture, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
