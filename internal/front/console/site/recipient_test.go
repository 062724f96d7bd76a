package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

// TestCheckRecipient checks what the form says about a recipient, for every answer of the provider.
func TestCheckRecipient(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	check := func(scheme, id, want string) {
		t.Helper()
		got := v.do(http.MethodPost, "/invoices/recipient", "buyer_endpoint_scheme="+scheme+"&recipient_network_id="+id,
			"HX-Request", "true")
		if got.status != http.StatusOK || !strings.Contains(got.body, want) || strings.Contains(got.body, "<html") ||
			strings.Contains(got.body, "%!") {
			t.Errorf("%s %s: %d %s, want %s", scheme, id, got.status, got.body, want)
		}
	}
	check("0235", "1234567890", "has found this buyer, who accepts PINT AE, Peppol BIS Billing 3.0.")
	// as the list of the field has it
	check(url.QueryEscape("UAE Tax Identification Number (TIN)"), "1234567890", "has found this buyer")
	check("tin", "1234567890", "has found this buyer")
	check("t", "1234567890", "the value of the buyer’s ID first")
	check("0235", "sandbox-receiver-not-found", "has not found this buyer")
	check("0235", "sandbox-discovery-timed-out", "cannot say")
	check("", "1234567890", "the value of the buyer’s ID first")
	check("9999", "1234567890", "the value of the buyer’s ID first")
	check("0235", "%FF", "the value of the buyer’s ID first")
	kit.Must(t, s.Provider.AddRule(fakeprovider.Rule{PathPrefix: "/v1/recipients", Misbehaviour: fakeprovider.DropBefore,
		Times: 1}))
	check("0235", "1234567890", "cannot say")

	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	connections, err := invoices.Connections(t.Context(), s.DB(), &id)
	kit.Must(t, err)
	for _, c := range connections {
		_, err := invoices.DisableConnection(t.Context(), s.DB(), c.ID)
		kit.Must(t, err)
	}
	check("0235", "1234567890", "no active provider connection")
	if n := s.count(t); n != 0 {
		t.Errorf("%d invoices were stored", n)
	}
}

// TestCheckRecipientInABrowser presses the button of the form, which needs scripts. The input is kept.
func TestCheckRecipientInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	b := newBrowser(t, s.base)
	b.login(s.email, s.password)
	b.open("/invoices/new")
	b.fill(`[name="recipient_name"]`, "Palm")
	b.fill("#f-buyer_endpoint_scheme", "tin")
	b.until(`document.querySelector("[role=option]")`)
	b.press(kb.ArrowDown)
	b.press(kb.Enter)
	b.until(`document.querySelector("#f-buyer_endpoint_scheme").value.includes("(TIN)")`)
	b.do(chromedp.SetValue(`[name="recipient_network_id"]`, "1234567890"))
	b.click("#look-up")
	b.until(`document.querySelector("#recipient p")`)
	var kept string
	b.do(chromedp.Value(`[name="recipient_name"]`, &kept))
	if note := b.text("#recipient"); !strings.Contains(note, "has found this buyer") || kept != "Palm" {
		t.Errorf("note %q, name %q", note, kept)
	}
	b.do(chromedp.SendKeys(`[name="recipient_network_id"]`, "5"))
	if b.until(`document.querySelector("#recipient").childElementCount === 0`); b.text("#recipient") != "" {
		t.Error("the note is about another recipient")
	}
	b.wantQuiet("the form")
}

// TestPressedButton checks that a form does not move a button between the press and the release of the mouse when its
// check comes in, so that the click counts, and that the form is checked again after the release.
func TestPressedButton(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/new")
		b.do(chromedp.SetValue(`[name="buyer_endpoint_scheme"]`, "0235"))
		b.fill(`[name="recipient_network_id"]`, "1234567890")
		b.until(`performance.getEntriesByType("resource").some(e => e.name.endsWith("/invoices/check"))`)
		release := b.hold("#look-up")
		b.do(chromedp.Evaluate(`window.pressed = performance.now()`, nil), chromedp.SetValue(`[name="total_amount"]`, "much"))
		b.until(
			`performance.getEntriesByType("resource").some(e => e.name.endsWith("/invoices/check") && e.startTime > window.pressed)`)
		if b.text(".fault") != "" {
			t.Error("the form has changed under the pressed button")
		}
		release()
		b.until(`document.querySelector("#recipient p") && document.querySelector("[name=total_amount][aria-invalid]")`)
		b.wantQuiet("the form")
	})
}
