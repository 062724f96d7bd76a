package site_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/client/api"
	"quittance/internal/account/sso"
	"quittance/internal/front/console/site"
)

// visited is one page of the console. To reach it, the test opens from, with the identifier of a draft for
// {draft}, and follows links, each given by a selector.
type visited struct {
	name, from string
	links      []string
	// route is the route of the page.
	route string
}

// pages are all pages. TestEveryPage fails for a route that is neither here nor in otherRoutes.
var pages = []visited{
	{name: "page-overview", from: "/", route: "/"},
	{name: "page-invoices", from: "/invoices", route: "/invoices"},
	{name: "page-invoice", from: "/invoices", links: []string{"a.row"}, route: "/invoices/{invoice}"},
	{name: "page-new", from: "/invoices/new", route: "/invoices/new"},
	{name: "page-edit", from: "/invoices?q=SYN-025", links: []string{"a.row", "#edit"}, route: "/invoices/{invoice}/edit"},
	{name: "page-duplicate", from: "/invoices", links: []string{"a.row", "#duplicate"},
		route: "/invoices/{invoice}/duplicate"},
	{name: "page-credit", from: "/invoices?q=2026-1003", links: []string{"a.row", "#credit"},
		route: "/invoices/{invoice}/credit"},
	{name: "page-print", from: "/invoices", links: []string{"a.row", "#print"}, route: "/invoices/{invoice}/print"},
	{name: "page-codes", from: "/codes/units", route: "/codes/{list}"},
	{name: "page-bulk", from: "/invoices/submit?invoice={draft}", route: "/invoices/submit"},
	{name: "page-submitted", from: "/invoices/submitted?result={draft}", route: "/invoices/submitted"},
	{name: "page-credit-notes", from: "/credit-notes", route: "/credit-notes"},
	{name: "page-credit-note", from: "/credit-notes", links: []string{"a.row"}, route: "/credit-notes/{credit}"},
	{name: "page-credit-print", from: "/credit-notes", links: []string{"a.row", "#print"},
		route: "/credit-notes/{credit}/print"},
	{name: "page-incoming", from: "/incoming", route: "/incoming"},
	{name: "page-incoming-invoice", from: "/incoming", links: []string{"a.row"}, route: "/incoming/{incoming}"},
	{name: "page-customers", from: "/customers", route: "/customers"},
	{name: "page-customer", from: "/customers", links: []string{"a.row"}, route: "/customers/{entry}"},
	{name: "page-new-customer", from: "/customers/new", route: "/customers/new"},
	{name: "page-edit-customer", from: "/customers", links: []string{"a.row", "#edit"}, route: "/customers/{entry}/edit"},
	{name: "page-items", from: "/items", route: "/items"},
	{name: "page-item", from: "/items", links: []string{"a.row"}, route: "/items/{entry}"},
	{name: "page-new-item", from: "/items/new", route: "/items/new"},
	{name: "page-edit-item", from: "/items", links: []string{"a.row", "#edit"}, route: "/items/{entry}/edit"},
	{name: "page-webhooks", from: "/webhooks", route: "/webhooks"},
	{name: "page-subscribe", from: "/webhooks/new", route: "/webhooks/new"},
	{name: "page-subscription", from: "/webhooks", links: []string{"a.row"}, route: "/webhooks/{subscription}"},
	{name: "page-delivery", from: "/webhooks", links: []string{"a.row", ".sends a.row"},
		route: "/webhooks/deliveries/{delivery}"},
	{name: "page-undelivered", from: "/webhooks/lost", route: "/webhooks/lost"},
	{name: "page-keys", from: "/api-keys", route: "/api-keys"},
	{name: "page-new-key", from: "/api-keys/new", route: "/api-keys/new"},
	{name: "page-users", from: "/users", route: "/users"},
	{name: "page-sessions", from: "/sessions", route: "/sessions"},
	{name: "page-second-factor", from: "/second-factor", route: "/second-factor"},
	{name: "page-audit", from: "/audit", route: "/audit"},
	{name: "page-account", from: "/account", route: "/account"},
	{name: "page-styleguide", from: "/styleguide", route: "/styleguide"},
}

// otherRoutes are not pages, or have a test of their own that inspects them.
var otherRoutes = map[string]string{
	"/join":                               "TestLinkOfInvitation",
	"/forgot":                             "TestForgottenPasswordInBrowser",
	"/forgot/sent":                        "TestForgottenPasswordInBrowser",
	"/reset":                              "TestForgottenPasswordInBrowser",
	"/prove":                              "TestAddressPages",
	"/login/company":                      "TestSignOnAvoidsSquatter",
	"/import":                             "TestImportInTheBrowser",
	"/import/{upload}":                    "TestImportInTheBrowser",
	"/import/{upload}/faults.csv":         "a download",
	"/import/template.csv":                "a download",
	"/import/template.xlsx":               "a download",
	"/login":                              "below, without a session",
	"/login/sso":                          "leads to the OpenID provider",
	sso.CallbackPath:                      "leads to another page",
	"/invoices/recipients":                "the choices of a combobox",
	"/invoices/items":                     "the choices of a combobox",
	"/invoices/{invoice}/replace":         "the page of a duplicate with other texts",
	"/users/{user}/sessions":              "TestSessionPages; the page of the own sessions with another title",
	"/second-factor/confirm":              "TestSecondFactorInBrowser",
	"/second-factor/passkeys/{passkey}":   "TestPasskeyInBrowser",
	"/login/code":                         "TestSecondFactorInBrowser",
	"/password":                           "TestFirstPasswordPage",
	"/invoices/{invoice}/document.xml":    "a download",
	"/evidence/{evidence}":                "a download",
	"/invoices/{invoice}/document.pdf":    "a download",
	"/credit-notes/{credit}/document.xml": "a download",
	"/credit-notes/{credit}/document.pdf": "a download",
	"/incoming/{incoming}/document.pdf":   "a download",
	"/incoming/{incoming}/revisions/{revision}/document":                 "a download",
	"/incoming/{incoming}/revisions/{revision}/document.pdf":             "a download",
	"/incoming/{incoming}/revisions/{revision}/attachments/{attachment}": "a download",
	"/webhooks/deliveries/{delivery}/body":                               "a download",
}

// TestEveryPage checks every page of the console in three appearances, in which each width, colour scheme and direction
// occurs, and then in Arabic: axe finds nothing, which includes the contrast; nothing overflows; no text is below 12
// pixels; and the page has no errors. With QUITTANCE_SCREENSHOTS it takes a picture of every page in every appearance.
func TestEveryPage(t *testing.T) {
	for _, route := range site.Routes() {
		_, other := otherRoutes[route.Path]
		other = other || strings.HasSuffix(route.Path, "/export") // a download, see TestEveryListIsExported
		if !other && route.Method == http.MethodGet && !slices.ContainsFunc(pages,
			func(p visited) bool { return p.route == route.Path }) {
			t.Errorf("no row for the page %s", route.Path)
		}
	}
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 50*time.Millisecond)
		token := s.token(t, s.email, s.password)
		for n, network := range []string{"sandbox-rejected-validation", "sandbox-arriving", "sandbox-accepted"} {
			s.submitted(t, token, fmt.Sprintf("2026-100%d", n+1), network)
		}
		var made api.Invoice
		s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft("2026-1009", "sandbox-accepted"), &made)
		s.fillBook(t, token)
		b := newBrowser(t, s.base)
		b.open("/login")
		b.inspect("page-login")
		b.login(s.email, s.password)
		visit := func(inspect func(page string)) {
			for _, page := range pages {
				b.open(strings.ReplaceAll(page.from, "{draft}", made.ID))
				for _, link := range page.links {
					var to string
					b.until(fmt.Sprintf(`document.querySelector(%q)`, link))
					b.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).getAttribute("href")`, link), &to))
					b.open(to)
				}
				b.until(`document.querySelector("h1")`)
				if at := strings.TrimPrefix(b.location(), s.base); strings.HasPrefix(at, "/login") {
					t.Fatalf("%s leads to %s", page.name, at)
				}
				inspect(page.name)
			}
		}
		visit(b.inspect)
		b.open("/")
		b.click(`.language button[value="ar"]`)
		b.until(`document.documentElement.lang === "ar"`)
		visit(b.inspectArabic)
		b.click(`.language button[value="en"]`)
		b.until(`document.documentElement.lang === "en"`)
		b.open("/nowhere")
		b.allow("404")
		b.inspect("page-not-found")
	})
}
