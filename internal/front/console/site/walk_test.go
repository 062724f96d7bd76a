package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quittance/client/api"
)

// inChromium skips the browser tests in short mode.
func inChromium(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	test(t)
}

// allFinal is true when all four dimensions of the invoice on the page are final.
const allFinal = `document.querySelectorAll(".segment.current.final").length === 4`

// TestPagesRender checks states of pages that TestEveryPage does not reach: lists that are empty, a dialog, and
// invoices that are rejected or incomplete.
func TestPagesRender(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 300*time.Millisecond)
		b := newBrowser(t, s.base)
		b.open("/")
		b.until(`location.pathname === "/login"`)
		b.login(s.email, s.password)
		b.inspect("overview-drafts")
		b.open("/invoices?q=nothing+at+all")
		b.inspect("invoices-none")
		b.open("/invoices")
		b.click("a.row")
		b.click("#submit")
		b.until(`document.querySelector("#confirm").matches(":popover-open")`)
		b.inspect("confirm")
		b.click("#confirm button.primary")
		b.until(allFinal)
		b.do(chromedp.Evaluate(`location.replace(location.pathname)`, nil)) // removes the notice
		b.until(`!document.querySelector(".notice")`)
		b.wantQuiet("the final invoice")
		b.shoot("invoice", false, true)
		token := s.token(t, s.email, s.password)
		for number, network := range map[string]string{"UNKNOWN-1": "sandbox-arriving",
			"REJECTED-1": "sandbox-rejected-validation", "SILENT-1": "sandbox-silent-receiver",
			"OPEN-1": "sandbox-discovery-timed-out"} {
			id := s.submitted(t, token, number, network)
			if network == "sandbox-rejected-validation" {
				b.open("/invoices/" + id)
				b.inspect("rejected")
			}
		}
		incomplete := draft("INCOMPLETE-1", "1")
		incomplete.DueDate, incomplete.BuyerCity, incomplete.Items[0].UnitCode, incomplete.PaymentMeansCode = nil, nil,
			nil, new("wire")
		var made api.Invoice
		s.api(t, token, http.MethodPost, "/api/v1/client/invoices", incomplete, &made)
		b.open("/invoices/" + made.ID)
		b.inspect("incomplete")
		b.open("/invoices?per=12")
		b.until(`document.querySelector("a.row")`)
		b.wantQuiet("the invoices")
		b.shoot("invoices", false, true)
	})
}

// submitted creates an invoice with the API, submits it and returns its identifier.
func (s *system) submitted(t *testing.T, token, number, network string) string {
	t.Helper()
	var made api.Invoice
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft(number, network),
		&made); status != http.StatusCreated {
		t.Fatalf("%s: %d", number, status)
	}
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices/"+made.ID+"/submit", nil,
		nil); status > http.StatusAccepted {
		t.Fatalf("submit %s: %d", number, status)
	}
	return made.ID
}

// TestKeyboardOnly checks that a keyboard user logs in, finds a draft, submits it, and sees its four states arrive
// without reloading the page. Screen readers are informed.
func TestKeyboardOnly(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 300*time.Millisecond)
		b := newBrowser(t, s.base)
		b.open("/login")
		b.until(`document.activeElement.id === "email"`)
		b.press(s.email)
		b.tabTo("#password")
		b.press(s.password + kb.Enter)
		b.until(`location.pathname === "/"`)
		b.tabTo("#tile-drafts")
		b.press(kb.Enter)
		b.until(`location.pathname === "/invoices"`)
		b.tabTo("a.row")
		b.press(kb.Enter)
		b.until(`document.querySelector("#submit")`)
		b.tabTo("#submit")
		b.press(kb.Enter)
		b.until(`document.activeElement.matches("#confirm button.primary")`)
		b.press(kb.Escape)
		b.until(`!document.querySelector("#confirm").matches(":popover-open") && document.activeElement.id === "submit"`)
		b.press(kb.Enter)
		b.until(`document.activeElement.matches("#confirm button.primary")`)
		b.press(kb.Enter)
		b.until(`document.querySelector("#states li")`)
		same := b.markPage()
		b.until(allFinal)
		b.until(`document.querySelector("#announcer").textContent.includes("Buyer: Accepted")`)
		same()
		// The time is in the reader's zone, and the title shows UTC.
		b.until(
			`[...document.querySelectorAll("time[datetime*=T]:not(.tick)")].every(t => t.title.endsWith("UTC") && !t.textContent.includes("UTC"))`)
		b.wantQuiet("the walk")
	})
}

// TestLiveList checks that a list shows the changes of others without reloading, and open details stay open.
func TestLiveList(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 50*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices")
		same := b.markPage()
		id := s.submitted(t, s.token(t, s.email, s.password), "INV-1", "sandbox-silent-receiver")
		b.until(
			`document.querySelector(".c-status").innerText.includes("3 of 4 final") && document.querySelector(".dots").getAttribute("aria-label").includes("Buyer: No update yet")`)
		same()
		b.open("/invoices/" + id + "?tab=evidence")
		same = b.markPage()
		b.click("details summary")
		// the provider is polled repeatedly
		b.until(`document.querySelector("#evidence-2") && document.querySelector("details[open]")`)
		same()
		b.wantQuiet("the live pages")
	})
}

// TestOutcomes checks that an unknown outcome is shown as such, a rejected invoice can be corrected, and errors give
// the reason.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second) // so that an unknown outcome remains unknown for a while
	v := s.loggedIn(t)
	token := s.token(t, s.email, s.password)
	for network, want := range map[string]string{
		"sandbox-arriving":            "We’re checking with the provider. Don’t send this invoice again.",
		"sandbox-rejected-validation": "The provider rejected this invoice",
		"sandbox-accepted":            "The provider accepted the document for processing.",
		"sandbox-429-for-ever":        "The provider did not accept the document. It is still a draft.",
	} {
		var made api.Invoice
		s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft(network, network), &made)
		path := "/invoices/" + made.ID
		got := v.post(path + "/submit")
		if got.status == http.StatusSeeOther {
			got = v.get(got.header.Get("Location"))
		}
		if !strings.Contains(got.body, want) {
			t.Errorf("%s: %d without %q", network, got.status, want)
		}
		if editable := strings.Contains(got.body, path+"/edit"); editable != (network == "sandbox-rejected-validation" ||
			network == "sandbox-429-for-ever") {
			t.Errorf("%s: editable %v", network, editable)
		}
	}
	again := draft("sandbox-accepted", "1")
	var made api.Invoice
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", again, &made)
	if got := v.post("/invoices/" + made.ID + "/submit"); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "has already been submitted") || !strings.Contains(got.body, ">Show it<") {
		t.Errorf("a duplicate number: %d", got.status)
	}
	again = draft("incomplete", "1")
	again.DueDate, again.Items[0].UnitCode = nil, nil
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", again, &made)
	got := v.post("/invoices/" + made.ID + "/submit")
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "/edit#f-due_date") ||
		!strings.Contains(got.body, "/edit#f-items-0-unit_code") {
		t.Errorf("incomplete: %d", got.status)
	}
	if strings.Contains(got.body, `id="submit"`) {
		t.Error("an incomplete draft can be submitted")
	}
}

// TestFocusIsVisible checks that the focused element has an outline in both colour schemes.
func TestFocusIsVisible(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices")
		for _, selector := range []string{".skip", ".side li a", "#list-tabs a", "#q", "#filter summary", "a.row"} {
			b.tabTo(selector)
			var outline string
			b.do(chromedp.Evaluate(`getComputedStyle(document.activeElement).outlineStyle`, &outline))
			if outline == "none" {
				t.Errorf("%s has the focus but no outline", selector)
			}
		}
	})
}
