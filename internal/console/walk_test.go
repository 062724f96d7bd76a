package console_test

import (
	"testing"
	"time"

	"quittance/quittancetest"
)

// TestPagesLook: every page, at both widths, in both schemes: no violation that axe finds, nothing wider than the
// window, nothing that the browser complains of, nothing asked of another host.
func TestPagesLook(t *testing.T) {
	if testing.Short() {
		t.Log("the fast tests look at the pages without a browser")
		return
	}
	t.Parallel()
	s := quittancetest.Start(t, quittancetest.Options{Seed: true, Pace: 20 * time.Millisecond})
	b := newBrowser(t, s.BaseURL)
	b.open("/")
	b.until(`location.pathname === "/login"`)
	b.inspect("login")
	b.login(s.Email, s.Password)
	b.inspect("invoices")
	b.click("a.row")
	b.until(`document.querySelector("#submit")`)
	b.inspect("draft")
	b.click("#submit")
	b.until(`document.querySelector("#confirm").matches(":popover-open")`)
	b.inspect("confirm")
	b.click("#confirm button.primary")
	b.until(`document.querySelectorAll(".segment.current.final").length === 4`)
	b.inspect("invoice")
	b.open("/account")
	b.inspect("account")
	b.open("/invoices?q=nothing+at+all")
	b.inspect("invoices-none")
}
