package site_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
	"quittance/test/kit"
	"quittance/test/kit/chromium"
)

// TestIncoming checks that the list has search and pages. A page shows the revisions with their changes. A document is
// downloaded unchanged as an attachment, unless it is withheld or was not stored.
func TestIncoming(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	if got := v.get("/incoming"); got.status != http.StatusOK ||
		!strings.Contains(got.body, "No incoming e-invoices yet") {
		t.Errorf("without any e-invoice: %d", got.status)
	}
	for n := range 12 {
		s.purchase(t, fmt.Sprintf("doc-%02d", n), nil)
	}
	s.purchase(t, "doc-00", func(d *incoming.NewIncoming) {
		d.Body, d.SupplierName, d.DueDate, d.ClaimedSHA256 = []byte("<html><script>alert(1)</script>"),
			new("Other Supplies LLC"), nil, new(strings.Repeat("0", 64))
	})
	s.purchase(t, "large", func(d *incoming.NewIncoming) {
		d.Body, d.Retained, d.SHA256, d.Size = nil, false, &[32]byte{7}, new(int64(1<<30))
	})
	s.purchase(t, "echo", func(d *incoming.NewIncoming) { d.Withheld = true })
	for path, want := range map[string]string{"/incoming?per=5&page=2": "6 to 10 of 14",
		"/incoming?q=OTHER+supp": "1 to 1 of 1", "/incoming?q=doc-0&per=3": "1 to 3 of 10",
		"/incoming?q=nothing": "No incoming e-invoices match",
		"/incoming?q=%00":     "These filters in the address are not known", "/incoming?supplier=x": "<bdi>supplier=x</bdi>",
		"/incoming?page=77":                          "No entries",
		"/incoming?issue_date_from=2999-01-01":       "No incoming e-invoices match",
		"/incoming?issue_date_to=2999-01-01&q=doc-0": `href="/incoming?q=doc-0"`,
		"/incoming?updated_since=2026-01-01&per=20":  "1 to 14 of 14",
		"/incoming?updated_since=yesterday":          "<bdi>updated_since=yesterday</bdi>"} {
		if got := v.get(path); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d without %q", path, got.status, want)
		}
	}
	path := map[string]string{}
	found, err := view.Of(s.tenant(t)).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 100)
	kit.Must(t, err)
	for _, i := range found.Entries {
		path[i.ProviderDocumentID] = "/incoming/" + i.ID.String()
	}
	revised := v.get(path["doc-00"] + "?tab=revisions")
	for _, want := range []string{"<del><bdi>Synthetic Supplies LLC</bdi></del>",
		"<ins><bdi>Other Supplies LLC</bdi></ins>", "<ins><bdi>–</bdi></ins>",
		"differs from the stored document", path["doc-00"] + "/revisions/1/document",
		path["doc-00"] + "/revisions/2/document", "This document was changed: revision 2 is the newest"} {
		if !strings.Contains(revised.body, want) {
			t.Errorf("the revisions of the e-invoice lack %q", want)
		}
	}
	for tab, want := range map[string]string{"webhooks": "einvoice.incoming.revised",
		"activity": "No activity was recorded"} {
		if got := v.get(path["doc-00"] + "?tab=" + tab); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("tab %s: %d without %q", tab, got.status, want)
		}
	}
	got := v.get(path["doc-00"] + "/revisions/2/document")
	if got.status != http.StatusOK || got.body != "<html><script>alert(1)</script>" {
		t.Errorf("the document: %d %q", got.status, got.body)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Content-Disposition": `attachment; filename="incoming-` + strings.TrimPrefix(path["doc-00"], "/incoming/") +
			`-2.xml"`} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q", name, got.header.Get(name))
		}
	}
	if got := v.get(path["doc-00"] + "/revisions/1/document"); got.body != "<Invoice/>" {
		t.Errorf("the first revision: %q", got.body)
	}
	for under, want := range map[string]int{"doc-00/revisions/3/document": 404, "doc-00/revisions/0/document": 404,
		"doc-00/revisions/01/document": 404, "doc-00/revisions/-1/document": 404, "doc-00/revisions/x/document": 404,
		"large/revisions/1/document": 404, "echo/revisions/1/document": 403} {
		name, rest, _ := strings.Cut(under, "/")
		if got := v.get(path[name] + "/" + rest); got.status != want || strings.Contains(got.body, "<Invoice/>") {
			t.Errorf("%s: %d, want %d", under, got.status, want)
		}
	}
	for name, want := range map[string]string{"large": "Only the details of this document are stored",
		"echo": "This document is withheld"} {
		if got := v.get(path[name]); got.status != http.StatusOK || !strings.Contains(got.body, want) ||
			strings.Contains(got.body, `id="take"`) {
			t.Errorf("%s: %d without %q", name, got.status, want)
		}
	}
}

// TestIncomingLive checks that a user sees an e-invoice arrive, finds it by its supplier, opens it and sees a revision
// arrive, without reloading a page. A download is not a page.
func TestIncomingLive(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.click(`.side a[href="/incoming"]`)
		b.until(`document.querySelectorAll("a.row").length === 5`)
		b.show(appearance{width: 1280})
		same := b.markPage()
		s.purchase(t, "live", func(d *incoming.NewIncoming) { d.SupplierName = new("Live & Söhne “GmbH”") })
		b.until(`document.querySelectorAll("a.row").length === 6`)
		same()
		b.fill("#q", "söhne")
		b.press(kb.Enter)
		b.until(`document.querySelectorAll("a.row").length === 1 && location.search === "?q=s%C3%B6hne"`)
		b.click("a.row")
		b.until(`document.querySelector("#unreadable")`)
		b.click("#tab-revisions")
		b.until(`document.querySelector("#revision-1")`)
		same = b.markPage()
		s.purchase(t, "live", func(d *incoming.NewIncoming) {
			d.SupplierName, d.Body = new("Live & Söhne “GmbH”"), []byte("<Invoice><!-- 2 --></Invoice>")
		})
		s.purchase(t, "live", func(d *incoming.NewIncoming) {
			d.SupplierName, d.Body = new("הספק"), []byte("<Invoice><!-- 3 --></Invoice>")
		})
		b.until(
			`document.querySelector("#revision-3 ins").innerText === "הספק" && document.querySelector("#h-changed").innerText.includes("revision 3")`)
		same()
		b.click("#revision-3 summary")
		b.inspect("incoming-revised")
		var got map[string]string
		b.do(chromedp.Evaluate(`(async () => { const r = await fetch(document.querySelector("#take").href);
			return {text: await r.text(), type: r.headers.get("content-type"), as: r.headers.get("content-disposition").split(";")[0]}; })()`, &got, chromium.Awaited))
		if got["text"] != "<Invoice><!-- 3 --></Invoice>" || got["type"] != "application/octet-stream" ||
			got["as"] != "attachment" {
			t.Errorf("downloaded %v", got)
		}
	})
}

// TestPressedLink checks that the page does not change between the press and the release of the mouse, so that the
// click opens the row under it, and that the page changes again after the release.
func TestPressedLink(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/incoming")
		rows := func(n int) string { return fmt.Sprintf(`document.querySelectorAll("a.row").length === %d`, n) }
		b.until(rows(5))
		// pressed stores an e-invoice while the mouse is down, and waits until a poll that began later has returned.
		pressed := func(on, number string) (release func()) {
			release = b.hold(on)
			s.purchase(t, number, nil)
			b.do(chromedp.Evaluate(`window.stored = performance.now()`, nil))
			b.until(
				`performance.getEntriesByType("resource").some(e => e.initiatorType === "xmlhttprequest" && e.startTime > window.stored)`)
			return release
		}
		release := pressed("#live .pages p", "first")
		b.until(rows(5))
		release()
		b.until(rows(6))
		var want string
		b.do(chromedp.Evaluate(`document.querySelector("a.row").getAttribute("href")`, &want))
		release = pressed("a.row bdi", "second")
		release()
		b.until(fmt.Sprintf(`location.pathname === %q`, want))
	})
}
