package docs_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"quittance/test/kit"
	"quittance/test/kit/chromium"
)

func TestMain(m *testing.M) { os.Exit(chromium.Run(m.Run)) }

// TestReferenceInABrowser uses the script of the reference: one choice of a language for all samples of all pages, the
// search, and links to nested fields. No page is wider than a phone or a large screen, light or dark. With
// QUITTANCE_SCREENSHOTS it writes pictures into that directory.
func TestReferenceInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a browser; make test runs it")
	}
	server := httptest.NewServer(newSite())
	defer server.Close()
	page := chromium.New(t, server.URL)
	const shown = `[...new Set([...document.querySelectorAll("pre[data-language]")].filter(e => e.checkVisibility()).map(e => e.dataset.language))].join()`
	var languages, kept, opened string
	page.Open("/docs/reference/invoices")
	page.Do(chromedp.Evaluate(shown, &languages),
		chromedp.Evaluate(`document.querySelector("label[for=createInvoice-python]").click()`, nil))
	page.Open("/docs/reference/webhooks")
	page.Do(chromedp.Evaluate(shown, &kept))
	if languages != "shell" || kept != "python" {
		t.Errorf("samples in %q at first, then in %q", languages, kept)
	}
	page.Fill("#search", "duplicate invoice number")
	const first = `document.querySelector("#found a")?.getAttribute("href")`
	page.Until(first + ` === "/docs/reference/errors#duplicate_invoice_number"`)
	page.Open("/docs/reference/invoices#createInvoice.items.vat_rate")
	page.Do(chromedp.Evaluate(`String(document.getElementById("createInvoice.items.vat_rate").checkVisibility())`,
		&opened))
	if opened != "true" {
		t.Error("a link to a nested field does not show it")
	}
	page.WantQuiet("the reference")
	for _, width := range []int64{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			page.Show(width, 1000, scheme)
			for _, path := range referencePaths {
				var wide int64
				page.Open(path)
				page.Do(chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
				if wide > width {
					t.Errorf("%s is %d px wide on a screen of %d", path, wide, width)
				}
				if dir := os.Getenv("QUITTANCE_SCREENSHOTS"); dir != "" {
					var picture []byte
					page.Do(chromedp.CaptureScreenshot(&picture))
					kit.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", filepath.Base(path), width, scheme)),
						picture, 0o600))
				}
			}
		}
	}
}

// TestGuidesAreAccessible checks with axe that no page of the documentation has a violation, on a large screen and on a
// dark phone. Three pages of the reference stand for all, which come from one template, because axe takes half a minute
// for the longest.
func TestGuidesAreAccessible(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a browser; make test runs it")
	}
	t.Parallel()
	server := httptest.NewServer(newSite())
	defer server.Close()
	page := chromium.New(t, server.URL)
	for _, path := range append(guidePaths(), "/docs", "/docs/none", "/docs/reference", "/docs/reference/api-keys",
		"/docs/reference/errors") {
		page.Show(1440, 1000, "light")
		page.Open(path)
		page.Axe(path, chromium.AxeAll)
		page.Show(390, 800, "dark")
		page.Until(
			`[...document.querySelectorAll("pre, main table")].every(b => (b.scrollWidth > b.clientWidth || b.scrollHeight > b.clientHeight) === b.hasAttribute("tabindex"))`)
		page.Axe(path+" on a phone", chromium.AxeAppearance)
	}
	page.Allow("404")
	page.WantQuiet("the guides")
}
